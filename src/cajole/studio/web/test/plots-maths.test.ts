/** Plot data: history of a live run, axes, costs. */

import assert from "node:assert/strict";
import test from "node:test";

import { CostHistory, computeNiceMax, getVisibleFrames } from "../src/plots/plot-data";
import { LiveHistory, WINDOW_SECONDS, mergeBands } from "../src/plots/live-history";
import { createFitScale, frameToX } from "../src/timeline/time-scale";

test("the history contains the last seven seconds, relative to now", () => {
  const ring = new LiveHistory();
  for (let i = 0; i <= 600; i++) ring.add(i / 60, i, 2 * i, false);
  const { times, error, effort } = ring.getRecent();
  assert.equal(times.at(-1), 0);
  assert.ok(times[0] >= -WINDOW_SECONDS && times[0] < -WINDOW_SECONDS + 2 / 60);
  assert.equal(error.at(-1), 600);
  assert.equal(effort[0], 2 * error[0]);
  assert.ok(times.every((time, i) => i === 0 || time > times[i - 1]));
});

test("a ring buffer that wrapped often is in order", () => {
  const ring = new LiveHistory();
  for (let i = 0; i < 10_000; i++) ring.add(i / 1000, i, 0, false);
  const { times, error } = ring.getRecent(1);
  assert.equal(error.length, 1001);
  assert.deepEqual([error[0], error.at(-1)], [8999, 9999]);
  assert.ok(Math.abs(times[0] + 1) < 1e-9);
});

test("pushes become bands, also one that continues", () => {
  const ring = new LiveHistory();
  for (let i = 0; i <= 100; i++) ring.add(i / 10, 0, 0, (i >= 50 && i < 60) || i >= 95);
  const { pushes } = ring.getRecent();
  assert.equal(pushes.length, 2);
  const wanted = [[-5, -4.1], [-0.5, 0]];
  pushes.forEach(([from, to], i) => assert.ok(Math.abs(from - wanted[i][0]) + Math.abs(to - wanted[i][1]) < 1e-9));
});

test("a restarted run clears the history", () => {
  const ring = new LiveHistory();
  ring.add(5, 1, 1, true);
  ring.add(0.1, 2, 2, false);
  assert.deepEqual(ring.getRecent(), { now: 0.1, times: [0], error: [2], effort: [2], pushes: [] });
});

test("an empty history and values that are not finite are not drawn", () => {
  const ring = new LiveHistory();
  ring.add(1, NaN, 0, false);
  ring.add(Infinity, 0, 0, false);
  assert.ok(ring.isEmpty);
  assert.deepEqual(ring.getRecent().times, []);
});

test("the axis end is a round number above the curve", () => {
  const wanted = [
    [0.21, 0.25],
    [0.25, 0.25],
    [0.251, 0.3],
    [0.9, 1],
    [1, 1],
    [13, 15],
    [0.001, 0.01],
    [0, 0.01],
  ] as const;
  for (const [most, scale] of wanted) assert.equal(computeNiceMax([0, most, most / 2], 0.01), scale);
  assert.equal(computeNiceMax([], 0.4), 0.4);
});

test("plots show the frames of the timeline", () => {
  const scale = createFitScale(1300, 240);
  const [from, to] = getVisibleFrames(scale, 996);
  assert.ok(Math.abs(frameToX(scale, from)) < 1e-9 && Math.abs(frameToX(scale, to) - 996) < 1e-9);
});

test("costs are those of the latest optimization, without values that have no logarithm", () => {
  const costs = new CostHistory();
  const say = (job: string, iteration: number, cost: number): void =>
    costs.add({ is: "iterate", job, iteration, cost, gradient: 1, seconds: 1 });
  assert.ok(costs.getData().empty);
  say("a", 0, 5);
  say("b", 0, 3);
  say("b", 1, 0);
  say("b", 2, NaN);
  say("b", 3, 0.1);
  const { xs, ys, y, empty } = costs.getData();
  assert.deepEqual([xs, ys, empty], [[0, 3], [3, 0.1], false]);
  assert.ok(y[0] > 0 && y[0] < 0.1 && y[1] > 3);
});

test("a push in samples and state is one band; bands out of range are dropped", () => {
  const bands = [[-1, -0.8], [-5, -4.5], [-4.6, -4], [-9, -8], [0.5, 1], [-7.2, -6.9], [-0.2, 0.4]] as const;
  assert.deepEqual(mergeBands(bands), [[-7.2, -6.9], [-5, -4], [-1, -0.8], [-0.2, 0]]);
});
