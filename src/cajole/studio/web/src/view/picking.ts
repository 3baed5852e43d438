/** Ray casting and vertex picking in plain loops: 200 000 triangles take about two milliseconds. */

import type { Vec3 } from "../core/types";
import { getViewAxes, TAN_HALF_FOV, type ViewCamera, getCenter, getCameraPosition, projectPoint, type Ray, getPixelRay } from "./camera";
import { add, scale, getVertex } from "./vec";

export const PICK_RADIUS = 14; // px

/** Flat arrays of positions [m], triangles, and normals (not normalized). */
export interface PickMesh {
  readonly positions: Float32Array;
  readonly faces: Uint32Array;
  readonly normals: Float32Array;
}
export interface TriangleHit { readonly triangle: number; readonly point: Vec3; readonly distance: number }
interface VertexHit {
  readonly vertex: number; // nearest to the pointer on the triangle that was hit
  readonly pixels: number; // from the pointer
  readonly point: Vec3; // on the surface, under the pointer
}

/**
 * Nearest triangle that a ray hits, from either side, or null.
 *
 * Möller and Trumbore 1997: p = o + t d = a + u (b - a) + v (c - a).
 */
export function pickTriangle(ray: Ray, positions: Float32Array, faces: Uint32Array): TriangleHit | null {
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

/** Vertex at pixel (x, y): on the surface under it, else within PICK_RADIUS of the silhouette; or null. */
export function pickVertex(camera: ViewCamera, x: number, y: number, mesh: PickMesh): VertexHit | null {
  const hit = pickTriangle(getPixelRay(camera, x, y), mesh.positions, mesh.faces);
  return hit === null ? findNearSilhouette(camera, x, y, mesh) : findNearestCorner(camera, x, y, mesh, hit);
}

function findNearestCorner(camera: ViewCamera, x: number, y: number, mesh: PickMesh, hit: TriangleHit): VertexHit {
  let best: VertexHit | null = null;
  for (let i = 0; i < 3; i++) {
    const vertex = mesh.faces[3 * hit.triangle + i];
    const at = projectPoint(camera, getVertex(mesh.positions, vertex));
    const pixels = Math.hypot(at.x - x, at.y - y);
    if (best === null || pixels < best.pixels) best = { vertex, pixels, point: hit.point };
  }
  return best!;
}

/** Front-facing vertex nearest to a pointer that just misses the body. */
function findNearSilhouette(camera: ViewCamera, x: number, y: number, mesh: PickMesh): VertexHit | null {
  let best: VertexHit | null = null;
  forEachVisible(camera, mesh, false, (vertex, px, py) => {
    const pixels = Math.hypot(px - x, py - y);
    if (pixels <= PICK_RADIUS && (best === null || pixels < best.pixels)) {
      best = { vertex, pixels, point: getVertex(mesh.positions, vertex) };
    }
  });
  return best;
}

/** Vertices inside a rectangle of the view [px]; only front-facing ones unless `throughBody`. */
export function pickRectangle(
  camera: ViewCamera,
  box: [number, number, number, number],
  mesh: PickMesh,
  throughBody: boolean,
): number[] {
  const [left, top, right, bottom] = box;
  const found: number[] = [];
  forEachVisible(camera, mesh, throughBody, (vertex, px, py) => {
    if (px >= left && px <= right && py >= top && py <= bottom) found.push(vertex);
  });
  return found;
}

/** Call `visit` with the pixel of every vertex in front of the camera; only front-facing ones unless `throughBody`. */
function forEachVisible(
  camera: ViewCamera,
  mesh: PickMesh,
  throughBody: boolean,
  visit: (vertex: number, x: number, y: number) => void,
): void {
  const origin = getCameraPosition(camera.pose);
  const { positions, normals } = mesh;
  const view = getViewMatrix(camera);
  const center = getCenter(camera);
  for (let i = 0, v = 0; i < positions.length; i += 3, v++) {
    const x = positions[i] - origin[0];
    const y = positions[i + 1] - origin[1];
    const z = positions[i + 2] - origin[2];
    if (!throughBody && x * normals[i] + y * normals[i + 1] + z * normals[i + 2] >= 0) continue;
    const depth = x * view[6] + y * view[7] + z * view[8];
    if (depth <= 0) continue;
    const across = (x * view[0] + y * view[1] + z * view[2]) / depth;
    const down = (x * view[3] + y * view[4] + z * view[5]) / depth;
    visit(v, center[0] + across, center[1] + down);
  }
}

/** Rows: right and down [px] at a depth of one metre, and the viewing direction. */
function getViewMatrix(camera: ViewCamera): number[] {
  const { right, up, forward } = getViewAxes(camera.pose);
  const pixels = camera.height / (2 * TAN_HALF_FOV);
  return [...scale(right, pixels), ...scale(up, -pixels), ...forward];
}
