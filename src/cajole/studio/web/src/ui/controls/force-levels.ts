/** Levels and texts of the added force, as a fraction of the body weight. */

import * as format from "../../core/format";

type ForceLevel = "Feather" | "Gentle" | "Firm" | "Forced";
export const FORCE_LEVELS: readonly ForceLevel[] = ["Feather", "Gentle", "Firm", "Forced"];

/** Upper bounds of the levels; each takes a quarter of the bar, the last ends at the body weight. */
const LEVEL_BOUNDS: readonly number[] = [0.03, 0.15, 0.5, 1];

/** Default reference of the share. */
export const BODY_WEIGHT = "of body weight";

/** Shares below this are rounding errors. */
const NEGLIGIBLE = 5e-7;

/** Level of a share of the body weight. */
export function getForceLevel(share: number): ForceLevel {
  const found = LEVEL_BOUNDS.slice(0, 3).findIndex((bound) => share < bound);
  return FORCE_LEVELS[found < 0 ? 3 : found]!;
}

/** Filled fraction of the bar: piecewise linear, a quarter per level. */
export function computeBarFill(share: number): number {
  let low = 0;
  for (const [quarter, high] of LEVEL_BOUNDS.entries()) {
    if (share < high) return (quarter + Math.max(0, share - low) / (high - low)) / LEVEL_BOUNDS.length;
    low = high;
  }
  return 1;
}

/** Format a share: 0 %, < 0.1 %, 8.4 %, 21 %. */
export function formatForceShare(share: number): string {
  if (isNegligible(share)) return "0 %";
  return share < 1e-3 ? "< 0.1 %" : format.formatPercent(share);
}

/** True if no force was added. */
export const isNegligible = (share: number): boolean => share < NEGLIGIBLE;

/** Text for screen readers. */
export function describeForce(share: number, reference = BODY_WEIGHT): string {
  if (isNegligible(share)) return "nothing added";
  const amount = formatForceShare(share).replace(" %", " percent").replace("<", "less than");
  return `${amount} ${reference}, ${getForceLevel(share).toLowerCase()}`;
}

/** Peak, its frame, and the remedy, in one or two sentences; null if there is no peak. */
export function describeMeter(meter: {
  share: number;
  peak: number;
  frame: number | null;
  cure: string | null;
}): string | null {
  if (isNegligible(meter.peak)) return null;
  if (meter.cure?.startsWith("Peak")) return meter.cure;
  const where = meter.frame === null ? "" : ` at frame ${meter.frame}`;
  return [`Peak ${formatForceShare(meter.peak)}${where}.`, meter.cure ?? ""].join(" ").trim();
}
