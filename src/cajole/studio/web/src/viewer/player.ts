/** Time in the viewer: the clock leads it, the hand may, and whoever shows it is told. */

import { advancePlayhead } from "../core/playback";
import { createSignal } from "../core/signal";
import { prefersReducedMotion } from "../core/theme";

export class Player {
  playing = false;
  loop = true;
  time = 0; // in frames
  readonly onChange = createSignal<void>();
  private before = 0; // ms of the last step

  /** show: called with the time whenever it is another one. */
  constructor(
    readonly frames: number,
    readonly fps: number,
    private readonly show: (time: number) => void,
  ) {}

  /** The first picture; it plays by itself unless less motion is asked for. */
  begin(): void {
    this.show(0);
    this.onChange.emit();
    if (!prefersReducedMotion()) this.play(true);
  }

  play(on: boolean): void {
    if (on === this.playing || (on && this.frames < 2)) return;
    this.playing = on;
    if (on && !this.loop && this.time >= this.frames - 1) this.put(0);
    this.before = 0;
    this.onChange.emit();
    if (on) requestAnimationFrame((now) => this.step(now));
  }

  /** Goes to a time and stays there. */
  go(time: number): void {
    this.play(false);
    this.put(Math.min(Math.max(time, 0), this.frames - 1));
    this.onChange.emit();
  }

  repeat(on: boolean): void {
    this.loop = on;
    this.onChange.emit();
  }

  private put(time: number): void {
    this.time = time;
    this.show(time);
  }

  private step(now: number): void {
    if (!this.playing) return;
    const elapsed = this.before ? Math.min(1, (now - this.before) / 1000) : 0;
    this.before = now;
    const next = advancePlayhead(this.time, elapsed, this.fps, [0, this.frames - 1], this.loop, this.frames);
    if (next === null) return this.go(this.frames - 1);
    this.put(next);
    this.onChange.emit();
    requestAnimationFrame((then) => this.step(then));
  }
}
