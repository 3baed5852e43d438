import assert from "node:assert/strict";
import { test } from "node:test";
import type { Vec3 } from "../src/core/types";
import { type ViewCamera, projectPoint, getPixelRay } from "../src/view/camera";
import { computeVertexNormals } from "../src/view/dynamic-mesh";
import { type PickMesh, pickRectangle, pickTriangle, pickVertex } from "../src/view/picking";
import { add, cross, length, sub, getVertex } from "../src/view/vec";

/** A torus around z, its normals outward. */
function torus(around: number, across: number): PickMesh {
  const positions = new Float32Array(3 * around * across);
  const faces = new Uint32Array(6 * around * across);
  for (let i = 0; i < around; i++) {
    for (let j = 0; j < across; j++) {
      const [u, v] = [(2 * Math.PI * i) / around, (2 * Math.PI * j) / across];
      const r = 1 + 0.4 * Math.cos(v);
      positions.set([r * Math.cos(u), r * Math.sin(u), 0.4 * Math.sin(v)], 3 * (i * across + j));
      const [i2, j2] = [(i + 1) % around, (j + 1) % across];
      const [a, b, c, d] = [i * across + j, i2 * across + j, i2 * across + j2, i * across + j2];
      faces.set([a, b, c, a, c, d], 6 * (i * across + j));
    }
  }
  const normals = new Float32Array(positions.length);
  computeVertexNormals(positions, faces, normals);
  return { positions, faces, normals };
}

const camera: ViewCamera = { pose: { azimuth: -50, elevation: 35, target: [0, 0, 0], distance: 6 }, width: 800, height: 600 };
const body = torus(40, 20);

test("normals equal a naive sum of cross products", () => {
  const sums: Vec3[] = Array.from({ length: body.positions.length / 3 }, () => [0, 0, 0]);
  for (let f = 0; f < body.faces.length; f += 3) {
    const at = [0, 1, 2].map((i) => getVertex(body.positions, body.faces[f + i]));
    const normal = cross(sub(at[1], at[0]), sub(at[2], at[0]));
    for (let i = 0; i < 3; i++) sums[body.faces[f + i]] = add(sums[body.faces[f + i]], normal);
  }
  sums.forEach((sum, v) => assert.ok(length(sub(sum, getVertex(body.normals, v))) < 1e-6));
});

test("normals of a torus point away from its ring", () => {
  for (let v = 0; v < body.positions.length / 3; v++) {
    const [x, y, z] = getVertex(body.positions, v);
    const ring = Math.hypot(x, y);
    const out = getVertex(body.normals, v);
    assert.ok((x - x / ring) * out[0] + (y - y / ring) * out[1] + z * out[2] > 0);
  }
});

test("vertices without triangles, or of degenerate ones, have a normal", () => {
  const normals = new Float32Array(12);
  computeVertexNormals(new Float32Array([0, 0, 0, 1, 0, 0, 2, 0, 0, 5, 5, 5]), new Uint32Array([0, 1, 2]), normals);
  for (let v = 0; v < 4; v++) assert.ok(length(getVertex(normals, v)) > 0);
});

/** Distance along a ray to a triangle, by areas instead of determinants; Infinity when it misses. */
function naive(ray: ReturnType<typeof getPixelRay>, [a, b, c]: Vec3[]): number {
  const normal = cross(sub(b, a), sub(c, a));
  const size = length(normal);
  const facing = normal[0] * ray.direction[0] + normal[1] * ray.direction[1] + normal[2] * ray.direction[2];
  const apart = sub(a, ray.origin);
  const t = (normal[0] * apart[0] + normal[1] * apart[1] + normal[2] * apart[2]) / facing;
  const at = add(ray.origin, [t * ray.direction[0], t * ray.direction[1], t * ray.direction[2]]);
  const parts = [
    [a, b],
    [b, c],
    [c, a],
  ].map(([p, q]) => length(cross(sub(p, at), sub(q, at))));
  return t > 0 && Math.abs(parts[0] + parts[1] + parts[2] - size) < 1e-9 * size + 1e-12 ? t : Infinity;
}

test("a ray hits the nearest triangle of a reference test by areas", () => {
  let met = 0;
  for (let x = 110; x < 700; x += 37) {
    for (let y = 95; y < 520; y += 29) {
      const ray = getPixelRay(camera, x + 0.31, y + 0.17);
      const all = Array.from({ length: body.faces.length / 3 }, (_, f) =>
        naive(
          ray,
          [0, 1, 2].map((i) => getVertex(body.positions, body.faces[3 * f + i])),
        ),
      );
      const least = Math.min(...all);
      const hit = pickTriangle(ray, body.positions, body.faces);
      assert.equal(hit === null, least === Infinity);
      if (hit === null) continue;
      met++;
      assert.ok(Math.abs(hit.distance - least) < 1e-6);
    }
  }
  assert.ok(met > 40);
});

test("the vertex under its own pixel is picked if it is visible", () => {
  let seen = 0;
  for (let v = 0; v < body.positions.length / 3; v += 7) {
    const point = getVertex(body.positions, v);
    const at = projectPoint(camera, point);
    const hit = pickTriangle(getPixelRay(camera, at.x, at.y), body.positions, body.faces);
    if (hit === null || length(sub(hit.point, point)) > 1e-3) continue; // hidden by what is before it
    seen++;
    assert.equal(pickVertex(camera, at.x, at.y, body)?.vertex, v);
  }
  assert.ok(seen > 20);
});

test("a pointer just off the body picks the nearest vertex of its outline, farther off none", () => {
  const xs = Array.from({ length: body.positions.length / 3 }, (_, v) => projectPoint(camera, getVertex(body.positions, v)));
  const right = xs.reduce((best, at, v) => (at.x > xs[best].x ? v : best), 0);
  const rim = pickVertex(camera, xs[right].x + 6, xs[right].y, body);
  assert.ok(rim !== null && rim.pixels <= 14);
  assert.equal(pickVertex(camera, xs[right].x + 60, xs[right].y, body), null);
});

test("a rectangle selects the vertices inside it, hidden ones only on request", () => {
  const box: [number, number, number, number] = [300, 200, 460, 330];
  const inside = (v: number): boolean => {
    const at = projectPoint(camera, getVertex(body.positions, v));
    return at.x >= box[0] && at.x <= box[2] && at.y >= box[1] && at.y <= box[3];
  };
  const all = pickRectangle(camera, box, body, true);
  const wanted = Array.from({ length: body.positions.length / 3 }, (_, v) => v).filter(inside);
  assert.deepEqual(all, wanted);
  const front = pickRectangle(camera, box, body, false);
  assert.ok(front.length > 0 && front.length < all.length);
  assert.ok(front.every((v) => all.includes(v)));
});
