/** One row of the drawer: name and value in the gutter, a curve beside them. */

import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { h, setText } from "../core/dom";
import { getToken } from "../core/theme";
import type { Component, Tone } from "../core/types";

export const HIGH = 60;
export const AXIS = 20;

export interface RowOptions {
  name: string;
  tone: Tone;
  axis: boolean; // whether times are written below
  log?: boolean;
  empty: string; // what stands where nothing is to be drawn yet
  ticks(): number[]; // where times are written, and in which words
  word(at: number): string;
}

/** What a row shows: values `ys` at ascending `xs`; `bands`: pushes; `top`: what the highest value is called. */
export interface Shown {
  xs: number[];
  ys: number[];
  x: [number, number];
  y: [number, number];
  bands?: [number, number][];
  top: string;
  value: string;
  unit: string;
  empty: boolean; // say what to do
}

export interface Row extends Component {
  element: HTMLElement;
  show(what: Shown): void;
  redraw(): void;
  resize(): void;
  dispose(): void;
}

const NOTHING: Shown = { xs: [], ys: [], x: [0, 1], y: [0, 1], top: "", value: "", unit: "", empty: true };

export function row(options: RowOptions): Row {
  const value = h("span", { class: "plots-value" });
  const unit = h("span", { class: "plots-unit" });
  const top = h("span", { class: "plots-top" });
  const note = h("p", { class: "plots-empty" }, options.empty);
  const stage = h("div", { class: "plots-stage" }, top, note);
  const name = h(
    "div",
    { class: "plots-name" },
    h("div", { class: "plots-title" }, options.name),
    h("div", { class: "plots-line" }, value, unit),
  );
  const element = h("div", { class: "plots-row", role: "img", data: { tone: options.tone } }, name, stage);
  element.style.height = `${HIGH + (options.axis ? AXIS : 0)}px`;
  let shown = NOTHING;
  const plot = new uPlot(settings(options, () => shown), [[], []], stage);
  const resize = (): void => {
    const wide = stage.clientWidth;
    if (wide > 0 && wide !== plot.width) plot.setSize({ width: wide, height: HIGH + (options.axis ? AXIS : 0) });
  };
  return {
    element,
    resize,
    redraw: () => plot.redraw(),
    show: (what) => {
      shown = what;
      setText(value, what.value);
      setText(unit, what.unit);
      setText(top, what.top);
      note.hidden = !what.empty;
      element.setAttribute(
        "aria-label",
        what.empty ? `${options.name}. ${options.empty}` : `${options.name}: ${what.value} ${what.unit}`,
      );
      resize();
      plot.setData([what.xs, what.ys]);
    },
    dispose: () => plot.destroy(),
  };
}

/** uPlot without its own frame: no legend, no cursor; x are seconds or frames, never dates. */
function settings(options: RowOptions, shown: () => Shown): uPlot.Options {
  const colour = (): string => getToken(options.tone);
  const font = `11px ${getToken("font")}`;
  return {
    width: 400,
    height: HIGH + (options.axis ? AXIS : 0),
    padding: [8, 0, options.axis ? 0 : 6, 0],
    pxAlign: 0, // curves are smooth, not stairs of pixels
    legend: { show: false },
    cursor: { show: false },
    scales: {
      x: { time: false, range: () => shown().x },
      y: { distr: options.log ? 3 : 1, range: () => shown().y },
    },
    series: [
      {},
      {
        stroke: colour,
        width: 1.75,
        fill: () => `color-mix(in srgb, ${colour()} 24%, transparent)`,
        points: { show: false },
        pxAlign: 0,
        fillTo: (u) => u.scales["y"].min ?? 0,
      },
    ],
    axes: [
      {
        show: options.axis,
        size: AXIS,
        gap: 2,
        font,
        stroke: () => getToken("t3"),
        grid: { show: false },
        ticks: { show: false },
        splits: () => options.ticks(),
        values: (_, splits) => splits.map(options.word),
        space: 0,
      },
      {
        size: 0,
        values: () => [],
        ticks: { show: false },
        grid: { stroke: () => getToken("line"), width: 1 },
        splits: (_, __, low, high) => (options.log ? [low, high] : [low, (low + high) / 2, high]),
      },
    ],
    hooks: { drawClear: [(plot) => drawBands(plot, shown().bands ?? [])] },
  };
}

/** Pushes as teal bands behind the curve. */
function drawBands(plot: uPlot, bands: readonly [number, number][]): void {
  const { ctx, bbox } = plot;
  const foot = plot.axes[0].show ? bbox.top + bbox.height : ctx.canvas.height;
  ctx.save();
  ctx.fillStyle = `color-mix(in srgb, ${getToken("world")} 20%, transparent)`;
  for (const [from, to] of bands) {
    const x0 = plot.valToPos(from, "x", true);
    const wide = Math.max(plot.valToPos(to, "x", true) - x0, 2 * devicePixelRatio);
    ctx.fillRect(x0, 0, wide, foot);
  }
  ctx.restore();
}
