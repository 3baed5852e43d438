/** Rows of a shot: force over its frames, in the time line's own view, and the cost of an optimisation. */

import { formatExponent } from "../core/format";
import type { App } from "../core/types";
import { formatForceShare } from "../ui/controls/force-levels";
import { sharedScale } from "../timeline/shared";
import { label, oneTwoFive, steps, ticks, whole, type Scale } from "../timeline/scale";
import { ceiling, cut, type Costs } from "./measure";
import { row, type Row, type Shown } from "./row";

/** The smallest scale of force [body weights]: less than that is nothing. */
const LEAST_FORCE = 0.01;

const scaleOf = (app: App): Scale => sharedScale(app) ?? whole(1000, Math.max(app.state?.frames ?? 1, 1));

export function forceRow(app: App): Row {
  const each = (): number => steps(scaleOf(app), app.state?.fps || 60, app.ui.unit).major;
  return row({
    name: "Added force",
    tone: "added",
    axis: true,
    empty:
      app.state?.mode === "keyframe"
        ? "Optimise to see the force it takes."
        : app.state?.mode === "enrich"
          ? "Enrich to see the force that leads the shell."
          : app.state?.mode === "reroute"
            ? "Run again to see the force that leads it."
          : "Drag a point of the body to see the force it takes.",
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
    xs: empty ? [] : values.map((_, i) => i),
    ys: empty ? [] : values.map((value) => Math.min(value, 1.05 * peak)),
    x: cut(scaleOf(app), wide),
    y: [0, peak],
    top: empty ? "" : formatForceShare(peak),
    value: formatForceShare(values[frame] ?? 0),
    unit: "of body weight",
    empty,
  };
}

/** Less than this, in sizes of the shell, is rounding: the foot of the plot. */
const ROUNDING = 1e-16;

/** Enrich: how far regions are off their guide, on a logarithmic scale. */
export function gapRow(): Row {
  return row({
    name: "Off guide", tone: "got", axis: false, log: true, empty: "Enrich to see how closely the guide is followed.",
    ticks: () => [],
    word: () => "",
  });
}

export function gapShown(app: App, wide: number): Shown {
  const values = app.state?.lanes.find(({ id }) => id === "gaps")?.curve ?? [];
  const ys = values.map((value) => Math.max(value, ROUNDING));
  const most = ys.reduce((a, b) => Math.max(a, b), ROUNDING);
  const here = values[app.state?.frame ?? 0];
  return {
    xs: ys.map((_, i) => i),
    ys,
    x: cut(scaleOf(app), wide),
    y: [ROUNDING / 2, Math.max(2 * most, 1e-2)],
    top: ys.length ? formatExponent(most) : "",
    value: here === undefined ? "–" : here === 0 ? "0" : formatExponent(here),
    unit: "of the size",
    empty: ys.length === 0,
  };
}

export function costRow(costs: Costs): Row {
  const each = (): number => oneTwoFive(Math.max(costs.shown().x[1] / 8, 1));
  return row({
    name: "Cost", tone: "asked", axis: true, log: true, empty: "Optimise to see the cost fall.",
    ticks: () => Array.from({ length: 1 + Math.floor(costs.shown().x[1] / each()) }, (_, i) => i * each()),
    word: (iteration) => String(iteration),
  });
}
