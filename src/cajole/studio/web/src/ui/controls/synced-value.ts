/** Value of a control synchronized with the server, except while the user edits it or a change is pending. */

/** After a reply, older states may still arrive: ignore them for this long [ms]. */
const SETTLE_TIME = 150;

export type ChangeResult = void | Promise<unknown>;

export class SyncedValue<T> {
  private latest: T;
  private locks = 0;
  private timer = 0;

  constructor(first: T, private readonly show: (value: T) => void) {
    this.latest = first;
  }

  /** Receive a value of the server: shown now, or after the edit. */
  receive(value: T): void {
    this.latest = value;
    if (this.locks === 0 && this.timer === 0) this.show(value);
  }

  /** Show a changed value, and defer those of the server until the change is answered. */
  change(value: T, send: ((value: T) => ChangeResult) | undefined): void {
    this.show(value);
    this.lock();
    this.release(send?.(value));
  }

  /** Start an edit: values of the server are deferred. */
  lock(): void {
    this.locks++;
    clearTimeout(this.timer);
    this.timer = 0;
  }

  /** End an edit: values of the server are shown again when the change was answered. */
  release(result: ChangeResult): void {
    Promise.resolve(result).then(() => this.unlock(SETTLE_TIME), () => this.unlock(0));
  }

  private unlock(after: number): void {
    this.locks--;
    if (this.locks > 0) return;
    this.timer = window.setTimeout(() => {
      this.timer = 0;
      this.show(this.latest);
    }, after);
  }
}
