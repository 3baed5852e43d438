/** Drawer with plots: force over the shot, cost of an optimization, or a live simulation. */

import "../style/plots.css";
import { h, setChildren, setText } from "../core/dom";
import { getMode, type ModeName } from "../core/modes";
import type { App, Component } from "../core/types";
import { onSharedScale } from "../timeline/time-scale";
import { LiveHistory } from "./live-history";
import { CostHistory } from "./plot-data";
import type { PlotRow } from "./plot-row";

/** Data that the drawer collects in all modes. */
export interface PlotSources {
  history: LiveHistory; // of the live simulation
  costs: CostHistory; // of the latest optimization
  getLiveCurve(): number[] | null; // added force during a drag
}

/** Plots of a mode; those from `firstTimed` on have a time axis with cursors. */
export interface PlotSet {
  header: HTMLElement | null; // above the plots, without a time axis
  rows: PlotRow[];
  firstTimed: number;
  axisLabel: string;
  update(width: number): void;
  cursors(width: number): [number | null, number | null];
}

export function createPlotDrawer(app: App): Component {
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
    current = getMode(next).createPlots(app, { history, costs, getLiveCurve: () => curve });
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

  new ResizeObserver(scheduleRender).observe(element);
  app.onState.on(() => {
    curve = null;
    scheduleRender();
  });
  app.onMoved.on(({ meter }) => {
    curve = meter?.curve ?? curve;
    scheduleRender();
  });
  app.onPulse.on((pulse) => {
    history.add(pulse.time, pulse.error, pulse.effort, pulse.push !== null);
    scheduleRender();
  });
  app.onIterate.on((iterate) => {
    costs.add(iterate);
    scheduleRender();
  });
  app.onProject.on(() => history.clear());
  app.onUi.on((change) => {
    if (change.plots === false || change.page) scheduled ||= requestAnimationFrame(render);
    else scheduleRender();
  });
  app.onTheme.on(() => current?.rows.forEach((row) => row.redraw()));
  onSharedScale(app, scheduleRender);
  scheduleRender();
  return { element };
}
