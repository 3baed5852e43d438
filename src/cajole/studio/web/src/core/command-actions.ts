/** Actions of the command table that are longer than one line. */

import { seek, getEditFrame } from "./playback";
import type { App, ModeName, ProjectState } from "./types";

/** Action that toggles a boolean of the UI state. */
export function toggleUi(name: "ghost" | "trails" | "wireframe" | "loop" | "panel" | "plots"): (app: App) => void {
  return (app) => app.setUi({ [name]: !app.ui[name] });
}

/** Reason why the open project does not support a mode; null if it does. */
export function getModeDisabledReason(app: App, name: ModeName): string | null {
  const info = app.project?.modes[name];
  return info?.possible ? null : (info?.why ?? "This mode is not available.");
}

/** Switch to a mode. */
export function setMode(app: App, name: ModeName): void {
  if (app.state?.mode !== name) void app.request("mode", { mode: name });
}

/** Action that moves the edit frame by some frames. */
export function stepFrame(by: number): (app: App) => void {
  return (app) => seek(app, getEditFrame(app) + by);
}

/** Frame of the nearest marker before (-1) or after (1) a frame; null if there is none. */
export function findAdjacentMarker(state: ProjectState, frame: number, direction: 1 | -1): number | null {
  const frames = state.lanes.flatMap((lane) => lane.markers.map((marker) => marker.frame));
  const beyond = frames.filter((each) => (each - frame) * direction > 0).sort((a, b) => (a - b) * direction);
  return beyond[0] ?? null;
}

/** Action that seeks to the previous (-1) or next (1) marker. */
export function goToAdjacentMarker(direction: 1 | -1): (app: App) => void {
  return (app) => {
    const frame = app.state && findAdjacentMarker(app.state, getEditFrame(app), direction);
    if (frame !== null) seek(app, frame);
  };
}

/** Action that sets the start (0) or end (1) of the loop range to the edit frame. */
export function setLoopEnd(end: 0 | 1): (app: App) => void {
  return (app) => {
    const frame = getEditFrame(app);
    const [first, last] = app.ui.loopRange;
    const range: [number, number] = end === 0 ? [frame, Math.max(frame, last)] : [Math.min(first, frame), frame];
    app.setUi({ loopRange: range, loop: true });
  };
}

/** Toggle playback of the playhead, or of the live simulation in Steer. */
export function togglePlay(app: App): void {
  if (app.state?.mode === "steer")
    void app.request("run", { play: !app.state.steer?.running, speed: app.state.steer?.speed ?? 1 });
  else app.setUi({ playing: !app.ui.playing });
}

/** Seek to the first frame; in Steer restart the simulation. */
export function goToFirstFrame(app: App): void {
  if (app.state?.mode === "steer") void app.request("restart");
  else {
    app.setUi({ playhead: 0 });
    seek(app, 0);
  }
}

/** Seek to the last frame. */
export function goToLastFrame(app: App): void {
  if (!app.state) return;
  app.setUi({ playhead: app.state.frames - 1 });
  seek(app, app.state.frames - 1);
}

/** Reason why no job can start now; null if one can. */
export function getBusyReason(app: App): string | null {
  if (app.state?.enrich?.running) return "The shell is being computed already.";
  if (app.state?.reroute?.running) return "It is running already.";
  return app.state?.keyframe?.optimising ? "It is optimising already." : null;
}

/** Clear the vertex selection. */
export function clearSelection(app: App): void {
  if (app.state && app.state.selection.length > 0) void app.request("select", { nodes: [] });
}
