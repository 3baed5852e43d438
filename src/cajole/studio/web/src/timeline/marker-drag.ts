/** Drag of the selected markers in time, or of copies of them, and rubber band selection. */

import { groupByLane, selectMarkerVertices, filterMovable, selectMarkers, getSelectMode, type SelectMode } from "./marker-actions";
import { getMarkerAreas, layOutRows } from "./lane-layout";
import type { TimelineDrag } from "./drags";
import { findInside } from "./hit-areas";
import { getMarkerKey, type TimelineModel, type MarkerRef } from "./timeline-model";
import { xToFrame } from "./time-scale";
import { snapMove } from "./snapping";

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
    const values = { lane, ids: group.map((ref) => ref.marker.id), frames: group.map((ref) => at.get(ref)) };
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
