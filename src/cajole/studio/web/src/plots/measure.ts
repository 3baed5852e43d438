/** What plots measure: scales of curves, and the cost of an optimisation as it falls. No DOM here. */

import { formatDigits } from "../core/format";
import type { IterationUpdate } from "../core/types";
import { frameAt, type Scale } from "../timeline/scale";
import type { Shown } from "./row";

/** Cuts a view of the time line to the plots' width, which is narrower than it by the panel. */
export function cut(scale: Scale, wide: number): [number, number] {
  return [frameAt(scale, 0), frameAt(scale, Math.max(wide, 1))];
}

const ROUND = [1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10];

/** The scale of a curve: a round number that holds its largest value, `least` or more. */
export function ceiling(values: readonly number[], least: number): number {
  const most = values.reduce((a, b) => Math.max(a, b), least);
  const decade = 10 ** Math.floor(Math.log10(most));
  // Round again: 2.5 * 0.1 must not be a hair above 0.25.
  return Number(((ROUND.find((each) => each * decade >= most * (1 - 1e-9)) ?? 10) * decade).toPrecision(6));
}

/** Iterates of the newest optimisation. */
export class Costs {
  private job: string | null = null;
  private found: IterationUpdate[] = [];

  get count(): number { return this.found.length; }

  add(iterate: IterationUpdate): void {
    if (iterate.job !== this.job) [this.job, this.found] = [iterate.job, []];
    if (Number.isFinite(iterate.cost) && iterate.cost > 0) this.found.push(iterate);
  }

  shown(): Shown {
    const ys = this.found.map((each) => each.cost);
    const [low, high] = [ys.reduce((a, b) => Math.min(a, b), Infinity), ys.reduce((a, b) => Math.max(a, b), 0)];
    const last = this.found[this.found.length - 1];
    if (!last) return { xs: [], ys: [], x: [-0.2, 20], y: [1, 10], top: "", value: "–", unit: "", empty: true };
    return {
      xs: this.found.map((each) => each.iteration),
      ys,
      x: [-0.2, Math.max(last.iteration, 5) * 1.03],
      y: [low / 1.5, Math.max(high, low * 1.1) * 1.2],
      top: formatDigits(high, 2),
      value: formatDigits(last.cost, 3),
      unit: `step ${last.iteration}`,
      empty: false,
    };
  }
}
