/** What can be done, row by row: see commands.ts for what reads it. */

import type { IconName } from "./icons";
import { bound, change, clear, first, idle, jump, last, play, possible, step, toggles } from "./acts";
import { present } from "./playing";
import { ENRICHING } from "./table-enrich";
import { REROUTING } from "./table-reroute";
import { STEERING } from "./table-steer";
import type { App, ModeName, Ui } from "./types";

export const GROUPS = ["Look", "Play", "Direct", "Markers", "Modes", "Project"] as const;
export type Group = (typeof GROUPS)[number];

export interface Command {
  name: string;
  title: string;
  group: Group;
  keys?: readonly string[]; // "Ctrl+Shift+z", "ArrowLeft", "Num1", " "
  row?: string; // commands of one row stand in one line of the help sheet
  icon?: IconName;
  modes?: readonly ModeName[]; // all when absent
  when?(app: App): string | null; // why not now, null when it can be done
  do?(app: App): void; // absent: a part of the page provides it
  start?: true; // can be done on the start page too
  hidden?: true; // bound, but not listed in the palette
}

/** What only the hand does: for the help sheet. */
export interface Gesture {
  title: string;
  group: Group;
  keys: readonly string[];
  modes?: readonly ModeName[];
}

const DIRECTED: readonly ModeName[] = ["edit", "keyframe", "reroute"];
const DRAGGED: readonly ModeName[] = ["edit", "reroute"];

/** A row before its group is known. */
export type Row = Omit<Command, "group">;

function grouped(group: Group, rows: readonly Row[]): Command[] {
  return rows.map((row) => ({ ...row, group }));
}

function tool(name: Ui["tool"], title: string, key: string, icon: IconName, more: Partial<Row>): Row {
  return { name: `tool.${name}`, title, keys: [key], icon, do: (app) => app.set({ tool: name }), ...more };
}

function mode(name: ModeName, title: string, key: string): Row {
  const why = (app: App): string | null => possible(app, name);
  return {
    name: `mode.${name}`,
    title,
    keys: [key],
    row: "Edit … Reroute",
    icon: name,
    when: why,
    do: (app) => change(app, name),
  };
}

export const COMMANDS: readonly Command[] = [
  ...grouped("Look", [
    { name: "view.selection", title: "Frame selection", keys: ["a"], row: "Frame selection, all", icon: "fit" },
    { name: "view.all", title: "Frame all", keys: ["Home"], row: "Frame selection, all", icon: "frame" },
    { name: "view.front", title: "Front view", keys: ["Num1"], row: "Front, right, top view" },
    { name: "view.right", title: "Right view", keys: ["Num3"], row: "Front, right, top view" },
    { name: "view.top", title: "Top view", keys: ["Num7"], row: "Front, right, top view" },
    {
      name: "view.views",
      title: "One or two views",
      keys: ["\\"],
      icon: "two",
      do: (app) => app.set({ views: app.ui.views === 1 ? 2 : 1 }),
    },
    {
      name: "view.ghost",
      title: "Ghost",
      keys: ["h"],
      row: "Ghost, trails, wireframe",
      icon: "ghost",
      do: toggles("ghost"),
    },
    {
      name: "view.trails",
      title: "Trails",
      keys: ["t"],
      row: "Ghost, trails, wireframe",
      icon: "trail",
      do: toggles("trails"),
    },
    {
      name: "view.wireframe",
      title: "Wireframe",
      keys: ["w"],
      row: "Ghost, trails, wireframe",
      icon: "wire",
      do: toggles("wireframe"),
    },
  ]),
  ...grouped("Play", [
    { name: "play", title: "Play or pause", keys: [" "], icon: "play", do: play },
    {
      name: "frame.prev",
      title: "One frame back",
      keys: ["ArrowLeft"],
      row: "Step one frame",
      icon: "prev",
      do: step(-1),
    },
    {
      name: "frame.next",
      title: "One frame on",
      keys: ["ArrowRight"],
      row: "Step one frame",
      icon: "next",
      do: step(1),
    },
    { name: "marker.prev", title: "Previous marker", keys: ["ArrowUp"], row: "Previous, next marker", do: jump(-1) },
    { name: "marker.next", title: "Next marker", keys: ["ArrowDown"], row: "Previous, next marker", do: jump(1) },
    {
      name: "frame.first",
      title: "First frame",
      keys: ["Shift+ArrowLeft"],
      row: "First, last frame",
      icon: "first",
      do: first,
    },
    {
      name: "frame.last",
      title: "Last frame",
      keys: ["Shift+ArrowRight"],
      row: "First, last frame",
      icon: "last",
      do: last,
    },
    { name: "loop.in", title: "Loop from here", keys: ["["], row: "Loop range in, out", do: bound(0) },
    { name: "loop.out", title: "Loop up to here", keys: ["]"], row: "Loop range in, out", do: bound(1) },
    { name: "loop", title: "Loop", icon: "loop", do: toggles("loop") },
  ]),
  ...grouped("Direct", [
    tool("select", "Select", "v", "select", { row: "Select, move, marquee" }),
    tool("move", "Move with handle", "g", "move", { row: "Select, move, marquee", modes: DRAGGED }),
    tool("marquee", "Marquee", "b", "marquee", { row: "Select, move, marquee", modes: DRAGGED }),
    tool("measure", "Measure", "m", "measure", { modes: DRAGGED }),
    {
      name: "escape",
      title: "Cancel, close, clear",
      keys: ["Escape"],
      start: true,
      hidden: true,
      do: (app) => clear(app),
    },
  ]),
  ...grouped("Markers", [
    { name: "marker.back", title: "Nudge one frame back", keys: [","], row: "Nudge one frame", modes: DIRECTED },
    { name: "marker.on", title: "Nudge one frame on", keys: ["."], row: "Nudge one frame", modes: DIRECTED },
    {
      name: "marker.back10",
      title: "Nudge ten frames back",
      keys: ["Shift+,", "<"],
      row: "Nudge ten frames",
      modes: DIRECTED,
    },
    {
      name: "marker.on10",
      title: "Nudge ten frames on",
      keys: ["Shift+.", ">"],
      row: "Nudge ten frames",
      modes: DIRECTED,
    },
    {
      name: "marker.delete",
      title: "Release or delete",
      keys: ["Delete", "Backspace"],
      icon: "trash",
      modes: DIRECTED,
    },
  ]),
  ...grouped("Modes", [
    tool("pull", "Pull", "f", "pull", { row: "Pull or push", modes: ["keyframe"] }),
    tool("push", "Push", "f", "push", { row: "Pull or push", modes: ["steer"] }),
    tool("impulse", "Impulse", "i", "impulse", { modes: ["steer"] }),
    tool("pin", "Pin", "p", "pin", { modes: DIRECTED }),
    ...ENRICHING,
    ...REROUTING,
    mode("edit", "Edit", "1"),
    mode("keyframe", "Keyframe", "2"),
    mode("steer", "Steer", "3"),
    mode("enrich", "Enrich", "4"),
    mode("reroute", "Reroute", "5"),
    {
      name: "key.capture",
      title: "Capture key",
      keys: ["k"],
      icon: "key",
      modes: ["keyframe"],
      do: (app) => void app.ask("key.capture", { frame: present(app) }),
    },
    {
      name: "optimise",
      title: "Optimise",
      keys: ["Enter"],
      icon: "check",
      modes: ["keyframe"],
      when: idle,
      do: (app) => void app.ask("optimise"),
    },
    {
      name: "pose.reset",
      title: "Reset pose",
      icon: "refresh",
      modes: ["keyframe"],
      do: (app) => void app.ask("pose.reset"),
    },
    {
      name: "gravity",
      title: "Gravity in the pose",
      icon: "gravity",
      modes: ["keyframe"],
      do: (app) => void app.ask("gravity", { on: !app.state?.keyframe?.gravity }),
    },
    {
      name: "moves",
      title: "Make the suggested drags",
      icon: "drag",
      modes: ["edit"],
      when: (app) => (app.state?.edit?.suggested ? null : "This scene suggests none."),
      do: (app) => void app.ask("moves"),
    },
    ...STEERING,
  ]),
  ...grouped("Project", [
    {
      name: "undo",
      title: "Undo",
      keys: ["Ctrl+z"],
      row: "Undo, redo",
      icon: "undo",
      when: (app) => (app.state?.undo ? null : "Nothing to undo."),
      do: (app) => void app.ask("undo"),
    },
    {
      name: "redo",
      title: "Redo",
      keys: ["Ctrl+Shift+z", "Ctrl+y"],
      row: "Undo, redo",
      icon: "redo",
      when: (app) => (app.state?.redo ? null : "Nothing to redo."),
      do: (app) => void app.ask("redo"),
    },
    { name: "save", title: "Save as a file", keys: ["Ctrl+s"], row: "Save, export", icon: "download" },
    { name: "export", title: "Export", keys: ["Ctrl+Shift+e"], row: "Save, export", icon: "export" },
    { name: "open", title: "Open", keys: ["Ctrl+o"], icon: "folder", start: true },
    { name: "close", title: "Back to the start page", icon: "x" },
    { name: "palette", title: "Command palette", keys: ["Ctrl+k"], icon: "search", start: true },
    { name: "plots", title: "Plots drawer", keys: ["j"], icon: "plot", do: toggles("plots") },
    { name: "panel", title: "Property panel", keys: ["n"], icon: "gear", do: toggles("panel") },
    {
      name: "theme",
      title: "Dark or light",
      icon: "moon",
      start: true,
      do: (app) => app.set({ theme: app.ui.theme === "dark" ? "light" : "dark" }),
    },
    { name: "tour", title: "Show the first steps again", icon: "info" },
    { name: "help", title: "This sheet", keys: ["?"], icon: "keyboard", start: true },
  ]),
];

export const GESTURES: readonly Gesture[] = [
  { title: "Orbit", group: "Look", keys: ["Drag background"] },
  { title: "Pan", group: "Look", keys: ["Right drag"] },
  { title: "Zoom to pointer", group: "Look", keys: ["Wheel"] },
  { title: "Select vertex", group: "Direct", keys: ["Click"], modes: DIRECTED },
  { title: "Add to selection", group: "Direct", keys: ["⇧", "click"], modes: DRAGGED },
  { title: "Lock to axis", group: "Direct", keys: ["X", "Y", "Z"], modes: DRAGGED },
  { title: "Lock to plane", group: "Direct", keys: ["⇧ X", "⇧ Y", "⇧ Z"], modes: DRAGGED },
  { title: "Type an amount", group: "Direct", keys: ["0 – 9", "⏎"], modes: DRAGGED },
  { title: "Fine, snap while dragging", group: "Direct", keys: ["⇧", "Ctrl"], modes: DRAGGED },
  { title: "Cancel the drag", group: "Direct", keys: ["Esc"] },
  { title: "Pull the body", group: "Direct", keys: ["Drag"], modes: ["keyframe"] },
  { title: "Add to the pulls", group: "Direct", keys: ["⇧", "drag"], modes: ["keyframe"] },
  { title: "Push the body, or the flow", group: "Direct", keys: ["Drag"], modes: ["steer"] },
  { title: "Paint a region", group: "Direct", keys: ["Drag"], modes: ["enrich"] },
  { title: "Pick the region under the pointer", group: "Direct", keys: ["Alt", "click"], modes: ["enrich"] },
  { title: "Copy marker", group: "Markers", keys: ["Alt", "drag"], modes: DIRECTED },
];
