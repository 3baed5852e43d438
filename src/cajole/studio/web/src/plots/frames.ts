/** Curves over the frames of the shot, in the time line's own view; and the cost of an optimisation. */

import { figures, percent } from "../core/format";
import type { App, Iterate } from "../core/types";
import { sharedScale } from "../timeline/shared";
import { frameAt, label, oneTwoFive, steps, ticks, whole, type Scale } from "../timeline/scale";
import { row, type Row, type Shown } from "./row";

/** The smallest scale of force [body weights]: less than that is nothing. */
const LEAST_FORCE = 0.01;

/** Cuts a view of the time line to the plots' width, which is narrower than it by the panel. */
export function cut(scale: Scale, wide: number): [number, number] {
  return [frameAt(scale, 0), frameAt(scale, Math.max(wide, 1))];
}

/** The scale of a curve: 1, 2 or 5 of a decade that holds its largest value. */
export const ceiling = (values: readonly number[], least: number): number => oneTwoFive(Math.max(least, values.reduce((a, b) => Math.max(a, b), 0)));

const scaleOf = (app: App): Scale => sharedScale(app) ?? whole(1000, Math.max(app.state?.frames ?? 1, 1));

export function forceRow(app: App): Row {
  const each = (): number => steps(scaleOf(app), app.state?.fps || 60, app.ui.unit).major;
  return row({
    name: "Added force", tone: "added", axis: true,
    empty: app.state?.mode === "keyframe" ? "Optimise to see the force it takes." : "Drag a point of the body to see the force it takes.",
    ticks: () => ticks(scaleOf(app), each()),
    word: (frame) => label(frame, app.state?.fps || 60, app.ui.unit, each()),
  });
}

/** Added force of every frame, and its value at the edit frame. `curve`: while something is dragged, the newest. */
export function forceShown(app: App, wide: number, curve: number[] | null): Shown {
  const values = curve ?? app.state?.meter.curve ?? [];
  const peak = ceiling(app.state?.meter.curve ?? values, LEAST_FORCE); // it stays while something is dragged
  const frame = app.state?.frame ?? 0;
  const empty = !values.some((value) => value > 0);
  return {
    xs: values.map((_, i) => i), ys: values.map((value) => Math.min(value, 1.05 * peak)), x: cut(scaleOf(app), wide), y: [0, peak], top: empty ? "" : percent(peak),
    value: percent(values[frame] ?? 0), unit: "of body weight", empty,
  };
}

/** Iterates of the newest optimisation. */
export class Costs {
  private job: string | null = null;
  private found: Iterate[] = [];

  get count(): number { return this.found.length; }

  add(iterate: Iterate): void {
    if (iterate.job !== this.job) [this.job, this.found] = [iterate.job, []];
    if (Number.isFinite(iterate.cost) && iterate.cost > 0) this.found.push(iterate);
  }

  shown(): Shown {
    const ys = this.found.map((each) => each.cost);
    const [low, high] = [ys.reduce((a, b) => Math.min(a, b), Infinity), ys.reduce((a, b) => Math.max(a, b), 0)];
    const last = this.found[this.found.length - 1];
    if (!last) return { xs: [], ys: [], x: [0, 20], y: [1, 10], top: "", value: "–", unit: "", empty: true };
    return {
      xs: this.found.map((each) => each.iteration), ys, x: [0, Math.max(last.iteration, 5) * 1.02], y: [low / 1.5, Math.max(high, low * 1.1) * 1.2],
      top: figures(high, 2), value: figures(last.cost, 3), unit: `step ${last.iteration}`, empty: false,
    };
  }
}

export function costRow(costs: Costs): Row {
  const each = (): number => oneTwoFive(Math.max(costs.shown().x[1] / 8, 1));
  return row({
    name: "Cost", tone: "asked", axis: true, log: true, empty: "Optimise to see the cost fall.",
    ticks: () => Array.from({ length: 1 + Math.floor(costs.shown().x[1] / each()) }, (_, i) => i * each()),
    word: (iteration) => String(iteration),
  });
}
