/** Drags of cursors, ranges and the view. Escape cancels each. */

import { type DragEdge, findInside, getMarkerAreas, getOverviewThumb, layOutRows } from "./lane-layout";
import { type TimelineModel, getMarkerKey, type MarkerRef } from "./timeline-model";
import { xToFrame, panned, xToNearestFrame, createFitScale } from "./time-scale";
import { groupByLane, selectMarkerVertices, filterMovable, selectMarkers, getSelectMode, type SelectMode, computeMoveBounds } from "./marker-actions";
import { clamp } from "../core/math";

/** Drag in pixels of the canvas. */
export interface TimelineDrag {
  move(x: number, y: number, event: PointerEvent): void;
  end(): void;
  cancel(): void;
}

const noop = (): void => undefined;

/** Drag of the edit frame. */
export function createScrubDrag(model: TimelineModel): TimelineDrag {
  const before = model.frame;
  const scrubTo = (frame: number): void => {
    if (frame === model.scrubFrame) return;
    model.scrubFrame = frame;
    model.seek(frame);
  };
  const done = (frame: number): void => {
    model.scrubFrame = null;
    model.seek(frame);
  };
  return { move: (x) => scrubTo(xToNearestFrame(model.scale, x)), end: () => done(model.frame), cancel: () => done(before) };
}

/** Drag of the playhead, local to this page. */
function createPlayheadDrag(model: TimelineModel): TimelineDrag {
  const before = { playhead: model.app.ui.playhead, playing: model.app.ui.playing };
  return {
    move: (x) => model.app.setUi({ playing: false, playhead: xToNearestFrame(model.scale, x) }),
    end: () => model.app.setUi({ playing: before.playing }),
    cancel: () => model.app.setUi(before),
  };
}

/** Drag of the loop range, or of one of its ends. */
export function createLoopDrag(model: TimelineModel, part: "loop" | "loop-in" | "loop-out", start: number): TimelineDrag {
  const before = model.app.ui.loopRange;
  const grabbed = xToFrame(model.scale, start);
  const at = (x: number): [number, number] =>
    part === "loop"
      ? shiftedRange(before, xToFrame(model.scale, x) - grabbed, model.last)
      : stretchedRange(before, part === "loop-in" ? 0 : 1, xToNearestFrame(model.scale, x), model.last);
  return {
    move: (x) => model.app.setUi({ loopRange: at(x), loop: true }),
    end: noop,
    cancel: () => model.app.setUi({ loopRange: before }),
  };
}

/** Drag of an end of the edit window; sent on release. */
export function createWindowDrag(model: TimelineModel, end: 0 | 1): TimelineDrag {
  const before = model.editWindow;
  if (!before) return { move: noop, end: noop, cancel: noop };
  const setWindow = (range: [number, number] | null): void => {
    model.draggedWindow = range;
    model.redraw();
  };
  return {
    move: (x) => setWindow(stretchedRange(before, end, xToNearestFrame(model.scale, x), model.last)),
    end: () => void model.setEditWindow(model.draggedWindow).finally(() => setWindow(null)),
    cancel: () => setWindow(null),
  };
}

/** Drag that pans the view. */
export function createPanDrag(model: TimelineModel, start: number): TimelineDrag {
  const before = model.scale;
  return { move: (x) => model.setScale(panned(before, start - x)), end: noop, cancel: () => model.setScale(before) };
}

/** Drag of the overview thumb; a press beside it centers it first. */
function createOverviewDrag(model: TimelineModel, start: number): TimelineDrag {
  const before = model.scale;
  const [from, to] = getOverviewThumb(model);
  const each = (model.last * before.step) / before.width; // pixels of the view for one of the overview
  const first = start >= from && start <= to ? before : panned(before, (start - (from + to) / 2) * each);
  model.setScale(first);
  return { move: (x) => model.setScale(panned(first, (x - start) * each)), end: noop, cancel: () => model.setScale(before) };
}

export function createEdgeDrag(model: TimelineModel, edge: DragEdge, x: number): TimelineDrag {
  switch (edge) {
    case "loop": case "loop-in": case "loop-out": return createLoopDrag(model, edge, x);
    case "window-in": return createWindowDrag(model, 0);
    case "window-out": return createWindowDrag(model, 1);
    case "playhead": return createPlayheadDrag(model);
    case "overview": return createOverviewDrag(model, x);
  }
}

/** Show the whole shot. */
export const fitView = (model: TimelineModel): void => model.setScale(createFitScale(model.scale.width, model.frames));

/** Frames that dragged markers snap to: other markers, ends of bars, cursors, ends of the loop. */
export function getSnapTargets(model: TimelineModel, moving: ReadonlySet<string>): number[] {
  const { edit, play } = model.cursors;
  const found = [play, ...(edit === null ? [] : [edit]), ...model.app.ui.loopRange];
  for (const { lane, marker } of model.markers) {
    if (moving.has(getMarkerKey(lane.id, marker.id))) continue;
    found.push(marker.frame);
    if (marker.end !== undefined) found.push(marker.end);
  }
  return [...new Set(found.map(Math.round))];
}

/** Drag that moves markers, or copies them; start: pixel of the press. */
export function createMarkerDrag(model: TimelineModel, markers: readonly MarkerRef[], start: number, copies: boolean): TimelineDrag | null {
  const movable = filterMovable(markers);
  if (!movable.length) return null;
  const keys = movable.map(({ lane, marker }) => getMarkerKey(lane.id, marker.id));
  const before = movable.map(({ marker }) => marker.frame);
  const targets = getSnapTargets(model, new Set(copies ? [] : keys));
  const grabbed = xToFrame(model.scale, start);
  const lanes = model.lanes;
  let frames = before;
  let streamed = false;
  const snapping = model.app.ui.snap === "marker";
  const hint = (): void =>
    model.app.setHints([
      ["Drag", copies ? "copy in time" : "move in time"],
      ["Ctrl", snapping ? "whole frames only" : "snap to markers"],
      ["Esc", "cancel"],
    ]);

  const moveTo = (next: number[], line: number | null): void => {
    frames = next;
    model.dragged = { frames: new Map(keys.map((key, i) => [key, next[i]])), copy: copies, snapFrame: line, lanes };
    model.redraw();
  };
  const move = (x: number, _y: number, event: PointerEvent): void => {
    if (!model.dragged) hint();
    const snaps = snapping !== (event.ctrlKey || event.metaKey);
    const shift = xToFrame(model.scale, x) - grabbed;
    const { by, to } = snapMove(before, shift, model.range, snaps ? targets : [], model.scale.step);
    const next = before.map((frame) => frame + by);
    const differs = next.some((frame, i) => frame !== frames[i]);
    moveTo(next, to); // before the message: from now on server changes of these lanes are deferred
    if (copies || !differs) return;
    streamed = true;
    model.app.stream("marker.move", { ...createPreviewMessage(movable, next), final: false });
  };
  const done = (): void => {
    model.app.setHints(null);
    model.endDrag();
  };
  const commit = async (): Promise<void> => {
    const same = frames.every((frame, i) => frame === before[i]);
    const found = movable.map(({ lane, marker }, i) => ({ lane: lane.id, frame: frames[i], text: marker.text }));
    if (!same) model.expectMarkers(found);
    if (copies ? !same : streamed) await Promise.allSettled(sendMoves(model, movable, frames, copies));
    done();
    if (!same) selectMarkerVertices(model, movable, frames[0]);
  };
  const cancel = (): void => {
    frames = before;
    if (streamed) void Promise.allSettled(sendMoves(model, movable, before, false)).then(done);
    else done();
  };
  return { move, end: () => void commit(), cancel };
}

/** Preview message with the markers in the lane of the first. */
function createPreviewMessage(some: readonly MarkerRef[], frames: readonly number[]): { lane: string; ids: string[]; frames: number[] } {
  const lane = some[0].lane.id;
  const inLane = some.map((ref, i) => ({ pick: ref, frame: frames[i] })).filter(({ pick: ref }) => ref.lane.id === lane);
  return { lane, ids: inLane.map(({ pick: ref }) => ref.marker.id), frames: inLane.map(({ frame }) => frame) };
}

/** Send one message per lane. */
function sendMoves(model: TimelineModel, some: readonly MarkerRef[], frames: readonly number[], copies: boolean): Promise<unknown>[] {
  const at = new Map(some.map((ref, i) => [ref, frames[i]]));
  return groupByLane(some).map(([lane, group]) => {
    const values = { lane, ids: group.map((ref) => ref.marker.id), frames: group.map((ref) => at.get(ref)!) };
    return copies ? model.app.request("marker.copy", values) : model.app.request("marker.move", { ...values, final: true });
  });
}

/** Rubber band selection; Shift adds, Ctrl removes. */
export function createBandDrag(model: TimelineModel, x: number, y: number, event: PointerEvent): TimelineDrag {
  const before = model.selection;
  const mode: SelectMode = getSelectMode(event) === "toggle" ? "take" : getSelectMode(event);
  const setBand = (band: TimelineModel["band"]): void => {
    model.band = band;
    model.redraw();
  };
  return {
    move: (toX, toY) => {
      const found = findInside(getMarkerAreas(layOutRows(model)), [x, y], [toX, toY]);
      model.setSelection(before);
      selectMarkers(model, found.flatMap(({ row, item }) => item.markers.map((marker) => getMarkerKey(row.lane.id, marker.id))), mode);
      setBand([[x, y], [toX, toY]]);
    },
    end: () => setBand(null),
    cancel: () => {
      model.setSelection(before);
      setBand(null);
    },
  };
}

/** Distance at which a marker snaps [px]. */
const SNAP_DISTANCE = 8;

/** Shift in frames, and the frame that was snapped to, if any. */
interface SnapResult { by: number; to: number | null }

/** Snap a shift of `frames` by about `by`.
 *
 * The result is a whole number of frames. The frame nearest to one of `targets`, within SNAP_DISTANCE px, is moved onto
 * it. `step`: pixels per frame.
 */
export function snapMove(
  frames: readonly number[], by: number, range: readonly [number, number], targets: readonly number[], step: number,
): SnapResult {
  const [low, high] = computeMoveBounds(frames, range);
  let best: SnapResult = { by: clamp(Math.round(by), low, high), to: null };
  let nearest = SNAP_DISTANCE / step;
  for (const target of targets) {
    for (const frame of frames) {
      const distance = Math.abs(frame + by - target);
      const shift = Math.round(target - frame);
      if (distance <= nearest && shift >= low && shift <= high) {
        nearest = distance;
        best = { by: shift, to: target };
      }
    }
  }
  return best;
}

/** Range with one end moved: in order, at least one frame long, inside the shot. */
export function stretchedRange(range: readonly [number, number], end: 0 | 1, frame: number, last: number): [number, number] {
  const [from, to] = range;
  return end === 0 ? [clamp(frame, 0, Math.max(to - 1, 0)), to] : [from, clamp(frame, Math.min(from + 1, last), last)];
}

/** Range shifted as a whole, inside the shot. */
export function shiftedRange(range: readonly [number, number], by: number, last: number): [number, number] {
  const shift = clamp(Math.round(by), -range[0], last - range[1]);
  return [range[0] + shift, range[1] + shift];
}
