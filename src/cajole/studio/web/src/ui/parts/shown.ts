/** What a control shows: the server's word, except while the hand is on it or its last word is under way. */

/** States that were sent before the answer may still arrive after it: this long [ms] they are not believed. */
const SETTLING = 150;

export type Told = void | Promise<unknown>;

export class Shown<T> {
  private known: T;
  private holds = 0;
  private timer = 0;

  constructor(
    first: T,
    private readonly show: (value: T) => void,
  ) {
    this.known = first;
  }

  /** The newest word of the server. */
  get server(): T {
    return this.known;
  }

  /** The server says so: shown now, or once the hand has let go. */
  hear(value: T): void {
    this.known = value;
    if (this.holds === 0 && this.timer === 0) this.show(value);
  }

  /** The hand takes hold: what the server says waits. */
  hold(): void {
    this.holds++;
    clearTimeout(this.timer);
    this.timer = 0;
  }

  /** The hand lets go, having said something: the server's word counts again once that is answered. */
  release(told: Told): void {
    Promise.resolve(told).then(
      () => this.settle(SETTLING),
      () => this.settle(0),
    );
  }

  /** The hand lets go and nothing was said. */
  drop(): void {
    this.settle(0);
  }

  private settle(after: number): void {
    this.holds--;
    if (this.holds > 0) return;
    this.timer = window.setTimeout(() => {
      this.timer = 0;
      this.show(this.known);
    }, after);
  }
}
