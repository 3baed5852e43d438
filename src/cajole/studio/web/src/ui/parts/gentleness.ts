/** Words and lengths of the gentleness meter: how much force was added, as a share of the body's weight. */

import * as format from "../../core/format";

export type Word = "Feather" | "Gentle" | "Firm" | "Forced";
export const WORDS: readonly Word[] = ["Feather", "Gentle", "Firm", "Forced"];

/** Where a word ends and the next one begins; each takes a quarter of the bar, the last ends at the body's weight. */
export const BOUNDS: readonly number[] = [0.03, 0.15, 0.5, 1];

/** What it is a share of, unless the server says otherwise. */
export const WEIGHT = "of body weight";

/** Below this nothing was added: what rounding leaves. */
const NOTHING = 5e-7;

/** The word for a share of the body's weight. */
export function word(share: number): Word {
  const found = BOUNDS.slice(0, 3).findIndex((bound) => share < bound);
  return WORDS[found < 0 ? 3 : found]!;
}

/** How far the bar is filled, 0 … 1: within a word evenly, and each word a quarter. */
export function filled(share: number): number {
  let low = 0;
  for (const [quarter, high] of BOUNDS.entries()) {
    if (share < high) return (quarter + Math.max(0, share - low) / (high - low)) / BOUNDS.length;
    low = high;
  }
  return 1;
}

/** The share in percent with as many digits as can be felt: 0 %, < 0.1 %, 8.4 %, 21 %. */
export function percent(share: number): string {
  if (nothing(share)) return "0 %";
  return share < 1e-3 ? "< 0.1 %" : format.formatPercent(share);
}

/** Whether nothing was added at all. */
export const nothing = (share: number): boolean => share < NOTHING;

/** What is read aloud. */
export function spoken(share: number, whole = WEIGHT): string {
  if (nothing(share)) return "nothing added";
  const amount = percent(share).replace(" %", " percent").replace("<", "less than");
  return `${amount} ${whole}, ${word(share).toLowerCase()}`;
}

/** Peak, frame, and the cheapest cure, in one or two sentences; null when there is nothing to say. */
export function sentence(meter: {
  share: number;
  peak: number;
  frame: number | null;
  cure: string | null;
}): string | null {
  if (nothing(meter.peak)) return null;
  if (meter.cure?.startsWith("Peak")) return meter.cure;
  const where = meter.frame === null ? "" : ` at frame ${meter.frame}`;
  return [`Peak ${percent(meter.peak)}${where}.`, meter.cure ?? ""].join(" ").trim();
}
