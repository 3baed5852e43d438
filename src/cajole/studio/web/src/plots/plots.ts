/** The drawer of plots: force over the shot, the cost of an optimisation, or a live run against now. */

import "../style/plots.css";
import { setChildren, h, setText } from "../core/dom";
import type { App, ModeName, Component } from "../core/types";
import { getEditFrame } from "../core/playback";
import { onScale, sharedScale } from "../timeline/shared";
import { xOf } from "../timeline/scale";
import { costRow, forceRow, forceShown, gapRow, gapShown } from "./frames";
import { liveRow } from "./live";
import { Costs } from "./measure";
import { Ring } from "./ring";
import type { Row } from "./row";
import { RANGE, liveShown } from "./telling";
import { reportRow } from "./reroute-report";

/** A mode's rows, of which those from `timed` on have the cursors; and what brings them up to date. */
interface Bench {
  above: HTMLElement | null; // what stands above them, without time
  rows: Row[];
  timed: number;
  strip: string;
  update(wide: number): void;
  cursors(wide: number): [number | null, number | null];
}

export function plots(app: App): Component & { dispose(): void } {
  const ring = new Ring();
  const costs = new Costs();
  const strip = h("span", { class: "plots-strip" });
  const lines = [h("div", { class: "plots-cursor plots-playhead" }), h("div", { class: "plots-cursor plots-edit" })];
  const over = h("div", { class: "plots-over" }, lines);
  const rows = h("div", { class: "plots-rows" });
  const element = h("div", { class: "plots", hidden: true }, rows, strip, over);
  let curve: number[] | null = null;
  let mode: ModeName | null = null;
  let bench: Bench | null = null;
  let due = 0;
  const later = (): void => void (app.ui.plots && (due ||= requestAnimationFrame(render)));

  function render(): void {
    due = 0;
    element.hidden = !app.ui.plots || app.ui.page !== "project" || !app.state;
    if (element.hidden || document.hidden || !app.state) return;
    if (app.state.mode !== mode) change(app.state.mode);
    const wide = rows.clientWidth - gutter();
    if (!bench) return;
    bench.update(wide);
    over.style.top = `${untimed(bench)}px`;
    bench.cursors(wide).forEach((x, i) => place(lines[i], x, wide));
  }

  function gutter(): number {
    return rows.querySelector<HTMLElement>(".plots-name")?.offsetWidth ?? 0;
  }

  /** Other rows for another mode. */
  function change(next: ModeName): void {
    for (const each of bench?.rows ?? []) each.dispose();
    mode = next;
    bench = next === "steer" ? live(app, ring) : shot(app, costs, () => curve);
    setChildren(rows, bench.above, bench.rows.map((each) => each.element));
    setText(strip, bench.strip);
  }

  /** How high what has no time stands above the rest [px]. */
  function untimed({ above, rows: all, timed }: Bench): number {
    const parts = [above, ...all.slice(0, timed).map((each) => each.element)];
    return parts.reduce((high, each) => high + (each?.offsetHeight ?? 0), 0);
  }

  function place(line: HTMLElement, x: number | null, wide: number): void {
    line.hidden = x === null || x < 0 || x > wide;
    if (x !== null) line.style.transform = `translateX(${x - 0.75}px)`;
  }

  const size = new ResizeObserver(later);
  size.observe(element);
  const ends = [
    app.onState.on(() => {
      curve = null;
      later();
    }),
    app.onMoved.on(({ meter }) => {
      curve = meter?.curve ?? curve;
      later();
    }),
    app.onPulse.on((pulse) => {
      ring.add(pulse.time, pulse.error, pulse.effort, pulse.push !== null);
      later();
    }),
    app.onIterate.on((iterate) => {
      costs.add(iterate);
      later();
    }),
    app.onProject.on(() => ring.clear()),
    app.onUi.on((change) => {
      if (change.plots === false || change.page) due ||= requestAnimationFrame(render);
      else later();
    }),
    app.onTheme.on(() => {
      for (const each of bench?.rows ?? []) each.redraw();
    }),
    onScale(app, later),
    () => size.disconnect(),
  ];
  later();
  return {
    element,
    dispose: () => {
      cancelAnimationFrame(due);
      for (const end of ends) end();
      for (const each of bench?.rows ?? []) each.dispose();
    },
  };
}

/** Added force over the frames; in Keyframe also the cost, in Enrich how far regions are off their guide. */
function shot(app: App, costs: Costs, curve: () => number[] | null): Bench {
  const force = forceRow(app);
  const cost = app.state?.mode === "keyframe" ? costRow(costs) : null;
  const gap = app.state?.mode === "enrich" ? gapRow() : null;
  const report = app.state?.mode === "reroute" ? reportRow(app) : null;
  return {
    above: report?.element ?? null,
    rows: [cost, gap, force].filter((each) => each !== null),
    timed: cost ? 1 : 0,
    strip: "frames",
    update: (wide) => {
      force.show(forceShown(app, wide, curve()));
      cost?.show(costs.shown());
      gap?.show(gapShown(app, wide));
      report?.update();
    },
    cursors: () => {
      const scale = sharedScale(app);
      if (!scale) return [null, null];
      const { ui } = app;
      const single = ui.views === 1;
      return [xOf(scale, single && !ui.playing ? getEditFrame(app) : ui.playhead), single ? null : xOf(scale, getEditFrame(app))];
    },
  };
}

/** Steer: error and effort of the last seconds. */
function live(app: App, ring: Ring): Bench {
  const error = liveRow("Error", "got", false);
  const effort = liveRow("Effort", "added", true);
  return {
    above: null,
    rows: [error, effort],
    timed: 0,
    strip: "seconds ago",
    update: () => {
      const recent = ring.recent();
      const pushes = app.state?.steer?.pushes ?? [];
      const flow = app.state?.steer?.flow !== undefined;
      error.show(liveShown(recent, "error", pushes, flow));
      effort.show({ ...liveShown(recent, "effort", pushes, flow), empty: false }); // one row says what to do
    },
    cursors: (wide) => [(wide * -RANGE[0]) / (RANGE[1] - RANGE[0]), null],
  };
}
