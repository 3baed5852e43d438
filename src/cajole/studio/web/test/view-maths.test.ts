import assert from "node:assert/strict";
import type { Vec3 } from "../src/core/types";
import {
  type CameraPose,
  framed,
  getBoxCorners,
  getCameraPosition,
  getPixelRay,
  interpolatePose,
  orbited,
  panned,
  pixelsPerMetre,
  projectPoint,
  TAN_HALF_FOV,
  type ViewCamera,
  zoomed,
} from "../src/view/camera";
import { closestOnAxis, DragTracker, getLockAxes, intersectPlane, snapped, toggleLock, TypedAmounts } from "../src/view/drag";
import { computeFreeArea } from "../src/view/free-area";
import { computeForceArrow } from "../src/view/mark-composition";
import { niceStep } from "../src/core/math";
import { add, distance, dot, length, normalize, scale, sub } from "../src/view/vec";
import { test } from "node:test";

const eye: CameraPose = { azimuth: -62, elevation: 14, target: [0.3, -0.2, 1.1], distance: 7 };
const camera: ViewCamera = { pose: eye, width: 560, height: 640 };

function near(found: readonly number[], wanted: readonly number[], within = 1e-9): void {
  assert.equal(found.length, wanted.length);
  found.forEach((value, i) => assert.ok(Math.abs(value - wanted[i]) <= within, `${found} is not ${wanted}`));
}

test("the ray through a projected point contains the point", () => {
  for (const point of [
    [0, 0, 0],
    [1, 2, 0.4],
    [-0.5, 0.1, 2],
  ] as Vec3[]) {
    const at = projectPoint(camera, point);
    const ray = getPixelRay(camera, at.x, at.y);
    const way = sub(point, ray.origin);
    near(normalize(way), ray.direction);
    near([dot(way, ray.direction)], [length(way)]);
  }
});

test("the target is in the middle, z is up, and a point behind the camera has no depth", () => {
  const middle = projectPoint(camera, eye.target);
  near([middle.x, middle.y, middle.depth], [280, 320, 7]);
  assert.ok(projectPoint(camera, add(eye.target, [0, 0, 1])).y < 320);
  assert.ok(projectPoint(camera, add(getCameraPosition(eye), sub(getCameraPosition(eye), eye.target))).depth < 0);
});

test("azimuth and elevation are the direction of the camera from the target", () => {
  near(getCameraPosition({ azimuth: 0, elevation: 0, target: [1, 1, 1], distance: 2 }), [3, 1, 1]);
  near(getCameraPosition({ azimuth: -90, elevation: 30, target: [0, 0, 0], distance: 2 }), [0, -Math.sqrt(3), 1]);
});

test("zooming keeps the pixel of its center, within its limits", () => {
  const about: Vec3 = [0.9, 0.2, 1.6];
  const before = projectPoint(camera, about);
  const after = projectPoint({ ...camera, pose: zoomed(eye, 0.7, about, [0.1, 100]) }, about);
  near([after.x, after.y, after.depth], [before.x, before.y, 0.7 * before.depth]);
  assert.equal(zoomed(eye, 1e-9, about, [0.5, 100]).distance, 0.5);
});

test("panning moves the plane of the target with the pointer", () => {
  const moved = projectPoint({ ...camera, pose: panned(eye, 30, -12, camera.height) }, eye.target);
  near([moved.x, moved.y], [310, 308]);
});

test("orbiting stays below the pole and keeps the distance", () => {
  const over = orbited(eye, 10, 1e4);
  assert.equal(over.elevation, 89);
  near([distance(getCameraPosition(over), over.target)], [7]);
  assert.ok(Math.abs(orbited(eye, 1e5, 0).azimuth) <= 180);
});

/** Bounds of pixels: lowest and highest x, lowest and highest y. */
function boundsOf(pixels: { x: number; y: number }[]): [number, number, number, number] {
  const [xs, ys] = [pixels.map(({ x }) => x), pixels.map(({ y }) => y)];
  return [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
}

test("a framed box is visible and fills 84 % of the limiting side", () => {
  const box = getBoxCorners([
    [-1, -0.4, 0],
    [2, 0.4, 1.5],
  ]);
  for (const aspect of [0.6, 1, 2.2]) {
    const size = { width: 400 * aspect, height: 400 };
    const pixels = box.map((corner) => projectPoint({ pose: framed(eye, box, [aspect * TAN_HALF_FOV, TAN_HALF_FOV], 0.01), ...size }, corner));
    const [left, right, top, bottom] = boundsOf(pixels);
    near([Math.max((right - left) / size.width, (bottom - top) / 400)], [0.84], 1e-9);
    assert.ok(Math.abs((left + right - size.width) / 2) < 20 && Math.abs((top + bottom - 400) / 2) < 20);
  }
});

test("framed points fill 84 % of the free area and avoid the tools", () => {
  const [width, height] = [376, 430];
  const free = computeFreeArea(width, height, true);
  const middle: [number, number] = [free.left + free.width / 2, free.top + free.height / 2];
  const sides: [number, number] = [(TAN_HALF_FOV * free.width) / height, (TAN_HALF_FOV * free.height) / height];
  const box = getBoxCorners([
    [0, 0, 0],
    [2, 0.25, 0.25],
  ]);
  const pixels = box.map((corner) => projectPoint({ pose: framed(eye, box, sides, 0.01), width, height, center: middle }, corner));
  const [left, right, top, bottom] = boundsOf(pixels);
  near([(right - left) / free.width], [0.84], 1e-9);
  assert.ok(left > 60 && right < width - 12 && top > 52 && bottom < height - 52);
});

test("at least half of a small view is free", () => {
  for (const [width, height] of [[100, 80], [0, 0], [376, 60]]) {
    const free = computeFreeArea(width, height, true);
    assert.ok(free.width >= width / 2 && free.height >= height / 2);
    assert.ok(free.left >= 0 && free.left + free.width <= width && free.top + free.height <= height);
  }
});

test("pixels and rays agree if the target is not in the middle", () => {
  const beside: ViewCamera = { ...camera, center: [310, 300] };
  near([projectPoint(beside, eye.target).x, projectPoint(beside, eye.target).y], [310, 300]);
  const point: Vec3 = [0.3, -0.2, 1.4];
  const at = projectPoint(beside, point);
  const ray = getPixelRay(beside, at.x, at.y);
  near(add(ray.origin, scale(ray.direction, distance(ray.origin, point))), point, 1e-9);
});

test("an animated camera starts and ends at its poses, the short way round", () => {
  const to: CameraPose = { azimuth: 170, elevation: 60, target: [1, 1, 1], distance: 3 };
  const from: CameraPose = { ...eye, azimuth: -170 };
  near([interpolatePose(from, to, 1).azimuth, interpolatePose(from, to, 0).distance], [170, 7], 1e-9);
  assert.equal(Math.abs(interpolatePose(from, to, 0.5).azimuth), 180);
});

test("the closest point of an axis to a ray is where both are closest", () => {
  const origin: Vec3 = [0.2, 0.5, 1];
  const axis = normalize([1, 2, -0.5]);
  const wanted = add(origin, scale(axis, 0.8));
  const at = projectPoint(camera, wanted);
  near([closestOnAxis(getPixelRay(camera, at.x, at.y), origin, axis)!], [0.8], 1e-9);
  const off = getPixelRay(camera, at.x + 40, at.y - 25);
  const best = closestOnAxis(off, origin, axis)!;
  const gap = (t: number): number => {
    const way = sub(add(origin, scale(axis, t)), off.origin);
    return length(sub(way, scale(off.direction, dot(way, off.direction))));
  };
  assert.ok(gap(best) < gap(best + 1e-3) && gap(best) < gap(best - 1e-3));
});

test("an axis or plane parallel to the ray has no offset", () => {
  const ray = getPixelRay(camera, 100, 200);
  assert.equal(closestOnAxis(ray, [0, 0, 0], ray.direction), null);
  assert.equal(intersectPlane({ origin: [0, 0, 1], direction: [1, 0, 0] }, [0, 0, 0], [0, 0, 1]), null);
  assert.equal(intersectPlane({ origin: [0, 0, 1], direction: [0, 0, 1] }, [0, 0, 0], [0, 0, 1]), null);
});

test("a free drag follows the pointer in the view plane", () => {
  const anchor: Vec3 = [0.4, 0.1, 1.3];
  const start = projectPoint(camera, anchor);
  const drag = new DragTracker(anchor, getPixelRay(camera, start.x, start.y), null, getPixelRay(camera, 280, 320).direction);
  drag.moveTo(getPixelRay(camera, start.x + 60, start.y - 30), false);
  const end = projectPoint(camera, drag.position);
  near([end.x, end.y, end.depth], [start.x + 60, start.y - 30, start.depth], 1e-6);
});

test("a locked drag stays on its axis, a fine one moves a tenth, and the lock may change", () => {
  const anchor: Vec3 = [0.4, 0.1, 1.3];
  const start = projectPoint(camera, anchor);
  const at = (dx: number, dy: number): ReturnType<typeof getPixelRay> => getPixelRay(camera, start.x + dx, start.y + dy);
  const forward = getPixelRay(camera, 280, 320).direction;
  const drag = new DragTracker(anchor, at(0, 0), "z", forward);
  drag.moveTo(at(10, -80), false);
  near(drag.offset.slice(0, 2), [0, 0]);
  const whole = drag.offset[2];
  assert.ok(Math.abs(whole * pixelsPerMetre(camera, anchor) - 80 / Math.cos((14 * Math.PI) / 180)) < 8);
  const fine = new DragTracker(anchor, at(0, 0), "z", forward);
  fine.moveTo(at(10, -80), true);
  near([fine.offset[2]], [whole / 10]);
  drag.setLock("xy");
  assert.equal(drag.offset[2], 0);
  assert.ok(drag.distance > 0);
  drag.setLock("z");
  near([drag.offset[2]], [whole]);
});

test("locks: a key locks, the same again unlocks, Shift locks the plane", () => {
  assert.equal(toggleLock(null, "x", false), "x");
  assert.equal(toggleLock("x", "x", false), null);
  assert.equal(toggleLock("x", "y", true), "xz");
  assert.deepEqual(getLockAxes("xz"), ["x", "z"]);
});

test("typed amounts: digits, minus, point, Tab and Backspace", () => {
  const typing = new TypedAmounts(["x", "y", "z"]);
  assert.equal(typing.handleKey("Tab"), false);
  assert.equal(typing.handleKey("q"), false);
  for (const key of ["0", ".", "4", "2", "-", "Tab", "7", "Backspace", "5"]) assert.equal(typing.handleKey(key), true);
  assert.deepEqual(typing.amounts, { x: -0.42, y: 5 });
  assert.equal(typing.axis, "y");
});

test("an incomplete number is invalid and keeps the last amounts", () => {
  const typing = new TypedAmounts(["z"]);
  typing.handleKey("-");
  assert.equal(typing.isValid, false);
  assert.deepEqual(typing.amounts, {});
  typing.handleKey("2");
  assert.equal(typing.isValid, true);
  typing.setAxes(["x"]);
  assert.deepEqual(typing.amounts, { x: -2 });
});

test("steps are 1, 2 or 5 times a power of ten", () => {
  assert.deepEqual(
    [0.011, 0.02, 0.3, 1, 70].map((least) => Number(niceStep(least).toPrecision(6))),
    [0.02, 0.02, 0.5, 1, 100],
  );
  near(snapped([0.13, -0.27, 0.04], 0.1), [0.1, -0.3, 0]);
});

test("an arrow has the direction of its force and the square root of its length", () => {
  const one = computeForceArrow([0, 3, 0], 12, 2);
  const four = computeForceArrow([0, 12, 0], 12, 2);
  near(normalize(one), [0, 1, 0]);
  near([length(four), length(one)], [0.7, 0.35]);
  near(computeForceArrow([0, 0, 0], 12, 2), [0, 0, 0]);
});
