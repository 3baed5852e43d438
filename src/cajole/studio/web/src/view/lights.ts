/** Key, rim and sky light. They turn with the camera azimuth at fixed elevation. */

import { DirectionalLight, Group, HemisphereLight, Vector3 } from "three";
import { getToken } from "../core/theme";
import type { Vec3 } from "../core/types";

const KEY_LIGHT = { turn: -14, height: 51, far: 7.2 }; // degrees from the camera's azimuth, degrees up, radii away
const RIM_LIGHT = { turn: 187, height: 26, far: 6.7 };

export class Lights {
  readonly group = new Group();
  readonly key = new DirectionalLight();
  private readonly rim = new DirectionalLight();
  private readonly sky = new HemisphereLight();
  private readonly radius: number;
  private azimuth = NaN;
  private center: Vec3 = [NaN, NaN, NaN];

  /** radius: of the body [m]. */
  constructor(radius: number) {
    this.radius = radius;
    this.sky.position.set(0, 0, 1); // up is z
    this.group.add(this.key, this.key.target, this.rim, this.rim.target, this.sky);
    this.setUpShadow();
    this.updateTheme();
  }

  private setUpShadow(): void {
    const { shadow } = this.key;
    this.key.castShadow = true;
    shadow.mapSize.set(1024, 1024);
    shadow.radius = 9;
    shadow.blurSamples = 25;
    shadow.bias = -0.0006;
    shadow.normalBias = 0.007 * this.radius;
    shadow.autoUpdate = false;
    const box = 1.7 * this.radius;
    Object.assign(shadow.camera, {
      left: -box, right: box, top: box, bottom: -box, near: 0.5 * this.radius, far: 14 * this.radius,
    });
    shadow.camera.updateProjectionMatrix();
  }

  updateTheme(): void {
    const light = document.documentElement.dataset["theme"] === "light";
    this.sky.color.setStyle(getToken("hemi-sky"));
    this.sky.groundColor.setStyle(getToken("hemi-ground"));
    this.key.color.setStyle(getToken("key-light"));
    this.rim.color.setStyle(getToken("rim-light"));
    this.sky.intensity = light ? 1.0 : 1.05;
    this.key.intensity = light ? 2.1 : 2.35;
    this.rim.intensity = light ? 0.5 : 1.0;
  }

  /** Orient the lights for a camera azimuth [degrees] around a center [m]; returns true if the shadow changed. */
  orient(azimuth: number, center: Vec3): boolean {
    if (azimuth === this.azimuth && center.every((value, i) => value === this.center[i])) return false;
    this.azimuth = azimuth;
    this.center = [...center];
    for (const [light, from] of [
      [this.key, KEY_LIGHT],
      [this.rim, RIM_LIGHT],
    ] as const) {
      light.target.position.set(...center);
      light.position
        .copy(computeDirection(azimuth + from.turn, from.height))
        .multiplyScalar(from.far * this.radius)
        .add(light.target.position);
    }
    return true;
  }

  dispose(): void {
    this.key.dispose();
    this.rim.dispose();
    this.sky.dispose();
  }
}

function computeDirection(azimuth: number, height: number): Vector3 {
  const [a, e] = [(azimuth * Math.PI) / 180, (height * Math.PI) / 180];
  return new Vector3(Math.cos(a) * Math.cos(e), Math.sin(a) * Math.cos(e), Math.sin(e));
}
