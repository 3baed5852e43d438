/** Table of the commands that all modes share, with shortcuts, icons and actions; modes add their own. */

import type { Icon } from "./icons";
import { getCurrentMode, getModes, type ModeDefinition, type ModeName } from "./modes";
import { getEditFrame, seek } from "./playback";
import type { App, ProjectState, UiState } from "./types";

export const COMMAND_GROUPS = ["Look", "Play", "Direct", "Markers", "Modes", "Project"] as const;
export type CommandGroup = (typeof COMMAND_GROUPS)[number];

export interface Command {
  id: string;
  title: string;
  group: CommandGroup;
  keys?: readonly string[]; // "Ctrl+Shift+z", "ArrowLeft", "Num1", " "
  helpRow?: string; // commands with the same helpRow share one line of the help dialog
  icon?: Icon;
  modes?: readonly ModeName[]; // all when absent
  getDisabledReason?(app: App): string | null; // null if enabled
  run?(app: App): void; // absent: a component registers a handler
  onStartPage?: true; // also enabled on the start page
  hidden?: true; // has a shortcut, but is not listed in the palette
}
/** Command of a mode, in the group "Modes". */
export type CommandSpec = Omit<Command, "group" | "modes">;

/** Pointer gesture, listed in the help dialog. */
export interface GestureHelp {
  title: string;
  group: CommandGroup;
  keys: readonly string[];
  modes?: readonly ModeName[];
}

/** Line of the help dialog with the keys that switch modes. */
export const MODE_HELP_ROW = "Switch mode";

/** Command that selects a tool. */
export function createToolCommand(tool: UiState["tool"], title: string, key: string, more: Partial<CommandSpec> = {}): CommandSpec {
  return { id: `tool.${tool}`, title, keys: [key], icon: tool, run: (app) => app.setUi({ tool }), ...more };
}

/** Action that toggles a boolean of the UI state. */
const toggleUi = (name: "ghost" | "trails" | "wireframe" | "loop" | "panel" | "plots") => (app: App): void =>
  app.setUi({ [name]: !app.ui[name] });

/** Action that moves the edit frame by some frames. */
const stepFrame = (by: number) => (app: App): void => seek(app, getEditFrame(app) + by);

/** Frame of the nearest marker before (-1) or after (1) a frame; null if there is none. */
export function findAdjacentMarker(state: ProjectState, frame: number, direction: 1 | -1): number | null {
  const frames = state.lanes.flatMap((lane) => lane.markers.map((marker) => marker.frame));
  const beyond = frames.filter((each) => (each - frame) * direction > 0).sort((a, b) => (a - b) * direction);
  return beyond[0] ?? null;
}

/** Action that seeks to the previous (-1) or next (1) marker. */
const goToAdjacentMarker = (direction: 1 | -1) => (app: App): void => {
  const frame = app.state && findAdjacentMarker(app.state, getEditFrame(app), direction);
  if (frame !== null) seek(app, frame);
};

/** Action that sets the start (0) or end (1) of the loop range to the edit frame. */
const setLoopEnd = (end: 0 | 1) => (app: App): void => {
  const frame = getEditFrame(app);
  const [first, last] = app.ui.loopRange;
  app.setUi({ loopRange: end === 0 ? [frame, Math.max(frame, last)] : [Math.min(first, frame), frame], loop: true });
};

/** Toggle playback of the playhead, or the simulation of a live mode. */
function togglePlay(app: App): void {
  const live = getCurrentMode(app)?.live;
  if (live) live.toggle(app);
  else app.setUi({ playing: !app.ui.playing });
}

/** Seek to the first frame, or restart the simulation of a live mode. */
function goToFirstFrame(app: App): void {
  const live = getCurrentMode(app)?.live;
  if (live) return live.restart(app);
  app.setUi({ playhead: 0 });
  seek(app, 0);
}

function goToLastFrame(app: App): void {
  if (!app.state) return;
  app.setUi({ playhead: app.state.frames - 1 });
  seek(app, app.state.frames - 1);
}

/** Reason why the open project does not support a mode; null if it does. */
export function getModeDisabledReason(app: App, name: ModeName): string | null {
  const info = app.project?.modes[name];
  return info?.possible ? null : (info?.why ?? "This mode is not available.");
}

const createModeCommand = ({ name, title, key, icon }: ModeDefinition): CommandSpec => ({
  id: `mode.${name}`,
  title,
  keys: [key],
  helpRow: MODE_HELP_ROW,
  icon,
  getDisabledReason: (app) => getModeDisabledReason(app, name),
  run: (app) => {
    if (app.state?.mode !== name) void app.request("mode", { mode: name });
  },
});

const LOOK_COMMANDS: readonly CommandSpec[] = [
  { id: "view.selection", title: "Frame selection", keys: ["a"], helpRow: "Frame selection, all", icon: "fit" },
  { id: "view.all", title: "Frame all", keys: ["Home"], helpRow: "Frame selection, all", icon: "frame" },
  { id: "view.front", title: "Front view", keys: ["Num1"], helpRow: "Front, right, top view" },
  { id: "view.right", title: "Right view", keys: ["Num3"], helpRow: "Front, right, top view" },
  { id: "view.top", title: "Top view", keys: ["Num7"], helpRow: "Front, right, top view" },
  {
    id: "view.views", title: "One or two views", keys: ["\\"], icon: "two",
    run: (app) => app.setUi({ views: app.ui.views === 1 ? 2 : 1 }),
  },
  { id: "view.ghost", title: "Ghost", keys: ["h"], helpRow: "Ghost, trails, wireframe", icon: "ghost", run: toggleUi("ghost") },
  { id: "view.trails", title: "Trails", keys: ["t"], helpRow: "Ghost, trails, wireframe", icon: "trail", run: toggleUi("trails") },
  {
    id: "view.wireframe", title: "Wireframe", keys: ["w"], helpRow: "Ghost, trails, wireframe", icon: "wire",
    run: toggleUi("wireframe"),
  },
];

const PLAY_COMMANDS: readonly CommandSpec[] = [
  { id: "play", title: "Play or pause", keys: [" "], icon: "play", run: togglePlay },
  { id: "frame.prev", title: "Previous frame", keys: ["ArrowLeft"], helpRow: "Previous, next frame", icon: "prev", run: stepFrame(-1) },
  { id: "frame.next", title: "Next frame", keys: ["ArrowRight"], helpRow: "Previous, next frame", icon: "next", run: stepFrame(1) },
  { id: "marker.prev", title: "Previous marker", keys: ["ArrowUp"], helpRow: "Previous, next marker", run: goToAdjacentMarker(-1) },
  { id: "marker.next", title: "Next marker", keys: ["ArrowDown"], helpRow: "Previous, next marker", run: goToAdjacentMarker(1) },
  { id: "frame.first", title: "First frame", keys: ["Shift+ArrowLeft"], helpRow: "First, last frame", icon: "first", run: goToFirstFrame },
  { id: "frame.last", title: "Last frame", keys: ["Shift+ArrowRight"], helpRow: "First, last frame", icon: "last", run: goToLastFrame },
  { id: "loop.in", title: "Loop from here", keys: ["["], helpRow: "Loop range in, out", run: setLoopEnd(0) },
  { id: "loop.out", title: "Loop up to here", keys: ["]"], helpRow: "Loop range in, out", run: setLoopEnd(1) },
  { id: "loop", title: "Loop", icon: "loop", run: toggleUi("loop") },
];

const SELECT_COMMANDS: readonly CommandSpec[] = [
  createToolCommand("select", "Select", "v", { helpRow: "Select, move, marquee" }),
  {
    id: "escape", title: "Cancel, close, clear", keys: ["Escape"], onStartPage: true, hidden: true,
    run: (app) => app.state && app.state.selection.length > 0 && void app.request("select", { nodes: [] }),
  },
];
const DRAG_COMMANDS: readonly CommandSpec[] = [
  createToolCommand("move", "Move with handle", "g", { helpRow: "Select, move, marquee" }),
  createToolCommand("marquee", "Marquee", "b", { helpRow: "Select, move, marquee" }),
  createToolCommand("measure", "Measure", "m"),
];

const MARKER_COMMANDS: readonly CommandSpec[] = [
  { id: "marker.back", title: "Nudge one frame back", keys: [","], helpRow: "Nudge one frame" },
  { id: "marker.on", title: "Nudge one frame forward", keys: ["."], helpRow: "Nudge one frame" },
  { id: "marker.back10", title: "Nudge ten frames back", keys: ["Shift+,", "<"], helpRow: "Nudge ten frames" },
  { id: "marker.on10", title: "Nudge ten frames forward", keys: ["Shift+.", ">"], helpRow: "Nudge ten frames" },
  { id: "marker.delete", title: "Release or delete", keys: ["Delete", "Backspace"], icon: "trash" },
];

const PROJECT_COMMANDS: readonly CommandSpec[] = [
  {
    id: "undo", title: "Undo", keys: ["Ctrl+z"], helpRow: "Undo, redo", icon: "undo",
    getDisabledReason: (app) => (app.state?.undo ? null : "Nothing to undo."),
    run: (app) => void app.request("undo"),
  },
  {
    id: "redo", title: "Redo", keys: ["Ctrl+Shift+z", "Ctrl+y"], helpRow: "Undo, redo", icon: "redo",
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
    id: "theme", title: "Dark or light", icon: "moon", onStartPage: true,
    run: (app) => app.setUi({ theme: app.ui.theme === "dark" ? "light" : "dark" }),
  },
  { id: "tour", title: "Show the first steps again", icon: "info" },
  { id: "help", title: "Keyboard and mouse", keys: ["?"], icon: "keyboard", onStartPage: true },
];

/** Names of the modes that have a feature. */
const listModes = (has: (mode: ModeDefinition) => unknown): ModeName[] => getModes().filter(has).map(({ name }) => name);

/** All commands: those above, and those of the registered modes. */
export function createCommands(): Command[] {
  const inGroup = (group: CommandGroup, rows: readonly CommandSpec[], modes?: readonly ModeName[]): Command[] =>
    rows.map((row) => ({ ...row, group, ...(modes && { modes }) }));
  return [
    ...inGroup("Look", LOOK_COMMANDS),
    ...inGroup("Play", PLAY_COMMANDS),
    ...inGroup("Direct", SELECT_COMMANDS),
    ...inGroup("Direct", DRAG_COMMANDS, listModes((mode) => mode.allowsVertexDrag)),
    ...inGroup("Markers", MARKER_COMMANDS, listModes((mode) => mode.hasMovableMarkers)),
    ...inGroup("Modes", [createToolCommand("pin", "Pin", "p")], listModes((mode) => mode.togglePins)),
    ...getModes().flatMap((mode) => inGroup("Modes", mode.commands, [mode.name])),
    ...inGroup("Modes", getModes().map(createModeCommand)),
    ...inGroup("Project", PROJECT_COMMANDS),
  ];
}

/** All pointer gestures, those of the modes last. */
export function createGestureHelp(): GestureHelp[] {
  const drag = listModes((mode) => mode.allowsVertexDrag);
  const markers = listModes((mode) => mode.hasMovableMarkers);
  return [
    { title: "Orbit", group: "Look", keys: ["Drag background"] },
    { title: "Pan", group: "Look", keys: ["Right drag"] },
    { title: "Zoom to pointer", group: "Look", keys: ["Wheel"] },
    { title: "Select vertex", group: "Direct", keys: ["Click"], modes: markers },
    { title: "Add to selection", group: "Direct", keys: ["⇧", "click"], modes: drag },
    { title: "Lock to axis", group: "Direct", keys: ["X", "Y", "Z"], modes: drag },
    { title: "Lock to plane", group: "Direct", keys: ["⇧ X", "⇧ Y", "⇧ Z"], modes: drag },
    { title: "Type an amount", group: "Direct", keys: ["0 – 9", "⏎"], modes: drag },
    { title: "Fine, snap while dragging", group: "Direct", keys: ["⇧", "Ctrl"], modes: drag },
    { title: "Cancel the drag", group: "Direct", keys: ["Esc"] },
    ...getModes().flatMap(({ name, gestures = [] }) => gestures.map((gesture) => ({ ...gesture, modes: [name] }))),
    { title: "Copy marker", group: "Markers", keys: ["Alt", "drag"], modes: markers },
  ];
}
