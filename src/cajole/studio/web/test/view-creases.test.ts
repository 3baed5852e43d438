import assert from "node:assert/strict";
import { test } from "node:test";
import { splitCreases, MAX_TRIANGLES, scatterToCorners, type CreaseSplit } from "../src/view/creases";
import { DynamicMesh, computeVertexNormals } from "../src/view/dynamic-mesh";
import { SurfaceModel } from "../src/view/surface-model";
import { length, normalize, getVertex } from "../src/view/vec";

/** A unit cube of 8 vertices and 12 triangles, outward. */
const CUBE = Float32Array.from({ length: 24 }, (_, i) => (Math.floor(i / 3) >> (i % 3)) & 1);
const SIDES = [
  [0, 2, 3, 1],
  [4, 5, 7, 6],
  [0, 1, 5, 4],
  [2, 6, 7, 3],
  [0, 4, 6, 2],
  [1, 3, 7, 5],
];
const FACES = Uint32Array.from(SIDES.flatMap(([a, b, c, d]) => [a, b, c, a, c, d]));

/** A strip of squares of side 1 along y, bent by `degrees` at each line between two of them. */
function strip(degrees: number, squares: number): [Float32Array, Uint32Array<ArrayBuffer>] {
  const places: number[] = [];
  let [x, z] = [0, 0];
  for (let i = 0; i <= squares; i++) {
    places.push(x, 0, z, x, 1, z);
    const angle = (i * degrees * Math.PI) / 180;
    [x, z] = [x + Math.cos(angle), z + Math.sin(angle)];
  }
  const faces = Array.from({ length: squares }, (_, i) => [0, 2, 3, 0, 3, 1].map((v) => 2 * i + v)).flat();
  return [Float32Array.from(places), Uint32Array.from(faces)];
}

/** Unit normals of the drawn corners. */
function cornerNormals(positions: Float32Array, split: CreaseSplit): number[][] {
  const places = scatterToCorners(positions, split, 3, new Float32Array(3 * split.source.length));
  const normals = new Float32Array(places.length);
  computeVertexNormals(places, split.faces, normals);
  return split.source.length === 0 ? [] : Array.from(split.source, (_, i) => normalize(getVertex(normals, i)));
}

test("a cube has 24 corners, each with the normal of its side", () => {
  const split = splitCreases(CUBE, FACES)!;
  assert.equal(split.source.length, 24);
  const normals = cornerNormals(CUBE, split);
  FACES.forEach((_, corner) => {
    const side = SIDES[Math.floor(corner / 6)].map((v) => getVertex(CUBE, v));
    const axis = [0, 1, 2].find((k) => side.every((place) => place[k] === side[0][k]))!;
    const wanted = [0, 1, 2].map((k) => (k === axis ? 2 * side[0][k] - 1 : 0));
    normals[split.faces[corner]].forEach((value, k) => assert.ok(Math.abs(value - wanted[k]) < 1e-6));
  });
});

test("triangles keep their positions, and the first corners are the vertices", () => {
  const split = splitCreases(CUBE, FACES)!;
  assert.deepEqual(
    Array.from(split.faces, (corner) => split.source[corner]),
    [...FACES],
  );
  assert.deepEqual([...split.source.slice(0, 8)], [0, 1, 2, 3, 4, 5, 6, 7]);
});

test("an edge is sharp from fifty degrees on", () => {
  assert.equal(splitCreases(...strip(45, 3)), null);
  assert.equal(splitCreases(...strip(55, 3))!.source.length, 8 + 4);
});

test("corners that are connected smoothly around a vertex are not split", () => {
  // a crease that ends in the middle of a sheet: its end is one corner, as light goes around it
  const positions = Float32Array.from([0, 0, 0, 1, 0, 0, 0.7, 0.7, 0.9, 0, 1, 0, -1, 0, 0, 0, -1, 0]);
  const fan = Uint32Array.from([0, 1, 2, 0, 2, 3, 0, 3, 4, 0, 4, 5, 0, 5, 1]);
  const split = splitCreases(positions, fan)!;
  const ends = split.faces.filter((_, corner) => fan[corner] === 0);
  assert.ok(new Set(ends).size < 5);
  assert.ok(split.source.length > 6);
});

test("degenerate triangles and edges of three triangles are handled", () => {
  const flat = Float32Array.from([0, 0, 0, 1, 0, 0, 2, 0, 0, 0, 1, 0]);
  assert.equal(splitCreases(flat, Uint32Array.from([0, 1, 2, 0, 1, 3])), null);
  const book = Float32Array.from([0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, -1, 0]);
  const split = splitCreases(book, Uint32Array.from([0, 1, 2, 0, 1, 3, 0, 1, 4]))!;
  assert.equal(split.source.length, 9);
});

test("large and empty meshes are not split", () => {
  const many = new Uint32Array(3 * (MAX_TRIANGLES + 1));
  for (let i = 0; i < many.length; i++) many[i] = FACES[i % FACES.length];
  assert.equal(splitCreases(CUBE, many), null);
  assert.equal(splitCreases(CUBE, new Uint32Array()), null);
});

test("a split mesh is drawn by corners and picked by vertices", () => {
  const figure = new DynamicMesh(new SurfaceModel(FACES, 8));
  figure.setColors(new Float32Array(24).map((_, i) => i));
  assert.ok(figure.setPositions(CUBE));
  const { geometry } = figure.addMesh(null!, 0);
  figure.updateAttributes();
  assert.equal(geometry.getAttribute("position").count, 24);
  assert.equal(geometry.getAttribute("color").count, 24);
  assert.equal(geometry.getAttribute("gloss").count, 24);
  assert.equal(figure.positions, CUBE);
  assert.equal(figure.normals.length, 24);
  const out = new Float32Array(24);
  computeVertexNormals(CUBE, FACES, out);
  assert.deepEqual([...figure.normals], [...out]);

  // another frame of it: corners follow, and its creases stay where they were
  const moved = CUBE.map((value) => value + 2);
  assert.ok(figure.setPositions(moved));
  figure.updateAttributes();
  const places = geometry.getAttribute("position").array as Float32Array;
  assert.deepEqual([figure.bounds[0], figure.bounds[1]], [[2, 2, 2], [3, 3, 3]]);
  assert.ok(places.every((value) => value === 2 || value === 3));
  assert.ok(length(getVertex(figure.normals, 0)) > 0);
});

test("a smooth mesh draws the array of the server", () => {
  const [positions, faces] = strip(20, 5);
  const figure = new DynamicMesh(new SurfaceModel(faces, positions.length / 3));
  figure.setPositions(positions);
  figure.updateAttributes();
  assert.equal(figure.addMesh(null!, 0).geometry.getAttribute("position").array, positions);
});
