/** The pointer on the canvas: what is under it, what a press begins, what wheel and double click do. */

import { add, follow, goTo, open, select, selecting } from "./actions";
import { edges, grips, keysOf, rowAt, rows, type Edge, type Grip } from "./arrange";
import { edgeDrag, fit, panning, scrubbing, type Drag } from "./drags";
import { hit } from "./hits";
import { bandDrag, markerDrag } from "./marker-drag";
import { RULER, type Model, type Pick } from "./model";
import { panned, wholeFrame, zoomed } from "./scale";

/** A press that goes no farther than this is a click [px]. */
const STILL = 3;
const NOTCH = 1.15;
/** Pixels of a wheel that count as one notch. */
const WHEEL = 100;

/** What is under a point: an edge, a marker, the ruler, or an empty place. */
export interface Under { edge: Edge | null; grip: Grip | null; ruler: boolean }

export function under(model: Model, x: number, y: number): Under {
  const edge = hit(edges(model), x, y);
  const grip = edge || y < RULER ? null : hit(grips(rows(model)), x, y);
  return { edge, grip, ruler: y < RULER };
}

const picksOf = ({ row, item }: Grip): Pick[] => item.markers.map((marker) => ({ lane: row.lane, marker }));

export interface Gestures { dispose(): void }

/** `hover`: told what is under the pointer, null when it is gone or something is dragged. */
export function gestures(canvas: HTMLCanvasElement, model: Model, hover: (found: Grip | null) => void): Gestures {
  let drag: { what: Drag; x: number; y: number; moved: boolean; click: () => void } | null = null;
  const at = (event: MouseEvent): [number, number] => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };

  function press(event: PointerEvent): void {
    if (drag || event.button > 1 || !model.state) return;
    const [x, y] = at(event);
    const begun = begin(model, x, y, event);
    if (!begun) return;
    event.preventDefault();
    canvas.setPointerCapture(event.pointerId);
    drag = { ...begun, x, y, moved: begun.at ?? false };
    hover(null);
    if (begun.at) begun.what.move(x, y, event);
    addEventListener("keydown", escape, true);
  }

  function move(event: PointerEvent): void {
    const [x, y] = at(event);
    if (!drag) return look(x, y);
    drag.moved ||= Math.hypot(x - drag.x, y - drag.y) > STILL;
    if (drag.moved) drag.what.move(x, y, event);
  }

  function look(x: number, y: number): void {
    const found = under(model, x, y);
    canvas.style.cursor = cursor(found);
    const key = found.grip ? keysOf(found.grip.row, found.grip.item)[0] : null;
    if (key !== model.hover) {
      model.hover = key;
      model.redraw();
    }
    hover(found.grip);
  }

  function finish(how: "end" | "cancel"): void {
    if (!drag) return;
    const { what, moved, click } = drag;
    drag = null;
    removeEventListener("keydown", escape, true);
    if (moved || how === "cancel") what[how]();
    else {
      what.cancel();
      click();
    }
  }

  function escape(event: KeyboardEvent): void {
    if (event.key !== "Escape") return;
    event.preventDefault();
    event.stopPropagation();
    finish("cancel");
  }

  function leave(): void {
    if (drag) return;
    model.hover = null;
    model.redraw();
    hover(null);
  }

  function wheel(event: WheelEvent): void {
    event.preventDefault();
    const unit = event.deltaMode === 1 ? 16 : event.deltaMode === 2 ? 400 : 1; // lines and pages in pixels
    const [dx, dy] = [event.deltaX * unit, event.deltaY * unit];
    if (event.shiftKey || Math.abs(dx) > Math.abs(dy)) model.view(panned(model.scale, dx || dy));
    else model.view(zoomed(model.scale, NOTCH ** (-dy / WHEEL), at(event)[0]));
    hover(null);
  }

  canvas.addEventListener("pointerdown", press);
  canvas.addEventListener("pointermove", move);
  canvas.addEventListener("pointerup", () => finish("end"));
  canvas.addEventListener("pointercancel", () => finish("cancel"));
  canvas.addEventListener("pointerleave", leave);
  canvas.addEventListener("wheel", wheel, { passive: false });
  canvas.addEventListener("dblclick", (event) => twice(model, ...at(event)));
  return { dispose: () => finish("cancel") };
}

/** `at`: begins with the press itself, not only once the pointer moves. */
interface Begun { what: Drag; click: () => void; at?: boolean }

/** What a press begins. */
function begin(model: Model, x: number, y: number, event: PointerEvent): Begun | null {
  const nothing = (): void => undefined;
  if (event.button === 1) return { what: panning(model, x), click: nothing };
  const { edge, grip, ruler } = under(model, x, y);
  if (edge) return { what: edgeDrag(model, edge, x), click: nothing };
  if (ruler) return { what: scrubbing(model), click: nothing, at: true };
  if (grip) return takeHold(model, grip, x, event);
  return { what: bandDrag(model, x, y, event), click: () => selecting(event) === "only" && model.select([]) };
}

/** A press on a marker: it is selected unless it was, and moves with all that are. */
function takeHold(model: Model, grip: Grip, x: number, event: PointerEvent): Begun {
  const picks = picksOf(grip);
  const keys = keysOf(grip.row, grip.item);
  const how = selecting(event);
  const was = picks.every(({ lane, marker }) => model.isSelected(lane, marker));
  if (!was && how === "only") select(model, keys, "only");
  const moving = was || how === "only" ? model.selected : picks;
  const nowhere: Drag = { move: () => undefined, end: () => undefined, cancel: () => undefined };
  const click = (): void => {
    select(model, keys, how);
    if (how === "only") follow(model, picks);
  };
  return { what: markerDrag(model, moving, x, event.altKey) ?? nowhere, click };
}

/** A double click: on a marker goes there, on several opens them, on an empty lane adds, on the ruler fits. */
function twice(model: Model, x: number, y: number): void {
  if (!model.state) return;
  const { edge, grip, ruler } = under(model, x, y);
  if (edge?.startsWith("loop")) return model.app.setUi({ loopRange: [0, model.last] });
  if (edge) return;
  if (ruler) return fit(model);
  if (grip) {
    const picks = picksOf(grip);
    return picks.length > 1 ? open(model, picks) : goTo(model, picks[0]);
  }
  const row = rowAt(rows(model), y);
  if (row?.lane.add) add(model.app, wholeFrame(model.scale, x));
}

function cursor({ edge, grip, ruler }: Under): string {
  if (edge === "overview" || edge === "loop") return "grab";
  if (edge) return "ew-resize";
  if (grip) return grip.item.markers.some((marker) => marker.movable) ? "grab" : "pointer";
  return ruler ? "ew-resize" : "default";
}
