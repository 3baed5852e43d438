/** How values lie along a slider or dial: share 0 at its low end, 1 at its high end. */

export interface Scale {
  readonly low: number;
  readonly high: number;
  /** Where a value lies, 0 … 1; values beyond the ends lie at them. */
  share(value: number): number;
  /** What lies there, rounded to what a hand can mean. */
  value(share: number): number;
  /** The share that one press of an arrow key is worth. */
  readonly step: number;
}

/** Arrow keys go by this part of a decade. */
const DECADE_STEP = 0.05;
/** Zero takes this share of a logarithmic scale that has one. */
const ZERO_SHARE = 0.08;
/** Digits that a hand on a logarithmic scale can mean. */
const DIGITS = 3;

const clamp = (share: number): number => Math.min(1, Math.max(0, share));

/** Even spacing, in multiples of `step` from `low`. */
export function linear(low: number, high: number, step = (high - low) / 100): Scale {
  const width = high - low || 1;
  return {
    low,
    high,
    step: step / width,
    share: (value) => clamp((value - low) / width),
    value: (share) => {
      const whole = low + Math.round((clamp(share) * (high - low)) / step) * step;
      // Sums of tenths leave tails of digits.
      return Number(Math.min(high, whole).toPrecision(12));
    },
  };
}

/** Equal ratios take equal lengths; 0 < low < high. whole: for counts. */
export function log(low: number, high: number, { whole = false } = {}): Scale {
  const width = Math.log(high / low) || 1;
  return {
    low,
    high,
    step: (DECADE_STEP * Math.LN10) / width,
    share: (value) => (value > 0 ? clamp(Math.log(value / low) / width) : 0),
    value: (share) => {
      const exact = low * Math.exp(clamp(share) * Math.log(high / low));
      return whole ? Math.round(exact) : Number(exact.toPrecision(DIGITS));
    },
  };
}

/** A logarithmic scale with zero at its low end. */
export function logZero(low: number, high: number): Scale {
  const above = log(low, high);
  return {
    low: 0,
    high,
    step: above.step * (1 - ZERO_SHARE),
    share: (value) => (value < low ? 0 : ZERO_SHARE + (1 - ZERO_SHARE) * above.share(value)),
    value: (share) => (share < ZERO_SHARE ? 0 : above.value((share - ZERO_SHARE) / (1 - ZERO_SHARE))),
  };
}

/** The value some arrow steps on; it always differs where the scale has room, however coarse its values are. */
export function stepped(scale: Scale, value: number, steps: number): number {
  const way = Math.sign(steps);
  let share = scale.share(value) + steps * scale.step;
  let found = scale.value(share);
  while (way !== 0 && (found - value) * way <= 0 && share > 0 && share < 1) {
    share += way * scale.step;
    found = scale.value(share);
  }
  return found;
}
