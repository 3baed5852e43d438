/** Ring buffer with the last seconds of a live simulation. No DOM access. */

/** Seconds shown. */
export const WINDOW_SECONDS = 7;
/** Samples: enough for 60 per second at a quarter of the speed. */
const CAPACITY = 2048;

/** Times relative to now (ascending, 0 last) [s], and values. */
export interface RecentSamples { now: number; times: number[]; error: number[]; effort: number[]; pushes: [number, number][] }

/** Merge overlapping bands of the last `span` seconds: pushes appear both in samples and in the state. */
export function mergeBands(bands: readonly (readonly [number, number])[], span = WINDOW_SECONDS): [number, number][] {
  const found: [number, number][] = [];
  const shown = bands.filter(([from, to]) => to >= -span && from <= 0).map(([from, to]) => [from, Math.min(to, 0)]);
  for (const [from, to] of shown.sort((a, b) => a[0] - b[0])) {
    const last = found[found.length - 1];
    if (last && from <= last[1]) last[1] = Math.max(last[1], to);
    else found.push([from, to]);
  }
  return found;
}

export class LiveHistory {
  private readonly times = new Float64Array(CAPACITY);
  private readonly errors = new Float64Array(CAPACITY);
  private readonly efforts = new Float64Array(CAPACITY);
  private readonly pushed = new Uint8Array(CAPACITY);
  private next = 0;
  private count = 0;

  get isEmpty(): boolean { return this.count === 0; }
  /** Index of the newest sample. */
  private get newest(): number { return (this.next + CAPACITY - 1) % CAPACITY; }

  clear(): void {
    this.count = 0;
  }

  /** Add a sample; a restart (earlier time) clears the buffer, and non-finite samples are skipped. */
  add(time: number, error: number, effort: number, pushed: boolean): void {
    if (![time, error, effort].every(Number.isFinite)) return;
    if (this.count > 0 && time < this.times[this.newest]) this.clear();
    this.times[this.next] = time;
    this.errors[this.next] = error;
    this.efforts[this.next] = effort;
    this.pushed[this.next] = pushed ? 1 : 0;
    this.next = (this.next + 1) % CAPACITY;
    this.count = Math.min(this.count + 1, CAPACITY);
  }

  /** Samples of the last `span` seconds, relative to the newest. */
  getRecent(span = WINDOW_SECONDS): RecentSamples {
    const found: RecentSamples = { now: 0, times: [], error: [], effort: [], pushes: [] };
    if (this.isEmpty) return found;
    const now = (found.now = this.times[this.newest]);
    let open: [number, number] | null = null;
    for (let i = 0; i < this.count; i++) {
      const at = (this.next + CAPACITY - this.count + i) % CAPACITY;
      const ago = this.times[at] - now;
      if (ago < -span) continue;
      found.times.push(ago);
      found.error.push(this.errors[at]);
      found.effort.push(this.efforts[at]);
      if (!this.pushed[at]) open = null;
      else if (open) open[1] = ago;
      else found.pushes.push((open = [ago, ago]));
    }
    return found;
  }
}
