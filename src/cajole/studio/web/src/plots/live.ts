/** Rows of a live run: error and effort of the last seconds against now. */

import type { Tone } from "../core/types";
import { SPAN } from "./ring";
import { row, type Row } from "./row";

const EMPTY = "Push the body to see it recover.";

export const liveRow = (name: string, tone: Tone, axis: boolean): Row =>
  row({
    name, tone, axis, empty: axis ? "" : EMPTY,
    ticks: () => Array.from({ length: SPAN }, (_, i) => i + 1 - SPAN),
    word: (at) => (at === 0 ? "now" : `\u2212${-at}`),
  });
