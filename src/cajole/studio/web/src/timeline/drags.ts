/** Drags of cursors, ranges and the view. Escape cancels each. */

import type { DragEdge } from "./lane-layout";
import { getOverviewThumb } from "./lane-layout";
import type { TimelineModel } from "./timeline-model";
import { xToFrame, panned, xToNearestFrame, createFitScale } from "./time-scale";
import { shiftedRange, stretchedRange } from "./snapping";

/** Drag in pixels of the canvas. */
export interface TimelineDrag {
  move(x: number, y: number, event: PointerEvent): void;
  end(): void;
  cancel(): void;
}

const noop = (): void => undefined;

/** Drag of the edit frame. */
export function createScrubDrag(model: TimelineModel): TimelineDrag {
  const before = model.frame;
  const scrubTo = (frame: number): void => {
    if (frame === model.scrubFrame) return;
    model.scrubFrame = frame;
    model.seek(frame);
  };
  const done = (frame: number): void => {
    model.scrubFrame = null;
    model.seek(frame);
  };
  return { move: (x) => scrubTo(xToNearestFrame(model.scale, x)), end: () => done(model.frame), cancel: () => done(before) };
}

/** Drag of the playhead, local to this page. */
function createPlayheadDrag(model: TimelineModel): TimelineDrag {
  const before = { playhead: model.app.ui.playhead, playing: model.app.ui.playing };
  return {
    move: (x) => model.app.setUi({ playing: false, playhead: xToNearestFrame(model.scale, x) }),
    end: () => model.app.setUi({ playing: before.playing }),
    cancel: () => model.app.setUi(before),
  };
}

/** Drag of the loop range, or of one of its ends. */
export function createLoopDrag(model: TimelineModel, part: "loop" | "loop-in" | "loop-out", start: number): TimelineDrag {
  const before = model.app.ui.loopRange;
  const grabbed = xToFrame(model.scale, start);
  const at = (x: number): [number, number] =>
    part === "loop"
      ? shiftedRange(before, xToFrame(model.scale, x) - grabbed, model.last)
      : stretchedRange(before, part === "loop-in" ? 0 : 1, xToNearestFrame(model.scale, x), model.last);
  return {
    move: (x) => model.app.setUi({ loopRange: at(x), loop: true }),
    end: noop,
    cancel: () => model.app.setUi({ loopRange: before }),
  };
}

/** Drag of an end of the edit window; sent on release. */
export function createWindowDrag(model: TimelineModel, end: 0 | 1): TimelineDrag {
  const before = model.editWindow;
  if (!before) return { move: noop, end: noop, cancel: noop };
  const setWindow = (range: [number, number] | null): void => {
    model.draggedWindow = range;
    model.redraw();
  };
  return {
    move: (x) => setWindow(stretchedRange(before, end, xToNearestFrame(model.scale, x), model.last)),
    end: () => void model.setEditWindow(model.draggedWindow).finally(() => setWindow(null)),
    cancel: () => setWindow(null),
  };
}

/** Drag that pans the view. */
export function createPanDrag(model: TimelineModel, start: number): TimelineDrag {
  const before = model.scale;
  return { move: (x) => model.setScale(panned(before, start - x)), end: noop, cancel: () => model.setScale(before) };
}

/** Drag of the overview thumb; a press beside it centers it first. */
function createOverviewDrag(model: TimelineModel, start: number): TimelineDrag {
  const before = model.scale;
  const [from, to] = getOverviewThumb(model);
  const each = (model.last * before.step) / before.width; // pixels of the view for one of the overview
  const first = start >= from && start <= to ? before : panned(before, (start - (from + to) / 2) * each);
  model.setScale(first);
  return { move: (x) => model.setScale(panned(first, (x - start) * each)), end: noop, cancel: () => model.setScale(before) };
}

export function createEdgeDrag(model: TimelineModel, edge: DragEdge, x: number): TimelineDrag {
  switch (edge) {
    case "loop": case "loop-in": case "loop-out": return createLoopDrag(model, edge, x);
    case "window-in": return createWindowDrag(model, 0);
    case "window-out": return createWindowDrag(model, 1);
    case "playhead": return createPlayheadDrag(model);
    case "overview": return createOverviewDrag(model, x);
  }
}

/** Show the whole shot. */
export const fitView = (model: TimelineModel): void => model.setScale(createFitScale(model.scale.width, model.frames));
