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
  const joined = counted(faces.length); // each corner's leader, or on the way to it
  const sharp = joinSmooth(faces, normals, joined, positions.length / 3);
  return sharp ? numbered(faces, joined, positions.length / 3) : null;
}

const NONE = 0xffffffff;
const MANY = 0xfffffffe;

/** Joins corners on both sides of smooth edges; says whether there is a sharp one. */
function joinSmooth(faces: Uint32Array, normals: Float64Array, joined: Uint32Array, count: number): boolean {
  let sharp = false;
  const { first, second } = edgesOf(faces, count);
  for (let edge = 0; edge < first.length; edge++) {
    const [one, other] = [first[edge], second[edge]];
    if (other === NONE) continue;
    const smooth = other !== MANY && alike(normals, Math.floor(one / 3), Math.floor(other / 3));
    if (smooth) joinSides(faces, joined, one, other);
    else sharp = true;
  }
  return sharp;
}

/**
 * Edges by the two sides that meet in each; a side is named by the corner at which it begins. second: NONE for an edge
 * of one triangle, MANY for one of more than two. Edges are listed by their lower vertex, which has few: no hashing.
 */
function edgesOf(faces: Uint32Array, count: number): { first: Uint32Array; second: Uint32Array } {
  const [first, second, higher, next] = [0, 1, 2, 3].map(() => new Uint32Array(faces.length));
  const heads = new Uint32Array(count).fill(NONE);
  let edges = 0;
  for (let corner = 0; corner < faces.length; corner++) {
    const [a, b] = [faces[corner], faces[after(corner)]];
    const [low, high] = a < b ? [a, b] : [b, a];
    let edge = heads[low];
    while (edge !== NONE && higher[edge] !== high) edge = next[edge];
    if (edge !== NONE) second[edge] = second[edge] === NONE ? corner : MANY;
    else {
      [first[edges], second[edges], higher[edges], next[edges]] = [corner, NONE, high, heads[low]];
      heads[low] = edges++;
    }
  }
  return { first: first.subarray(0, edges), second: second.subarray(0, edges) };
}

/** 0, 1, 2 and so on. */
function counted(size: number): Uint32Array {
  const numbers = new Uint32Array(size);
  for (let i = 0; i < size; i++) numbers[i] = i;
  return numbers;
}

/** The next corner of a triangle. */
const after = (corner: number): number => (corner % 3 === 2 ? corner - 2 : corner + 1);

/** Whether two triangles lean to each other by less than a crease; one without a normal leans as its neighbour. */
function alike(normals: Float64Array, one: number, other: number): boolean {
  const [a, b] = [3 * one, 3 * other];
  const lean = normals[a] * normals[b] + normals[a + 1] * normals[b + 1] + normals[a + 2] * normals[b + 2];
  return lean > CREASE || (lean === 0 && (isFlat(normals, a) || isFlat(normals, b)));
}

const isFlat = (normals: Float64Array, at: number): boolean =>
  normals[at] === 0 && normals[at + 1] === 0 && normals[at + 2] === 0;

/** Joins the two ends of an edge, each with its own of the other side. */
function joinSides(faces: Uint32Array, joined: Uint32Array, one: number, other: number): void {
  const along = faces[one] === faces[other]; // whether both sides go the same way, which a torn orientation does
  join(joined, one, along ? other : after(other));
  join(joined, after(one), along ? after(other) : other);
}

function join(joined: Uint32Array, one: number, other: number): void {
  const [a, b] = [leader(joined, one), leader(joined, other)];
  if (a < b) joined[b] = a;
  else joined[a] = b;
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
  const more: number[] = []; // sources of the corners after the first `count`
  const taken = new Uint8Array(count);
  const split = new Uint32Array(faces.length);
  for (let corner = 0; corner < faces.length; corner++) {
    const first = leader(joined, corner); // never after the corner itself
    const vertex = faces[corner];
    if (first !== corner) split[corner] = split[first];
    else if (taken[vertex] === 0) {
      split[corner] = vertex;
      taken[vertex] = 1;
    } else split[corner] = count + more.push(vertex) - 1;
  }
  const source = new Uint32Array(count + more.length);
  source.set(counted(count));
  source.set(more, count);
  return { source, faces: split };
}

/** Normals of triangles (m, 3), zero for those without an area. */
function unitNormals(positions: Float32Array, faces: Uint32Array): Float64Array {
  const normals = new Float64Array(faces.length);
  for (let f = 0; f < faces.length; f += 3) {
    const a = 3 * faces[f];
    const b = 3 * faces[f + 1];
    const c = 3 * faces[f + 2];
    const ux = positions[b] - positions[a];
    const uy = positions[b + 1] - positions[a + 1];
    const uz = positions[b + 2] - positions[a + 2];
    const vx = positions[c] - positions[a];
    const vy = positions[c + 1] - positions[a + 1];
    const vz = positions[c + 2] - positions[a + 2];
    const x = uy * vz - uz * vy;
    const y = uz * vx - ux * vz;
    const z = ux * vy - uy * vx;
    const size = Math.hypot(x, y, z);
    if (size === 0) continue;
    normals[f] = x / size;
    normals[f + 1] = y / size;
    normals[f + 2] = z / size;
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
