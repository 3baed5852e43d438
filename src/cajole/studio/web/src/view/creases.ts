/** Split vertices along sharp edges, so that shading normals are discontinuous there. */

const CREASE_COSINE = Math.cos((50 * Math.PI) / 180); // edges with a larger angle between their normals are sharp
export const MAX_TRIANGLES = 60_000; // finer meshes are not split: they look smooth and must render fast

/** Split mesh: source vertex of each corner, and triangles (m, 3) of corners. */
export interface CreaseSplit {
  readonly source: Uint32Array<ArrayBuffer>;
  readonly faces: Uint32Array<ArrayBuffer>;
}

/**
 * Split the vertices of a mesh along its sharp edges; null if it has none, or too many triangles.
 *
 * positions: (n, 3) flat; faces: (m, 3) flat. Corners of a vertex that smooth edges connect stay
 * one. The first n corners are the vertices themselves. Boundary and non-manifold edges connect nothing.
 */
export function splitCreases(positions: Float32Array, faces: Uint32Array): CreaseSplit | null {
  const triangles = faces.length / 3;
  if (triangles === 0 || triangles > MAX_TRIANGLES) return null;
  const normals = computeFaceNormals(positions, faces);
  const parents = createRange(faces.length); // union-find forest over corners
  const sharp = uniteSmoothEdges(faces, normals, parents, positions.length / 3);
  return sharp ? numberCorners(faces, parents, positions.length / 3) : null;
}

const NO_INDEX = 0xffffffff;
const NON_MANIFOLD = 0xfffffffe;

/** Unite the corners on both sides of smooth edges; returns true if there is a sharp edge. */
function uniteSmoothEdges(faces: Uint32Array, normals: Float64Array, parents: Uint32Array, count: number): boolean {
  let sharp = false;
  const { first, second } = buildEdges(faces, count);
  for (let edge = 0; edge < first.length; edge++) {
    const [one, other] = [first[edge], second[edge]];
    if (other === NO_INDEX) continue;
    const smooth = other !== NON_MANIFOLD && isSmooth(normals, Math.floor(one / 3), Math.floor(other / 3));
    if (smooth) uniteSides(faces, parents, one, other);
    else sharp = true;
  }
  return sharp;
}

/**
 * Edges with their two half-edges, each named by its first corner. second: NO_INDEX for a boundary edge, NON_MANIFOLD
 * for one of more than two triangles. Edges are chained by their lower vertex, which has few: no hashing.
 */
function buildEdges(faces: Uint32Array, count: number): { first: Uint32Array; second: Uint32Array } {
  const [first, second, higher, next] = [0, 1, 2, 3].map(() => new Uint32Array(faces.length));
  const heads = new Uint32Array(count).fill(NO_INDEX);
  let edges = 0;
  for (let corner = 0; corner < faces.length; corner++) {
    const [a, b] = [faces[corner], faces[getNextCorner(corner)]];
    const [low, high] = a < b ? [a, b] : [b, a];
    let edge = heads[low];
    while (edge !== NO_INDEX && higher[edge] !== high) edge = next[edge];
    if (edge !== NO_INDEX) second[edge] = second[edge] === NO_INDEX ? corner : NON_MANIFOLD;
    else {
      [first[edges], second[edges], higher[edges], next[edges]] = [corner, NO_INDEX, high, heads[low]];
      heads[low] = edges++;
    }
  }
  return { first: first.subarray(0, edges), second: second.subarray(0, edges) };
}

/** Array 0, 1, …, size - 1. */
function createRange(size: number): Uint32Array {
  const numbers = new Uint32Array(size);
  for (let i = 0; i < size; i++) numbers[i] = i;
  return numbers;
}

/** The next corner of a triangle. */
const getNextCorner = (corner: number): number => (corner % 3 === 2 ? corner - 2 : corner + 1);

/** True if the normals of two triangles differ by less than the crease angle; degenerate triangles count as smooth. */
function isSmooth(normals: Float64Array, one: number, other: number): boolean {
  const [a, b] = [3 * one, 3 * other];
  const cosine = normals[a] * normals[b] + normals[a + 1] * normals[b + 1] + normals[a + 2] * normals[b + 2];
  return cosine > CREASE_COSINE || (cosine === 0 && (isZeroNormal(normals, a) || isZeroNormal(normals, b)));
}

const isZeroNormal = (normals: Float64Array, at: number): boolean =>
  normals[at] === 0 && normals[at + 1] === 0 && normals[at + 2] === 0;

/** Unite the corners at both ends of an edge. */
function uniteSides(faces: Uint32Array, parents: Uint32Array, one: number, other: number): void {
  const along = faces[one] === faces[other]; // inconsistent orientation: both half-edges run the same way
  unite(parents, one, along ? other : getNextCorner(other));
  unite(parents, getNextCorner(one), along ? getNextCorner(other) : other);
}

function unite(parents: Uint32Array, one: number, other: number): void {
  const [a, b] = [findRoot(parents, one), findRoot(parents, other)];
  if (a < b) parents[b] = a;
  else parents[a] = b;
}

function findRoot(parents: Uint32Array, corner: number): number {
  while (parents[corner] !== corner) {
    parents[corner] = parents[parents[corner]]; // path halving
    corner = parents[corner];
  }
  return corner;
}

/** Number the groups of corners: the first of a vertex keeps its index, the others get new ones. */
function numberCorners(faces: Uint32Array, parents: Uint32Array, count: number): CreaseSplit {
  const more: number[] = []; // source vertices of the new corners
  const used = new Uint8Array(count);
  const split = new Uint32Array(faces.length);
  for (let corner = 0; corner < faces.length; corner++) {
    const first = findRoot(parents, corner); // never after the corner itself
    const vertex = faces[corner];
    if (first !== corner) split[corner] = split[first];
    else if (used[vertex] === 0) {
      split[corner] = vertex;
      used[vertex] = 1;
    } else split[corner] = count + more.push(vertex) - 1;
  }
  const source = new Uint32Array(count + more.length);
  source.set(createRange(count));
  source.set(more, count);
  return { source, faces: split };
}

/** Unit normals of triangles (m, 3), zero for degenerate ones. */
function computeFaceNormals(positions: Float32Array, faces: Uint32Array): Float64Array {
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

/** Copy values of vertices (n, width) to their corners (corners, width), into `out`. */
export function scatterToCorners(values: Float32Array, { source }: CreaseSplit, width: number, out: Float32Array): Float32Array {
  for (let i = 0, to = 0; i < source.length; i++) {
    const from = width * source[i];
    for (let k = 0; k < width; k++) out[to++] = values[from + k];
  }
  return out;
}
