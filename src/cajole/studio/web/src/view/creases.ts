/** Sharp edges: where a body has a crease, a vertex is drawn once for each of its sides, so that light breaks there. */

const CREASE = Math.cos((50 * Math.PI) / 180); // of the angle between two triangles from which on an edge is sharp
export const MOST = 60_000; // triangles: finer bodies are round enough, and must be drawn fast

/** What is drawn instead: the vertex (drawn) that each corner goes by, and the triangles (m, 3) of those corners. */
export interface Split {
  readonly source: Uint32Array<ArrayBuffer>;
  readonly faces: Uint32Array<ArrayBuffer>;
}

/**
 * Splits the vertices of a body along its sharp edges; null when it has none, or too many triangles.
 *
 * positions: (n, 3) flat; faces: (m, 3) flat. Corners of a vertex stay one as far as smooth edges lead around it. The
 * first n corners are the vertices themselves. An edge of one triangle, or of more than two, joins nothing.
 */
export function creased(positions: Float32Array, faces: Uint32Array): Split | null {
  const triangles = faces.length / 3;
  if (triangles === 0 || triangles > MOST) return null;
  const normals = unitNormals(positions, faces);
  const joined = Uint32Array.from(faces, (_, corner) => corner); // each corner's leader, or on the way to it
  const sharp = joinSmooth(faces, normals, joined, positions.length / 3);
  return sharp ? numbered(faces, joined, positions.length / 3) : null;
}

/** Joins corners on both sides of smooth edges; says whether there is a sharp one. */
function joinSmooth(faces: Uint32Array, normals: Float64Array, joined: Uint32Array, count: number): boolean {
  let sharp = false;
  for (const sides of edgesOf(faces, count).values()) {
    if (sides.length === 1) continue;
    const smooth = sides.length === 2 && alike(normals, Math.floor(sides[0] / 3), Math.floor(sides[1] / 3));
    sharp ||= !smooth;
    if (smooth) joinSides(faces, joined, sides[0], sides[1]);
  }
  return sharp;
}

/** Sides of triangles by their edge; a side is named by the corner at which it begins. */
function edgesOf(faces: Uint32Array, count: number): Map<number, number[]> {
  const edges = new Map<number, number[]>();
  for (let corner = 0; corner < faces.length; corner++) {
    const [a, b] = [faces[corner], faces[after(corner)]];
    const key = Math.min(a, b) * count + Math.max(a, b);
    const sides = edges.get(key);
    if (sides === undefined) edges.set(key, [corner]);
    else sides.push(corner);
  }
  return edges;
}

/** The next corner of a triangle. */
const after = (corner: number): number => (corner % 3 === 2 ? corner - 2 : corner + 1);

/** Whether two triangles lean to each other by less than a crease; one without a normal leans as its neighbour. */
function alike(normals: Float64Array, one: number, other: number): boolean {
  const [a, b] = [3 * one, 3 * other];
  const flat = (i: number): boolean => normals[i] === 0 && normals[i + 1] === 0 && normals[i + 2] === 0;
  if (flat(a) || flat(b)) return true;
  return normals[a] * normals[b] + normals[a + 1] * normals[b + 1] + normals[a + 2] * normals[b + 2] > CREASE;
}

function joinSides(faces: Uint32Array, joined: Uint32Array, one: number, other: number): void {
  const ends = [other, after(other)];
  for (const corner of [one, after(one)]) {
    const partner = faces[ends[0]] === faces[corner] ? ends[0] : ends[1];
    const [a, b] = [leader(joined, corner), leader(joined, partner)];
    joined[Math.max(a, b)] = Math.min(a, b);
  }
}

function leader(joined: Uint32Array, corner: number): number {
  while (joined[corner] !== corner) {
    joined[corner] = joined[joined[corner]]; // halves the way for the next who asks
    corner = joined[corner];
  }
  return corner;
}

/** A number for each group of corners: the vertex's own for the first, new ones for the others. */
function numbered(faces: Uint32Array, joined: Uint32Array, count: number): Split {
  const source = Array.from({ length: count }, (_, i) => i);
  const taken = new Uint8Array(count);
  const split = new Uint32Array(faces.length);
  for (let corner = 0; corner < faces.length; corner++) {
    const first = leader(joined, corner); // never after the corner itself
    const vertex = faces[corner];
    if (first !== corner) split[corner] = split[first];
    else if (taken[vertex] === 0) [split[corner], taken[vertex]] = [vertex, 1];
    else split[corner] = source.push(vertex) - 1;
  }
  return { source: Uint32Array.from(source), faces: split };
}

/** Normals of triangles (m, 3), zero for those without an area. */
function unitNormals(positions: Float32Array, faces: Uint32Array): Float64Array {
  const normals = new Float64Array(faces.length);
  for (let f = 0; f < faces.length; f += 3) {
    const [a, b, c] = [3 * faces[f], 3 * faces[f + 1], 3 * faces[f + 2]];
    const [ux, uy, uz] = [0, 1, 2].map((i) => positions[b + i] - positions[a + i]);
    const [vx, vy, vz] = [0, 1, 2].map((i) => positions[c + i] - positions[a + i]);
    const [x, y, z] = [uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx];
    const size = Math.hypot(x, y, z);
    if (size > 0) normals.set([x / size, y / size, z / size], f);
  }
  return normals;
}

/** Values of vertices (n, width) given to the corners that are drawn (drawn, width), into `out`. */
export function scattered(values: Float32Array, { source }: Split, width: number, out: Float32Array): Float32Array {
  for (let i = 0, to = 0; i < source.length; i++) {
    const from = width * source[i];
    for (let k = 0; k < width; k++) out[to++] = values[from + k];
  }
  return out;
}
