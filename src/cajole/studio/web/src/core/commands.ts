/** The one table of what can be done: bindings, tooltips, the help sheet and the palette all read it. */

import type { IconName } from "./icons";
import { shown } from "./keys";
import { go, present } from "./playing";
import type { App, ModeName, State, Ui } from "./types";

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
export interface Gesture { title: string; group: Group; keys: readonly string[]; modes?: readonly ModeName[] }

const DIRECTED: readonly ModeName[] = ["edit", "keyframe"];

function toggles(name: "ghost" | "trails" | "wireframe" | "loop" | "panel" | "plots"): (app: App) => void {
  return (app) => app.set({ [name]: !app.ui[name] });
}

interface Tool { row?: string; group?: Group; modes?: readonly ModeName[] }

function tool(name: Ui["tool"], title: string, key: string, icon: IconName, more: Tool): Command {
  return { name: `tool.${name}`, title, group: "Direct", keys: [key], icon, do: (app) => app.set({ tool: name }), ...more };
}

function mode(name: ModeName, title: string, key: string): Command {
  const why = (app: App): string | null => possible(app, name);
  return { name: `mode.${name}`, title, group: "Modes", keys: [key], row: "Edit … Reroute", icon: name, when: why, do: (app) => change(app, name) };
}

/** Why a mode cannot be chosen for what is open, null when it can. */
export function possible(app: App, name: ModeName): string | null {
  const info = app.project?.modes[name];
  return info?.possible ? null : (info?.why ?? "This comes later.");
}

function change(app: App, name: ModeName): void {
  if (app.state?.mode !== name) void app.ask("mode", { mode: name });
}

function step(by: number): (app: App) => void {
  return (app) => go(app, present(app) + by);
}

/** The frame of the nearest marker before (-1) or after (1) the present one, null when there is none. */
export function neighbour(state: State, frame: number, way: 1 | -1): number | null {
  const frames = state.lanes.flatMap((lane) => lane.markers.map((marker) => marker.frame));
  const beyond = frames.filter((each) => (each - frame) * way > 0).sort((a, b) => (a - b) * way);
  return beyond[0] ?? null;
}

function jump(way: 1 | -1): (app: App) => void {
  return (app) => {
    const frame = app.state && neighbour(app.state, present(app), way);
    if (frame !== null) go(app, frame);
  };
}

function bound(end: 0 | 1): (app: App) => void {
  return (app) => {
    const frame = present(app);
    const [first, last] = app.ui.loopRange;
    const range: [number, number] = end === 0 ? [frame, Math.max(frame, last)] : [Math.min(first, frame), frame];
    app.set({ loopRange: range, loop: true });
  };
}

function play(app: App): void {
  if (app.state?.mode === "steer") void app.ask("run", { play: !app.state.steer?.running, speed: app.state.steer?.speed ?? 1 });
  else app.set({ playing: !app.ui.playing });
}

function first(app: App): void {
  if (app.state?.mode === "steer") void app.ask("restart");
  else {
    app.set({ playhead: 0 });
    go(app, 0);
  }
}

function last(app: App): void {
  if (!app.state) return;
  app.set({ playhead: app.state.frames - 1 });
  go(app, app.state.frames - 1);
}

export const COMMANDS: readonly Command[] = [
  { name: "view.selection", title: "Frame selection", group: "Look", keys: ["a"], row: "Frame selection, all", icon: "fit" },
  { name: "view.all", title: "Frame all", group: "Look", keys: ["Home"], row: "Frame selection, all", icon: "frame" },
  { name: "view.front", title: "Front view", group: "Look", keys: ["Num1"], row: "Front, right, top view" },
  { name: "view.right", title: "Right view", group: "Look", keys: ["Num3"], row: "Front, right, top view" },
  { name: "view.top", title: "Top view", group: "Look", keys: ["Num7"], row: "Front, right, top view" },
  { name: "view.views", title: "One or two views", group: "Look", keys: ["\\"], icon: "two", do: (app) => app.set({ views: app.ui.views === 1 ? 2 : 1 }) },
  { name: "view.ghost", title: "Ghost", group: "Look", keys: ["h"], row: "Ghost, trails, wireframe", icon: "ghost", do: toggles("ghost") },
  { name: "view.trails", title: "Trails", group: "Look", keys: ["t"], row: "Ghost, trails, wireframe", icon: "trail", do: toggles("trails") },
  { name: "view.wireframe", title: "Wireframe", group: "Look", keys: ["w"], row: "Ghost, trails, wireframe", icon: "wire", do: toggles("wireframe") },

  { name: "play", title: "Play or pause", group: "Play", keys: [" "], icon: "play", do: play },
  { name: "frame.prev", title: "One frame back", group: "Play", keys: ["ArrowLeft"], row: "Step one frame", icon: "prev", do: step(-1) },
  { name: "frame.next", title: "One frame on", group: "Play", keys: ["ArrowRight"], row: "Step one frame", icon: "next", do: step(1) },
  { name: "marker.prev", title: "Previous marker", group: "Play", keys: ["ArrowUp"], row: "Previous, next marker", do: jump(-1) },
  { name: "marker.next", title: "Next marker", group: "Play", keys: ["ArrowDown"], row: "Previous, next marker", do: jump(1) },
  { name: "frame.first", title: "First frame", group: "Play", keys: ["Shift+ArrowLeft"], row: "First, last frame", icon: "first", do: first },
  { name: "frame.last", title: "Last frame", group: "Play", keys: ["Shift+ArrowRight"], row: "First, last frame", icon: "last", do: last },
  { name: "loop.in", title: "Loop from here", group: "Play", keys: ["["], row: "Loop range in, out", do: bound(0) },
  { name: "loop.out", title: "Loop up to here", group: "Play", keys: ["]"], row: "Loop range in, out", do: bound(1) },
  { name: "loop", title: "Loop", group: "Play", icon: "loop", do: toggles("loop") },

  tool("select", "Select", "v", "select", { row: "Select, move, marquee" }),
  tool("move", "Move with handle", "g", "move", { row: "Select, move, marquee", modes: ["edit"] }),
  tool("marquee", "Marquee", "b", "marquee", { row: "Select, move, marquee", modes: ["edit"] }),
  tool("measure", "Measure", "m", "measure", { modes: ["edit"] }),
  tool("pull", "Pull", "f", "pull", { row: "Pull or push", group: "Modes", modes: ["keyframe"] }),
  tool("push", "Push", "f", "push", { row: "Pull or push", group: "Modes", modes: ["steer"] }),
  tool("impulse", "Impulse", "i", "impulse", { group: "Modes", modes: ["steer"] }),
  tool("pin", "Pin", "p", "pin", { group: "Modes", modes: DIRECTED }),
  { name: "escape", title: "Cancel, close, clear", group: "Direct", keys: ["Escape"], start: true, hidden: true, do: (app) => clear(app) },

  { name: "marker.back", title: "Nudge one frame back", group: "Markers", keys: [","], row: "Nudge one frame", modes: DIRECTED },
  { name: "marker.on", title: "Nudge one frame on", group: "Markers", keys: ["."], row: "Nudge one frame", modes: DIRECTED },
  { name: "marker.back10", title: "Nudge ten frames back", group: "Markers", keys: ["Shift+,", "<"], row: "Nudge ten frames", modes: DIRECTED },
  { name: "marker.on10", title: "Nudge ten frames on", group: "Markers", keys: ["Shift+.", ">"], row: "Nudge ten frames", modes: DIRECTED },
  { name: "marker.delete", title: "Release or delete", group: "Markers", keys: ["Delete", "Backspace"], icon: "trash", modes: DIRECTED },

  mode("edit", "Edit", "1"),
  mode("keyframe", "Keyframe", "2"),
  mode("steer", "Steer", "3"),
  mode("enrich", "Enrich", "4"),
  mode("reroute", "Reroute", "5"),
  { name: "key.capture", title: "Capture key", group: "Modes", keys: ["k"], icon: "key", modes: ["keyframe"], do: (app) => void app.ask("key.capture", { frame: present(app) }) },
  { name: "optimise", title: "Optimise", group: "Modes", keys: ["Enter"], icon: "check", modes: ["keyframe"], when: idle, do: (app) => void app.ask("optimise") },
  { name: "pose.reset", title: "Reset pose", group: "Modes", icon: "refresh", modes: ["keyframe"], do: (app) => void app.ask("pose.reset") },
  { name: "gravity", title: "Gravity in the pose", group: "Modes", icon: "gravity", modes: ["keyframe"], do: (app) => void app.ask("gravity", { on: !app.state?.keyframe?.gravity }) },
  { name: "moves", title: "Make the suggested drags", group: "Modes", icon: "drag", modes: ["edit"], when: (app) => (app.state?.edit?.suggested ? null : "This scene suggests none."), do: (app) => void app.ask("moves") },
  { name: "control", title: "Control on or off", group: "Modes", keys: ["c"], icon: "steer", modes: ["steer"], do: (app) => void app.ask("control", { on: !app.state?.steer?.control }) },
  { name: "push.repeat", title: "Repeat last push", group: "Modes", keys: ["r"], icon: "push", modes: ["steer"], do: (app) => void app.ask("push.repeat") },

  { name: "undo", title: "Undo", group: "Project", keys: ["Ctrl+z"], row: "Undo, redo", icon: "undo", when: (app) => (app.state?.undo ? null : "Nothing to undo."), do: (app) => void app.ask("undo") },
  { name: "redo", title: "Redo", group: "Project", keys: ["Ctrl+Shift+z", "Ctrl+y"], row: "Undo, redo", icon: "redo", when: (app) => (app.state?.redo ? null : "Nothing to redo."), do: (app) => void app.ask("redo") },
  { name: "save", title: "Save as a file", group: "Project", keys: ["Ctrl+s"], row: "Save, export", icon: "download" },
  { name: "export", title: "Export", group: "Project", keys: ["Ctrl+Shift+e"], row: "Save, export", icon: "export" },
  { name: "open", title: "Open", group: "Project", keys: ["Ctrl+o"], icon: "folder", start: true },
  { name: "close", title: "Back to the start page", group: "Project", icon: "x" },
  { name: "palette", title: "Command palette", group: "Project", keys: ["Ctrl+k"], icon: "search", start: true },
  { name: "plots", title: "Plots drawer", group: "Project", keys: ["j"], icon: "plot", do: toggles("plots") },
  { name: "panel", title: "Property panel", group: "Project", keys: ["n"], icon: "gear", do: toggles("panel") },
  { name: "theme", title: "Dark or light", group: "Project", icon: "moon", start: true, do: (app) => app.set({ theme: app.ui.theme === "dark" ? "light" : "dark" }) },
  { name: "tour", title: "Show the first steps again", group: "Project", icon: "info" },
  { name: "help", title: "This sheet", group: "Project", keys: ["?"], icon: "keyboard", start: true },
];

export const GESTURES: readonly Gesture[] = [
  { title: "Orbit", group: "Look", keys: ["Drag background"] },
  { title: "Pan", group: "Look", keys: ["Right drag"] },
  { title: "Zoom to pointer", group: "Look", keys: ["Wheel"] },
  { title: "Select vertex", group: "Direct", keys: ["Click"], modes: DIRECTED },
  { title: "Add to selection", group: "Direct", keys: ["⇧", "click"], modes: ["edit"] },
  { title: "Lock to axis", group: "Direct", keys: ["X", "Y", "Z"], modes: ["edit"] },
  { title: "Lock to plane", group: "Direct", keys: ["⇧ X", "⇧ Y", "⇧ Z"], modes: ["edit"] },
  { title: "Type an amount", group: "Direct", keys: ["0 – 9", "⏎"], modes: ["edit"] },
  { title: "Fine, snap while dragging", group: "Direct", keys: ["⇧", "Ctrl"], modes: ["edit"] },
  { title: "Cancel the drag", group: "Direct", keys: ["Esc"] },
  { title: "Pull the body", group: "Direct", keys: ["Drag"], modes: ["keyframe"] },
  { title: "Add to the pulls", group: "Direct", keys: ["⇧", "drag"], modes: ["keyframe"] },
  { title: "Push the body", group: "Direct", keys: ["Drag"], modes: ["steer"] },
  { title: "Copy marker", group: "Markers", keys: ["Alt", "drag"], modes: DIRECTED },
];

const provided = new Map<string, (app: App) => void>();

/** A part of the page does what a command of the table names; returns what takes it back. */
export function provide(name: string, does: (app: App) => void): () => void {
  if (!command(name)) throw new Error(`no command is called ${name}; see COMMANDS`);
  provided.set(name, does);
  return () => void (provided.get(name) === does && provided.delete(name));
}

export function command(name: string): Command | undefined {
  return COMMANDS.find((each) => each.name === name);
}

/** Why a command cannot be done now, null when it can. */
export function refusal(app: App, each: Command): string | null {
  if (!each.start && !app.state) return "Open something first.";
  if (each.modes && app.state && !each.modes.includes(app.state.mode)) return `Not in ${titled(app.state.mode)}.`;
  if (!each.do && !provided.has(each.name)) return "Not here.";
  return each.when?.(app) ?? null;
}

/** Does a command; what cannot be done now is told, not thrown. */
export function run(app: App, name: string): void {
  const found = command(name);
  if (!found) throw new Error(`no command is called ${name}; see COMMANDS`);
  const why = refusal(app, found);
  if (why !== null) return void (found.when && app.state && app.toast({ tone: "warn", title: `${found.title}: not now`, text: why }));
  (provided.get(name) ?? found.do)?.(app);
}

/** The command that a key means in the present mode. */
export function bindings(app: App, key: string): Command | undefined {
  const fits = (each: Command): boolean => !each.modes || !app.state || each.modes.includes(app.state.mode);
  return COMMANDS.find((each) => each.keys?.includes(key) && fits(each));
}

/** The first key of a command as it is shown, or nothing. */
export function keyOf(name: string): string | undefined {
  const key = command(name)?.keys?.[0];
  return key === undefined ? undefined : shown(key);
}

export function titled(name: ModeName): string {
  return name[0]!.toUpperCase() + name.slice(1);
}

function idle(app: App): string | null {
  return app.state?.keyframe?.optimising ? "It is optimising already." : null;
}

function clear(app: App): void {
  if (app.state && app.state.selection.length > 0) void app.ask("select", { nodes: [] });
}
