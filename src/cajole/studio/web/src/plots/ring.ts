/** The last seconds of a live run, in buffers that never grow. No DOM here. */

/** Seconds that are shown. */
export const SPAN = 7;
/** Samples that are kept: 60 a second of the clock, also at a quarter of the speed, with room to spare. */
const ROOM = 2048;

/** What is drawn: seconds before now (ascending, 0 last), and the values at them. */
export interface Recent { now: number; times: number[]; error: number[]; effort: number[]; pushes: [number, number][] }

/** Bands of the last `span` seconds, those that touch made one: pushes are seen in pulses and told as a list. */
export function joined(bands: readonly (readonly [number, number])[], span = SPAN): [number, number][] {
  const found: [number, number][] = [];
  const shown = bands.filter(([from, to]) => to >= -span && from <= 0).map(([from, to]) => [from, Math.min(to, 0)]);
  for (const [from, to] of shown.sort((a, b) => a[0] - b[0])) {
    const last = found[found.length - 1];
    if (last && from <= last[1]) last[1] = Math.max(last[1], to);
    else found.push([from, to]);
  }
  return found;
}

export class Ring {
  private readonly times = new Float64Array(ROOM);
  private readonly errors = new Float64Array(ROOM);
  private readonly efforts = new Float64Array(ROOM);
  private readonly pushed = new Uint8Array(ROOM);
  private next = 0;
  private count = 0;

  get empty(): boolean { return this.count === 0; }
  /** Index of the newest sample. */
  private get newest(): number { return (this.next + ROOM - 1) % ROOM; }

  clear(): void {
    this.count = 0;
  }

  /** `time` [s]; a run that starts anew forgets the one before. Samples that are no numbers are not kept. */
  add(time: number, error: number, effort: number, pushed: boolean): void {
    if (![time, error, effort].every(Number.isFinite)) return;
    if (this.count > 0 && time < this.times[this.newest]) this.clear();
    this.times[this.next] = time;
    this.errors[this.next] = error;
    this.efforts[this.next] = effort;
    this.pushed[this.next] = pushed ? 1 : 0;
    this.next = (this.next + 1) % ROOM;
    this.count = Math.min(this.count + 1, ROOM);
  }

  /** The last `span` seconds against the newest sample. */
  recent(span = SPAN): Recent {
    const found: Recent = { now: 0, times: [], error: [], effort: [], pushes: [] };
    if (this.empty) return found;
    const now = (found.now = this.times[this.newest]);
    let open: [number, number] | null = null;
    for (let i = 0; i < this.count; i++) {
      const at = (this.next + ROOM - this.count + i) % ROOM;
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
