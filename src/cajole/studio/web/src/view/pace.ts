/** How fast pictures may follow each other, and what to leave out when a machine cannot keep up. */

import type { Quality } from "./stage";

const SLOW = 80; // ms that a picture may take …
const PATIENCE = 2000; // … before this long is too long
const HOPELESS = 700; // ms: one picture that takes so long is enough

const SOFTWARE = /swiftshader|llvmpipe|softpipe|software|basic render/i;

/** From everything to the plainest; each leaves out one thing more. */
export const LEVELS: readonly Quality[] = [
  { shadows: true, sharp: true, rich: true },
  { shadows: false, sharp: true, rich: true },
  { shadows: false, sharp: false, rich: true },
  { shadows: false, sharp: false, rich: false },
];

/** Hears how long pictures took, and says when to draw less. Pictures at full quality may be insisted on. */
export class Pace {
  level = 0;
  insist = false;
  private slowSince: number | null = null;

  /** By the name of what draws: a processor in place of a card starts with the plainest. insist: on everything. */
  begin(name: string, insist: boolean): void {
    this.insist = insist;
    if (!insist && SOFTWARE.test(name)) this.level = LEVELS.length - 1;
  }

  get quality(): Quality {
    return LEVELS[this.level];
  }

  /** A picture took `ms` and was done at `now` [ms]; says whether the level went down. */
  took(ms: number, now: number): boolean {
    if (ms <= SLOW) {
      this.slowSince = null;
      return false;
    }
    this.slowSince ??= now - ms;
    const enough = now - this.slowSince >= PATIENCE || ms >= HOPELESS;
    if (!enough || this.insist || this.level === LEVELS.length - 1) return false;
    this.level++;
    this.slowSince = null;
    return true;
  }

  /** Everything again, and so it stays. */
  restore(): void {
    this.level = 0;
    this.insist = true;
    this.slowSince = null;
  }
}
