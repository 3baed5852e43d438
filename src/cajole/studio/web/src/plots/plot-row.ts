/** Row of the drawer: name and value in the gutter, and a uPlot curve. */

import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { h, setText } from "../core/dom";
import { getToken } from "../core/theme";
import type { Component, Tone } from "../core/types";

const PLOT_HEIGHT = 60;
const AXIS_HEIGHT = 20;

interface PlotRowOptions {
  name: string;
  tone: Tone;
  axis: boolean; // show a time axis
  log?: boolean;
  empty: string; // hint without data
  getTicks(): number[]; // of the time axis
  formatTick(at: number): string;
}

/** Data of a row: values `ys` at ascending `xs`; bands: pushes; top: label of the upper end. */
export interface PlotData {
  xs: number[];
  ys: number[];
  x: [number, number];
  y: [number, number];
  bands?: [number, number][];
  top: string;
  value: string;
  unit: string;
  empty: boolean; // show the hint
}

export interface PlotRow extends Component {
  element: HTMLElement;
  show(data: PlotData): void;
  redraw(): void;
  dispose(): void;
}

const EMPTY_DATA: PlotData = { xs: [], ys: [], x: [0, 1], y: [0, 1], top: "", value: "", unit: "", empty: true };

export function createPlotRow(options: PlotRowOptions): PlotRow {
  const value = h("span", { class: "plots-value" });
  const unit = h("span", { class: "plots-unit" });
  const top = h("span", { class: "plots-top" });
  const note = h("p", { class: "plots-empty" }, options.empty);
  const stage = h("div", { class: "plots-stage" }, top, note);
  const name = h("div", { class: "plots-name" },
    h("div", { class: "plots-title" }, options.name),
    h("div", { class: "plots-line" }, value, unit),
  );
  const element = h("div", { class: "plots-row", role: "img", data: { tone: options.tone } }, name, stage);
  element.style.height = `${PLOT_HEIGHT + (options.axis ? AXIS_HEIGHT : 0)}px`;
  let current = EMPTY_DATA;
  const plot = new uPlot(createUPlotOptions(options, () => current), [[], []], stage);
  const resize = (): void => {
    const width = stage.clientWidth;
    if (width > 0 && width !== plot.width) plot.setSize({ width, height: PLOT_HEIGHT + (options.axis ? AXIS_HEIGHT : 0) });
  };
  return {
    element,
    redraw: () => plot.redraw(),
    show: (data) => {
      current = data;
      setText(value, data.value);
      setText(unit, data.unit);
      setText(top, data.top);
      note.hidden = !data.empty;
      element.setAttribute(
        "aria-label",
        data.empty ? `${options.name}. ${options.empty}` : `${options.name}: ${data.value} ${data.unit}`,
      );
      resize();
      plot.setData([data.xs, data.ys]);
    },
    dispose: () => plot.destroy(),
  };
}

/** uPlot options: no legend, no cursor; x is seconds or frames, not dates. */
function createUPlotOptions(options: PlotRowOptions, getData: () => PlotData): uPlot.Options {
  const getColor = (): string => getToken(options.tone);
  const font = `11px ${getToken("font")}`;
  return {
    width: 400,
    height: PLOT_HEIGHT + (options.axis ? AXIS_HEIGHT : 0),
    padding: [8, 0, options.axis ? 0 : 6, 0],
    pxAlign: 0, // subpixel positions
    legend: { show: false },
    cursor: { show: false },
    scales: {
      x: { time: false, range: () => getData().x },
      y: { distr: options.log ? 3 : 1, range: () => getData().y },
    },
    series: [
      {},
      {
        stroke: getColor, width: 1.75,
        fill: () => `color-mix(in srgb, ${getColor()} 24%, transparent)`,
        points: { show: false }, pxAlign: 0,
        fillTo: (u) => u.scales["y"].min ?? 0,
      },
    ],
    axes: [
      {
        show: options.axis, size: AXIS_HEIGHT, gap: 2, font,
        stroke: () => getToken("t3"),
        grid: { show: false }, ticks: { show: false },
        splits: () => options.getTicks(),
        values: (_, splits) => splits.map(options.formatTick),
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
    hooks: { drawClear: [(plot) => drawBands(plot, getData().bands ?? [])] },
  };
}

/** Draw pushes as bands behind the curve. */
function drawBands(plot: uPlot, bands: readonly [number, number][]): void {
  const { ctx, bbox } = plot;
  const foot = plot.axes[0].show ? bbox.top + bbox.height : ctx.canvas.height;
  ctx.save();
  ctx.fillStyle = `color-mix(in srgb, ${getToken("world")} 20%, transparent)`;
  for (const [from, to] of bands) {
    const x0 = plot.valToPos(from, "x", true);
    const width = Math.max(plot.valToPos(to, "x", true) - x0, 2 * devicePixelRatio);
    ctx.fillRect(x0, 0, width, foot);
  }
  ctx.restore();
}
