/** Scales of sliders and dials: value to fraction 0 … 1 and back. */

export interface SliderScale {
  readonly min: number;
  readonly max: number;
  /** Fraction of a value, clamped to 0 … 1. */
  toFraction(value: number): number;
  /** Value at a fraction, rounded. */
  fromFraction(share: number): number;
  /** Fraction of one arrow key step. */
  readonly step: number;
}

/** Arrow key step on a logarithmic scale [decades]. */
const DECADE_STEP = 0.05;
/** Fraction at the lower end that means zero. */
const ZERO_SHARE = 0.08;
/** Significant digits of values on a logarithmic scale. */
const DIGITS = 3;

const clamp = (share: number): number => Math.min(1, Math.max(0, share));

/** Linear scale in multiples of `step` from `min`. */
export function createLinearScale(min: number, max: number, step = (max - min) / 100): SliderScale {
  const width = max - min || 1;
  return {
    min,
    max,
    step: step / width,
    toFraction: (value) => clamp((value - min) / width),
    fromFraction: (share) => {
      const whole = min + Math.round((clamp(share) * (max - min)) / step) * step;
      // remove rounding errors of decimal steps
      return Number(Math.min(max, whole).toPrecision(12));
    },
  };
}

/** Logarithmic scale, 0 < min < max. whole: round to integers. */
export function createLogScale(min: number, max: number, { whole = false } = {}): SliderScale {
  const width = Math.log(max / min) || 1;
  return {
    min,
    max,
    step: (DECADE_STEP * Math.LN10) / width,
    toFraction: (value) => (value > 0 ? clamp(Math.log(value / min) / width) : 0),
    fromFraction: (share) => {
      const exact = min * Math.exp(clamp(share) * Math.log(max / min));
      return whole ? Math.round(exact) : Number(exact.toPrecision(DIGITS));
    },
  };
}

/** Logarithmic scale with zero at its lower end. */
export function createLogScaleWithZero(min: number, max: number): SliderScale {
  const above = createLogScale(min, max);
  return {
    min: 0, max, step: above.step * (1 - ZERO_SHARE),
    toFraction: (value) => (value < min ? 0 : ZERO_SHARE + (1 - ZERO_SHARE) * above.toFraction(value)),
    fromFraction: (share) => (share < ZERO_SHARE ? 0 : above.fromFraction((share - ZERO_SHARE) / (1 - ZERO_SHARE))),
  };
}

/** Value after some arrow key steps; always a different one inside the range, even if values are coarse. */
export function stepValue(scale: SliderScale, value: number, steps: number): number {
  const direction = Math.sign(steps);
  let share = scale.toFraction(value) + steps * scale.step;
  let found = scale.fromFraction(share);
  while (direction !== 0 && (found - value) * direction <= 0 && share > 0 && share < 1) {
    share += direction * scale.step;
    found = scale.fromFraction(share);
  }
  return found;
}
