/** Timeline: frames and pixels, ticks, snapping, grouping, hit tests. */

import assert from "node:assert/strict";
import test from "node:test";

import { formatTimecode } from "../src/core/format";
import { findHit, findInside, createHitArea, truncateText, computeLabelWidths, groupMarkers } from "../src/timeline/lane-layout";
import { niceStep } from "../src/core/math";
import {
  MAX_FRAME_WIDTH,
  LABEL_GAP,
  PADDING_LEFT,
  PADDING_RIGHT,
  TICK_GAP,
  xToFrame,
  isPartial,
  isFit,
  formatFrame,
  panned,
  resized,
  scrolledTo,
  computeRulerSteps,
  listTicks,
  parseFrame,
  createFitScale,
  xToNearestFrame,
  frameToX,
  zoomed,
} from "../src/timeline/time-scale";
import { shiftedRange, snapMove, stretchedRange } from "../src/timeline/drags";
import { computeMoveBounds } from "../src/timeline/marker-actions";

const close = (a: number, b: number, slack = 1e-9): void => assert.ok(Math.abs(a - b) <= slack, `${a} is not ${b}`);
const UNITS = ["frames", "seconds", "timecode"] as const;

test("the whole shot fills the width between the paddings", () => {
  const scale = createFitScale(1300, 240);
  close(frameToX(scale, 0), PADDING_LEFT);
  close(frameToX(scale, 239), 1300 - PADDING_RIGHT);
  assert.ok(isFit(scale) && !isPartial(scale));
});

test("frame to pixel and pixel to frame are inverse at any zoom", () => {
  let scale = createFitScale(1300, 240);
  for (const [factor, x] of [[1.15, 700], [3, 200], [0.9, 1200], [1.3, 0]] as const) {
    scale = zoomed(scale, factor, x);
    for (const frame of [0, 0.25, 17, 239]) close(xToFrame(scale, frameToX(scale, frame)), frame);
  }
});

test("zooming keeps the frame under the pointer, up to the closest zoom", () => {
  const scale = zoomed(createFitScale(1300, 240), 1.4, 640);
  const before = xToFrame(scale, 500);
  close(xToFrame(zoomed(scale, 1.15, 500), 500), before);
  let near = scale;
  for (let i = 0; i < 40; i++) near = zoomed(near, 1.15, 500);
  close(near.step, MAX_FRAME_WIDTH);
  close(xToFrame(near, 500), before);
});

test("zooming out ends at the whole shot", () => {
  let scale = panned(zoomed(createFitScale(900, 500), 5, 450), 300);
  for (let i = 0; i < 30; i++) scale = zoomed(scale, 1 / 1.15, 120);
  assert.ok(isFit(scale));
});

test("panning stops half a view beyond the ends", () => {
  const scale = zoomed(createFitScale(1000, 400), 3, 500);
  const half = 1000 / scale.step / 2;
  close(panned(scale, -1e9).first, -half);
  close(panned(scale, 1e9).first, 399 - half);
});

test("one frame, and a canvas without width, give finite numbers", () => {
  for (const scale of [createFitScale(1000, 1), createFitScale(0, 240), zoomed(createFitScale(0, 1), 2, 0)]) {
    assert.ok(Number.isFinite(frameToX(scale, 0)) && scale.step > 0);
    assert.ok(listTicks(scale, computeRulerSteps(scale, 60, "frames").major).length < 1000);
    assert.equal(xToNearestFrame(scale, 1e6), scale.frames - 1);
  }
});

test("a fitted view stays fitted after a resize; others keep their first frame", () => {
  assert.ok(isFit(resized(createFitScale(1300, 240), 900, 240)));
  const part = zoomed(createFitScale(1300, 240), 2, 600);
  close(resized(part, 1280, 240).first, part.first);
  assert.ok(isFit(resized(part, 1300, 96)), "another shot starts whole");
});

test("scrolling brings a frame into view", () => {
  const scale = zoomed(createFitScale(1000, 400), 8, 0);
  const shown = scrolledTo(scale, 380);
  close(frameToX(shown, 380), 500);
  assert.equal(scrolledTo(shown, 380), shown);
});

test("steps are 1, 2 or 5 of a decade", () => {
  const wanted = [[0.9, 1], [1, 1], [1.01, 2], [3, 5], [5.5, 10], [0.02, 0.02], [0.3, 0.5], [130, 200]] as const;
  for (const [least, step] of wanted) close(niceStep(least), step, 1e-12);
});

test("labels keep their distance and small ticks divide them, in all units and zooms", () => {
  for (const fps of [24, 25, 30, 60, 29.97, 120])
    for (const unit of UNITS)
      for (const frames of [2, 24, 240, 5000])
        for (const factor of [1, 1.7, 6]) {
          const scale = zoomed(createFitScale(1280, frames), factor, 300);
          const { major, minor } = computeRulerSteps(scale, fps, unit);
          assert.ok(major * scale.step >= LABEL_GAP - 1e-6, `${unit} ${fps} ${frames}`);
          assert.ok(minor * scale.step >= TICK_GAP - 1e-6 || minor === major);
          close(major / minor, Math.round(major / minor), 1e-6);
          if (unit !== "seconds") assert.ok(Number.isInteger(major) && Number.isInteger(minor));
        }
});

test("ticks are inside the shot", () => {
  assert.deepEqual(listTicks(createFitScale(1300, 240), 100), [0, 100, 200]);
  assert.deepEqual(listTicks(createFitScale(1300, 240), 60).at(-1), 180, "frame 240 is not of this shot");
});

test("frames are formatted in three units", () => {
  assert.equal(formatFrame(96, 60, "frames", 20), "96");
  assert.equal(formatFrame(96, 60, "seconds", 12), "1.6");
  assert.equal(formatFrame(120, 60, "seconds", 60), "2");
  assert.equal(formatFrame(3, 60, "seconds", 3), "0.05");
  assert.equal(formatTimecode(96, 24), "00:04:00");
  assert.equal(formatTimecode(3661, 60), "01:01:01");
});

test("frames, seconds and timecodes are parsed, and nothing else", () => {
  assert.equal(parseFrame(" 96 ", 60), 96);
  assert.equal(parseFrame("1.6s", 60), 96);
  assert.equal(parseFrame("1,6 s", 60), 96);
  assert.equal(parseFrame("00:04:12", 24), 108);
  assert.equal(parseFrame("4:12", 24), 108);
  for (const wrong of ["", "abc", "-3", "1.5", "s", "1:2:3:4", "1e3"]) assert.equal(parseFrame(wrong, 60), null, wrong);
});

test("every formatted timecode is parsed again", () => {
  for (const fps of [24, 29.97, 60])
    for (const frame of [0, 23, 24, 1799, 5000]) assert.equal(parseFrame(formatTimecode(frame, fps), fps), frame);
});

test("a drag stops at whole frames and at the ends of the shot", () => {
  assert.deepEqual(snapMove([10, 20], 3.4, [0, 239], [], 5), { by: 3, to: null });
  assert.deepEqual(snapMove([10, 20], -50, [0, 239], [], 5), { by: -10, to: null });
  assert.deepEqual(snapMove([10, 230], 50, [0, 239], [], 5), { by: 9, to: null });
  assert.deepEqual(computeMoveBounds([5], [10, 20]), [0, 15], "what is outside is not torn in");
});

test("the nearest target within reach snaps the group; one beyond the end does not", () => {
  assert.deepEqual(snapMove([10, 20], 28.9, [0, 239], [40, 47], 5), { by: 30, to: 40 });
  assert.deepEqual(snapMove([10, 20], 28.9, [0, 239], [40, 49], 5), { by: 29, to: 49 }, "the second marker is nearer");
  assert.deepEqual(snapMove([10], 27, [0, 239], [40], 5), { by: 27, to: null }, "15 px away");
  assert.deepEqual(snapMove([10], 228.8, [0, 239], [240], 5), { by: 229, to: null });
});

test("ranges stay in order and inside the shot", () => {
  assert.deepEqual(stretchedRange([20, 60], 0, 90, 239), [59, 60]);
  assert.deepEqual(stretchedRange([20, 60], 1, 5, 239), [20, 21]);
  assert.deepEqual(stretchedRange([20, 60], 1, 999, 239), [20, 239]);
  assert.deepEqual(shiftedRange([20, 60], -33.3, 239), [0, 40]);
  assert.deepEqual(shiftedRange([20, 60], 500, 239), [199, 239]);
});

test("markers within ten pixels of the first are grouped, in any order", () => {
  const groups = groupMarkers([100, 50, 59, 58.5, 61]);
  assert.deepEqual(groups.map((group) => group.members), [[1, 3, 2], [4], [0]]);
  assert.deepEqual(groupMarkers([]), []);
});

test("labels end before the next marker", () => {
  const xs = [10, 60, 75, 200];
  const room = computeLabelWidths(xs, 240);
  assert.deepEqual(room, [26, 0, 101, 22]);
  room.forEach((wide, i) => i + 1 < xs.length && wide && assert.ok(xs[i] + 14 + wide <= xs[i + 1] - 10));
});

test("a label is truncated with an ellipsis, or omitted", () => {
  const measure = (text: string): number => 6 * text.length;
  assert.equal(truncateText("tail tip", 100, measure), "tail tip");
  assert.equal(truncateText("tail tip", 36, measure), "tail…");
  assert.equal(truncateText("tail tip", 13, measure), "");
  assert.equal(truncateText("tail tip", 0, measure), "");
});

test("the nearest area under the pointer is hit, and a marker before the bar below it", () => {
  const spots = [
    createHitArea(50, 50, 0, 28, 20, "a"),
    createHitArea(62, 62, 0, 28, 20, "b"),
    createHitArea(0, 200, 0, 28, 20, "bar"),
    createHitArea(50, 50, 28, 56, 20, "below"),
  ];
  assert.equal(findHit(spots, 50, 5), "a");
  assert.equal(findHit(spots, 62, 27.9), "b");
  assert.equal(findHit(spots.slice(0, 2), 55, 5), "a");
  assert.equal(findHit(spots.slice(0, 2), 57, 5), "b");
  assert.equal(findHit(spots, 50, 28), "below");
  assert.equal(findHit(spots, 120, 5), "bar");
  assert.equal(findHit(spots, 300, 5), null);
});

test("a rubber band selects what it touches, from any corner", () => {
  const spots = [createHitArea(50, 50, 0, 28, 20, "a"), createHitArea(62, 62, 0, 28, 20, "b"), createHitArea(90, 140, 28, 56, 20, "bar")];
  assert.deepEqual(findInside(spots, [55, 20], [45, 2]), ["a"]);
  assert.deepEqual(findInside(spots, [45, 2], [100, 30]), ["a", "b", "bar"]);
  assert.deepEqual(findInside(spots, [52, 2], [60, 8]), [], "the room for the hand is not the marker");
});
