/** How a live run is told: error and effort of the last seconds against now, of a body or a flow. No DOM here. */

import { formatDigits } from "../core/format";
import type { PushInfo } from "../core/types";
import { formatForceShare } from "../ui/controls/force-levels";
import { ceiling } from "./measure";
import { SPAN, joined, type Recent } from "./ring";
import type { Shown } from "./row";

/** Room right of now, so that the newest value is seen [s]. */
const AFTER = 0.9;
export const RANGE: [number, number] = [-SPAN, AFTER];
/** How a curve is told: the smallest scale, or noise would fill the row; a value in words; and its unit. */
interface Telling { least: number; text(value: number): string; unit: string }
type Tellings = Record<"error" | "effort", Telling>;

const BODY: Tellings = {
  error: { least: 0.005, text: formatForceShare, unit: "of body size" },
  effort: { least: 0.01, text: formatForceShare, unit: "of body weight" },
};
const FLOW: Tellings = {
  error: { least: 1, text: (cells) => formatDigits(cells, 2), unit: "cells off at worst" },
  effort: { least: 0.01, text: formatForceShare, unit: "of its momentum" },
};

/** flow: errors are in cells, and there is something to see before any push. */
export function liveShown(recent: Recent, what: "error" | "effort", pushes: readonly PushInfo[], flow = false): Shown {
  const ys = recent[what];
  const { least, text, unit } = (flow ? FLOW : BODY)[what];
  const peak = ceiling(ys, least);
  const told = pushes.map(({ time, duration }) => [time - recent.now, time + duration - recent.now] as const);
  return {
    xs: recent.times,
    ys,
    x: RANGE,
    y: [0, peak],
    bands: joined([...recent.pushes, ...told]),
    top: text(peak),
    value: text(ys[ys.length - 1] ?? 0),
    unit,
    empty: !flow && !recent.pushes.length && !pushes.length,
  };
}
