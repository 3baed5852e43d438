/** What is under the pointer. Everything that can be taken hold of is a box of pixels; no DOM here. */

/** Hit areas of markers and of edges [px]. */
export const MARKER_WIDE = 20;
export const EDGE_WIDE = 12;

/** A thing drawn from `from` to `to`, taken hold of from x0 to x1 and y0 to y1 (which is generous) [px]. */
export interface Spot<T> { from: number; to: number; x0: number; x1: number; y0: number; y1: number; what: T }

/** A thing from `from` to `to` px, with room for the hand: at least `wide` px. */
export function spot<T>(from: number, to: number, y0: number, y1: number, wide: number, what: T): Spot<T> {
  const more = Math.max(wide - (to - from), 0) / 2;
  return { from, to, x0: from - more, x1: to + more, y0, y1, what };
}

const away = (s: { from: number; to: number }, x: number): number => Math.max(s.from - x, x - s.to, 0);

/** The thing under a point: the nearest when there are several, of equally near ones the narrowest; null for none. */
export function hit<T>(spots: readonly Spot<T>[], x: number, y: number): T | null {
  let best: Spot<T> | null = null;
  for (const s of spots) {
    if (x < s.x0 || x > s.x1 || y < s.y0 || y >= s.y1) continue;
    const farther = best ? away(s, x) - away(best, x) : -1;
    if (!best || farther < 0 || (farther === 0 && s.to - s.from < best.to - best.from)) best = s;
  }
  return best && best.what;
}

/** Everything that a rubber band between two corners touches. What is drawn counts, not the room for the hand. */
export function inside<T>(spots: readonly Spot<T>[], a: readonly [number, number], b: readonly [number, number]): T[] {
  const [x0, x1] = [Math.min(a[0], b[0]), Math.max(a[0], b[0])];
  const [y0, y1] = [Math.min(a[1], b[1]), Math.max(a[1], b[1])];
  return spots.filter((s) => s.to >= x0 && s.from <= x1 && s.y1 > y0 && s.y0 < y1).map((s) => s.what);
}
