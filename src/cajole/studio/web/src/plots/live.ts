/** A live run: error and effort of the last seconds against now. */

import type { PushInfo, Tone } from "../core/types";
import { percent } from "../ui/parts/gentleness";
import { ceiling } from "./measure";
import { SPAN, joined, type Recent } from "./ring";
import { row, type Row, type Shown } from "./row";

/** Room right of now, so that the newest value is seen [s]. */
const AFTER = 0.9;
export const RANGE: [number, number] = [-SPAN, AFTER];
/** The smallest scales, or noise would fill the row: body sizes, and body weights. */
const LEAST = { error: 0.005, effort: 0.01 };

const EMPTY = "Push the body to see it recover.";

export const liveRow = (name: string, tone: Tone, axis: boolean): Row =>
  row({
    name, tone, axis, empty: axis ? "" : EMPTY,
    ticks: () => Array.from({ length: SPAN }, (_, i) => i + 1 - SPAN),
    word: (at) => (at === 0 ? "now" : `\u2212${-at}`),
  });

export function liveShown(recent: Recent, what: "error" | "effort", pushes: readonly PushInfo[]): Shown {
  const ys = recent[what];
  const peak = ceiling(ys, LEAST[what]);
  const told = pushes.map(({ time, duration }) => [time - recent.now, time + duration - recent.now] as const);
  return {
    xs: recent.times,
    ys,
    x: RANGE,
    y: [0, peak],
    bands: joined([...recent.pushes, ...told]),
    top: percent(peak),
    value: percent(ys[ys.length - 1] ?? 0),
    unit: what === "error" ? "of body size" : "of body weight",
    empty: !recent.pushes.length && !pushes.length,
  };
}
