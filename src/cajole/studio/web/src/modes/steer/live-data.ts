/** Plot data of a live simulation: error and effort of a body or a flow. No DOM access. */

import { formatDigits } from "../../core/format";
import type { PushInfo } from "../../core/types";
import { formatForceShare } from "../../ui/controls/force-levels";
import { computeNiceMax } from "../../plots/plot-data";
import { WINDOW_SECONDS, mergeBands, type RecentSamples } from "../../plots/live-history";
import type { PlotData } from "../../plots/plot-row";

/** Space right of now [s]. */
const MARGIN_SECONDS = 0.9;
export const LIVE_RANGE: [number, number] = [-WINDOW_SECONDS, MARGIN_SECONDS];
/** Axis and format of a quantity; minRange keeps noise from filling the plot. */
interface QuantityFormat { minRange: number; text(value: number): string; unit: string }
type LiveFormats = Record<"error" | "effort", QuantityFormat>;

const BODY_FORMATS: LiveFormats = {
  error: { minRange: 0.005, text: formatForceShare, unit: "of body size" },
  effort: { minRange: 0.01, text: formatForceShare, unit: "of body weight" },
};
const FLOW_FORMATS: LiveFormats = {
  error: { minRange: 1, text: (cells) => formatDigits(cells, 2), unit: "cells, largest error" },
  effort: { minRange: 0.01, text: formatForceShare, unit: "of its momentum" },
};

/** flow: errors are in cells, and the plot is shown before any push. */
export function createLiveData(recent: RecentSamples, quantity: "error" | "effort", pushes: readonly PushInfo[], flow = false): PlotData {
  const ys = recent[quantity];
  const { minRange: least, text, unit } = (flow ? FLOW_FORMATS : BODY_FORMATS)[quantity];
  const peak = computeNiceMax(ys, least);
  const listed = pushes.map(({ time, duration }) => [time - recent.now, time + duration - recent.now] as const);
  return {
    xs: recent.times, ys, x: LIVE_RANGE, y: [0, peak], bands: mergeBands([...recent.pushes, ...listed]),
    top: text(peak), value: text(ys[ys.length - 1] ?? 0), unit,
    empty: !flow && !recent.pushes.length && !pushes.length,
  };
}
