/** Plots over the frames of a shot, in the scale of the timeline. */

import { getEditFrame } from "../core/playback";
import type { App } from "../core/types";
import { computeRulerSteps, createFitScale, formatFrame, frameToX, getSharedScale, listTicks, type TimeScale } from "../timeline/time-scale";
import { formatForceShare } from "../ui/controls/force-levels";
import { computeNiceMax, getVisibleFrames } from "./plot-data";
import { createPlotRow, type PlotData, type PlotRow } from "./plot-row";
import type { PlotSet, PlotSources } from "./plots";

/** Least range of the force axis [body weights]. */
const MIN_FORCE_RANGE = 0.01;

const getScale = (app: App): TimeScale => getSharedScale(app) ?? createFitScale(1000, Math.max(app.state?.frames ?? 1, 1));

/** Frames that are visible in the width of the plots. */
export const getFrameRange = (app: App, width: number): [number, number] => getVisibleFrames(getScale(app), width);

/** Added force per frame, and its value at the edit frame. curve: live values during a drag. */
function createForceData(app: App, width: number, curve: number[] | null): PlotData {
  const values = curve ?? app.state?.meter.curve ?? [];
  const peak = computeNiceMax(app.state?.meter.curve ?? values, MIN_FORCE_RANGE); // fixed during a drag
  const empty = !values.some((value) => value > 0);
  return {
    xs: empty ? [] : values.map((_, i) => i),
    ys: empty ? [] : values.map((value) => Math.min(value, 1.05 * peak)),
    x: getFrameRange(app, width), y: [0, peak], top: empty ? "" : formatForceShare(peak),
    value: formatForceShare(values[app.state?.frame ?? 0] ?? 0), unit: "of body weight", empty,
  };
}

/** Plot of a mode above the added force; isTimed: its axis is the frames of the shot. */
interface ExtraPlot { row: PlotRow; isTimed: boolean; getData(width: number): PlotData }

/** Added force over the frames, below an optional header and an optional plot of the mode. emptyText: hint without force. */
export function createShotPlots(
  app: App,
  { getLiveCurve }: PlotSources,
  emptyText: string,
  { header, extra }: { header?: { element: HTMLElement; update(): void }; extra?: ExtraPlot } = {},
): PlotSet {
  const getStep = (): number => computeRulerSteps(getScale(app), app.state?.fps || 60, app.ui.unit).major;
  const force = createPlotRow({
    name: "Added force", tone: "added", axis: true, empty: emptyText,
    getTicks: () => listTicks(getScale(app), getStep()),
    formatTick: (frame) => formatFrame(frame, app.state?.fps || 60, app.ui.unit, getStep()),
  });
  return {
    header: header?.element ?? null,
    rows: extra ? [extra.row, force] : [force],
    firstTimed: extra && !extra.isTimed ? 1 : 0,
    axisLabel: "frames",
    update: (width) => {
      force.show(createForceData(app, width, getLiveCurve()));
      extra?.row.show(extra.getData(width));
      header?.update();
    },
    cursors: () => {
      const scale = getSharedScale(app);
      if (!scale) return [null, null];
      const { ui } = app;
      const single = ui.views === 1;
      return [frameToX(scale, single && !ui.playing ? getEditFrame(app) : ui.playhead), single ? null : frameToX(scale, getEditFrame(app))];
    },
  };
}
