/** Playback of the viewer. */

import { advancePlayhead } from "../core/playback";
import { createSignal } from "../core/signal";
import { prefersReducedMotion } from "../core/theme";

export class Player {
  playing = false;
  loop = true;
  time = 0; // in frames
  readonly onChange = createSignal<void>();
  private lastTick = 0; // ms of the last step

  /** show: called when the time has changed. */
  constructor(readonly frames: number, readonly fps: number, private readonly show: (time: number) => void) {}

  /** Show the first frame, and play unless reduced motion is preferred. */
  start(): void {
    this.show(0);
    this.onChange.emit();
    if (!prefersReducedMotion()) this.setPlaying(true);
  }

  setPlaying(on: boolean): void {
    if (on === this.playing || (on && this.frames < 2)) return;
    this.playing = on;
    if (on && !this.loop && this.time >= this.frames - 1) this.setTime(0);
    this.lastTick = 0;
    this.onChange.emit();
    if (on) requestAnimationFrame((now) => this.tick(now));
  }

  /** Seek to a time and pause. */
  seek(time: number): void {
    this.setPlaying(false);
    this.setTime(Math.min(Math.max(time, 0), this.frames - 1));
    this.onChange.emit();
  }

  setLoop(on: boolean): void {
    this.loop = on;
    this.onChange.emit();
  }

  private setTime(time: number): void {
    this.time = time;
    this.show(time);
  }

  private tick(now: number): void {
    if (!this.playing) return;
    const elapsed = this.lastTick ? Math.min(1, (now - this.lastTick) / 1000) : 0;
    this.lastTick = now;
    const next = advancePlayhead(this.time, elapsed, this.fps, [0, this.frames - 1], this.loop, this.frames);
    if (next === null) return this.seek(this.frames - 1);
    this.setTime(next);
    this.onChange.emit();
    requestAnimationFrame((then) => this.tick(then));
  }
}
