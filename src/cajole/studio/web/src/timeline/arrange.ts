/** Where everything of the lanes stands: drawing and hitting both go by it. No DOM here. */

import type { Lane, Marker } from "../core/types";
import { FLAG, playheadParts } from "./flags";
import { EDGE_WIDE, MARKER_WIDE, spot, type Spot } from "./hits";
import { merged } from "./merge";
import { FOOT, RULER, keyOf, type Model } from "./model";
import { isPart, xOf } from "./scale";

/** One or several markers drawn as one; `end`: where a bar ends [px]. */
export interface Item { markers: Marker[]; x: number; end: number | null }
export interface Row { lane: Lane; y: number; height: number; items: Item[] }

export const holdsBars = (lane: Lane): boolean => lane.shape === "bar";

/** A lane's markers as they are drawn, in order of time. */
export function items(model: Model, lane: Lane): Item[] {
  const x = (frame: number): number => xOf(model.scale, frame);
  if (holdsBars(lane) || lane.markers.some((marker) => marker.end !== undefined))
    return lane.markers.map((marker) => {
      const from = model.frameOf(lane, marker);
      return { markers: [marker], x: x(from), end: x(from + Math.max((marker.end ?? marker.frame) - marker.frame, 0)) };
    });
  const xs = lane.markers.map((marker) => x(model.frameOf(lane, marker)));
  return merged(xs).map((group) => {
    const markers = group.members.map((index) => lane.markers[index]);
    return {
      markers,
      x: group.members.length > 1 ? mean(group.members.map((index) => xs[index])) : group.x,
      end: null,
    };
  });
}

const mean = (values: number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

export function rows(model: Model): Row[] {
  const height = model.laneHeight;
  return model.lanes.map((lane, i) => ({
    lane,
    y: RULER + i * height - model.scroll,
    height,
    items: items(model, lane),
  }));
}

/** The markers of the lanes as things to take hold of, by what they stand for. */
export interface Grip { row: Row; item: Item }
export const grips = (all: Row[]): Spot<Grip>[] =>
  all.flatMap((row) => row.items.map((item) =>
    spot(item.x, item.end ?? item.x, Math.max(row.y, RULER), row.y + row.height, MARKER_WIDE, { row, item })));

/** What the hand can take hold of that is no marker. */
export type Edge = "loop-in" | "loop-out" | "loop" | "window-in" | "window-out" | "playhead" | "overview";

/** Edges of ranges and the playhead's flag; they come before markers and the ruler. */
export function edges(model: Model): Spot<Edge>[] {
  const { scale, app, height } = model;
  const at = (frame: number): number => xOf(scale, frame);
  const [from, to] = app.ui.loopRange;
  const found: Spot<Edge>[] = [
    spot(at(from), at(from), RULER - 10, RULER, EDGE_WIDE, "loop-in"),
    spot(at(to), at(to), RULER - 10, RULER, EDGE_WIDE, "loop-out"),
  ];
  // A loop of the whole shot has nowhere to go: there the ruler's foot is the ruler.
  if (from > 0 || to < model.last) found.push(spot(at(from), at(to), RULER - 7, RULER, 0, "loop"));
  // Only the flag itself: beside and below it the ruler scrubs.
  for (const [x0, x1] of playheadParts(model)) found.push(spot(x0, x1, FLAG.top, FLAG.top + FLAG.high, 0, "playhead"));
  const range = model.window ?? model.state?.edit?.window;
  if (range) {
    found.push(spot(at(range[0]), at(range[0]), RULER, RULER + 12, EDGE_WIDE, "window-in"));
    found.push(spot(at(range[1]), at(range[1]), RULER, RULER + 12, EDGE_WIDE, "window-out"));
  }
  if (isPart(scale)) found.push(spot(0, scale.width, height - FOOT - 3, height + 1, 0, "overview"));
  return found;
}

/** The part of the canvas's width that the overview's thumb takes [px]. */
export function thumb(model: Model): [number, number] {
  const { scale, last } = model;
  const shown = (x: number): number =>
    Math.min(Math.max((scale.first + (x - 14) / scale.step) / Math.max(last, 1), 0), 1);
  const [from, to] = [shown(0) * scale.width, shown(scale.width) * scale.width];
  return [Math.min(from, scale.width - 24), Math.max(to, from + 24)];
}

export const rowAt = (all: Row[], y: number): Row | null =>
  all.find((row) => y >= row.y && y < row.y + row.height && y >= RULER) ?? null;
export const keysOf = (row: Row, item: Item): string[] => item.markers.map((marker) => keyOf(row.lane.id, marker.id));
