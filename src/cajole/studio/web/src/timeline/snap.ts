/** Where a dragged thing comes to rest: on whole frames, and on what is near. No DOM here. */

import { clamp } from "./scale";

/** How near something must be to draw a marker to itself [px]. */
export const PULL = 8;

/** Where a drag stands: by how many frames it moved, and the frame that drew it there, if any did. */
export interface Snapped { by: number; to: number | null }

/** How far a group may go: no marker leaves `range` (first and last frame); a group that is outside may stay. */
export function bounds(frames: readonly number[], range: readonly [number, number]): [number, number] {
  return [Math.min(range[0] - Math.min(...frames), 0), Math.max(range[1] - Math.max(...frames), 0)];
}

/** Moves a group of markers at `frames` by about `by` frames.
 *
 * It stops on whole frames; when `targets` are given, the marker of the group that is nearest to one of them, within
 * PULL px, is put on it. `step`: pixels a frame takes.
 */
export function snapped(
  frames: readonly number[], by: number, range: readonly [number, number], targets: readonly number[], step: number,
): Snapped {
  const [low, high] = bounds(frames, range);
  let best: Snapped = { by: clamp(Math.round(by), low, high), to: null };
  let least = PULL / step;
  for (const target of targets) {
    for (const frame of frames) {
      const away = Math.abs(frame + by - target);
      const wanted = Math.round(target - frame);
      if (away <= least && wanted >= low && wanted <= high) {
        least = away;
        best = { by: wanted, to: target };
      }
    }
  }
  return best;
}

/** Two ends of a range, one of which was moved: in order, at least one frame apart, inside the shot. */
export function stretched(range: readonly [number, number], end: 0 | 1, frame: number, last: number): [number, number] {
  const [from, to] = range;
  return end === 0 ? [clamp(frame, 0, Math.max(to - 1, 0)), to] : [from, clamp(frame, Math.min(from + 1, last), last)];
}

/** A range moved as a whole, held inside the shot. */
export function shifted(range: readonly [number, number], by: number, last: number): [number, number] {
  const held = clamp(Math.round(by), -range[0], last - range[1]);
  return [range[0] + held, range[1] + held];
}
