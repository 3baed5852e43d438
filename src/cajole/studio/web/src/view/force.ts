/** How long the arrow of a force is drawn. */

import type { Vec3 } from "../core/types";
import { length, scale } from "./vec";

const WEIGHT = 0.35; // of the body's size: the arrow of a force as large as the body's weight

/**
 * The way [m] that an arrow for a force [N] spans: by its root, so that large and small are both seen.
 *
 * weight [N] and size [m] are the body's.
 */
export function arrowOf(force: Vec3, weight: number, size: number): Vec3 {
  const strength = length(force);
  if (strength === 0 || weight <= 0) return [0, 0, 0];
  return scale(force, (WEIGHT * size * Math.sqrt(strength / weight)) / strength);
}
