/** Vertex adjacency of a triangle mesh, and search within a radius along the surface. */

import { distance, getVertex } from "./vec";

/** Compressed rows: neighbors of v are neighbors[starts[v]] … neighbors[starts[v + 1] - 1], with duplicates. */
export interface Adjacency { starts: Uint32Array; neighbors: Uint32Array }

export function buildAdjacency(faces: Uint32Array, count: number): Adjacency {
  const starts = new Uint32Array(count + 1);
  for (const corner of faces) starts[corner + 1] += 2;
  for (let v = 0; v < count; v++) starts[v + 1] += starts[v];
  const next = starts.slice(0, count);
  const neighbors = new Uint32Array(2 * faces.length);
  for (let f = 0; f < faces.length; f += 3) {
    for (let i = 0; i < 3; i++) {
      const corner = faces[f + i];
      neighbors[next[corner]++] = faces[f + ((i + 1) % 3)];
      neighbors[next[corner]++] = faces[f + ((i + 2) % 3)];
    }
  }
  return { starts, neighbors };
}

/**
 * Flood fill from a point on a triangle: connected vertices within `radius` [m], at least the nearest corner, so that
 * a coarse mesh can be painted with any brush.
 */
export function findWithinRadius(
  positions: Float32Array,
  adjacency: Adjacency,
  corners: readonly number[],
  point: [number, number, number],
  radius: number,
): number[] {
  const distanceTo = (vertex: number): number => distance(getVertex(positions, vertex), point);
  const nearest = corners.reduce((best, corner) => (distanceTo(corner) < distanceTo(best) ? corner : best));
  const found = new Set<number>([nearest]);
  const front = [nearest, ...corners.filter((corner) => corner !== nearest && distanceTo(corner) <= radius)];
  for (const corner of front) found.add(corner);
  while (front.length > 0) {
    const vertex = front.pop()!;
    for (let i = adjacency.starts[vertex]; i < adjacency.starts[vertex + 1]; i++) {
      const neighbor = adjacency.neighbors[i];
      if (found.has(neighbor) || distanceTo(neighbor) > radius) continue;
      found.add(neighbor);
      front.push(neighbor);
    }
  }
  return [...found];
}
