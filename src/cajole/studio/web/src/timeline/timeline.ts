/** The timeline: transport bar, ruler and lanes on one canvas, and an accessible list of the markers. */

import "../style/timeline.css";
import "../core/test-hook";
import { registerHandler } from "../core/commands";
import { h } from "../core/dom";
import { loadSetting, saveSetting } from "../core/storage";
import type { App, Component } from "../core/types";
import { clamp } from "../core/math";
import { trackPointer } from "../ui/controls/pointer-drag";
import { openMenu } from "../ui/menu";
import { buildMarkerMenu, buildRulerMenu } from "./context-menus";
import { drawTimeline } from "./draw";
import { createGutter } from "./gutter";
import { getMarkerAreas, layOutRows } from "./lane-layout";
import { deleteMarkers, nudgeMarkers } from "./marker-actions";
import { createMarkerList } from "./marker-list";
import { MarkerTooltip, openRenameField } from "./marker-tooltip";
import { hitTest, installPointerInput } from "./pointer-input";
import { frameToX, resized, setSharedScale, xToNearestFrame } from "./time-scale";
import {
  getMarkerKey, LANE_HEIGHT, type MarkerRef, OVERVIEW_HEIGHT, RULER_HEIGHT, TimelineModel, TRANSPORT_HEIGHT,
} from "./timeline-model";
import { createTransport } from "./transport";

/** Default number of lanes: enough that the first drag, which adds lanes, does not change the height … */
const MIN_LANES = 3;
/** … and at most so many; more lanes scroll. */
const MAX_LANES = 5;

/** Access for tests. */
interface TimelineHook {
  x(frame: number): number; // of the window [px]
  y(lane: string): number;
  markers(): { lane: string; id: string; frame: number; text: string; x: number; y: number; selected: boolean }[];
}
interface Timeline extends Component { hook: TimelineHook }

export function createTimeline(app: App): Timeline {
  const canvas = h("canvas", { class: "timeline-canvas", "aria-hidden": "true" });
  const stage = h("div", { class: "timeline-stage" }, canvas);
  let scheduled = 0;
  const model = new TimelineModel(app, () => (scheduled ||= requestAnimationFrame(render)));
  const bar = createTransport(model);
  const names = createGutter(model);
  const list = createMarkerList(model, startRename);
  const tip = new MarkerTooltip(model);
  stage.append(tip.element, list.element);
  const body = h("div", { class: "timeline-body" }, names.element, stage);
  let customHeight = loadHeight(); // set by the user [px]
  const edge = createResizer(() => element.offsetHeight, setHeight, () => TRANSPORT_HEIGHT + RULER_HEIGHT + LANE_HEIGHT + OVERVIEW_HEIGHT);
  const element = h("div", { class: "timeline" }, edge.element, bar.element, body);

  function setHeight(height: number | null): void {
    customHeight = height;
    saveSetting("timeline.height", height ?? undefined);
    model.redraw();
  }

  function startRename(ref: MarkerRef): void {
    openRenameField(model, ref, stage, () => list.element.focus({ preventScroll: true }));
  }

  function render(): void {
    scheduled = 0;
    const lanes = clamp(model.lanes.length, MIN_LANES, MAX_LANES);
    model.hasCustomHeight = customHeight !== null;
    element.style.height = `${customHeight ?? TRANSPORT_HEIGHT + RULER_HEIGHT + lanes * LANE_HEIGHT + OVERVIEW_HEIGHT}px`;
    names.update();
    bar.update();
    list.update();
    drawCanvas();
  }

  function drawCanvas(): void {
    const [width, height] = [stage.clientWidth, stage.clientHeight];
    const ctx = canvas.getContext("2d");
    if (!ctx || width <= 0 || height <= 0) return;
    if (width !== model.scale.width) model.scale = resized(model.scale, width, model.frames);
    model.height = height;
    const ratio = devicePixelRatio || 1;
    const [across, down] = [Math.round(width * ratio), Math.round(height * ratio)];
    if (canvas.width !== across || canvas.height !== down) [canvas.width, canvas.height] = [across, down];
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    drawTimeline(ctx, model);
    setSharedScale(app, model.scale);
  }

  function openContextMenu(event: MouseEvent): void {
    event.preventDefault();
    if (!model.state) return;
    const box = canvas.getBoundingClientRect();
    const { marker: grip, ruler } = hitTest(model, event.clientX - box.left, event.clientY - box.top);
    const at = { x: event.clientX, y: event.clientY };
    if (ruler) return openMenu(at, buildRulerMenu(model, xToNearestFrame(model.scale, at.x - box.left)), "Ruler");
    if (!grip) return;
    const { lane } = grip.row;
    const hit = grip.item.markers.map((marker) => ({ lane, marker }));
    if (!hit.every(({ marker }) => model.isSelected(lane, marker)))
      model.setSelection(hit.map(({ marker }) => getMarkerKey(lane.id, marker.id)));
    openMenu(at, buildMarkerMenu(model, model.selectedMarkers, startRename), "Marker");
  }

  installPointerInput(canvas, model, (found) => tip.setTarget(found));
  canvas.addEventListener("contextmenu", openContextMenu);
  new ResizeObserver(() => model.redraw()).observe(stage);
  subscribe(model);
  registerCommands(model);
  const testHook = createTestHook(model, canvas);
  if (window.cajole) window.cajole.timeline = testHook;
  model.redraw();
  return { element, hook: testHook };
}

/** Stored height, null for the default. */
function loadHeight(): number | null {
  const height = loadSetting<unknown>("timeline.height", null);
  return typeof height === "number" && height >= TRANSPORT_HEIGHT + RULER_HEIGHT + LANE_HEIGHT + OVERVIEW_HEIGHT ? height : null;
}

/** Subscribe to what changes the drawing. */
function subscribe(model: TimelineModel): void {
  const { app } = model;
  app.onState.on((state) => model.handleState(state));
  app.onProject.on(() => model.setSelection([]));
  app.onUi.on(() => model.redraw());
  app.onTheme.on(() => model.redraw());
  app.onMoved.on(({ meter }) => {
    if (!meter?.curve) return;
    model.liveCurve = meter.curve;
    model.redraw();
  });
  app.onPulse.on(({ frame, lap }) => {
    [model.liveFrame, model.lap] = [frame, lap];
    model.redraw();
  });
}

/** Register the commands on selected markers. */
function registerCommands(model: TimelineModel): void {
  registerHandler("marker.back", () => nudgeMarkers(model, -1));
  registerHandler("marker.on", () => nudgeMarkers(model, 1));
  registerHandler("marker.back10", () => nudgeMarkers(model, -10));
  registerHandler("marker.on10", () => nudgeMarkers(model, 10));
  registerHandler("marker.delete", () => deleteMarkers(model, model.selectedMarkers));
}

function createTestHook(model: TimelineModel, canvas: HTMLCanvasElement): TimelineHook {
  const box = (): DOMRect => canvas.getBoundingClientRect();
  const middle = (lane: string): number => {
    const row = layOutRows(model).find((each) => each.lane.id === lane);
    return row ? box().top + row.y + row.height / 2 : NaN;
  };
  return {
    x: (frame) => box().left + frameToX(model.scale, frame),
    y: middle,
    markers: () =>
      getMarkerAreas(layOutRows(model)).flatMap(({ target: { row, item } }) =>
        item.markers.map((marker) => ({
          lane: row.lane.id, id: marker.id, frame: marker.frame, text: marker.text, x: box().left + item.x,
          y: middle(row.lane.id), selected: model.isSelected(row.lane, marker),
        })),
      ),
  };
}

const RESIZE_STEP = 14; // px per arrow key

/** Handle that resizes the timeline, at most to half the window. set: null restores the default height. */
function createResizer(get: () => number, set: (height: number | null) => void, getMinHeight: () => number): Component {
  const element = h("div", {
    class: "timeline-resize", role: "separator", "aria-orientation": "horizontal",
    "aria-label": "Height of the timeline", tabIndex: 0,
  });
  const setHeight = (height: number): void => {
    set(clamp(height, getMinHeight(), innerHeight / 2));
    element.setAttribute("aria-valuenow", String(Math.round(get())));
  };
  element.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    event.preventDefault();
    const bottom = event.clientY + get();
    trackPointer(element, event, { move: ({ clientY }) => setHeight(bottom - clientY), end: () => undefined });
  });
  element.addEventListener("dblclick", () => set(null));
  element.addEventListener("keydown", (event) => {
    const by = event.key === "ArrowUp" ? RESIZE_STEP : event.key === "ArrowDown" ? -RESIZE_STEP : 0;
    if (!by) return;
    event.preventDefault();
    event.stopPropagation();
    setHeight(get() + by);
  });
  return { element };
}
