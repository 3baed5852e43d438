/** Domain of a flow: an upright rectangle with an outline, and the smoke density as a texture. */

import {
  BufferGeometry, Color, DataTexture, DoubleSide, Float32BufferAttribute, Group, LinearFilter, LineBasicMaterial,
  LineLoop, Mesh, PlaneGeometry, RedFormat, ShaderMaterial,
} from "three";
import { getToken } from "../core/theme";
import type { FieldInfo } from "../core/types";
import { getScreenColor } from "./materials";

const VERTEX = `
varying vec2 vAt;
void main() {
  vAt = uv;
  gl_Position = projectionMatrix * modelViewMatrix * vec4(position, 1.0);
}`;

const FRAGMENT = `
uniform sampler2D smoke;
uniform float there;
uniform vec3 paneColor;
uniform vec3 smokeColor;
uniform float paneStrength;
varying vec2 vAt;
void main() {
  float thick = there * texture2D(smoke, vAt).r;
  float cover = mix(paneStrength, 1.0, 0.85 * thick);
  gl_FragColor = vec4(mix(paneColor, smokeColor, thick), cover);
}`;

export class FlowFieldMesh {
  readonly group = new Group();
  private readonly smoke: DataTexture;
  private readonly material: ShaderMaterial;
  private readonly outline = new LineBasicMaterial({ transparent: true, toneMapped: false });
  private shown: Uint8Array | null = null;

  constructor(info: FieldInfo) {
    const [width, height] = info.size;
    const [columns, rows] = info.cells;
    this.smoke = new DataTexture(new Uint8Array(columns * rows), columns, rows, RedFormat);
    this.smoke.magFilter = this.smoke.minFilter = LinearFilter;
    this.smoke.unpackAlignment = 1; // rows need not be multiples of four bytes
    this.material = new ShaderMaterial({
      vertexShader: VERTEX,
      fragmentShader: FRAGMENT,
      transparent: true,
      depthWrite: false,
      side: DoubleSide,
      toneMapped: false,
      uniforms: {
        smoke: { value: this.smoke }, there: { value: 0 }, paneColor: { value: new Color() },
        smokeColor: { value: new Color() }, paneStrength: { value: 0 },
      },
    });
    const mesh = new Mesh(new PlaneGeometry(width, height).rotateX(Math.PI / 2).translate(width / 2, 0, height / 2), this.material);
    const corners = [0, 0, 0, width, 0, 0, width, 0, height, 0, 0, height];
    const outline = new BufferGeometry().setAttribute("position", new Float32BufferAttribute(corners, 3));
    const rim = new LineLoop(outline, this.outline);
    [mesh.renderOrder, rim.renderOrder] = [1, 2]; // after the ground, before ghosts
    this.group.add(mesh, rim);
    this.updateTheme();
  }

  updateTheme(): void {
    this.material.uniforms["paneColor"].value = getScreenColor("flow-pane");
    this.material.uniforms["paneStrength"].value = Number(getToken("flow-pane-strength"));
    this.material.uniforms["smokeColor"].value = getScreenColor("flow-smoke");
    this.outline.color.setStyle(getToken("grid"));
    this.outline.opacity = 0.6;
  }

  /** Set the smoke density, one byte per cell, bottom row first; null for none. Returns true if it changed. */
  setSmoke(bytes: Uint8Array | null): boolean {
    if (bytes === this.shown) return false;
    this.shown = bytes;
    this.material.uniforms["there"].value = bytes === null ? 0 : 1;
    if (bytes === null || bytes.length !== this.smoke.image.data!.length) return true;
    this.smoke.image.data = bytes;
    this.smoke.needsUpdate = true;
    return true;
  }

  dispose(): void {
    this.smoke.dispose();
    this.material.dispose();
    this.outline.dispose();
  }
}
