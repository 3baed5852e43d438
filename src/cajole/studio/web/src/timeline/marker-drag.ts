/** Markers under the hand: all selected ones move in time, or are copied; what counts is where the hand lets go. */

import { byLane, follow, movable, select, selecting, type Selecting } from "./actions";
import { grips, rows } from "./arrange";
import type { Drag } from "./drags";
import { inside } from "./hits";
import { keyOf, type Model, type Pick } from "./model";
import { frameAt } from "./scale";
import { snapped } from "./snap";

/** Frames that draw a dragged marker to themselves: other markers, both ends of bars, cursors, ends of the loop. */
export function targets(model: Model, moving: ReadonlySet<string>): number[] {
  const { edit, play } = model.cursors;
  const found = [play, ...(edit === null ? [] : [edit]), ...model.app.ui.loopRange];
  for (const { lane, marker } of model.picks) {
    if (moving.has(keyOf(lane.id, marker.id))) continue;
    found.push(marker.frame);
    if (marker.end !== undefined) found.push(marker.end);
  }
  return [...new Set(found.map(Math.round))];
}

/** Moves, or with alt copies; `picks`: what is selected, `start`: where the hand took hold [px]. */
export function markerDrag(model: Model, picks: readonly Pick[], start: number, alt: boolean): Drag | null {
  const some = movable(picks);
  if (!some.length) return null;
  const keys = some.map(({ lane, marker }) => keyOf(lane.id, marker.id));
  const before = some.map(({ marker }) => marker.frame);
  const near = targets(model, new Set(alt ? [] : keys));
  const grabbed = frameAt(model.scale, start);
  const lanes = model.lanes;
  let frames = before;
  let told = false;
  const snapping = model.app.ui.snap === "marker";
  const hint = (): void =>
    model.app.setHints([
      ["Drag", alt ? "copy in time" : "move in time"],
      ["Ctrl", snapping ? "whole frames only" : "snap to markers"],
      ["Esc", "put back"],
    ]);

  const put = (next: number[], line: number | null): void => {
    frames = next;
    model.held = { frames: new Map(keys.map((key, i) => [key, next[i]])), copy: alt, line, lanes };
    model.redraw();
  };
  const move = (x: number, _y: number, event: PointerEvent): void => {
    if (!model.held) hint();
    const drawn = snapping !== (event.ctrlKey || event.metaKey);
    const away = frameAt(model.scale, x) - grabbed;
    const { by, to } = snapped(before, away, model.range, drawn ? near : [], model.scale.step);
    const next = before.map((frame) => frame + by);
    const differs = next.some((frame, i) => frame !== frames[i]);
    put(next, to); // first: from now on what the server says of these lanes waits
    if (alt || !differs) return;
    told = true;
    model.app.stream("marker.move", { ...ofFirst(some, next), final: false });
  };
  const done = (): void => {
    model.app.setHints(null);
    model.let();
  };
  const keep = async (): Promise<void> => {
    const same = frames.every((frame, i) => frame === before[i]);
    const found = some.map(({ lane, marker }, i) => ({ lane: lane.id, frame: frames[i], text: marker.text }));
    if (!same) model.expect(found);
    if (alt ? !same : told) await Promise.allSettled(messages(model, some, frames, alt));
    done();
    if (!same) follow(model, some, frames[0]);
  };
  const cancel = (): void => {
    frames = before;
    if (told) void Promise.allSettled(messages(model, some, before, false)).then(done);
    else done();
  };
  return { move, end: () => void keep(), cancel };
}

/** Non-final moves of which only the newest matters concern the lane of the first marker. */
function ofFirst(some: readonly Pick[], frames: readonly number[]): { lane: string; ids: string[]; frames: number[] } {
  const lane = some[0].lane.id;
  const mine = some.map((pick, i) => ({ pick, frame: frames[i] })).filter(({ pick }) => pick.lane.id === lane);
  return { lane, ids: mine.map(({ pick }) => pick.marker.id), frames: mine.map(({ frame }) => frame) };
}

/** One message for each lane. */
function messages(model: Model, some: readonly Pick[], frames: readonly number[], alt: boolean): Promise<unknown>[] {
  const at = new Map(some.map((pick, i) => [pick, frames[i]]));
  return byLane(some).map(([lane, group]) => {
    const values = { lane, ids: group.map((pick) => pick.marker.id), frames: group.map((pick) => at.get(pick)) };
    return alt ? model.app.request("marker.copy", values) : model.app.request("marker.move", { ...values, final: true });
  });
}

/** A rubber band over empty lanes; shift adds what it takes, ctrl takes it away. */
export function bandDrag(model: Model, x: number, y: number, event: PointerEvent): Drag {
  const before = model.selection;
  const how: Selecting = selecting(event) === "toggle" ? "take" : selecting(event);
  const put = (band: Model["band"]): void => {
    model.band = band;
    model.redraw();
  };
  return {
    move: (toX, toY) => {
      const found = inside(grips(rows(model)), [x, y], [toX, toY]);
      model.select(before);
      select(model, found.flatMap(({ row, item }) => item.markers.map((marker) => keyOf(row.lane.id, marker.id))), how);
      put([[x, y], [toX, toY]]);
    },
    end: () => put(null),
    cancel: () => {
      model.select(before);
      put(null);
    },
  };
}
