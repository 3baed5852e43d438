/** What is done to markers, whether by mouse, menu, key or the hidden list. */

import type { App } from "../core/types";
import { getTargets } from "../core/targets";
import { keyOf, type Model, type Pick } from "./model";
import { bounds } from "./snap";
import { CLOSEST, clamp, revealing, xOf, zoomed } from "./scale";

export type Selecting = "only" | "add" | "toggle" | "take";

/** How a click selects: shift adds, ctrl toggles. */
export const selecting = (event: MouseEvent): Selecting =>
  event.ctrlKey || event.metaKey ? "toggle" : event.shiftKey ? "add" : "only";

export function select(model: Model, keys: readonly string[], how: Selecting): void {
  const now = new Set(model.selected.map(({ lane, marker }) => keyOf(lane.id, marker.id)));
  if (how === "only") return model.select(keys);
  for (const key of keys) {
    if (how === "add" || (how === "toggle" && !now.has(key))) now.add(key);
    else now.delete(key);
  }
  model.select(now);
}

/** Drags were selected: their points are, too, and the edit frame is where the first is, or where it went. */
export function follow(model: Model, picks: readonly Pick[], frame = picks[0].marker.frame): void {
  const drags = getTargets(model.state);
  const by = frame - picks[0].marker.frame;
  const found = picks.flatMap(
    ({ marker }) =>
      drags.find((each) => each.id === marker.id || (each.frame === marker.frame + by && each.name === marker.text)) ??
      [],
  );
  if (!found.length) return;
  void model.app.request("select", { nodes: [...new Set(found.map((each) => each.node))] });
  model.goTo(frame);
}

/** Go to a marker and bring it into sight. */
export function goTo(model: Model, pick: Pick): void {
  follow(model, [pick]);
  model.show(pick.marker.frame);
}

/** Picks by lane: messages concern one lane each. */
export function byLane(picks: readonly Pick[]): [string, Pick[]][] {
  const found = new Map<string, Pick[]>();
  for (const pick of picks) found.set(pick.lane.id, [...(found.get(pick.lane.id) ?? []), pick]);
  return [...found];
}

const ids = (picks: readonly Pick[]): string[] => picks.map((pick) => pick.marker.id);
export const movable = (picks: readonly Pick[]): Pick[] => picks.filter((pick) => pick.marker.movable);

/** Release (delete) markers; those that cannot be changed stay. */
export function release(model: Model, picks: readonly Pick[]): void {
  for (const [lane, some] of byLane(movable(picks))) void model.app.request("marker.delete", { lane, ids: ids(some) });
}

/** Copy markers to the edit frame: the first comes there, the others keep their distance to it. */
export function copy(model: Model, picks: readonly Pick[]): void {
  const some = movable(picks);
  if (!some.length) return;
  const frames = some.map((pick) => pick.marker.frame);
  const [low, high] = bounds(frames, model.range);
  const by = clamp(model.frame - Math.min(...frames), low, high);
  if (by === 0)
    return model.app.showToast({
      tone: "warn",
      title: "Copy to another frame",
      text: "Go to the frame where the copy belongs, then copy.",
    });
  for (const [lane, group] of byLane(some))
    void model.app.request("marker.copy", { lane, ids: ids(group), frames: group.map((pick) => pick.marker.frame + by) });
}

/** Move the selected markers by whole frames, as far as the ends allow. */
export function nudge(model: Model, by: number): void {
  const some = movable(model.selected);
  if (!some.length) return;
  const [low, high] = bounds(some.map((pick) => pick.marker.frame), model.range);
  const held = clamp(by, low, high);
  if (held === 0) return;
  model.expect(some.map(({ lane, marker }) => ({ lane: lane.id, frame: marker.frame + held, text: marker.text })));
  for (const [lane, group] of byLane(some))
    void model.app.request("marker.move", {
      lane,
      ids: ids(group),
      frames: group.map((pick) => pick.marker.frame + held),
      final: true,
    });
}

/** A double click on an empty place of a lane: what belongs there is made. */
export function add(app: App, frame: number): void {
  const { state } = app;
  if (state?.mode === "keyframe") return void app.request("key.capture", { frame });
  if (state?.mode !== "edit") return;
  const nodes = state.selection.map((each) => each.node);
  if (nodes.length) return void app.request("pin", { nodes, frame });
  app.showToast({
    tone: "warn",
    title: "No point is selected",
    text: "Click a point of the body first; then a double click holds it here.",
  });
}

/** Zoom until markers that were drawn as one stand apart, or as close as it goes. */
export function open(model: Model, picks: readonly Pick[]): void {
  const frames = picks.map((pick) => pick.marker.frame).sort((a, b) => a - b);
  const middle = (frames[0] + frames[frames.length - 1]) / 2;
  const gaps = frames.slice(1).map((frame, i) => frame - frames[i]).filter((gap) => gap > 0);
  const step = gaps.length ? Math.min(2 * CLOSEST / Math.min(...gaps), CLOSEST) : CLOSEST;
  model.view(revealing(zoomed(model.scale, Math.max(step / model.scale.step, 1), xOf(model.scale, middle)), middle));
}
