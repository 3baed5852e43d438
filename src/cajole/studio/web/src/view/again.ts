/** Looking again for what did not come: whoever keeps frames forgets those that nobody looks at. */

const AFTER = 700; // ms
const TRIES = 8;

export class Again {
  private tries = TRIES;
  private timer: ReturnType<typeof setTimeout> | undefined;

  /** look: does so; it tells by `wanted` whether something still lacks. */
  constructor(private readonly look: () => void) {}

  /** There is news: what lacks may come now. */
  afresh(): void {
    this.tries = TRIES;
  }

  wanted(lacking: boolean): void {
    if (!lacking) this.afresh();
    else if (this.tries > 0) this.timer ??= setTimeout(() => this.now(), AFTER);
  }

  private now(): void {
    this.timer = undefined;
    this.tries--;
    this.look();
  }

  dispose(): void {
    clearTimeout(this.timer);
  }
}
