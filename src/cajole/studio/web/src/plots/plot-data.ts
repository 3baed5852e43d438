/** Axis ranges, and the cost history of an optimization. No DOM access. */

import { formatDigits } from "../core/format";
import type { IterateMessage } from "../core/types";
import { xToFrame, type TimeScale } from "../timeline/time-scale";
import type { PlotData } from "./plot-row";

/** Frames of the timeline's scale that are visible in the width of the plots. */
export function getVisibleFrames(scale: TimeScale, width: number): [number, number] {
  return [xToFrame(scale, 0), xToFrame(scale, Math.max(width, 1))];
}

const NICE_FACTORS = [1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10];

/** Round upper end of an axis that contains all values, at least `minimum`. */
export function computeNiceMax(values: readonly number[], minimum: number): number {
  const most = values.reduce((a, b) => Math.max(a, b), minimum);
  const decade = 10 ** Math.floor(Math.log10(most));
  // remove rounding errors: 2.5 * 0.1 must be 0.25
  return Number(((NICE_FACTORS.find((each) => each * decade >= most * (1 - 1e-9)) ?? 10) * decade).toPrecision(6));
}

/** Cost per iteration of the latest optimization. */
export class CostHistory {
  private job: string | null = null;
  private iterations: IterateMessage[] = [];

  add(iterate: IterateMessage): void {
    if (iterate.job !== this.job) [this.job, this.iterations] = [iterate.job, []];
    if (Number.isFinite(iterate.cost) && iterate.cost > 0) this.iterations.push(iterate);
  }

  getData(): PlotData {
    const ys = this.iterations.map((each) => each.cost);
    const [low, high] = [ys.reduce((a, b) => Math.min(a, b), Infinity), ys.reduce((a, b) => Math.max(a, b), 0)];
    const last = this.iterations[this.iterations.length - 1];
    if (!last) return { xs: [], ys: [], x: [-0.2, 20], y: [1, 10], top: "", value: "–", unit: "", empty: true };
    return {
      xs: this.iterations.map((each) => each.iteration),
      ys, x: [-0.2, Math.max(last.iteration, 5) * 1.03], y: [low / 1.5, Math.max(high, low * 1.1) * 1.2],
      top: formatDigits(high, 2), value: formatDigits(last.cost, 3), unit: `step ${last.iteration}`, empty: false,
    };
  }
}
