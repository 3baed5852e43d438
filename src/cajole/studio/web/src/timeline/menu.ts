/** What a right click on the time line offers. */

import { h } from "../core/dom";
import { icon, type IconName } from "../core/icons";
import type { Ui } from "../core/types";
import { copy, goTo, release, select } from "./actions";
import { tuneWindow, fit } from "./drags";
import { keyOf, type Model, type Pick } from "./model";

export interface Entry { text: string; icon?: IconName; key?: string; on?: boolean; does: () => void }

/** A menu at a place of the window [px]; it takes the focus and gives it back. */
export function showMenu(entries: readonly Entry[], x: number, y: number): void {
  const before = document.activeElement instanceof HTMLElement ? document.activeElement : null;
  const close = (): void => {
    removeEventListener("pointerdown", outside, true);
    removeEventListener("blur", close);
    element.remove();
    before?.focus({ preventScroll: true });
  };
  const outside = (event: PointerEvent): void => {
    if (!element.contains(event.target as Node)) close();
  };
  const rows = entries.map((entry) =>
    h("button", {
      type: "button", role: entry.on === undefined ? "menuitem" : "menuitemradio", tabIndex: -1,
      "aria-checked": entry.on === undefined ? null : String(entry.on),
      onclick: () => {
        close();
        entry.does();
      },
    }, h("span", { class: "timeline-menu-icon" }, entry.on ? icon("check") : entry.icon ? icon(entry.icon) : null), h("span", null, entry.text),
    entry.key ? h("kbd", { "aria-hidden": "true" }, entry.key) : null));
  const element = h("div", { class: "timeline-menu", role: "menu" }, rows);
  element.addEventListener("keydown", (event) => {
    event.stopPropagation();
    const at = rows.indexOf(document.activeElement as HTMLButtonElement);
    const next: Record<string, number> = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: rows.length - 1 };
    if (event.key === "Escape" || event.key === "Tab") close();
    else if (event.key in next) rows[(next[event.key] + rows.length) % rows.length].focus();
    else return;
    event.preventDefault();
  });
  document.body.append(element);
  const { width, height } = element.getBoundingClientRect();
  element.style.left = `${Math.max(Math.min(x, innerWidth - width - 8), 8)}px`;
  element.style.top = `${y + height + 8 > innerHeight ? Math.max(y - height, 8) : y}px`;
  rows[0]?.focus();
  addEventListener("pointerdown", outside, true);
  addEventListener("blur", close);
}

/** For markers; `rename`: begins to rename the one there is. */
export function markerMenu(model: Model, picks: readonly Pick[], rename: (pick: Pick) => void): Entry[] {
  const [first] = picks;
  const entries: Entry[] = [{ text: "Go to", icon: "frame", key: "⏎", does: () => goTo(model, first) }];
  if (!picks.some(({ marker }) => marker.movable)) return entries;
  if (picks.length === 1) entries.push({ text: "Rename", icon: "rename", key: "F2", does: () => rename(first) });
  entries.push(...keyEntries(model, first));
  entries.push({ text: `Copy to frame ${model.frame}`, icon: "copy", does: () => copy(model, picks) });
  entries.push({ text: "Release", icon: "trash", key: "Del", does: () => release(model, picks) });
  return entries;
}

/** What only keys have: soft or exact, and their pose. */
function keyEntries(model: Model, { marker }: Pick): Entry[] {
  const key = model.state?.keyframe?.keys.find((each) => each.id === marker.id);
  if (!key) return [];
  const hard = (on: boolean) => () => void model.app.ask("key.set", { key: key.id, hard: on });
  return [
    { text: "Take this pose", icon: "camera", does: () => void model.app.ask("key.load", { key: key.id }) },
    { text: "Exact", on: key.hard, does: hard(true) },
    { text: "Soft", on: !key.hard, does: hard(false) },
  ];
}

const UNITS: [Ui["unit"], string][] = [["frames", "Frames"], ["seconds", "Seconds"], ["timecode", "Timecode"]];

/** For the ruler at a frame. */
export function rulerMenu(model: Model, frame: number): Entry[] {
  const { app, last } = model;
  const [from, to] = app.ui.loopRange;
  const entries: Entry[] = [
    { text: `Loop from ${frame}`, key: "[", does: () => app.set({ loop: true, loopRange: [frame, Math.max(to, frame)] }) },
    { text: `Loop up to ${frame}`, key: "]", does: () => app.set({ loop: true, loopRange: [Math.min(from, frame), frame] }) },
    { text: "Loop the whole shot", icon: "loop", does: () => app.set({ loop: true, loopRange: [0, last] }) },
  ];
  if (model.state?.edit) {
    if (from > 0 || to < last) entries.push({ text: "Edit only the loop's frames", icon: "lock", does: () => void tuneWindow(model, [from, to]) });
    if (model.state.edit.window) entries.push({ text: "Edit all frames", does: () => void tuneWindow(model, null) });
  }
  entries.push({ text: "Fit", icon: "fit", does: () => fit(model) });
  return [...entries, ...UNITS.map(([unit, text]) => ({ text, on: app.ui.unit === unit, does: () => app.set({ unit }) }))];
}

/** For a lane's name. */
export function laneMenu(model: Model, lane: string): Entry[] {
  const all = model.picks.filter((pick) => pick.lane.id === lane).map(({ marker }) => keyOf(lane, marker.id));
  const hide = (hidden: Iterable<string>) => (): void => {
    model.hidden = new Set(hidden);
    model.redraw();
  };
  const entries: Entry[] = [];
  if (all.length) entries.push({ text: "Select all", icon: "select", does: () => select(model, all, "only") });
  if (model.lanes.length > 1) entries.push({ text: "Hide lane", icon: "eye-off", does: hide([...model.hidden, lane]) });
  if (model.hidden.size) entries.push({ text: "Show all lanes", icon: "eye", does: hide([]) });
  return entries;
}
