/** What the hand can move that is no marker: cursors, ranges, the view. Each drag is taken back by Esc. */

import type { Edge } from "./arrange";
import { thumb } from "./arrange";
import type { Model } from "./model";
import { frameAt, panned, wholeFrame, whole } from "./scale";
import { shifted, stretched } from "./snap";

/** A press that may become a drag. Pixels are the canvas's. */
export interface Drag {
  move(x: number, y: number, event: PointerEvent): void;
  end(): void;
  cancel(): void;
}

const nothing = (): void => undefined;

/** The edit frame follows the pointer, and the picture follows it as fast as it can. */
export function scrubbing(model: Model): Drag {
  const before = model.frame;
  const put = (frame: number): void => {
    if (frame === model.scrub) return;
    model.scrub = frame;
    model.goTo(frame);
  };
  const done = (frame: number): void => {
    model.scrub = null;
    model.goTo(frame);
  };
  return { move: (x) => put(wholeFrame(model.scale, x)), end: () => done(model.frame), cancel: () => done(before) };
}

/** The playhead follows the pointer; nobody else is told. */
export function playheadDrag(model: Model): Drag {
  const before = { playhead: model.app.ui.playhead, playing: model.app.ui.playing };
  return {
    move: (x) => model.app.setUi({ playing: false, playhead: wholeFrame(model.scale, x) }),
    end: () => model.app.setUi({ playing: before.playing }),
    cancel: () => model.app.setUi(before),
  };
}

/** Moves the loop, or one of its ends. */
export function loopDrag(model: Model, part: "loop" | "loop-in" | "loop-out", start: number): Drag {
  const before = model.app.ui.loopRange;
  const grabbed = frameAt(model.scale, start);
  const at = (x: number): [number, number] =>
    part === "loop"
      ? shifted(before, frameAt(model.scale, x) - grabbed, model.last)
      : stretched(before, part === "loop-in" ? 0 : 1, wholeFrame(model.scale, x), model.last);
  return {
    move: (x) => model.app.setUi({ loopRange: at(x), loop: true }),
    end: nothing,
    cancel: () => model.app.setUi({ loopRange: before }),
  };
}

/** Moves an end of the editable range; the server is told once, when the hand lets go. */
export function windowDrag(model: Model, end: 0 | 1): Drag {
  const before = model.state?.edit?.window;
  if (!before) return { move: nothing, end: nothing, cancel: nothing };
  const put = (range: [number, number] | null): void => {
    model.window = range;
    model.redraw();
  };
  return {
    move: (x) => put(stretched(before, end, wholeFrame(model.scale, x), model.last)),
    end: () => void tuneWindow(model, model.window).finally(() => put(null)),
    cancel: () => put(null),
  };
}

/** The range that edits may change; null or the whole shot: all of it. */
export async function tuneWindow(model: Model, range: [number, number] | null): Promise<void> {
  const all = range === null || (range[0] <= 0 && range[1] >= model.last);
  await model.app.request("tune", { window: all ? null : range }).catch(nothing);
}

/** Moves the view with the pointer. */
export function panning(model: Model, start: number): Drag {
  const before = model.scale;
  return { move: (x) => model.view(panned(before, start - x)), end: nothing, cancel: () => model.view(before) };
}

/** Moves the overview's thumb; a press beside it brings it there first. */
export function overviewDrag(model: Model, start: number): Drag {
  const before = model.scale;
  const [from, to] = thumb(model);
  const each = (model.last * before.step) / before.width; // pixels of the view for one of the overview
  const first = start >= from && start <= to ? before : panned(before, (start - (from + to) / 2) * each);
  model.view(first);
  return { move: (x) => model.view(panned(first, (x - start) * each)), end: nothing, cancel: () => model.view(before) };
}

export function edgeDrag(model: Model, edge: Edge, x: number): Drag {
  switch (edge) {
    case "loop": case "loop-in": case "loop-out": return loopDrag(model, edge, x);
    case "window-in": return windowDrag(model, 0);
    case "window-out": return windowDrag(model, 1);
    case "playhead": return playheadDrag(model);
    case "overview": return overviewDrag(model, x);
  }
}

/** The whole shot is shown. */
export const fit = (model: Model): void => model.view(whole(model.scale.width, model.frames));
