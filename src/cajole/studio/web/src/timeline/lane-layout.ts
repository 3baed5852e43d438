/** Layout of lanes, markers and drag edges, for drawing and hit testing. No DOM access. */

import type { Lane, Marker } from "../core/types";
import { FLAG_BOX, getVisiblePlayheadParts } from "./cursor-flags";
import { EDGE_HIT_WIDTH, MARKER_HIT_WIDTH, createHitArea, type HitArea } from "./hit-areas";
import { groupMarkers } from "./marker-groups";
import { OVERVIEW_HEIGHT, RULER_HEIGHT, getMarkerKey, type TimelineModel } from "./timeline-model";
import { isPartial, frameToX } from "./time-scale";

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
    lane,
    y: RULER_HEIGHT + i * height - model.scroll,
    height,
    items: layOutMarkers(model, lane),
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
