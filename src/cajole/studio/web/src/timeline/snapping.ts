/** Snapping of drags to frames and targets. No DOM access. */

import { clamp } from "../core/math";

/** Distance at which a marker snaps [px]. */
const SNAP_DISTANCE = 8;

/** Shift in frames, and the frame that was snapped to, if any. */
interface SnapResult { by: number; to: number | null }

/** Least and greatest shift that keeps all frames in `range`; frames outside may stay. */
export function computeMoveBounds(frames: readonly number[], range: readonly [number, number]): [number, number] {
  return [Math.min(range[0] - Math.min(...frames), 0), Math.max(range[1] - Math.max(...frames), 0)];
}

/** Snap a shift of `frames` by about `by`.
 *
 * The result is a whole number of frames. The frame nearest to one of `targets`, within SNAP_DISTANCE px, is moved onto
 * it. `step`: pixels per frame.
 */
export function snapMove(
  frames: readonly number[], by: number, range: readonly [number, number], targets: readonly number[], step: number,
): SnapResult {
  const [low, high] = computeMoveBounds(frames, range);
  let best: SnapResult = { by: clamp(Math.round(by), low, high), to: null };
  let nearest = SNAP_DISTANCE / step;
  for (const target of targets) {
    for (const frame of frames) {
      const distance = Math.abs(frame + by - target);
      const shift = Math.round(target - frame);
      if (distance <= nearest && shift >= low && shift <= high) {
        nearest = distance;
        best = { by: shift, to: target };
      }
    }
  }
  return best;
}

/** Range with one end moved: in order, at least one frame long, inside the shot. */
export function stretchedRange(range: readonly [number, number], end: 0 | 1, frame: number, last: number): [number, number] {
  const [from, to] = range;
  return end === 0 ? [clamp(frame, 0, Math.max(to - 1, 0)), to] : [from, clamp(frame, Math.min(from + 1, last), last)];
}

/** Range shifted as a whole, inside the shot. */
export function shiftedRange(range: readonly [number, number], by: number, last: number): [number, number] {
  const shift = clamp(Math.round(by), -range[0], last - range[1]);
  return [range[0] + shift, range[1] + shift];
}
