/** Actions on markers, shared by pointer, menus, shortcuts and the accessible list. */

import { clamp } from "../core/math";
import { getTargets } from "../core/modes";
import { getMarkerKey, type TimelineModel, type MarkerRef } from "./timeline-model";
import { MAX_FRAME_WIDTH, scrolledTo, frameToX, zoomed } from "./time-scale";

export type SelectMode = "only" | "add" | "toggle" | "take";

/** Select mode of a click: Shift adds, Ctrl toggles. */
export const getSelectMode = (event: MouseEvent): SelectMode =>
  event.ctrlKey || event.metaKey ? "toggle" : event.shiftKey ? "add" : "only";

export function selectMarkers(model: TimelineModel, keys: readonly string[], selectMode: SelectMode): void {
  const now = new Set(model.selectedMarkers.map(({ lane, marker }) => getMarkerKey(lane.id, marker.id)));
  if (selectMode === "only") return model.setSelection(keys);
  for (const key of keys) {
    if (selectMode === "add" || (selectMode === "toggle" && !now.has(key))) now.add(key);
    else now.delete(key);
  }
  model.setSelection(now);
}

/** Select the vertices of markers and seek to the frame of the first. */
export function selectMarkerVertices(model: TimelineModel, markers: readonly MarkerRef[], frame = markers[0].marker.frame): void {
  const drags = getTargets(model.state);
  const shift = frame - markers[0].marker.frame;
  const found = markers.flatMap(
    ({ marker }) =>
      drags.find((each) => each.id === marker.id || (each.frame === marker.frame + shift && each.name === marker.text)) ??
      [],
  );
  if (!found.length) return;
  void model.app.request("select", { nodes: [...new Set(found.map((each) => each.node))] });
  model.seek(frame);
}

/** Seek to a marker and scroll it into view. */
export function goToMarker(model: TimelineModel, ref: MarkerRef): void {
  selectMarkerVertices(model, [ref]);
  model.seekAndReveal(ref.marker.frame);
}

/** Group markers by lane: a message concerns one lane. */
export function groupByLane(markers: readonly MarkerRef[]): [string, MarkerRef[]][] {
  const found = new Map<string, MarkerRef[]>();
  for (const ref of markers) found.set(ref.lane.id, [...(found.get(ref.lane.id) ?? []), ref]);
  return [...found];
}

const getIds = (markers: readonly MarkerRef[]): string[] => markers.map((ref) => ref.marker.id);
export const filterMovable = (markers: readonly MarkerRef[]): MarkerRef[] => markers.filter((ref) => ref.marker.movable);

/** Least and greatest shift that keeps all frames in `range`; frames outside may stay. */
export function computeMoveBounds(frames: readonly number[], range: readonly [number, number]): [number, number] {
  return [Math.min(range[0] - Math.min(...frames), 0), Math.max(range[1] - Math.max(...frames), 0)];
}

/** Delete the movable ones of some markers. */
export function deleteMarkers(model: TimelineModel, markers: readonly MarkerRef[]): void {
  for (const [lane, movable] of groupByLane(filterMovable(markers)))
    void model.app.request("marker.delete", { lane, ids: getIds(movable) });
}

/** Copy markers so that the first is at the edit frame. */
export function copyMarkers(model: TimelineModel, markers: readonly MarkerRef[]): void {
  const movable = filterMovable(markers);
  if (!movable.length) return;
  const frames = movable.map((ref) => ref.marker.frame);
  const [low, high] = computeMoveBounds(frames, model.range);
  const by = clamp(model.frame - Math.min(...frames), low, high);
  if (by === 0)
    return model.app.showToast({
      tone: "warn", title: "Copy to another frame", text: "Go to the target frame, then copy.",
    });
  for (const [lane, group] of groupByLane(movable))
    void model.app.request("marker.copy", { lane, ids: getIds(group), frames: group.map((ref) => ref.marker.frame + by) });
}

/** Move the selected markers by some frames, inside the range. */
export function nudgeMarkers(model: TimelineModel, by: number): void {
  const movable = filterMovable(model.selectedMarkers);
  if (!movable.length) return;
  const [low, high] = computeMoveBounds(movable.map((ref) => ref.marker.frame), model.range);
  const shift = clamp(by, low, high);
  if (shift === 0) return;
  model.expectMarkers(movable.map(({ lane, marker }) => ({ lane: lane.id, frame: marker.frame + shift, text: marker.text })));
  for (const [lane, group] of groupByLane(movable))
    void model.app.request("marker.move", {
      lane, ids: getIds(group),
      frames: group.map((ref) => ref.marker.frame + shift),
      final: true,
    });
}

/** Zoom in until grouped markers are drawn separately. */
export function zoomToMarkers(model: TimelineModel, markers: readonly MarkerRef[]): void {
  const frames = markers.map((ref) => ref.marker.frame).sort((a, b) => a - b);
  const middle = (frames[0] + frames[frames.length - 1]) / 2;
  const gaps = frames.slice(1).map((frame, i) => frame - frames[i]).filter((gap) => gap > 0);
  const step = gaps.length ? Math.min(2 * MAX_FRAME_WIDTH / Math.min(...gaps), MAX_FRAME_WIDTH) : MAX_FRAME_WIDTH;
  model.setScale(scrolledTo(zoomed(model.scale, Math.max(step / model.scale.step, 1), frameToX(model.scale, middle)), middle));
}
