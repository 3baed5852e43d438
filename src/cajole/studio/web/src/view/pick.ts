/** What is under the pointer: plain loops over the drawn triangles. 200 000 of them take about two milliseconds. */

import type { Vec3 } from "../core/types";
import { frameOf, HALF, type Lens, middleOf, placeOf, project, type Ray, rayAt } from "./camera";
import { add, scale, vertexOf } from "./vec";

export const REACH = 14; // px from the pointer within which a vertex is meant

/** What is drawn: flat arrays of vertices [m], triangles, and unnormalised normals. */
export interface Drawn {
  readonly positions: Float32Array;
  readonly faces: Uint32Array;
  readonly normals: Float32Array;
}
export interface Hit {
  readonly triangle: number;
  readonly point: Vec3;
  readonly distance: number;
}
export interface Picked {
  readonly vertex: number; // drawn one nearest to the pointer on what was hit
  readonly pixels: number; // from the pointer
  readonly point: Vec3; // on the surface, under the pointer
}

/**
 * The nearest triangle that a ray meets, from either side (cloth has two), or null.
 *
 * Möller and Trumbore 1997: p = o + t d = a + u (b - a) + v (c - a).
 */
export function pickTriangle(ray: Ray, positions: Float32Array, faces: Uint32Array): Hit | null {
  const [ox, oy, oz] = ray.origin;
  const [dx, dy, dz] = ray.direction;
  let nearest = Infinity;
  let found = -1;
  for (let f = 0; f < faces.length; f += 3) {
    const a = 3 * faces[f];
    const b = 3 * faces[f + 1];
    const c = 3 * faces[f + 2];
    const ax = positions[a];
    const ay = positions[a + 1];
    const az = positions[a + 2];
    const ux = positions[b] - ax;
    const uy = positions[b + 1] - ay;
    const uz = positions[b + 2] - az;
    const vx = positions[c] - ax;
    const vy = positions[c + 1] - ay;
    const vz = positions[c + 2] - az;
    const px = dy * vz - dz * vy;
    const py = dz * vx - dx * vz;
    const pz = dx * vy - dy * vx;
    const det = ux * px + uy * py + uz * pz;
    if (det === 0) continue;
    const sx = ox - ax;
    const sy = oy - ay;
    const sz = oz - az;
    const u = (sx * px + sy * py + sz * pz) / det;
    if (u < 0 || u > 1) continue;
    const qx = sy * uz - sz * uy;
    const qy = sz * ux - sx * uz;
    const qz = sx * uy - sy * ux;
    const v = (dx * qx + dy * qy + dz * qz) / det;
    if (v < 0 || u + v > 1) continue;
    const t = (vx * qx + vy * qy + vz * qz) / det;
    if (t > 0 && t < nearest) {
      nearest = t;
      found = f / 3;
    }
  }
  if (found < 0) return null;
  return { triangle: found, distance: nearest, point: add(ray.origin, scale(ray.direction, nearest)) };
}

/** The vertex that the pointer at (x, y) [px] means: on the surface under it, else the nearest at its rim; or null. */
export function pickVertex(lens: Lens, x: number, y: number, drawn: Drawn): Picked | null {
  const hit = pickTriangle(rayAt(lens, x, y), drawn.positions, drawn.faces);
  return hit === null ? atRim(lens, x, y, drawn) : cornerOf(lens, x, y, drawn, hit);
}

function cornerOf(lens: Lens, x: number, y: number, drawn: Drawn, hit: Hit): Picked {
  let best: Picked | null = null;
  for (let i = 0; i < 3; i++) {
    const vertex = drawn.faces[3 * hit.triangle + i];
    const at = project(lens, vertexOf(drawn.positions, vertex));
    const pixels = Math.hypot(at.x - x, at.y - y);
    if (best === null || pixels < best.pixels) best = { vertex, pixels, point: hit.point };
  }
  return best!;
}

/** The vertex nearest to a pointer that just misses the body, among those that face the camera. */
function atRim(lens: Lens, x: number, y: number, drawn: Drawn): Picked | null {
  let best: Picked | null = null;
  visible(lens, drawn, false, (vertex, px, py) => {
    const pixels = Math.hypot(px - x, py - y);
    if (pixels <= REACH && (best === null || pixels < best.pixels)) {
      best = { vertex, pixels, point: vertexOf(drawn.positions, vertex) };
    }
  });
  return best;
}

/** Drawn vertices inside a rectangle of the view [px], those that face the camera unless `back`. */
export function pickRectangle(
  lens: Lens,
  box: [number, number, number, number],
  drawn: Drawn,
  back: boolean,
): number[] {
  const [left, top, right, bottom] = box;
  const found: number[] = [];
  visible(lens, drawn, back, (vertex, px, py) => {
    if (px >= left && px <= right && py >= top && py <= bottom) found.push(vertex);
  });
  return found;
}

/** Calls `see` with the pixel of every vertex before the camera, of those that face it unless `back`. */
function visible(lens: Lens, drawn: Drawn, back: boolean, see: (vertex: number, x: number, y: number) => void): void {
  const origin = placeOf(lens.eye);
  const { positions, normals } = drawn;
  const view = matrixOf(lens);
  const middle = middleOf(lens);
  for (let i = 0, v = 0; i < positions.length; i += 3, v++) {
    const x = positions[i] - origin[0];
    const y = positions[i + 1] - origin[1];
    const z = positions[i + 2] - origin[2];
    if (!back && x * normals[i] + y * normals[i + 1] + z * normals[i + 2] >= 0) continue;
    const depth = x * view[6] + y * view[7] + z * view[8];
    if (depth <= 0) continue;
    const across = (x * view[0] + y * view[1] + z * view[2]) / depth;
    const down = (x * view[3] + y * view[4] + z * view[5]) / depth;
    see(v, middle[0] + across, middle[1] + down);
  }
}

/** Rows: right and down in pixels for a point one metre deep, and into the picture. */
function matrixOf(lens: Lens): number[] {
  const { right, up, forward } = frameOf(lens.eye);
  const pixels = lens.height / (2 * HALF);
  return [...scale(right, pixels), ...scale(up, -pixels), ...forward];
}
