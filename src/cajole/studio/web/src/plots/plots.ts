/** Drawer with plots: force over the shot, cost of an optimization, or a live simulation. */

import "../style/plots.css";
import { h, setChildren, setText } from "../core/dom";
import { getEditFrame } from "../core/playback";
import type { App, Component, ModeName, Tone } from "../core/types";
import { frameToX, getSharedScale, onSharedScale } from "../timeline/time-scale";
import {
  createCostPlot,
  createForceData,
  createForcePlot,
  createGuideErrorData,
  createGuideErrorPlot,
} from "./frame-plots";
import { createGoalReport } from "./goal-report";
import { createLiveData, LIVE_RANGE } from "./live-data";
import { LiveHistory, WINDOW_SECONDS } from "./live-history";
import { CostHistory } from "./plot-data";
import { createPlotRow, type PlotRow } from "./plot-row";

/** Plots of a mode; those from `firstTimed` on have a time axis with cursors. */
interface PlotSet {
  header: HTMLElement | null; // above the plots, without a time axis
  rows: PlotRow[];
  firstTimed: number;
  axisLabel: string;
  update(width: number): void;
  cursors(width: number): [number | null, number | null];
}

export function createPlotDrawer(app: App): Component & { dispose(): void } {
  const history = new LiveHistory();
  const costs = new CostHistory();
  const axisLabel = h("span", { class: "plots-strip" });
  const lines = [h("div", { class: "plots-cursor plots-playhead" }), h("div", { class: "plots-cursor plots-edit" })];
  const overlay = h("div", { class: "plots-over" }, lines);
  const rows = h("div", { class: "plots-rows" });
  const element = h("div", { class: "plots", hidden: true }, rows, axisLabel, overlay);
  let curve: number[] | null = null;
  let mode: ModeName | null = null;
  let current: PlotSet | null = null;
  let scheduled = 0;
  const scheduleRender = (): void => void (app.ui.plots && (scheduled ||= requestAnimationFrame(render)));

  function render(): void {
    scheduled = 0;
    element.hidden = !app.ui.plots || app.ui.page !== "project" || !app.state;
    if (element.hidden || document.hidden || !app.state) return;
    if (app.state.mode !== mode) showMode(app.state.mode);
    const width = rows.clientWidth - getGutterWidth();
    if (!current) return;
    current.update(width);
    overlay.style.top = `${getUntimedHeight(current)}px`;
    current.cursors(width).forEach((x, i) => placeCursor(lines[i], x, width));
  }

  function getGutterWidth(): number {
    return rows.querySelector<HTMLElement>(".plots-name")?.offsetWidth ?? 0;
  }

  /** Replace the plots for another mode. */
  function showMode(next: ModeName): void {
    for (const each of current?.rows ?? []) each.dispose();
    mode = next;
    current = next === "steer" ? createLivePlots(app, history) : createShotPlots(app, costs, () => curve);
    setChildren(rows, current.header, current.rows.map((each) => each.element));
    setText(axisLabel, current.axisLabel);
  }

  /** Height of what has no time axis [px]. */
  function getUntimedHeight({ header: above, rows: all, firstTimed: timed }: PlotSet): number {
    const parts = [above, ...all.slice(0, timed).map((each) => each.element)];
    return parts.reduce((high, each) => high + (each?.offsetHeight ?? 0), 0);
  }

  function placeCursor(line: HTMLElement, x: number | null, width: number): void {
    line.hidden = x === null || x < 0 || x > width;
    if (x !== null) line.style.transform = `translateX(${x - 0.75}px)`;
  }

  const size = new ResizeObserver(scheduleRender);
  size.observe(element);
  const disposers = [
    app.onState.on(() => {
      curve = null;
      scheduleRender();
    }),
    app.onMoved.on(({ meter }) => {
      curve = meter?.curve ?? curve;
      scheduleRender();
    }),
    app.onPulse.on((pulse) => {
      history.add(pulse.time, pulse.error, pulse.effort, pulse.push !== null);
      scheduleRender();
    }),
    app.onIterate.on((iterate) => {
      costs.add(iterate);
      scheduleRender();
    }),
    app.onProject.on(() => history.clear()),
    app.onUi.on((showMode) => {
      if (showMode.plots === false || showMode.page) scheduled ||= requestAnimationFrame(render);
      else scheduleRender();
    }),
    app.onTheme.on(() => {
      for (const each of current?.rows ?? []) each.redraw();
    }),
    onSharedScale(app, scheduleRender),
    () => size.disconnect(),
  ];
  scheduleRender();
  return {
    element,
    dispose: () => {
      cancelAnimationFrame(scheduled);
      for (const end of disposers) end();
      for (const each of current?.rows ?? []) each.dispose();
    },
  };
}

/** Added force over the frames; in Keyframe also the cost, in Enrich the distance to the guide. */
function createShotPlots(app: App, costs: CostHistory, curve: () => number[] | null): PlotSet {
  const force = createForcePlot(app);
  const cost = app.state?.mode === "keyframe" ? createCostPlot(costs) : null;
  const gap = app.state?.mode === "enrich" ? createGuideErrorPlot() : null;
  const report = app.state?.mode === "reroute" ? createGoalReport(app) : null;
  return {
    header: report?.element ?? null,
    rows: [cost, gap, force].filter((each) => each !== null),
    firstTimed: cost ? 1 : 0,
    axisLabel: "frames",
    update: (width) => {
      force.show(createForceData(app, width, curve()));
      cost?.show(costs.getData());
      gap?.show(createGuideErrorData(app, width));
      report?.update();
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

/** Error and effort of the last seconds in Steer. */
function createLivePlots(app: App, history: LiveHistory): PlotSet {
  const error = createLivePlot("Error", "got", false);
  const effort = createLivePlot("Effort", "added", true);
  return {
    header: null,
    rows: [error, effort],
    firstTimed: 0,
    axisLabel: "seconds ago",
    update: () => {
      const recent = history.getRecent();
      const pushes = app.state?.steer?.pushes ?? [];
      const flow = app.state?.steer?.flow !== undefined;
      error.show(createLiveData(recent, "error", pushes, flow));
      effort.show({ ...createLiveData(recent, "effort", pushes, flow), empty: false }); // only one row shows the hint
    },
    cursors: (width) => [(width * -LIVE_RANGE[0]) / (LIVE_RANGE[1] - LIVE_RANGE[0]), null],
  };
}

const LIVE_HINT = "Push the body to see it recover.";

const createLivePlot = (name: string, tone: Tone, axis: boolean): PlotRow =>
  createPlotRow({
    name, tone, axis, empty: axis ? "" : LIVE_HINT,
    getTicks: () => Array.from({ length: WINDOW_SECONDS }, (_, i) => i + 1 - WINDOW_SECONDS),
    formatTick: (at) => (at === 0 ? "now" : `\u2212${-at}`),
  });
