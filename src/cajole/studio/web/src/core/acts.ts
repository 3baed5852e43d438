/** What the commands of the table do, where it is more than one line. */

import { go, present } from "./playing";
import type { App, ModeName, State } from "./types";

/** Switches one of the page's choices. */
export function toggles(name: "ghost" | "trails" | "wireframe" | "loop" | "panel" | "plots"): (app: App) => void {
  return (app) => app.set({ [name]: !app.ui[name] });
}

/** Why a mode cannot be chosen for what is open, null when it can. */
export function possible(app: App, name: ModeName): string | null {
  const info = app.project?.modes[name];
  return info?.possible ? null : (info?.why ?? "This comes later.");
}

/** Goes to a mode. */
export function change(app: App, name: ModeName): void {
  if (app.state?.mode !== name) void app.ask("mode", { mode: name });
}

/** Moves the edit frame. */
export function step(by: number): (app: App) => void {
  return (app) => go(app, present(app) + by);
}

/** The frame of the nearest marker before (-1) or after (1) the present one, null when there is none. */
export function neighbour(state: State, frame: number, way: 1 | -1): number | null {
  const frames = state.lanes.flatMap((lane) => lane.markers.map((marker) => marker.frame));
  const beyond = frames.filter((each) => (each - frame) * way > 0).sort((a, b) => (a - b) * way);
  return beyond[0] ?? null;
}

/** Goes to the marker before or after. */
export function jump(way: 1 | -1): (app: App) => void {
  return (app) => {
    const frame = app.state && neighbour(app.state, present(app), way);
    if (frame !== null) go(app, frame);
  };
}

/** Begins or ends the loop at the edit frame. */
export function bound(end: 0 | 1): (app: App) => void {
  return (app) => {
    const frame = present(app);
    const [first, last] = app.ui.loopRange;
    const range: [number, number] = end === 0 ? [frame, Math.max(frame, last)] : [Math.min(first, frame), frame];
    app.set({ loopRange: range, loop: true });
  };
}

/** Plays or pauses: the page's playhead, or in Steer the live body. */
export function play(app: App): void {
  if (app.state?.mode === "steer")
    void app.ask("run", { play: !app.state.steer?.running, speed: app.state.steer?.speed ?? 1 });
  else app.set({ playing: !app.ui.playing });
}

/** To the first frame; in Steer the run begins anew. */
export function first(app: App): void {
  if (app.state?.mode === "steer") void app.ask("restart");
  else {
    app.set({ playhead: 0 });
    go(app, 0);
  }
}

/** To the last frame. */
export function last(app: App): void {
  if (!app.state) return;
  app.set({ playhead: app.state.frames - 1 });
  go(app, app.state.frames - 1);
}

/** Why no optimisation can begin, null when one can. */
export function idle(app: App): string | null {
  if (app.state?.enrich?.running) return "The shell is being made already.";
  if (app.state?.reroute?.running) return "It is running already.";
  return app.state?.keyframe?.optimising ? "It is optimising already." : null;
}

/** Lets go of the selection. */
export function clear(app: App): void {
  if (app.state && app.state.selection.length > 0) void app.ask("select", { nodes: [] });
}
