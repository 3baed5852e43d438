/** Markers of the timeline during drags, with an app that records its messages. */

import assert from "node:assert/strict";
import test from "node:test";

import "./setup";
import { createSignal } from "../src/core/signal";
import type { App, Lane, Marker, ProjectState } from "../src/core/types";
import { copyMarkers, nudgeMarkers, deleteMarkers, selectMarkers } from "../src/timeline/marker-actions";
import { getEdgeAreas, getMarkerAreas, layOutMarkers, layOutRows, findHit } from "../src/timeline/lane-layout";
import { createLoopDrag, createWindowDrag, createBandDrag, createMarkerDrag, getSnapTargets } from "../src/timeline/drags";
import { describeMarker } from "../src/timeline/marker-tooltip";
import { hitTest } from "../src/timeline/pointer-input";
import { TimelineModel, RULER_HEIGHT, getMarkerKey } from "../src/timeline/timeline-model";
import { createFitScale, frameToX, zoomed } from "../src/timeline/time-scale";

type Said = [string, Record<string, unknown>];
const mark = (frame: number, text: string, more: Partial<Marker> = {}): Marker => ({
  id: `${text}@${frame}`,
  frame,
  text,
  movable: true,
  ...more,
});
const drags = (...markers: Marker[]): Lane => ({
  id: "drags",
  name: "Drags",
  shape: "disc",
  tone: "asked",
  markers,
  add: "pin",
});
const contacts: Lane = {
  id: "contacts",
  name: "Contacts",
  shape: "bar",
  tone: "quiet",
  markers: [mark(60, "touch", { end: 80, movable: false })],
};

/** An app with two lanes at 10 px per frame, and the messages to the server. */
function studio(
  lanes: Lane[] = [drags(mark(20, "tail"), mark(50, "head"), mark(90, "head")), contacts],
  more: Partial<ProjectState> = {},
) {
  const said: Said[] = [];
  const state = {
    mode: "edit",
    frame: 50,
    frames: 101,
    fps: 25,
    lanes,
    selection: [],
    meter: {},
    edit: { drags: [], editable: [0, 100], window: null },
    ...more,
  } as unknown as ProjectState;
  const app = {
    state,
    project: null,
    ui: { views: 2, playing: false, playhead: 70, loop: true, loopRange: [10, 95], snap: "frame", unit: "frames" },
    setUi(change: object) {
      app.ui = { ...app.ui, ...change };
    },
    request: (what: string, values: object = {}) => (
      said.push([what, values as Record<string, unknown>]),
      Promise.resolve({})
    ),
    stream: (what: string, values: object) => void said.push([`~${what}`, values as Record<string, unknown>]),
    showToast: (notice: object) => void said.push(["toast", notice as Record<string, unknown>]),
    setHints: () => undefined,
    onUi: createSignal(),
  };
  const model = new TimelineModel(app as unknown as App, () => undefined);
  model.scale = createFitScale(1032, 101); // LEFT + 100 frames of 10 px + RIGHT
  const hear = (next: Lane[]): void => {
    app.state = { ...state, lanes: next };
    model.handleState(app.state);
  };
  return { app, model, said, hear };
}
const pointer = (more: object = {}): PointerEvent =>
  ({ ctrlKey: false, metaKey: false, shiftKey: false, altKey: false, ...more }) as PointerEvent;
const settled = (): Promise<void> => new Promise((resolve) => setTimeout(resolve));
const names = (model: TimelineModel): string[] => model.selectedMarkers.map(({ marker }) => marker.id);

test("a dragged marker is sent during and after the move, and stays selected under its new id", async () => {
  const { model, said, hear } = studio();
  model.setSelection([getMarkerKey("drags", "tail@20")]);
  const drag = createMarkerDrag(model, model.selectedMarkers, frameToX(model.scale, 20), false)!;
  drag.move(frameToX(model.scale, 25) + 2, 0, pointer());
  assert.deepEqual(said, [["~marker.move", { lane: "drags", ids: ["tail@20"], frames: [25], final: false }]]);
  hear([drags(mark(25, "tail"), mark(50, "head"), mark(90, "head")), contacts]);
  assert.equal(
    model.getDrawnFrame(model.lanes[0], model.lanes[0].markers[0]),
    25,
    "drawn under the pointer, whatever its id is now",
  );
  drag.end();
  assert.deepEqual(said[1], ["marker.move", { lane: "drags", ids: ["tail@20"], frames: [25], final: true }]);
  await settled();
  assert.equal(model.dragged, null);
  assert.deepEqual(names(model), ["tail@25"]);
});

test("Escape restores the frames of markers", async () => {
  const { model, said } = studio();
  const drag = createMarkerDrag(model, model.markers.slice(0, 2), frameToX(model.scale, 20), false)!;
  drag.move(frameToX(model.scale, 33), 0, pointer());
  drag.cancel();
  await settled();
  assert.deepEqual(said.at(-1), [
    "marker.move",
    { lane: "drags", ids: ["tail@20", "head@50"], frames: [20, 50], final: true },
  ]);
  assert.equal(model.dragged, null);
});

test("a press without movement sends nothing", async () => {
  const { model, said } = studio();
  createMarkerDrag(model, model.markers.slice(0, 1), 214, false)!.cancel();
  await settled();
  assert.deepEqual(said, []);
});

test("Alt copies once, on release", async () => {
  const { model, said } = studio();
  const drag = createMarkerDrag(model, model.markers.slice(0, 1), frameToX(model.scale, 20), true)!;
  drag.move(frameToX(model.scale, 30), 0, pointer());
  assert.deepEqual(said, []);
  drag.end();
  await settled();
  assert.deepEqual(said[0], ["marker.copy", { lane: "drags", ids: ["tail@20"], frames: [30] }]);
});

test("fixed markers are not dragged", () => {
  const { model } = studio();
  assert.equal(createMarkerDrag(model, model.markers.filter(({ lane }) => lane.id === "contacts"), 0, false), null);
});

test("markers snap to markers, ends of bars, cursors and the loop; Ctrl inverts it", () => {
  const { model, app } = studio();
  assert.deepEqual(
    getSnapTargets(model, new Set([getMarkerKey("drags", "tail@20")])).sort((a, b) => a - b),
    [10, 50, 60, 70, 80, 90, 95],
  );
  const at = (x: number, snap: "frame" | "marker", ctrlKey: boolean): number => {
    app.setUi({ snap });
    const drag = createMarkerDrag(model, model.markers.slice(0, 1), frameToX(model.scale, 20), false)!;
    drag.move(x, 0, pointer({ ctrlKey }));
    const found = [...model.dragged!.frames.values()][0];
    drag.cancel();
    model.dragged = null;
    return found;
  };
  const near = frameToX(model.scale, 60) - 7; // nearer to 59 than to 60
  assert.deepEqual(
    [at(near, "frame", false), at(near, "marker", false), at(near, "frame", true), at(near, "marker", true)],
    [59, 60, 60, 59],
  );
});

test("markers stay in the editable range", () => {
  const edit = { drags: [], window: [15, 60], editable: [15, 60] } as unknown as ProjectState["edit"];
  const { model, said } = studio(undefined, { edit });
  model.setSelection([getMarkerKey("drags", "tail@20")]);
  nudgeMarkers(model, -10);
  assert.deepEqual(said, [["marker.move", { lane: "drags", ids: ["tail@20"], frames: [15], final: true }]]);
});

test("a selection of the user precedes the server's, and removed markers are not selected", () => {
  const lanes = [drags(mark(20, "tail"), mark(50, "head", { selected: true }))];
  const { model, hear } = studio(lanes);
  assert.deepEqual(names(model), ["head@50"]);
  selectMarkers(model, [getMarkerKey("drags", "tail@20")], "only");
  assert.deepEqual(names(model), ["tail@20"]);
  selectMarkers(model, [getMarkerKey("drags", "head@50")], "toggle");
  assert.deepEqual(names(model), ["tail@20", "head@50"]);
  hear([drags(mark(50, "head", { selected: true }))]);
  assert.deepEqual(names(model), ["head@50"]);
});

test("delete and copy skip fixed markers", () => {
  const { model, said } = studio();
  deleteMarkers(model, model.markers);
  copyMarkers(model, model.markers);
  assert.deepEqual(said, [
    ["marker.delete", { lane: "drags", ids: ["tail@20", "head@50", "head@90"] }],
    ["marker.copy", { lane: "drags", ids: ["tail@20", "head@50", "head@90"], frames: [30, 60, 100] }],
  ]);
});

test("a double click adds a marker of the mode, or reports what is missing", () => {
  const { app, model, said } = studio();
  model.mode?.addMarker?.(app as unknown as App, 33);
  assert.equal(said.pop()![0], "toast");
  app.state = { ...app.state, selection: [{ node: 7 }] } as unknown as ProjectState;
  model.mode?.addMarker?.(app as unknown as App, 33);
  app.state = { ...app.state, mode: "keyframe" };
  model.mode?.addMarker?.(app as unknown as App, 34);
  app.state = { ...app.state, mode: "steer" };
  model.mode?.addMarker?.(app as unknown as App, 35);
  assert.deepEqual(said, [["pin", { nodes: [7], frame: 33 }], ["key.capture", { frame: 34 }]]);
});

test("a rubber band selects what it touches, and Escape restores the old selection", () => {
  const { model } = studio();
  model.setSelection([getMarkerKey("drags", "head@90")]);
  const drag = createBandDrag(model, frameToX(model.scale, 10), RULER_HEIGHT + 2, pointer());
  drag.move(frameToX(model.scale, 52), RULER_HEIGHT + 20, pointer());
  assert.deepEqual(names(model), ["tail@20", "head@50"]);
  drag.cancel();
  assert.deepEqual(names(model), ["head@90"]);
  const more = createBandDrag(model, frameToX(model.scale, 10), RULER_HEIGHT + 2, pointer({ shiftKey: true }));
  more.move(frameToX(model.scale, 30), RULER_HEIGHT + 20, pointer());
  assert.deepEqual(names(model), ["tail@20", "head@90"]);
});

test("the loop range is dragged by its ends and its middle", () => {
  const { model, app } = studio();
  createLoopDrag(model, "loop-in", 0).move(frameToX(model.scale, 30), 0, pointer());
  assert.deepEqual(app.ui.loopRange, [30, 95]);
  const drag = createLoopDrag(model, "loop", frameToX(model.scale, 50));
  drag.move(frameToX(model.scale, 60), 0, pointer());
  assert.deepEqual(app.ui.loopRange, [35, 100]);
  drag.cancel();
  assert.deepEqual(app.ui.loopRange, [30, 95]);
});

test("the edit window is sent once, on release; all frames are null", async () => {
  const edit = { drags: [], window: [20, 60], editable: [20, 60] } as unknown as ProjectState["edit"];
  const { model, said } = studio(undefined, { edit });
  const drag = createWindowDrag(model, 1);
  drag.move(frameToX(model.scale, 70), 0, pointer());
  drag.move(frameToX(model.scale, 72), 0, pointer());
  assert.deepEqual(said, []);
  drag.end();
  await settled();
  assert.deepEqual(said, [["tune", { window: [20, 72] }]]);
  assert.equal(model.draggedWindow, null);
});

test("an edge is hit before the ruler, a marker where it is drawn", () => {
  const { model } = studio();
  const x = (frame: number): number => frameToX(model.scale, frame);
  assert.equal(hitTest(model, x(10), RULER_HEIGHT - 4).edge, "loop-in");
  assert.equal(hitTest(model, x(40), RULER_HEIGHT - 3).edge, "loop");
  assert.equal(hitTest(model, x(70), 5).edge, "playhead");
  assert.deepEqual(hitTest(model, x(40), 5), { edge: null, marker: null, ruler: true });
  assert.equal(hitTest(model, x(20) + 9, RULER_HEIGHT + 14).marker?.item.markers[0].id, "tail@20");
  assert.equal(hitTest(model, x(35), RULER_HEIGHT + 14).marker, null);
  assert.equal(findHit(getMarkerAreas(layOutRows(model)), x(70), RULER_HEIGHT + 40)?.row.lane.id, "contacts");
});

test("the flag of the playhead drags it; the rest of the ruler, and the flag of the edit frame, scrub", () => {
  const { model, app } = studio();
  const at = frameToX(model.scale, 70);
  const half = (12 + 6.4 * 2) / 2; // of a flag that says "70"
  assert.equal(hitTest(model, at + half - 1, 12).edge, "playhead");
  for (const [x, y] of [[at + half + 1, 12], [at - half - 1, 12], [at, 1]])
    assert.deepEqual(hitTest(model, x, y), { edge: null, marker: null, ruler: true });
  app.setUi({ loopRange: [0, model.last] });
  assert.equal(hitTest(model, at, 21).edge, null); // under the flag
  app.setUi({ playhead: 50 }); // where the edit frame is, whose flag lies above
  assert.equal(hitTest(model, frameToX(model.scale, 50), 12).edge, null);
  app.setUi({ playhead: 50 + (half + 2) / model.scale.step }); // a part of it looks out
  assert.equal(hitTest(model, frameToX(model.scale, 50) + half - 1, 12).edge, null);
  assert.equal(hitTest(model, frameToX(model.scale, 50) + half + 1, 12).edge, "playhead");
});

test("one view has one cursor, and a live run follows its updates", () => {
  const { model, app } = studio();
  assert.deepEqual(model.cursors, { edit: 50, play: 70 });
  app.setUi({ views: 1 });
  assert.deepEqual(model.cursors, { edit: null, play: 50 });
  app.setUi({ playing: true });
  assert.deepEqual(model.cursors, { edit: null, play: 70 });
  assert.ok(!getEdgeAreas(model).some(({ target: what }) => what === "playhead"));
  app.state = { ...app.state, mode: "steer" };
  model.liveFrame = 41;
  assert.deepEqual(model.cursors, { edit: null, play: 41 });
});

test("close markers are grouped until the view is zoomed", () => {
  const { model } = studio([drags(mark(20, "a"), mark(21, "b"), mark(24, "c"))]);
  model.scale = createFitScale(232, 101);
  assert.deepEqual(layOutMarkers(model, model.lanes[0]).map(({ markers }) => markers.length), [3]);
  model.scale = zoomed(model.scale, 10, 60);
  assert.deepEqual(layOutMarkers(model, model.lanes[0]).map(({ markers }) => markers.length), [1, 1, 1]);
});

test("empty lanes are hidden, except the first, which shows a hint", () => {
  const { model } = studio([drags(), { ...contacts, markers: [] }]);
  assert.deepEqual(model.lanes.map(({ id }) => id), ["drags"]);
});

test("a marker is described by name, frame and detail", () => {
  assert.equal(describeMarker(mark(96, "head", { detail: "1.60 s · 0.42 m" }), 60), "head · frame 96 · 1.60 s · 0.42 m");
  assert.equal(describeMarker(mark(60, "", { end: 80 }), 25), "frames 60–80 · 2.40 s");
});
