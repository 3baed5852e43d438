/** Pointer input of the timeline: hit testing, drags, wheel zoom, double click. */

import { selectMarkerVertices, goToMarker, zoomToMarkers, selectMarkers, getSelectMode } from "./marker-actions";
import { getEdgeAreas, getMarkerAreas, getItemKeys, findRow, layOutRows, type DragEdge, type MarkerHit, findHit } from "./lane-layout";
import { createEdgeDrag, fitView, createPanDrag, createScrubDrag, type TimelineDrag, createBandDrag, createMarkerDrag } from "./drags";
import { RULER_HEIGHT, type TimelineModel, type MarkerRef } from "./timeline-model";
import { panned, xToNearestFrame, zoomed } from "./time-scale";

/** Movement [px] up to which a press is a click. */
const CLICK_SLOP = 3;
const ZOOM_PER_NOTCH = 1.15;
/** Wheel pixels per notch. */
const PIXELS_PER_NOTCH = 100;

/** Result of a hit test. */
interface HitResult { edge: DragEdge | null; marker: MarkerHit | null; ruler: boolean }

export function hitTest(model: TimelineModel, x: number, y: number): HitResult {
  const edge = findHit(getEdgeAreas(model), x, y);
  const grip = edge || y < RULER_HEIGHT ? null : findHit(getMarkerAreas(layOutRows(model)), x, y);
  return { edge, marker: grip, ruler: y < RULER_HEIGHT };
}

const getMarkerRefs = ({ row, item }: MarkerHit): MarkerRef[] => item.markers.map((marker) => ({ lane: row.lane, marker }));

/** onHover: called with the marker under the pointer, null for none or during a drag. */
export function installPointerInput(
  canvas: HTMLCanvasElement,
  model: TimelineModel,
  onHover: (found: MarkerHit | null) => void,
): void {
  let active: (StartedDrag & { x: number; y: number; moved: boolean }) | null = null;
  const at = (event: MouseEvent): [number, number] => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };

  function press(event: PointerEvent): void {
    if (active || event.button > 1 || !model.state) return;
    const [x, y] = at(event);
    const started = startDrag(model, x, y, event);
    if (!started) return;
    event.preventDefault();
    canvas.setPointerCapture(event.pointerId);
    active = { ...started, x, y, moved: started.immediate ?? false };
    onHover(null);
    if (started.immediate) started.drag.move(x, y, event);
    addEventListener("keydown", escape, true);
  }

  function move(event: PointerEvent): void {
    const [x, y] = at(event);
    if (!active) return updateHover(x, y);
    active.moved ||= Math.hypot(x - active.x, y - active.y) > CLICK_SLOP;
    if (active.moved) active.drag.move(x, y, event);
  }

  function updateHover(x: number, y: number): void {
    const found = hitTest(model, x, y);
    canvas.style.cursor = getCursor(found);
    const key = found.marker ? getItemKeys(found.marker.row, found.marker.item)[0] : null;
    if (key !== model.hover) {
      model.hover = key;
      model.redraw();
    }
    onHover(found.marker);
  }

  function finish(how: "end" | "cancel"): void {
    if (!active) return;
    const { drag, moved, onClick } = active;
    active = null;
    removeEventListener("keydown", escape, true);
    if (moved || how === "cancel") drag[how]();
    else {
      drag.cancel();
      onClick();
    }
  }

  function escape(event: KeyboardEvent): void {
    if (event.key !== "Escape") return;
    event.preventDefault();
    event.stopPropagation();
    finish("cancel");
  }

  function leave(): void {
    if (active) return;
    model.hover = null;
    model.redraw();
    onHover(null);
  }

  function wheel(event: WheelEvent): void {
    event.preventDefault();
    const unit = event.deltaMode === 1 ? 16 : event.deltaMode === 2 ? 400 : 1; // pixels per line or page
    const [dx, dy] = [event.deltaX * unit, event.deltaY * unit];
    if (event.shiftKey || Math.abs(dx) > Math.abs(dy)) model.setScale(panned(model.scale, dx || dy));
    else model.setScale(zoomed(model.scale, ZOOM_PER_NOTCH ** (-dy / PIXELS_PER_NOTCH), at(event)[0]));
    onHover(null);
  }

  canvas.addEventListener("pointerdown", press);
  canvas.addEventListener("pointermove", move);
  canvas.addEventListener("pointerup", () => finish("end"));
  canvas.addEventListener("pointercancel", () => finish("cancel"));
  canvas.addEventListener("pointerleave", leave);
  canvas.addEventListener("wheel", wheel, { passive: false });
  canvas.addEventListener("dblclick", (event) => handleDoubleClick(model, ...at(event)));
}

/** immediate: starts with the press, not with the first movement. */
interface StartedDrag { drag: TimelineDrag; onClick: () => void; immediate?: boolean }

/** Drag that a press starts. */
function startDrag(model: TimelineModel, x: number, y: number, event: PointerEvent): StartedDrag | null {
  const nothing = (): void => undefined;
  if (event.button === 1) return { drag: createPanDrag(model, x), onClick: nothing };
  const { edge, marker: grip, ruler } = hitTest(model, x, y);
  if (edge) return { drag: createEdgeDrag(model, edge, x), onClick: nothing };
  if (ruler) return { drag: createScrubDrag(model), onClick: nothing, immediate: true };
  if (grip) return startMarkerDrag(model, grip, x, event);
  return { drag: createBandDrag(model, x, y, event), onClick: () => getSelectMode(event) === "only" && model.setSelection([]) };
}

/** Press on a marker: select it, and drag all selected markers. */
function startMarkerDrag(model: TimelineModel, grip: MarkerHit, x: number, event: PointerEvent): StartedDrag {
  const picks = getMarkerRefs(grip);
  const keys = getItemKeys(grip.row, grip.item);
  const selectMode = getSelectMode(event);
  const wasSelected = picks.every(({ lane, marker }) => model.isSelected(lane, marker));
  if (!wasSelected && selectMode === "only") selectMarkers(model, keys, "only");
  const moving = wasSelected || selectMode === "only" ? model.selectedMarkers : picks;
  const nowhere: TimelineDrag = { move: () => undefined, end: () => undefined, cancel: () => undefined };
  const click = (): void => {
    selectMarkers(model, keys, selectMode);
    if (selectMode === "only") selectMarkerVertices(model, picks);
  };
  return { drag: createMarkerDrag(model, moving, x, event.altKey) ?? nowhere, onClick: click };
}

/** Double click: seek to a marker, zoom to a group, add on an empty lane, fit on the ruler. */
function handleDoubleClick(model: TimelineModel, x: number, y: number): void {
  if (!model.state) return;
  const { edge, marker: grip, ruler } = hitTest(model, x, y);
  if (edge?.startsWith("loop")) return model.app.setUi({ loopRange: [0, model.last] });
  if (edge) return;
  if (ruler) return fitView(model);
  if (grip) {
    const picks = getMarkerRefs(grip);
    return picks.length > 1 ? zoomToMarkers(model, picks) : goToMarker(model, picks[0]);
  }
  const row = findRow(layOutRows(model), y);
  if (row?.lane.add) model.mode?.addMarker?.(model.app, xToNearestFrame(model.scale, x));
}

function getCursor({ edge, marker: grip, ruler }: HitResult): string {
  if (edge === "overview" || edge === "loop") return "grab";
  if (edge) return "ew-resize";
  if (grip) return grip.item.markers.some((marker) => marker.movable) ? "grab" : "pointer";
  return ruler ? "ew-resize" : "default";
}
