/** Plots over the frames of a shot, in the scale of the timeline, and the cost of an optimization. */

import { niceStep } from "../core/math";
import { formatExponent } from "../core/format";
import type { App } from "../core/types";
import {
  computeRulerSteps,
  createFitScale,
  formatFrame,
  getSharedScale,
  listTicks,
  type TimeScale,
} from "../timeline/time-scale";
import { formatForceShare } from "../ui/controls/force-levels";
import { computeNiceMax, type CostHistory, getVisibleFrames } from "./plot-data";
import { createPlotRow, type PlotData, type PlotRow } from "./plot-row";

/** Least range of the force axis [body weights]. */
const MIN_FORCE_RANGE = 0.01;

const getScale = (app: App): TimeScale => getSharedScale(app) ?? createFitScale(1000, Math.max(app.state?.frames ?? 1, 1));

export function createForcePlot(app: App): PlotRow {
  const getStep = (): number => computeRulerSteps(getScale(app), app.state?.fps || 60, app.ui.unit).major;
  return createPlotRow({
    name: "Added force",
    tone: "added",
    axis: true,
    empty:
      app.state?.mode === "keyframe"
        ? "Optimise to see the added force."
        : app.state?.mode === "enrich"
          ? "Enrich to see the tracking force."
          : app.state?.mode === "reroute"
            ? "Run again to see the added force."
          : "Drag a point of the body to see the added force.",
    getTicks: () => listTicks(getScale(app), getStep()),
    formatTick: (frame) => formatFrame(frame, app.state?.fps || 60, app.ui.unit, getStep()),
  });
}

/** Added force per frame, and its value at the edit frame. curve: live values during a drag. */
export function createForceData(app: App, width: number, curve: number[] | null): PlotData {
  const values = curve ?? app.state?.meter.curve ?? [];
  const peak = computeNiceMax(app.state?.meter.curve ?? values, MIN_FORCE_RANGE); // fixed during a drag
  const frame = app.state?.frame ?? 0;
  const empty = !values.some((value) => value > 0);
  return {
    xs: empty ? [] : values.map((_, i) => i),
    ys: empty ? [] : values.map((value) => Math.min(value, 1.05 * peak)),
    x: getVisibleFrames(getScale(app), width),
    y: [0, peak],
    top: empty ? "" : formatForceShare(peak),
    value: formatForceShare(values[frame] ?? 0),
    unit: "of body weight",
    empty,
  };
}

/** Lower end of the error axis [shell sizes]: rounding errors. */
const MIN_ERROR = 1e-16;

/** Distance of regions to their guide (Enrich), on a logarithmic scale. */
export function createGuideErrorPlot(): PlotRow {
  return createPlotRow({
    name: "Off guide", tone: "got", axis: false, log: true, empty: "Enrich to see how closely the guide is followed.",
    getTicks: () => [],
    formatTick: () => "",
  });
}

export function createGuideErrorData(app: App, width: number): PlotData {
  const values = app.state?.lanes.find(({ id }) => id === "gaps")?.curve ?? [];
  const ys = values.map((value) => Math.max(value, MIN_ERROR));
  const most = ys.reduce((a, b) => Math.max(a, b), MIN_ERROR);
  const here = values[app.state?.frame ?? 0];
  return {
    xs: ys.map((_, i) => i),
    ys,
    x: getVisibleFrames(getScale(app), width),
    y: [MIN_ERROR / 2, Math.max(2 * most, 1e-2)],
    top: ys.length ? formatExponent(most) : "",
    value: here === undefined ? "–" : here === 0 ? "0" : formatExponent(here),
    unit: "of the size",
    empty: ys.length === 0,
  };
}

export function createCostPlot(costs: CostHistory): PlotRow {
  const getStep = (): number => niceStep(Math.max(costs.getData().x[1] / 8, 1));
  return createPlotRow({
    name: "Cost", tone: "asked", axis: true, log: true, empty: "Optimise to see the cost fall.",
    getTicks: () => Array.from({ length: 1 + Math.floor(costs.getData().x[1] / getStep()) }, (_, i) => i * getStep()),
    formatTick: (iteration) => String(iteration),
  });
}
