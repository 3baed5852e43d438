/** Table of all commands, with their shortcuts, icons, modes and actions. */

import type { IconName } from "./icons";
import {
  setLoopEnd,
  setMode,
  clearSelection,
  goToFirstFrame,
  getBusyReason,
  goToAdjacentMarker,
  goToLastFrame,
  togglePlay,
  getModeDisabledReason,
  stepFrame,
  toggleUi,
} from "./command-actions";
import { getEditFrame } from "./playback";
import { ENRICH_COMMANDS } from "./enrich-commands";
import { REROUTE_COMMANDS } from "./reroute-commands";
import { STEER_COMMANDS } from "./steer-commands";
import type { App, ModeName, UiState } from "./types";

export const COMMAND_GROUPS = ["Look", "Play", "Direct", "Markers", "Modes", "Project"] as const;
export type CommandGroup = (typeof COMMAND_GROUPS)[number];

export interface Command {
  id: string;
  title: string;
  group: CommandGroup;
  keys?: readonly string[]; // "Ctrl+Shift+z", "ArrowLeft", "Num1", " "
  helpRow?: string; // commands with the same helpRow share one line of the help dialog
  icon?: IconName;
  modes?: readonly ModeName[]; // all when absent
  getDisabledReason?(app: App): string | null; // null if enabled
  run?(app: App): void; // absent: a component registers a handler
  onStartPage?: true; // also enabled on the start page
  hidden?: true; // has a shortcut, but is not listed in the palette
}

/** Pointer gesture, listed in the help dialog. */
export interface GestureHelp {
  title: string;
  group: CommandGroup;
  keys: readonly string[];
  modes?: readonly ModeName[];
}

const MARKER_MODES: readonly ModeName[] = ["edit", "keyframe", "reroute"];
const DRAG_MODES: readonly ModeName[] = ["edit", "reroute"];

/** A command without its group. */
export type CommandSpec = Omit<Command, "group">;

function withGroup(group: CommandGroup, rows: readonly CommandSpec[]): Command[] {
  return rows.map((row) => ({ ...row, group }));
}

function createToolCommand(name: UiState["tool"], title: string, key: string, icon: IconName, more: Partial<CommandSpec>): CommandSpec {
  return { id: `tool.${name}`, title, keys: [key], icon, run: (app) => app.setUi({ tool: name }), ...more };
}

function createModeCommand(name: ModeName, title: string, key: string): CommandSpec {
  const getDisabledReason = (app: App): string | null => getModeDisabledReason(app, name);
  return {
    id: `mode.${name}`,
    title,
    keys: [key],
    helpRow: "Edit … Reroute",
    icon: name,
    getDisabledReason: getDisabledReason,
    run: (app) => setMode(app, name),
  };
}

export const COMMANDS: readonly Command[] = [
  ...withGroup("Look", [
    { id: "view.selection", title: "Frame selection", keys: ["a"], helpRow: "Frame selection, all", icon: "fit" },
    { id: "view.all", title: "Frame all", keys: ["Home"], helpRow: "Frame selection, all", icon: "frame" },
    { id: "view.front", title: "Front view", keys: ["Num1"], helpRow: "Front, right, top view" },
    { id: "view.right", title: "Right view", keys: ["Num3"], helpRow: "Front, right, top view" },
    { id: "view.top", title: "Top view", keys: ["Num7"], helpRow: "Front, right, top view" },
    {
      id: "view.views",
      title: "One or two views",
      keys: ["\\"],
      icon: "two",
      run: (app) => app.setUi({ views: app.ui.views === 1 ? 2 : 1 }),
    },
    {
      id: "view.ghost",
      title: "Ghost",
      keys: ["h"],
      helpRow: "Ghost, trails, wireframe",
      icon: "ghost",
      run: toggleUi("ghost"),
    },
    {
      id: "view.trails",
      title: "Trails",
      keys: ["t"],
      helpRow: "Ghost, trails, wireframe",
      icon: "trail",
      run: toggleUi("trails"),
    },
    {
      id: "view.wireframe",
      title: "Wireframe",
      keys: ["w"],
      helpRow: "Ghost, trails, wireframe",
      icon: "wire",
      run: toggleUi("wireframe"),
    },
  ]),
  ...withGroup("Play", [
    { id: "play", title: "Play or pause", keys: [" "], icon: "play", run: togglePlay },
    {
      id: "frame.prev",
      title: "One frame back",
      keys: ["ArrowLeft"],
      helpRow: "Step one frame",
      icon: "prev",
      run: stepFrame(-1),
    },
    {
      id: "frame.next",
      title: "One frame on",
      keys: ["ArrowRight"],
      helpRow: "Step one frame",
      icon: "next",
      run: stepFrame(1),
    },
    { id: "marker.prev", title: "Previous marker", keys: ["ArrowUp"], helpRow: "Previous, next marker", run: goToAdjacentMarker(-1) },
    { id: "marker.next", title: "Next marker", keys: ["ArrowDown"], helpRow: "Previous, next marker", run: goToAdjacentMarker(1) },
    {
      id: "frame.first",
      title: "First frame",
      keys: ["Shift+ArrowLeft"],
      helpRow: "First, last frame",
      icon: "first",
      run: goToFirstFrame,
    },
    {
      id: "frame.last",
      title: "Last frame",
      keys: ["Shift+ArrowRight"],
      helpRow: "First, last frame",
      icon: "last",
      run: goToLastFrame,
    },
    { id: "loop.in", title: "Loop from here", keys: ["["], helpRow: "Loop range in, out", run: setLoopEnd(0) },
    { id: "loop.out", title: "Loop up to here", keys: ["]"], helpRow: "Loop range in, out", run: setLoopEnd(1) },
    { id: "loop", title: "Loop", icon: "loop", run: toggleUi("loop") },
  ]),
  ...withGroup("Direct", [
    createToolCommand("select", "Select", "v", "select", { helpRow: "Select, move, marquee" }),
    createToolCommand("move", "Move with handle", "g", "move", { helpRow: "Select, move, marquee", modes: DRAG_MODES }),
    createToolCommand("marquee", "Marquee", "b", "marquee", { helpRow: "Select, move, marquee", modes: DRAG_MODES }),
    createToolCommand("measure", "Measure", "m", "measure", { modes: DRAG_MODES }),
    {
      id: "escape",
      title: "Cancel, close, clear",
      keys: ["Escape"],
      onStartPage: true,
      hidden: true,
      run: (app) => clearSelection(app),
    },
  ]),
  ...withGroup("Markers", [
    { id: "marker.back", title: "Nudge one frame back", keys: [","], helpRow: "Nudge one frame", modes: MARKER_MODES },
    { id: "marker.on", title: "Nudge one frame on", keys: ["."], helpRow: "Nudge one frame", modes: MARKER_MODES },
    {
      id: "marker.back10",
      title: "Nudge ten frames back",
      keys: ["Shift+,", "<"],
      helpRow: "Nudge ten frames",
      modes: MARKER_MODES,
    },
    {
      id: "marker.on10",
      title: "Nudge ten frames on",
      keys: ["Shift+.", ">"],
      helpRow: "Nudge ten frames",
      modes: MARKER_MODES,
    },
    {
      id: "marker.delete",
      title: "Release or delete",
      keys: ["Delete", "Backspace"],
      icon: "trash",
      modes: MARKER_MODES,
    },
  ]),
  ...withGroup("Modes", [
    createToolCommand("pull", "Pull", "f", "pull", { helpRow: "Pull or push", modes: ["keyframe"] }),
    createToolCommand("push", "Push", "f", "push", { helpRow: "Pull or push", modes: ["steer"] }),
    createToolCommand("impulse", "Impulse", "i", "impulse", { modes: ["steer"] }),
    createToolCommand("pin", "Pin", "p", "pin", { modes: MARKER_MODES }),
    ...ENRICH_COMMANDS,
    ...REROUTE_COMMANDS,
    createModeCommand("edit", "Edit", "1"),
    createModeCommand("keyframe", "Keyframe", "2"),
    createModeCommand("steer", "Steer", "3"),
    createModeCommand("enrich", "Enrich", "4"),
    createModeCommand("reroute", "Reroute", "5"),
    {
      id: "key.capture",
      title: "Capture key",
      keys: ["k"],
      icon: "key",
      modes: ["keyframe"],
      run: (app) => void app.request("key.capture", { frame: getEditFrame(app) }),
    },
    {
      id: "optimise",
      title: "Optimise",
      keys: ["Enter"],
      icon: "check",
      modes: ["keyframe"],
      getDisabledReason: getBusyReason,
      run: (app) => void app.request("optimise"),
    },
    {
      id: "pose.reset",
      title: "Reset pose",
      icon: "refresh",
      modes: ["keyframe"],
      run: (app) => void app.request("pose.reset"),
    },
    {
      id: "gravity",
      title: "Gravity in the pose",
      icon: "gravity",
      modes: ["keyframe"],
      run: (app) => void app.request("gravity", { on: !app.state?.keyframe?.gravity }),
    },
    {
      id: "moves",
      title: "Make the suggested drags",
      icon: "drag",
      modes: ["edit"],
      getDisabledReason: (app) => (app.state?.edit?.suggested ? null : "This scene suggests none."),
      run: (app) => void app.request("moves"),
    },
    ...STEER_COMMANDS,
  ]),
  ...withGroup("Project", [
    {
      id: "undo",
      title: "Undo",
      keys: ["Ctrl+z"],
      helpRow: "Undo, redo",
      icon: "undo",
      getDisabledReason: (app) => (app.state?.undo ? null : "Nothing to undo."),
      run: (app) => void app.request("undo"),
    },
    {
      id: "redo",
      title: "Redo",
      keys: ["Ctrl+Shift+z", "Ctrl+y"],
      helpRow: "Undo, redo",
      icon: "redo",
      getDisabledReason: (app) => (app.state?.redo ? null : "Nothing to redo."),
      run: (app) => void app.request("redo"),
    },
    { id: "save", title: "Save as a file", keys: ["Ctrl+s"], helpRow: "Save, export", icon: "download" },
    { id: "export", title: "Export", keys: ["Ctrl+Shift+e"], helpRow: "Save, export", icon: "export" },
    { id: "open", title: "Open", keys: ["Ctrl+o"], icon: "folder", onStartPage: true },
    { id: "close", title: "Back to the start page", icon: "x" },
    { id: "palette", title: "Command palette", keys: ["Ctrl+k"], icon: "search", onStartPage: true },
    { id: "plots", title: "Plots drawer", keys: ["j"], icon: "plot", run: toggleUi("plots") },
    { id: "panel", title: "Property panel", keys: ["n"], icon: "gear", run: toggleUi("panel") },
    {
      id: "theme",
      title: "Dark or light",
      icon: "moon",
      onStartPage: true,
      run: (app) => app.setUi({ theme: app.ui.theme === "dark" ? "light" : "dark" }),
    },
    { id: "tour", title: "Show the first steps again", icon: "info" },
    { id: "help", title: "This sheet", keys: ["?"], icon: "keyboard", onStartPage: true },
  ]),
];

export const GESTURE_HELP: readonly GestureHelp[] = [
  { title: "Orbit", group: "Look", keys: ["Drag background"] },
  { title: "Pan", group: "Look", keys: ["Right drag"] },
  { title: "Zoom to pointer", group: "Look", keys: ["Wheel"] },
  { title: "Select vertex", group: "Direct", keys: ["Click"], modes: MARKER_MODES },
  { title: "Add to selection", group: "Direct", keys: ["⇧", "click"], modes: DRAG_MODES },
  { title: "Lock to axis", group: "Direct", keys: ["X", "Y", "Z"], modes: DRAG_MODES },
  { title: "Lock to plane", group: "Direct", keys: ["⇧ X", "⇧ Y", "⇧ Z"], modes: DRAG_MODES },
  { title: "Type an amount", group: "Direct", keys: ["0 – 9", "⏎"], modes: DRAG_MODES },
  { title: "Fine, snap while dragging", group: "Direct", keys: ["⇧", "Ctrl"], modes: DRAG_MODES },
  { title: "Cancel the drag", group: "Direct", keys: ["Esc"] },
  { title: "Pull the body", group: "Direct", keys: ["Drag"], modes: ["keyframe"] },
  { title: "Add to the pulls", group: "Direct", keys: ["⇧", "drag"], modes: ["keyframe"] },
  { title: "Push the body, or the flow", group: "Direct", keys: ["Drag"], modes: ["steer"] },
  { title: "Paint a region", group: "Direct", keys: ["Drag"], modes: ["enrich"] },
  { title: "Pick the region under the pointer", group: "Direct", keys: ["Alt", "click"], modes: ["enrich"] },
  { title: "Copy marker", group: "Markers", keys: ["Alt", "drag"], modes: MARKER_MODES },
];
