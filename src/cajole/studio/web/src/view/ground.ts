/** Ground plane: a soft shadow and a grid that fades out around the body. */

import { Color, Group, Mesh, PlaneGeometry, ShaderMaterial, ShadowMaterial, Vector3 } from "three";
import { getToken } from "../core/theme";
import type { Vec3 } from "../core/types";
import { getScreenColor } from "./materials";
import { niceStep } from "../core/math";

const VERTEX = `
varying vec2 vAt;
void main() {
  vec4 world = modelMatrix * vec4(position, 1.0);
  vAt = world.xy;
  gl_Position = projectionMatrix * viewMatrix * world;
}`;

const FRAGMENT = `
uniform vec3 color;
uniform float strength;
uniform vec3 middle;
uniform vec2 steps;
uniform vec2 fade;
varying vec2 vAt;
float lines(float step) {
  vec2 at = vAt / step;
  vec2 wide = fwidth(at);
  vec2 off = abs(fract(at - 0.5) - 0.5) / wide;
  float line = 1.0 - min(min(off.x, off.y), 1.0);
  return line * (1.0 - smoothstep(0.25, 0.7, max(wide.x, wide.y)));
}
void main() {
  float ink = max(0.35 * lines(steps.x), 0.8 * lines(steps.y));
  float near = 1.0 - smoothstep(fade.x, fade.y, distance(vAt, middle.xy));
  gl_FragColor = vec4(color, ink * near * strength);
}`;

export class Ground {
  readonly group = new Group();
  private readonly shadow = new ShadowMaterial({ transparent: true, depthWrite: false });
  private readonly grid: ShaderMaterial;

  /** radius: of the body [m]; height: of the floor [m]. */
  constructor(radius: number, height: number) {
    this.grid = new ShaderMaterial({
      vertexShader: VERTEX,
      fragmentShader: FRAGMENT,
      transparent: true,
      depthWrite: false,
      toneMapped: false,
      uniforms: {
        color: { value: new Color() }, strength: { value: 0 }, middle: { value: new Vector3() },
        steps: { value: [niceStep(radius / 6), 4 * niceStep(radius / 6)] },
        fade: { value: [radius / 4, 1.9 * radius] },
      },
    });
    this.group.add(createPlane(this.shadow, 12 * radius, -2), createPlane(this.grid, 4.4 * radius, -1));
    this.group.position.z = height - 1e-4 * radius; // slightly lower, to avoid z-fighting with soles
    this.updateTheme();
  }

  updateTheme(): void {
    this.shadow.color.setStyle(getToken("ground-shadow"));
    this.shadow.opacity = Number(getToken("ground-shadow-strength"));
    this.grid.uniforms["color"].value = getScreenColor("grid");
    this.grid.uniforms["strength"].value = Number(getToken("grid-strength"));
  }

  /** Center the fade on the body; grid lines stay fixed. */
  follow([x, y]: Vec3): void {
    this.group.position.set(x, y, this.group.position.z);
    this.grid.uniforms["middle"].value.set(x, y, 0);
  }
}

function createPlane(material: ShadowMaterial | ShaderMaterial, size: number, order: number): Mesh {
  const mesh = new Mesh(new PlaneGeometry(size, size), material);
  mesh.receiveShadow = material instanceof ShadowMaterial;
  mesh.renderOrder = order;
  return mesh;
}
