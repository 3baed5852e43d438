/** Which vertices share an edge, and what lies within a distance along the surface. */

import { distance, vertexOf } from "./vec";

/** Neighbours of vertex v: others[starts[v]] … others[starts[v + 1]]; some stand twice. */
export interface Neighbours {
  starts: Uint32Array;
  others: Uint32Array;
}

export function neighboursOf(faces: Uint32Array, count: number): Neighbours {
  const starts = new Uint32Array(count + 1);
  for (const corner of faces) starts[corner + 1] += 2;
  for (let v = 0; v < count; v++) starts[v + 1] += starts[v];
  const next = starts.slice(0, count);
  const others = new Uint32Array(2 * faces.length);
  for (let f = 0; f < faces.length; f += 3) {
    for (let i = 0; i < 3; i++) {
      const corner = faces[f + i];
      others[next[corner]++] = faces[f + ((i + 1) % 3)];
      others[next[corner]++] = faces[f + ((i + 2) % 3)];
    }
  }
  return { starts, others };
}

/**
 * Vertices within `radius` [m] of a point on a triangle that can be reached over the surface without leaving it; at
 * least the nearest corner, so that a coarse mesh can be painted with any brush.
 */
export function within(
  positions: Float32Array,
  neighbours: Neighbours,
  corners: readonly number[],
  point: [number, number, number],
  radius: number,
): number[] {
  const far = (vertex: number): number => distance(vertexOf(positions, vertex), point);
  const nearest = corners.reduce((best, corner) => (far(corner) < far(best) ? corner : best));
  const found = new Set<number>([nearest]);
  const front = [nearest, ...corners.filter((corner) => corner !== nearest && far(corner) <= radius)];
  for (const corner of front) found.add(corner);
  while (front.length > 0) {
    const vertex = front.pop()!;
    for (let i = neighbours.starts[vertex]; i < neighbours.starts[vertex + 1]; i++) {
      const other = neighbours.others[i];
      if (found.has(other) || far(other) > radius) continue;
      found.add(other);
      front.push(other);
    }
  }
  return [...found];
}
