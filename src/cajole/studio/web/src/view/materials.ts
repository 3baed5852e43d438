/** Materials of bodies, props, wireframes and ghosts. */

import {
  AlwaysStencilFunc, Color, DoubleSide, EqualStencilFunc, type Material, MeshBasicMaterial, MeshLambertMaterial,
  MeshPhysicalMaterial, NotEqualStencilFunc, ReplaceStencilOp, ShaderMaterial, type StencilFunc,
} from "three";
import { getToken } from "../core/theme";

/** Physical material of a body: rough, with clear coat and sheen; `gloss` per vertex. Writes its silhouette to the stencil. */
export function createBodyMaterial(): MeshPhysicalMaterial {
  const material = new MeshPhysicalMaterial({
    vertexColors: true, roughness: 0.62, clearcoat: 0.12, clearcoatRoughness: 0.5, sheen: 0.35,
    sheenColor: new Color(0.35, 0.35, 0.35), sheenRoughness: 0.6, side: DoubleSide, ...getBodyStencil(),
  });
  material.onBeforeCompile = (shader) => {
    shader.vertexShader = shader.vertexShader
      .replace("#include <common>", "#include <common>\nattribute float gloss;\nvarying float vGloss;")
      .replace("#include <begin_vertex>", "#include <begin_vertex>\nvGloss = smoothstep(0.5, 0.95, gloss);");
    shader.fragmentShader = shader.fragmentShader
      .replace("#include <common>", "#include <common>\nvarying float vGloss;")
      .replace(
        "#include <roughnessmap_fragment>",
        "#include <roughnessmap_fragment>\nroughnessFactor = mix(roughnessFactor, 0.18, vGloss);",
      )
      .replace(
        "#include <lights_physical_fragment>",
        `#include <lights_physical_fragment>
        material.clearcoat = mix(material.clearcoat, 1.0, vGloss);
        material.clearcoatRoughness = mix(material.clearcoatRoughness, 0.06, vGloss);`,
      );
  };
  return material;
}

/** Lambert material for slow machines. */
export function createSimpleMaterial(): MeshLambertMaterial {
  return new MeshLambertMaterial({ vertexColors: true, side: DoubleSide, ...getBodyStencil() });
}

export function createWireMaterial(): MeshBasicMaterial {
  return new MeshBasicMaterial({
    wireframe: true, transparent: true, opacity: 0.2, color: new Color(getToken("view-shade")), depthWrite: false,
    toneMapped: false,
  });
}

/** Wireframe of a guide over its shell. */
export function createGuideMaterial(): MeshBasicMaterial {
  const seen = { wireframe: true, transparent: true, opacity: 0.7 };
  return new MeshBasicMaterial({ ...seen, depthWrite: false, toneMapped: false });
}

/** Rough material of one color for props. */
export function createPropMaterial(color: Color, opacity: number): MeshPhysicalMaterial {
  return new MeshPhysicalMaterial({
    color, roughness: 0.7, side: DoubleSide, transparent: opacity < 1, opacity, depthWrite: opacity >= 1,
  });
}

// offset backward, so that wireframes over it pass the depth test
const getBodyStencil = (): object => ({
  polygonOffset: true, polygonOffsetFactor: 1, polygonOffsetUnits: 1, stencilWrite: true, stencilRef: 1,
  stencilFunc: AlwaysStencilFunc, stencilZPass: ReplaceStencilOp,
});

const GHOST_VERTEX = `
varying vec3 vNormal;
varying vec3 vView;
void main() {
  vec4 seen = modelViewMatrix * vec4(position, 1.0);
  vNormal = normalize(normalMatrix * normal);
  vView = -seen.xyz;
  gl_Position = projectionMatrix * seen;
}`;

const GHOST_START = `
uniform vec3 color;
varying vec3 vNormal;
varying vec3 vView;
void main() {
  vec3 n = normalize(vNormal);
  vec3 v = normalize(vView);
  if (dot(n, v) < 0.0) n = -n;
  float rim = 1.0 - dot(n, v);`;

const GHOST_FILL = `${GHOST_START}
  float lambert = max(0.0, dot(n, normalize(vec3(-0.3, 0.6, 0.75))));
  vec3 lit = mix(color * (0.8 + 0.2 * lambert), vec3(1.0), 0.25 * rim * rim);
  gl_FragColor = vec4(lit, 0.76 + 0.22 * rim * rim);
}`;

const GHOST_RIM = `${GHOST_START}
  gl_FragColor = vec4(color, 0.85 * smoothstep(0.55, 0.95, rim));
}`;

/**
 * Materials of the three ghost passes, in render order.
 *
 * Outside the body silhouette: depth only, to hide back faces, then the fill; inside: a rim where the ghost is in front
 * of the body. Polygon offset lets the body win where both coincide.
 */
export function createGhostMaterials(): [Material, ShaderMaterial, ShaderMaterial] {
  const depth = new MeshBasicMaterial({ ...getGhostOptions(NotEqualStencilFunc), colorWrite: false, depthWrite: true });
  const fill = new ShaderMaterial({ ...getGhostOptions(NotEqualStencilFunc), ...getGhostShader(GHOST_FILL) });
  const rim = new ShaderMaterial({ ...getGhostOptions(EqualStencilFunc), ...getGhostShader(GHOST_RIM) });
  return [depth, fill, rim];
}

// token colors bypass tone mapping
const getGhostShader = (fragmentShader: string): object => ({
  vertexShader: GHOST_VERTEX, fragmentShader, uniforms: { color: { value: new Color() } }, toneMapped: false,
});

const getGhostOptions = (stencilFunc: StencilFunc): object => ({
  transparent: true, side: DoubleSide, depthWrite: false, polygonOffset: true, polygonOffsetFactor: 3,
  polygonOffsetUnits: 9, stencilWrite: true, stencilRef: 1, stencilFunc,
});

/** Token color in sRGB, for shaders that bypass color management. */
export function getScreenColor(name: string): Color {
  return new Color().setStyle(getToken(name)).convertLinearToSRGB();
}
