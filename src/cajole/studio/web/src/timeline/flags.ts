/** The flags of the two cursors: where they stand, what they say, and what of them the hand can take. */

import type { Model } from "./model";
import { label, xOf } from "./scale";

/** Top and height [px] of a flag in the ruler. */
export const FLAG = { top: 2.5, high: 17 };

/** x: its line; wide: of the flag around it [px]. */
export interface Flag { of: "play" | "edit"; x: number; wide: number; text: string }

/** The playhead, and above it the edit frame, when there are two views. */
export function flags(model: Model): Flag[] {
  const { edit, play } = model.cursors;
  const { fps, app } = model;
  const flag = (of: Flag["of"], frame: number): Flag => {
    const text = app.ui.unit === "seconds" ? (frame / fps).toFixed(2) : label(Math.floor(frame), fps, app.ui.unit, 1);
    return { of, x: xOf(model.scale, frame), wide: 12 + 6.4 * text.length, text };
  };
  return edit === null ? [flag("play", play)] : [flag("play", play), flag("edit", edit)];
}

/** What of the playhead's flag is in sight, from and to [px]: nothing where there is one cursor, or one above it. */
export function playheadParts(model: Model): [number, number][] {
  const [play, edit] = flags(model).map(({ x, wide }): [number, number] => [x - wide / 2, x + wide / 2]);
  if (edit === undefined) return [];
  const parts: [number, number][] = [
    [play[0], Math.min(play[1], edit[0])],
    [Math.max(play[0], edit[1]), play[1]],
  ];
  // beside each other, both parts are the whole flag
  return edit[1] <= play[0] || edit[0] >= play[1] ? [play] : parts.filter(([from, to]) => to > from);
}
