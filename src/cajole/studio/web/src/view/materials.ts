/** How surfaces answer to light: clay, paint, and the yellow ghost that never fights with the body for depth. */

import {
  AlwaysStencilFunc,
  Color,
  DoubleSide,
  EqualStencilFunc,
  type Material,
  MeshBasicMaterial,
  MeshLambertMaterial,
  MeshPhysicalMaterial,
  NotEqualStencilFunc,
  ReplaceStencilOp,
  ShaderMaterial,
  type StencilFunc,
} from "three";
import { getToken } from "../core/theme";

/** A body: matt, with a thin coat and a soft sheen; eyes shine by their gloss. The stencil gets its silhouette. */
export function bodyMaterial(): MeshPhysicalMaterial {
  const material = new MeshPhysicalMaterial({
    vertexColors: true,
    roughness: 0.62,
    clearcoat: 0.12,
    clearcoatRoughness: 0.5,
    sheen: 0.35,
    sheenColor: new Color(0.35, 0.35, 0.35),
    sheenRoughness: 0.6,
    side: DoubleSide,
    ...marked(),
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

/** The same body for a slow machine. */
export function plainMaterial(): MeshLambertMaterial {
  return new MeshLambertMaterial({ vertexColors: true, side: DoubleSide, ...marked() });
}

export function wireMaterial(): MeshBasicMaterial {
  return new MeshBasicMaterial({
    wireframe: true,
    transparent: true,
    opacity: 0.2,
    color: new Color(getToken("view-shade")),
    depthWrite: false,
    toneMapped: false,
  });
}

/** The wires of a guide over the body that follows it. */
export function guideMaterial(): MeshBasicMaterial {
  const seen = { wireframe: true, transparent: true, opacity: 0.7 };
  return new MeshBasicMaterial({ ...seen, depthWrite: false, toneMapped: false });
}

/** What stands around: a matt thing of one colour. */
export function propMaterial(color: Color, opacity: number): MeshPhysicalMaterial {
  return new MeshPhysicalMaterial({
    color,
    roughness: 0.7,
    side: DoubleSide,
    transparent: opacity < 1,
    opacity,
    depthWrite: opacity >= 1,
  });
}

// a little back, so that wires drawn over it win
const marked = (): object => ({
  polygonOffset: true,
  polygonOffsetFactor: 1,
  polygonOffsetUnits: 1,
  stencilWrite: true,
  stencilRef: 1,
  stencilFunc: AlwaysStencilFunc,
  stencilZPass: ReplaceStencilOp,
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
 * The ghost's three passes, in their order of drawing.
 *
 * Outside the body's silhouette: its depth alone, so that it never shows its own inside, then its fill; inside: a rim
 * where it stands before the body. Pushed back a little, so that where both coincide the body wins.
 */
export function ghostMaterials(): [Material, ShaderMaterial, ShaderMaterial] {
  const depth = new MeshBasicMaterial({ ...ghostly(NotEqualStencilFunc), colorWrite: false, depthWrite: true });
  const fill = new ShaderMaterial({ ...ghostly(NotEqualStencilFunc), ...shader(GHOST_FILL) });
  const rim = new ShaderMaterial({ ...ghostly(EqualStencilFunc), ...shader(GHOST_RIM) });
  return [depth, fill, rim];
}

// colours go to the screen as the tokens say them, past tone mapping
const shader = (fragmentShader: string): object => ({
  vertexShader: GHOST_VERTEX,
  fragmentShader,
  uniforms: { color: { value: new Color() } },
  toneMapped: false,
});

const ghostly = (stencilFunc: StencilFunc): object => ({
  transparent: true,
  side: DoubleSide,
  depthWrite: false,
  polygonOffset: true,
  polygonOffsetFactor: 3,
  polygonOffsetUnits: 9,
  stencilWrite: true,
  stencilRef: 1,
  stencilFunc,
});

/** A token's colour as its bytes say, for shaders that write to the screen themselves. */
export function screenColor(name: string): Color {
  return new Color().setStyle(getToken(name)).convertLinearToSRGB();
}
