import assert from "node:assert/strict";
import { test } from "node:test";
import type { Vec3 } from "../src/core/types";
import { type ViewCamera, projectPoint } from "../src/view/camera";
import { distanceToSegment, pickGizmo, computeGizmo, isInsideConvex, type Pixel } from "../src/view/gizmo";
import { computeConvexHull } from "../src/view/overlay-painter";
import { SurfaceModel } from "../src/view/surface-model";
import { QUALITY_LEVELS, AdaptiveQuality } from "../src/view/adaptive-quality";

const camera: ViewCamera = { pose: { azimuth: -60, elevation: 20, target: [0, 0, 0], distance: 6 }, width: 800, height: 600 };

function pixel(camera: ViewCamera, point: Vec3): Pixel {
  const { x, y } = projectPoint(camera, point);
  return [x, y];
}

test("the gizmo has the same size on the screen at any distance", () => {
  for (const centre of [
    [0, 0, 0],
    [0.5, 1.5, 0.3],
    [-0.6, -2, 0.5],
  ] as Vec3[]) {
    const [x, y] = pixel(camera, centre);
    const up = computeGizmo(camera, centre).axes.find(({ name }) => name === "z")!;
    const [tipX, tipY] = pixel(camera, up.tip);
    // seen from 20 degrees above, z is foreshortened by their cosine, and by perspective a little
    const length = Math.hypot(tipX - x, tipY - y) / Math.cos((20 * Math.PI) / 180);
    assert.ok(Math.abs(length - 96 * 1.1) < 8, `${length}`);
  }
});

test("each part of the gizmo is hit at its own pixels", () => {
  const shape = computeGizmo(camera, [0.2, 0.1, 0.4]);
  assert.equal(pickGizmo(camera, shape, ...pixel(camera, shape.center)), "view");
  for (const axis of shape.axes) assert.equal(pickGizmo(camera, shape, ...pixel(camera, axis.to)), axis.name);
  const xz = shape.planes.find(({ name }) => name === "xz")!;
  const middle = xz.corners[0].map((value, i) => (value + xz.corners[2][i]) / 2) as Vec3;
  assert.equal(pickGizmo(camera, shape, ...pixel(camera, middle)), "xz");
  assert.equal(pickGizmo(camera, shape, 10, 10), null);
});

test("an axis that points at the camera is faded out and not hit", () => {
  const front: ViewCamera = { ...camera, pose: { ...camera.pose, azimuth: -90, elevation: 0 } };
  const shape = computeGizmo(front, [0, 0, 0]);
  const y = shape.axes.find(({ name }) => name === "y")!;
  assert.equal(y.alpha, 0);
  assert.equal(shape.planes.find(({ name }) => name === "xz")!.alpha, 1);
});

test("distances from a segment, and points in a convex outline", () => {
  assert.equal(distanceToSegment([0, 0], [10, 0], 5, 3), 3);
  assert.equal(distanceToSegment([0, 0], [10, 0], 13, 4), 5);
  assert.equal(distanceToSegment([2, 2], [2, 2], 2, 5), 3);
  const square: Pixel[] = [
    [0, 0],
    [4, 0],
    [4, 4],
    [0, 4],
  ];
  assert.ok(isInsideConvex(square, 2, 2) && isInsideConvex([...square].reverse(), 2, 2));
  assert.ok(!isInsideConvex(square, 5, 2));
});

test("the convex hull omits inner points", () => {
  const outline = computeConvexHull([
    [0, 0],
    [4, 0],
    [2, 1],
    [4, 4],
    [0, 4],
    [1, 3],
  ]);
  assert.deepEqual(new Set(outline.map(String)), new Set(["0,0", "4,0", "4,4", "0,4"]));
});

test("quality is lowered step by step on a slow machine, and not after one slow frame", () => {
  const pace = new AdaptiveQuality();
  assert.equal(pace.recordFrameTime(200, 1000), false);
  assert.equal(pace.recordFrameTime(20, 1050), false);
  assert.equal(pace.recordFrameTime(200, 2900), false);
  assert.equal(pace.recordFrameTime(200, 4800), true);
  assert.deepEqual(pace.quality, { shadows: false, fullResolution: true, physicalMaterials: true });
  for (let i = 1; i < 9; i++) pace.recordFrameTime(900, 5000 + 1000 * i);
  assert.equal(pace.level, QUALITY_LEVELS.length - 1);
  pace.restore();
  assert.equal(pace.recordFrameTime(5000, 99_000), false);
  assert.equal(pace.level, 0);
});

test("software rendering starts with low quality, unless full quality is set", () => {
  const [plain, full] = [new AdaptiveQuality(), new AdaptiveQuality()];
  plain.initialize("ANGLE (Google, Vulkan 1.3.0 (SwiftShader Device))", false);
  full.initialize("llvmpipe", true);
  assert.equal(plain.quality.physicalMaterials, false);
  assert.equal(full.level, 0);
});

test("render vertices map to simulation nodes and back", () => {
  const model = new SurfaceModel(new Uint32Array([0, 1, 2]), 3);
  model.setNodes(new Uint32Array([7, 9, 7]));
  assert.equal(model.getNode(1), 9);
  assert.equal(model.getVertex(7), 0);
  model.preferVertex(2);
  assert.equal(model.getVertex(7), 2);
  assert.equal(model.getVertex(8), null);
});

test("clay replaces paint but not glossy vertices, and bytes become linear colors", () => {
  const model = new SurfaceModel(new Uint32Array([0, 1, 1]), 2);
  model.setColors(new Uint8Array([255, 128, 0, 51, 0, 0, 0, 255]));
  assert.ok(Math.abs(model.colors[1] - 0.2158605) < 1e-6);
  const clay = model.computeClayColors({ r: 0.5, g: 0.25, b: 0.125 });
  assert.deepEqual([...clay], [0.5, 0.25, 0.125, 0, 0, 0]);
});
