/** Layout of lanes, markers, cursor flags and drag edges, for drawing and hit testing. No DOM access. */

import type { Lane, Marker } from "../core/types";
import { OVERVIEW_HEIGHT, RULER_HEIGHT, getMarkerKey, type TimelineModel } from "./timeline-model";
import { formatFrame, isPartial, frameToX } from "./time-scale";

/** One or several markers drawn as one; `end`: end of a bar [px]. */
export interface MarkerItem { markers: Marker[]; x: number; end: number | null }
export interface LaneRow { lane: Lane; y: number; height: number; items: MarkerItem[] }

const hasBars = (lane: Lane): boolean => lane.shape === "bar";

/** Markers of a lane as drawn, in time order. */
export function layOutMarkers(model: TimelineModel, lane: Lane): MarkerItem[] {
  const x = (frame: number): number => frameToX(model.scale, frame);
  if (hasBars(lane) || lane.markers.some((marker) => marker.end !== undefined))
    return lane.markers.map((marker) => {
      const from = model.getDrawnFrame(lane, marker);
      return { markers: [marker], x: x(from), end: x(from + Math.max((marker.end ?? marker.frame) - marker.frame, 0)) };
    });
  const xs = lane.markers.map((marker) => x(model.getDrawnFrame(lane, marker)));
  return groupMarkers(xs).map((group) => {
    const markers = group.members.map((index) => lane.markers[index]);
    return {
      markers,
      x: group.members.length > 1 ? computeMean(group.members.map((index) => xs[index])) : group.x,
      end: null,
    };
  });
}

const computeMean = (values: number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

export function layOutRows(model: TimelineModel): LaneRow[] {
  const height = model.laneHeight;
  return model.lanes.map((lane, i) => ({
    lane, y: RULER_HEIGHT + i * height - model.scroll, height, items: layOutMarkers(model, lane),
  }));
}

/** Marker under the pointer. */
export interface MarkerHit { row: LaneRow; item: MarkerItem }
export const getMarkerAreas = (all: LaneRow[]): HitArea<MarkerHit>[] =>
  all.flatMap((row) => row.items.map((item) =>
    createHitArea(item.x, item.end ?? item.x, Math.max(row.y, RULER_HEIGHT), row.y + row.height, MARKER_HIT_WIDTH, { row, item })));

/** Draggable edges and cursors. */
export type DragEdge = "loop-in" | "loop-out" | "loop" | "window-in" | "window-out" | "playhead" | "overview";

/** Hit areas of range edges and the playhead flag; they precede markers and ruler. */
export function getEdgeAreas(model: TimelineModel): HitArea<DragEdge>[] {
  const { scale, app, height } = model;
  const at = (frame: number): number => frameToX(scale, frame);
  const [from, to] = app.ui.loopRange;
  const found: HitArea<DragEdge>[] = [
    createHitArea(at(from), at(from), RULER_HEIGHT - 10, RULER_HEIGHT, EDGE_HIT_WIDTH, "loop-in"),
    createHitArea(at(to), at(to), RULER_HEIGHT - 10, RULER_HEIGHT, EDGE_HIT_WIDTH, "loop-out"),
  ];
  // a loop over the whole shot cannot move
  if (from > 0 || to < model.last) found.push(createHitArea(at(from), at(to), RULER_HEIGHT - 7, RULER_HEIGHT, 0, "loop"));
  // only the flag itself: beside and below it the ruler scrubs
  for (const [x0, x1] of getVisiblePlayheadParts(model))
    found.push(createHitArea(x0, x1, FLAG_BOX.top, FLAG_BOX.top + FLAG_BOX.height, 0, "playhead"));
  const range = model.editWindow;
  if (range) {
    found.push(createHitArea(at(range[0]), at(range[0]), RULER_HEIGHT, RULER_HEIGHT + 12, EDGE_HIT_WIDTH, "window-in"));
    found.push(createHitArea(at(range[1]), at(range[1]), RULER_HEIGHT, RULER_HEIGHT + 12, EDGE_HIT_WIDTH, "window-out"));
  }
  if (isPartial(scale)) found.push(createHitArea(0, scale.width, height - OVERVIEW_HEIGHT - 3, height + 1, 0, "overview"));
  return found;
}

/** Left and right edge of the overview thumb [px]. */
export function getOverviewThumb(model: TimelineModel): [number, number] {
  const { scale, last } = model;
  const shown = (x: number): number =>
    Math.min(Math.max((scale.first + (x - 14) / scale.step) / Math.max(last, 1), 0), 1);
  const [from, to] = [shown(0) * scale.width, shown(scale.width) * scale.width];
  return [Math.min(from, scale.width - 24), Math.max(to, from + 24)];
}

export const findRow = (all: LaneRow[], y: number): LaneRow | null =>
  all.find((row) => y >= row.y && y < row.y + row.height && y >= RULER_HEIGHT) ?? null;
export const getItemKeys = (row: LaneRow, item: MarkerItem): string[] => item.markers.map((marker) => getMarkerKey(row.lane.id, marker.id));

/** Least width of hit areas [px]. */
export const MARKER_HIT_WIDTH = 20;
export const EDGE_HIT_WIDTH = 12;

/** Target drawn from `from` to `to`, hit between x0 and x1, y0 and y1 [px]. */
export interface HitArea<T> { from: number; to: number; x0: number; x1: number; y0: number; y1: number; target: T }

/** Create a hit area at least `minWidth` px wide. */
export function createHitArea<T>(from: number, to: number, y0: number, y1: number, minWidth: number, target: T): HitArea<T> {
  const padding = Math.max(minWidth - (to - from), 0) / 2;
  return { from, to, x0: from - padding, x1: to + padding, y0, y1, target };
}

const distanceTo = (area: { from: number; to: number }, x: number): number => Math.max(area.from - x, x - area.to, 0);

/** Target at a point: the nearest, of equally near ones the narrowest; null for none. */
export function findHit<T>(areas: readonly HitArea<T>[], x: number, y: number): T | null {
  let best: HitArea<T> | null = null;
  for (const area of areas) {
    if (x < area.x0 || x > area.x1 || y < area.y0 || y >= area.y1) continue;
    const farther = best ? distanceTo(area, x) - distanceTo(best, x) : -1;
    if (!best || farther < 0 || (farther === 0 && area.to - area.from < best.to - best.from)) best = area;
  }
  return best && best.target;
}

/** Targets whose drawn extent touches the rectangle between two corners. */
export function findInside<T>(areas: readonly HitArea<T>[], a: readonly [number, number], b: readonly [number, number]): T[] {
  const [x0, x1] = [Math.min(a[0], b[0]), Math.max(a[0], b[0])];
  const [y0, y1] = [Math.min(a[1], b[1]), Math.max(a[1], b[1])];
  return areas.filter((area) => area.to >= x0 && area.from <= x1 && area.y1 > y0 && area.y0 < y1).map((area) => area.target);
}

/** Markers closer than this are grouped [px]. */
const MERGE_DISTANCE = 10;

/** Indices of grouped markers in time order, and the pixel of the first. */
interface MarkerGroup { x: number; members: number[] }

/** Group markers at pixels `xs` (any order) that are within `distance` of the first of a group. */
export function groupMarkers(xs: readonly number[], distance = MERGE_DISTANCE): MarkerGroup[] {
  const order = xs.map((_, i) => i).sort((a, b) => xs[a] - xs[b] || a - b);
  const groups: MarkerGroup[] = [];
  for (const index of order) {
    const last = groups[groups.length - 1];
    if (last && xs[index] - last.x < distance) last.members.push(index);
    else groups.push({ x: xs[index], members: [index] });
  }
  return groups;
}

/** Widths [px] of labels that do not reach the next marker; 0: no label.
 *
 * `xs`: ascending pixels of markers; `from`: start of a label right of its marker; `gap`: before the next marker;
 * `edge`: end of the canvas; `minWidth`: of a label.
 */
export function computeLabelWidths(xs: readonly number[], edge: number, from = 14, gap = 10, minWidth = 18): number[] {
  return xs.map((x, i) => {
    const room = (i + 1 < xs.length ? xs[i + 1] - gap : edge - 4) - (x + from);
    return room >= minWidth ? room : 0;
  });
}

/** Truncate a text with an ellipsis to a width [px]; empty if too short. measure: pixels of a text. */
export function truncateText(text: string, width: number, measure: (text: string) => number): string {
  if (width <= 0) return "";
  if (measure(text) <= width) return text;
  let low = 0;
  let high = text.length;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (measure(`${text.slice(0, middle).trimEnd()}…`) <= width) low = middle;
    else high = middle - 1;
  }
  return low >= 2 ? `${text.slice(0, low).trimEnd()}…` : "";
}

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
