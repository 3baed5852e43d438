/** The playhead, driven by the clock: frames are dropped, never slowed. */

import { signal } from "./signal";
import type { App, State } from "./types";

/** Told of every frame that is gone to, before the server has answered: what was fetched of it can be shown at once. */
export const onGo = signal<number>();

/** Where the playhead is `elapsed` seconds later; null when it has reached the end and does not loop. */
export function advance(
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

/** Frames that can be played: fewer than there will be while a result is being made. */
export const made = (state: State): number => Math.max(1, state.ready ?? state.frames);

/** Moves the playhead of an app while ui.playing holds. In Steer the server runs, and its pulses lead. */
export function playing(app: App): void {
  let before = 0;
  const step = (now: number): void => {
    if (!app.ui.playing) return;
    const { state, ui } = app;
    if (state && state.mode !== "steer") {
      const elapsed = before ? Math.min(1, (now - before) / 1000) : 0;
      const there = made(state);
      const range: [number, number] = [Math.min(ui.loopRange[0], there - 1), Math.min(ui.loopRange[1], there - 1)];
      const next = advance(ui.playhead, elapsed, state.fps, range, ui.loop, there);
      if (next === null) return app.set({ playing: false, playhead: there - 1 });
      if (next !== ui.playhead) app.set({ playhead: next });
    }
    before = now;
    requestAnimationFrame(step);
  };
  app.onUi.on((change) => {
    if (change.playing !== true) return;
    before = 0;
    const { state, ui } = app;
    if (state && !ui.loop && ui.playhead >= state.frames - 1) app.set({ playhead: 0 });
    requestAnimationFrame(step);
  });
  app.onPulse.on((pulse) => app.set({ playhead: pulse.frame }));
}

let asked: { frame: number; when: number } | null = null;
const TRUST = 500; // ms for which a frame that was asked for counts as the present one

/** The edit frame, or the one that was asked for a moment ago: keys repeat faster than answers come. */
export function present(app: App): number {
  if (asked && Date.now() - asked.when < TRUST) return asked.frame;
  return app.state?.frame ?? 0;
}

/** Goes to a frame: the edit frame, and the playhead too where one view shows both. */
export function go(app: App, frame: number): void {
  if (!app.state) return;
  const whole = Math.max(0, Math.min(app.state.frames - 1, Math.round(frame)));
  asked = { frame: whole, when: Date.now() };
  app.stream("frame", { frame: whole });
  onGo.emit(whole);
  if (app.ui.views === 1) app.set({ playhead: whole });
}
