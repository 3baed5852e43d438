/** Flags of the two cursors in the ruler: position, text, and visible parts. */

import type { TimelineModel } from "./timeline-model";
import { formatFrame, frameToX } from "./time-scale";

/** Top and height [px] of a flag in the ruler. */
export const FLAG_BOX = { top: 2.5, height: 17 };

/** x: of the cursor line; width: of the flag [px]. */
export interface CursorFlag { cursor: "playhead" | "frame"; x: number; width: number; text: string }

/** Flags of the playhead and, with two views, of the edit frame above it. */
export function getCursorFlags(model: TimelineModel): CursorFlag[] {
  const { edit, play } = model.cursors;
  const { fps, app } = model;
  const flag = (cursor: CursorFlag["cursor"], frame: number): CursorFlag => {
    const text = app.ui.unit === "seconds" ? (frame / fps).toFixed(2) : formatFrame(Math.floor(frame), fps, app.ui.unit, 1);
    return { cursor, x: frameToX(model.scale, frame), width: 12 + 6.4 * text.length, text };
  };
  return edit === null ? [flag("playhead", play)] : [flag("playhead", play), flag("frame", edit)];
}

/** Visible intervals [px] of the playhead flag; none with one cursor, or if the edit flag covers it. */
export function getVisiblePlayheadParts(model: TimelineModel): [number, number][] {
  const [play, edit] = getCursorFlags(model).map(({ x, width: wide }): [number, number] => [x - wide / 2, x + wide / 2]);
  if (edit === undefined) return [];
  const parts: [number, number][] = [
    [play[0], Math.min(play[1], edit[0])],
    [Math.max(play[0], edit[1]), play[1]],
  ];
  // without overlap the whole flag is visible
  return edit[1] <= play[0] || edit[0] >= play[1] ? [play] : parts.filter(([from, to]) => to > from);
}
