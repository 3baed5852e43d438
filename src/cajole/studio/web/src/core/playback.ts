/** Playback: the clock drives the playhead; late frames are dropped. */

import { createSignal } from "./signal";
import { getMode } from "./modes";
import type { App, ProjectState } from "./types";

/** Emitted with the new edit frame before the server has answered, so that cached positions show at once. */
export const onSeek = createSignal<number>();

/** Playhead after `elapsed` seconds; null if it has reached the end and does not loop. */
export function advancePlayhead(
  at: number,
  elapsed: number,
  fps: number,
  range: [number, number],
  loop: boolean,
  frames: number,
): number | null {
  const next = at + elapsed * fps;
  if (!loop) return next >= frames - 1 ? null : next;
  const [first, last] = range;
  const length = Math.max(1, last - first + 1);
  if (next < first) return first;
  return next < last + 1 ? next : first + ((next - first) % length);
}

/** Number of frames that can be played: fewer than `frames` while a job computes the result. */
export const countPlayableFrames = (state: ProjectState): number => Math.max(1, state.ready ?? state.frames);

/** Advance the playhead while ui.playing is set. In a live mode it follows the server's simulation. */
export function startPlayback(app: App): void {
  let before = 0;
  const step = (now: number): void => {
    if (!app.ui.playing) return;
    const { state, ui } = app;
    if (state && !getMode(state.mode).live) {
      const elapsed = before ? Math.min(1, (now - before) / 1000) : 0;
      const playable = countPlayableFrames(state);
      const range: [number, number] = [Math.min(ui.loopRange[0], playable - 1), Math.min(ui.loopRange[1], playable - 1)];
      const next = advancePlayhead(ui.playhead, elapsed, state.fps, range, ui.loop, playable);
      if (next === null) return app.setUi({ playing: false, playhead: playable - 1 });
      if (next !== ui.playhead) app.setUi({ playhead: next });
    }
    before = now;
    requestAnimationFrame(step);
  };
  app.onUi.on((change) => {
    if (change.playing !== true) return;
    before = 0;
    const { state, ui } = app;
    if (state && !ui.loop && ui.playhead >= state.frames - 1) app.setUi({ playhead: 0 });
    requestAnimationFrame(step);
  });
  app.onPulse.on((pulse) => app.setUi({ playhead: pulse.frame }));
}

let lastSeek: { frame: number; when: number } | null = null;
const SEEK_LIFETIME = 500; // ms for which a requested frame counts as the edit frame

/** The edit frame, or the one just requested: keys repeat faster than replies arrive. */
export function getEditFrame(app: App): number {
  if (lastSeek && Date.now() - lastSeek.when < SEEK_LIFETIME) return lastSeek.frame;
  return app.state?.frame ?? 0;
}

/** Set the edit frame, and with a single view also the playhead. */
export function seek(app: App, frame: number): void {
  if (!app.state) return;
  const whole = Math.max(0, Math.min(app.state.frames - 1, Math.round(frame)));
  lastSeek = { frame: whole, when: Date.now() };
  app.stream("frame", { frame: whole });
  onSeek.emit(whole);
  if (app.ui.views === 1) app.setUi({ playhead: whole });
}
