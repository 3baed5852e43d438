/** Hit areas as pixel boxes. No DOM access. */

/** Least width of hit areas [px]. */
export const MARKER_HIT_WIDTH = 20;
export const EDGE_HIT_WIDTH = 12;

/** Target drawn from `from` to `to`, hit between x0 and x1, y0 and y1 [px]. */
export interface HitArea<T> { from: number; to: number; x0: number; x1: number; y0: number; y1: number; target: T }

/** Create a hit area at least `minWidth` px wide. */
export function createHitArea<T>(from: number, to: number, y0: number, y1: number, minWidth: number, target: T): HitArea<T> {
  const padding = Math.max(minWidth - (to - from), 0) / 2;
  return { from, to, x0: from - padding, x1: to + padding, y0, y1, target };
}

const distanceTo = (area: { from: number; to: number }, x: number): number => Math.max(area.from - x, x - area.to, 0);

/** Target at a point: the nearest, of equally near ones the narrowest; null for none. */
export function findHit<T>(areas: readonly HitArea<T>[], x: number, y: number): T | null {
  let best: HitArea<T> | null = null;
  for (const area of areas) {
    if (x < area.x0 || x > area.x1 || y < area.y0 || y >= area.y1) continue;
    const farther = best ? distanceTo(area, x) - distanceTo(best, x) : -1;
    if (!best || farther < 0 || (farther === 0 && area.to - area.from < best.to - best.from)) best = area;
  }
  return best && best.target;
}

/** Targets whose drawn extent touches the rectangle between two corners. */
export function findInside<T>(areas: readonly HitArea<T>[], a: readonly [number, number], b: readonly [number, number]): T[] {
  const [x0, x1] = [Math.min(a[0], b[0]), Math.max(a[0], b[0])];
  const [y0, y1] = [Math.min(a[1], b[1]), Math.max(a[1], b[1])];
  return areas.filter((area) => area.to >= x0 && area.from <= x1 && area.y1 > y0 && area.y0 < y1).map((area) => area.target);
}
