/** Context menus of the timeline. */

import type { UiState } from "../core/types";
import type { MenuEntry } from "../ui/menu";
import { copyMarkers, goToMarker, deleteMarkers, selectMarkers } from "./marker-actions";
import { fitView } from "./drags";
import { getMarkerKey, type TimelineModel, type MarkerRef } from "./timeline-model";

/** Menu of markers; rename: opens the rename field. */
export function buildMarkerMenu(model: TimelineModel, markers: readonly MarkerRef[], rename: (ref: MarkerRef) => void): MenuEntry[] {
  const [first] = markers;
  const entries: MenuEntry[] = [{ text: "Go to", icon: "frame", key: "⏎", onSelect: () => goToMarker(model, first) }];
  if (!markers.some(({ marker }) => marker.movable)) return entries;
  if (markers.length === 1) entries.push({ text: "Rename", icon: "rename", key: "F2", onSelect: () => rename(first) });
  entries.push(...(model.mode?.getMarkerMenu?.(model.app, first.marker.id) ?? []));
  entries.push({ text: `Copy to frame ${model.frame}`, icon: "copy", onSelect: () => copyMarkers(model, markers) });
  entries.push({ text: "Release", icon: "trash", key: "Del", onSelect: () => deleteMarkers(model, markers) });
  return entries;
}

const UNITS: [UiState["unit"], string][] = [["frames", "Frames"], ["seconds", "Seconds"], ["timecode", "Timecode"]];

/** Menu of the ruler at a frame. */
export function buildRulerMenu(model: TimelineModel, frame: number): MenuEntry[] {
  const { app, last } = model;
  const [from, to] = app.ui.loopRange;
  const entries: MenuEntry[] = [
    {
      text: `Loop from ${frame}`, key: "[",
      onSelect: () => app.setUi({ loop: true, loopRange: [frame, Math.max(to, frame)] }),
    },
    {
      text: `Loop up to ${frame}`, key: "]",
      onSelect: () => app.setUi({ loop: true, loopRange: [Math.min(from, frame), frame] }),
    },
    { text: "Loop the whole shot", icon: "loop", onSelect: () => app.setUi({ loop: true, loopRange: [0, last] }) },
  ];
  if (model.mode?.setEditWindow) {
    if (from > 0 || to < last)
      entries.push({ text: "Edit only the loop's frames", icon: "lock", onSelect: () => void model.setEditWindow([from, to]) });
    if (model.editWindow) entries.push({ text: "Edit all frames", onSelect: () => void model.setEditWindow(null) });
  }
  entries.push(null, { text: "Fit", icon: "fit", onSelect: () => fitView(model) });
  return [
    ...entries,
    null,
    ...UNITS.map(([unit, text]) => ({ text, checked: app.ui.unit === unit, onSelect: () => app.setUi({ unit }) })),
  ];
}

/** Menu of a lane. */
export function buildLaneMenu(model: TimelineModel, lane: string): MenuEntry[] {
  const all = model.markers.filter((ref) => ref.lane.id === lane).map(({ marker }) => getMarkerKey(lane, marker.id));
  const hide = (hidden: Iterable<string>) => (): void => {
    model.hiddenLanes = new Set(hidden);
    model.redraw();
  };
  const entries: MenuEntry[] = [];
  if (all.length) entries.push({ text: "Select all", icon: "select", onSelect: () => selectMarkers(model, all, "only") });
  if (model.lanes.length > 1) entries.push({ text: "Hide lane", icon: "eye-off", onSelect: hide([...model.hiddenLanes, lane]) });
  if (model.hiddenLanes.size) entries.push({ text: "Show all lanes", icon: "eye", onSelect: hide([]) });
  return entries;
}
