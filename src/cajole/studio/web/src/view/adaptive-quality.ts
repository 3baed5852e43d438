/** Adaptive render quality: leave out effects when frames take too long. */

import type { Quality } from "./view-scene";

const SLOW_FRAME = 80; // ms per frame that count as slow …
const SLOW_PERIOD = 2000; // … and for how long [ms] before the quality is lowered
const VERY_SLOW_FRAME = 700; // ms: a single frame this slow lowers the quality at once

const SOFTWARE = /swiftshader|llvmpipe|softpipe|software|basic render/i;

/** Quality levels, best first; each leaves out one more effect. */
export const QUALITY_LEVELS: readonly Quality[] = [
  { shadows: true, fullResolution: true, physicalMaterials: true },
  { shadows: false, fullResolution: true, physicalMaterials: true },
  { shadows: false, fullResolution: false, physicalMaterials: true },
  { shadows: false, fullResolution: false, physicalMaterials: false },
];

/** Lowers the quality level by measured frame times, unless it is locked at full quality. */
export class AdaptiveQuality {
  level = 0;
  locked = false;
  private slowSince: number | null = null;

  /** Start at the lowest level on a software renderer. name: of the GPU. */
  initialize(name: string, locked: boolean): void {
    this.locked = locked;
    if (!locked && SOFTWARE.test(name)) this.level = QUALITY_LEVELS.length - 1;
  }

  get quality(): Quality {
    return QUALITY_LEVELS[this.level];
  }

  /** Record a frame that took `ms` and ended at `now` [ms]; returns true if the level was lowered. */
  recordFrameTime(ms: number, now: number): boolean {
    if (ms <= SLOW_FRAME) {
      this.slowSince = null;
      return false;
    }
    this.slowSince ??= now - ms;
    const enough = now - this.slowSince >= SLOW_PERIOD || ms >= VERY_SLOW_FRAME;
    if (!enough || this.locked || this.level === QUALITY_LEVELS.length - 1) return false;
    this.level++;
    this.slowSince = null;
    return true;
  }

  /** Return to full quality and lock it. */
  restore(): void {
    this.level = 0;
    this.locked = true;
    this.slowSince = null;
  }
}
