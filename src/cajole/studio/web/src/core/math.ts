/** Numeric helpers. */

/** Clamp to [low, high]; low wins if the interval is empty. */
export const clamp = (value: number, low: number, high: number): number =>
  Math.min(Math.max(value, low), Math.max(low, high));

/** Smallest of 1, 2, 5 times a power of ten that is at least `least` (> 0). */
export function niceStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(least));
  const times = [1, 2, 5, 10].find((step) => step * power >= least * (1 - 1e-9)) ?? 10;
  return times * power;
}
