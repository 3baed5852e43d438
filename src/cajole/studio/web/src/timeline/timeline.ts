/** The time line: transport bar, ruler and lanes on one canvas, and a hidden list of the same markers. */

import "../style/timeline.css";
import { registerHandler } from "../core/commands";
import { h } from "../core/dom";
import "../core/test-hook";
import { saveSetting, loadSetting } from "../core/storage";
import type { App, Component } from "../core/types";
import { openMenu } from "../ui/menu";
import { nudge, release } from "./actions";
import { grips, rows } from "./arrange";
import { draw } from "./draw";
import { Tip, renaming } from "./floating";
import { gestures, under } from "./gestures";
import { gutter } from "./gutter";
import { markerMenu, rulerMenu } from "./menu";
import { mirror } from "./mirror";
import { FOOT, LANE, Model, RULER, TRANSPORT, keyOf, type Pick } from "./model";
import { resizer } from "./resize";
import { clamp, resized, wholeFrame, xOf } from "./scale";
import { shareScale } from "./shared";
import { transport } from "./transport";

/** Room for lanes, unless the author pulls the edge: enough that the first drag, which brings lanes, moves nothing … */
const USUAL_LANES = 3;
/** … and not so many that the views suffer: then the names scroll. */
const MOST_LANES = 5;

/** What tests may look at. */
export interface TimelineHook {
  x(frame: number): number; // of the window [px]
  y(lane: string): number;
  markers(): { lane: string; id: string; frame: number; text: string; x: number; y: number; selected: boolean }[];
}
export interface Timeline extends Component { hook: TimelineHook; dispose(): void }

export function timeline(app: App): Timeline {
  const canvas = h("canvas", { class: "timeline-canvas", "aria-hidden": "true" });
  const stage = h("div", { class: "timeline-stage" }, canvas);
  let due = 0;
  const model = new Model(app, () => (due ||= requestAnimationFrame(render)));
  const bar = transport(model);
  const names = gutter(model);
  const list = mirror(model, rename);
  const tip = new Tip(model);
  stage.append(tip.element, list.element);
  const body = h("div", { class: "timeline-body" }, names.element, stage);
  let wanted = recalledHeight(); // the height that the author pulled it to [px]
  const edge = resizer(() => element.offsetHeight, pull, () => TRANSPORT + RULER + LANE + FOOT);
  const element = h("div", { class: "timeline" }, edge.element, bar.element, body);

  function pull(height: number | null): void {
    wanted = height;
    saveSetting("timeline.height", height ?? undefined);
    model.redraw();
  }

  function rename(pick: Pick): void {
    renaming(model, pick, stage, () => list.element.focus({ preventScroll: true }));
  }

  function render(): void {
    due = 0;
    const lanes = clamp(model.lanes.length, USUAL_LANES, MOST_LANES);
    model.pulled = wanted !== null;
    element.style.height = `${wanted ?? TRANSPORT + RULER + lanes * LANE + FOOT}px`;
    names.update();
    bar.update();
    list.update();
    paint();
  }

  function paint(): void {
    const [wide, high] = [stage.clientWidth, stage.clientHeight];
    const ctx = canvas.getContext("2d");
    if (!ctx || wide <= 0 || high <= 0) return;
    if (wide !== model.scale.width) model.scale = resized(model.scale, wide, model.frames);
    model.height = high;
    const ratio = devicePixelRatio || 1;
    const [across, down] = [Math.round(wide * ratio), Math.round(high * ratio)];
    if (canvas.width !== across || canvas.height !== down) [canvas.width, canvas.height] = [across, down];
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    draw(ctx, model);
    shareScale(app, model.scale);
  }

  function menu(event: MouseEvent): void {
    event.preventDefault();
    if (!model.state) return;
    const box = canvas.getBoundingClientRect();
    const { grip, ruler } = under(model, event.clientX - box.left, event.clientY - box.top);
    const at = { x: event.clientX, y: event.clientY };
    if (ruler) return openMenu(at, rulerMenu(model, wholeFrame(model.scale, at.x - box.left)), "Ruler");
    if (!grip) return;
    const { lane } = grip.row;
    const hit = grip.item.markers.map((marker) => ({ lane, marker }));
    if (!hit.every(({ marker }) => model.isSelected(lane, marker)))
      model.select(hit.map(({ marker }) => keyOf(lane.id, marker.id)));
    openMenu(at, markerMenu(model, model.selected, rename), "Marker");
  }

  const hands = gestures(canvas, model, (found) => tip.over(found));
  canvas.addEventListener("contextmenu", menu);
  const size = new ResizeObserver(() => model.redraw());
  size.observe(stage);
  const ends = [...listen(model), ...commands(model), () => size.disconnect(), () => hands.dispose()];
  const look = hook(model, canvas);
  if (window.cajole) window.cajole.timeline = look;
  model.redraw();
  return {
    element,
    hook: look,
    dispose: () => {
      cancelAnimationFrame(due);
      for (const end of ends) end();
    },
  };
}

/** The height that was pulled on an earlier visit, null for none. */
function recalledHeight(): number | null {
  const height = loadSetting<unknown>("timeline.height", null);
  return typeof height === "number" && height >= TRANSPORT + RULER + LANE + FOOT ? height : null;
}

/** Everything that changes what is drawn; returns what ends it. */
function listen(model: Model): (() => void)[] {
  const { app } = model;
  return [
    app.onState.on((state) => model.hear(state)),
    app.onProject.on(() => model.select([])),
    app.onUi.on(() => model.redraw()),
    app.onTheme.on(() => model.redraw()),
    app.onMoved.on(({ meter }) => {
      if (!meter?.curve) return;
      model.curve = meter.curve;
      model.redraw();
    }),
    app.onPulse.on(({ frame, lap }) => {
      [model.live, model.lap] = [frame, lap];
      model.redraw();
    }),
  ];
}

/** Commands of the table that only the time line can do: they concern what is selected in it. */
function commands(model: Model): (() => void)[] {
  return [
    registerHandler("marker.back", () => nudge(model, -1)),
    registerHandler("marker.on", () => nudge(model, 1)),
    registerHandler("marker.back10", () => nudge(model, -10)),
    registerHandler("marker.on10", () => nudge(model, 10)),
    registerHandler("marker.delete", () => release(model, model.selected)),
  ];
}

function hook(model: Model, canvas: HTMLCanvasElement): TimelineHook {
  const box = (): DOMRect => canvas.getBoundingClientRect();
  const middle = (lane: string): number => {
    const row = rows(model).find((each) => each.lane.id === lane);
    return row ? box().top + row.y + row.height / 2 : NaN;
  };
  return {
    x: (frame) => box().left + xOf(model.scale, frame),
    y: middle,
    markers: () =>
      grips(rows(model)).flatMap(({ what: { row, item } }) =>
        item.markers.map((marker) => ({
          lane: row.lane.id,
          id: marker.id,
          frame: marker.frame,
          text: marker.text,
          x: box().left + item.x,
          y: middle(row.lane.id),
          selected: model.isSelected(row.lane, marker),
        })),
      ),
  };
}
