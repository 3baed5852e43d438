/** What a right click on the time line offers. */

import type { UiState } from "../core/types";
import type { MenuEntry } from "../ui/menu";
import { copy, goTo, release, select } from "./actions";
import { tuneWindow, fit } from "./drags";
import { keyOf, type Model, type Pick } from "./model";

/** For markers; `rename`: begins to rename the one there is. */
export function markerMenu(model: Model, picks: readonly Pick[], rename: (pick: Pick) => void): MenuEntry[] {
  const [first] = picks;
  const entries: MenuEntry[] = [{ text: "Go to", icon: "frame", key: "⏎", onSelect: () => goTo(model, first) }];
  if (!picks.some(({ marker }) => marker.movable)) return entries;
  if (picks.length === 1) entries.push({ text: "Rename", icon: "rename", key: "F2", onSelect: () => rename(first) });
  entries.push(...keyEntries(model, first));
  entries.push({ text: `Copy to frame ${model.frame}`, icon: "copy", onSelect: () => copy(model, picks) });
  entries.push({ text: "Release", icon: "trash", key: "Del", onSelect: () => release(model, picks) });
  return entries;
}

/** What only keys have: soft or exact, and their pose. */
function keyEntries(model: Model, { marker }: Pick): MenuEntry[] {
  const key = model.state?.keyframe?.keys.find((each) => each.id === marker.id);
  if (!key) return [];
  const hard = (on: boolean) => () => void model.app.request("key.set", { key: key.id, hard: on });
  return [
    { text: "Take this pose", icon: "camera", onSelect: () => void model.app.request("key.load", { key: key.id }) },
    { text: "Exact", checked: key.hard, onSelect: hard(true) },
    { text: "Soft", checked: !key.hard, onSelect: hard(false) },
  ];
}

const UNITS: [UiState["unit"], string][] = [["frames", "Frames"], ["seconds", "Seconds"], ["timecode", "Timecode"]];

/** For the ruler at a frame. */
export function rulerMenu(model: Model, frame: number): MenuEntry[] {
  const { app, last } = model;
  const [from, to] = app.ui.loopRange;
  const entries: MenuEntry[] = [
    {
      text: `Loop from ${frame}`,
      key: "[",
      onSelect: () => app.setUi({ loop: true, loopRange: [frame, Math.max(to, frame)] }),
    },
    {
      text: `Loop up to ${frame}`,
      key: "]",
      onSelect: () => app.setUi({ loop: true, loopRange: [Math.min(from, frame), frame] }),
    },
    { text: "Loop the whole shot", icon: "loop", onSelect: () => app.setUi({ loop: true, loopRange: [0, last] }) },
  ];
  if (model.state?.edit) {
    if (from > 0 || to < last)
      entries.push({ text: "Edit only the loop's frames", icon: "lock", onSelect: () => void tuneWindow(model, [from, to]) });
    if (model.state.edit.window) entries.push({ text: "Edit all frames", onSelect: () => void tuneWindow(model, null) });
  }
  entries.push(null, { text: "Fit", icon: "fit", onSelect: () => fit(model) });
  return [
    ...entries,
    null,
    ...UNITS.map(([unit, text]) => ({ text, checked: app.ui.unit === unit, onSelect: () => app.setUi({ unit }) })),
  ];
}

/** For a lane's name. */
export function laneMenu(model: Model, lane: string): MenuEntry[] {
  const all = model.picks.filter((pick) => pick.lane.id === lane).map(({ marker }) => keyOf(lane, marker.id));
  const hide = (hidden: Iterable<string>) => (): void => {
    model.hidden = new Set(hidden);
    model.redraw();
  };
  const entries: MenuEntry[] = [];
  if (all.length) entries.push({ text: "Select all", icon: "select", onSelect: () => select(model, all, "only") });
  if (model.lanes.length > 1) entries.push({ text: "Hide lane", icon: "eye-off", onSelect: hide([...model.hidden, lane]) });
  if (model.hidden.size) entries.push({ text: "Show all lanes", icon: "eye", onSelect: hide([]) });
  return entries;
}
