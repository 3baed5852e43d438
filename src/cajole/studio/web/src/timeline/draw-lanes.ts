/** Drawing of lanes: markers with their reach, bars, and filled curves. */

import { clamp } from "../core/math";
import { getToken } from "../core/theme";
import type { Marker } from "../core/types";
import { getItemKeys, type MarkerItem, type LaneRow, truncateText, computeLabelWidths } from "./lane-layout";
import { getMarkerKey, type TimelineModel } from "./timeline-model";
import { fillRoundRect, withAlpha, getFont, strokeLine, snapToPixel, getSwatchColor, getToneColor, type Context2D, traceShape } from "./canvas-style";
import { xToFrame, frameToX } from "./time-scale";

const MARKER_RADIUS = 6;
const HALO_RADIUS = 10;
const GROUP_RADIUS = 8.5; // radius of a group, with its count inside
const BAR_HEIGHT = 9;
const REACH_HEIGHT = 14;

/** Draw what is below the cursors: curves, reaches and bars. */
export function drawLaneBackground(ctx: Context2D, model: TimelineModel, row: LaneRow): void {
  strokeLine(ctx, 0, snapToPixel(row.y + row.height) - 1, model.scale.width, snapToPixel(row.y + row.height) - 1, getToken("line"));
  if (row.lane.curve?.length) drawCurve(ctx, model, row);
  for (const item of row.items) drawReach(ctx, model, row, item);
  const bars = row.items.filter((item) => item.end !== null);
  for (const item of bars) drawBar(ctx, model, row, item, item.end ?? item.x);
}

/** Draw what is above the cursors: markers and labels. */
export function drawMarkers(ctx: Context2D, model: TimelineModel, row: LaneRow): void {
  drawLabels(ctx, model, row);
  for (const item of row.items) if (item.end === null) drawMarker(ctx, model, row, item);
  if (model.dragged?.copy) drawCopies(ctx, model, row);
  if (!row.lane.markers.length && !row.lane.curve) drawEmptyHint(ctx, model, row);
}

/** Draw a dotted marker at the cursor and the hint of an empty lane. */
function drawEmptyHint(ctx: Context2D, model: TimelineModel, row: LaneRow): void {
  const x = frameToX(model.scale, model.cursors.edit ?? model.cursors.play);
  const y = row.y + row.height / 2;
  ctx.setLineDash([2, 2.5]);
  ctx.lineWidth = 1.25;
  ctx.strokeStyle = getToneColor(row.lane.tone);
  traceShape(ctx, row.lane.shape, x, y, MARKER_RADIUS);
  ctx.stroke();
  ctx.setLineDash([]);
  ctx.fillStyle = getToken("t3");
  ctx.font = getFont();
  const text = model.mode?.emptyLaneHint ?? "";
  const left = x + 14 + ctx.measureText(text).width < model.scale.width;
  ctx.textAlign = left ? "left" : "right";
  ctx.fillText(text, x + (left ? 14 : -14), y + 0.5);
  ctx.textAlign = "left";
}

/** Draw the reach of a marker in time as a bar that fades to both sides. */
function drawReach(ctx: Context2D, model: TimelineModel, row: LaneRow, item: MarkerItem): void {
  const drawnReaches = new Set<string>(); // equal reaches are drawn once, or they would add up
  for (const marker of item.markers) {
    if (!marker.reach || drawnReaches.has(String(marker.reach))) continue;
    drawnReaches.add(String(marker.reach));
    const by = model.getDrawnFrame(row.lane, marker) - marker.frame;
    const [from, to] = [frameToX(model.scale, marker.reach[0] + by), frameToX(model.scale, marker.reach[1] + by)];
    if (to - from < 2 || to < 0 || from > model.scale.width) continue;
    const color = getSwatchColor(row.lane.tone);
    const middle = clamp((frameToX(model.scale, marker.frame + by) - from) / (to - from), 0.01, 0.99);
    const shade = ctx.createLinearGradient(from, 0, to, 0);
    shade.addColorStop(0, withAlpha(color, 0));
    shade.addColorStop(middle, withAlpha(color, model.isSelected(row.lane, marker) ? 0.5 : 0.38));
    shade.addColorStop(1, withAlpha(color, 0));
    ctx.fillStyle = shade;
    ctx.fillRect(from, row.y + (row.height - REACH_HEIGHT) / 2, to - from, REACH_HEIGHT);
  }
}

function drawBar(ctx: Context2D, model: TimelineModel, row: LaneRow, item: MarkerItem, end: number): void {
  const [marker] = item.markers;
  const width = Math.max(end - item.x, 3);
  const y = row.y + (row.height - BAR_HEIGHT) / 2;
  const quiet = row.lane.tone === "quiet";
  const key = getMarkerKey(row.lane.id, marker.id);
  const selected = model.isSelected(row.lane, marker);
  if (selected || model.hover === key)
    fillRoundRect(ctx, item.x - 3, y - 3, width + 6, BAR_HEIGHT + 6, 5, withAlpha(getToneColor(row.lane.tone), 0.3));
  fillRoundRect(
    ctx,
    item.x,
    y,
    width,
    BAR_HEIGHT,
    3,
    quiet ? withAlpha(getToken("ctl"), 0.6) : withAlpha(getSwatchColor(row.lane.tone), 0.4),
  );
  if (marker.warn || selected || model.focus === key)
    outlineBar(ctx, item.x, y, width, marker.warn ? getToken("warn") : getToken(selected ? "t1" : "asked"));
  ctx.font = getFont();
  ctx.fillStyle = getToken("t1");
  // keep the text visible if the bar starts left of the canvas
  const from = Math.max(item.x + 8, 6);
  ctx.fillText(
    truncateText(marker.text, end - 4 - from, (text) => ctx.measureText(text).width),
    from,
    row.y + row.height / 2 + 0.5,
  );
}

function outlineBar(ctx: Context2D, x: number, y: number, width: number, color: string): void {
  ctx.strokeStyle = color;
  ctx.lineWidth = 1.5;
  ctx.beginPath();
  ctx.roundRect(x, y, width, BAR_HEIGHT, 3);
  ctx.stroke();
}

/** Draw labels right of their markers, truncated or omitted before the next one. */
function drawLabels(ctx: Context2D, model: TimelineModel, row: LaneRow): void {
  const items = row.items.filter((item) => item.end === null);
  const room = computeLabelWidths(items.map((item) => item.x), model.scale.width);
  ctx.font = getFont();
  ctx.fillStyle = getToken("t2");
  items.forEach((item, i) => {
    if (item.x < -200 || item.x > model.scale.width) return;
    if (item.markers.length > 1) return;
    const { text } = item.markers[0];
    ctx.fillText(
      truncateText(text, room[i], (words) => ctx.measureText(words).width),
      item.x + 14,
      row.y + row.height / 2 + 0.5,
    );
  });
}

function drawMarker(ctx: Context2D, model: TimelineModel, row: LaneRow, item: MarkerItem): void {
  const y = row.y + row.height / 2;
  const keys = getItemKeys(row, item);
  const selected = item.markers.some((marker) => model.isSelected(row.lane, marker));
  const color = getSwatchColor(row.lane.tone);
  if (selected || keys.includes(model.hover ?? "")) drawHalo(ctx, row, item.x, y, withAlpha(color, 0.35));
  const hollow = item.markers.every((marker) => marker.hollow);
  const several = item.markers.length > 1;
  drawShape(ctx, row, item.x, y, color, hollow && !several, selected, several ? GROUP_RADIUS : MARKER_RADIUS);
  if (several) drawCount(ctx, model, item.markers.length, item.x, y);
  if (item.markers.some((marker) => marker.warn)) drawRing(ctx, item.x, y, getToken("warn"), [3, 2.5]);
  if (keys.includes(model.focus ?? "")) drawRing(ctx, item.x, y, getToken("asked"), []);
}

function drawHalo(ctx: Context2D, row: LaneRow, x: number, y: number, color: string): void {
  ctx.fillStyle = color;
  traceShape(ctx, row.lane.shape, x, y, HALO_RADIUS);
  ctx.fill();
}

function drawCount(ctx: Context2D, model: TimelineModel, several: number, x: number, y: number): void {
  ctx.font = getFont(700);
  ctx.fillStyle = getToken(model.app.ui.theme === "dark" ? "bg0" : "t1"); // dark text in both themes
  ctx.textAlign = "center";
  ctx.fillText(several > 99 ? "…" : String(several), x, y + 0.5);
  ctx.textAlign = "left";
}

function drawShape(
  ctx: Context2D,
  row: LaneRow,
  x: number,
  y: number,
  color: string,
  hollow: boolean,
  selected: boolean,
  radius = MARKER_RADIUS,
): void {
  traceShape(ctx, row.lane.shape, x, y, radius);
  ctx.fillStyle = hollow ? getToken("bg1") : color;
  ctx.fill();
  if (hollow) {
    ctx.strokeStyle = color;
    ctx.lineWidth = 1.75;
    ctx.stroke();
    if (!selected) return;
    traceShape(ctx, row.lane.shape, x, y, radius + 1.5);
  }
  ctx.strokeStyle = getToken(selected ? "thumb" : "bg1");
  ctx.lineWidth = selected ? 1.75 : 1;
  ctx.stroke();
}

function drawRing(ctx: Context2D, x: number, y: number, color: string, dash: number[]): void {
  ctx.setLineDash(dash);
  ctx.strokeStyle = color;
  ctx.lineWidth = 2;
  ctx.beginPath();
  ctx.arc(x, y, 11, 0, 2 * Math.PI);
  ctx.stroke();
  ctx.setLineDash([]);
}

/** Draw dragged copies beside their originals. */
function drawCopies(ctx: Context2D, model: TimelineModel, row: LaneRow): void {
  const copied = (marker: Marker): number | undefined => model.dragged?.frames.get(getMarkerKey(row.lane.id, marker.id));
  for (const marker of row.lane.markers) {
    const frame = copied(marker);
    if (frame !== undefined)
      drawShape(
        ctx,
        row,
        frameToX(model.scale, frame),
        row.y + row.height / 2,
        getSwatchColor(row.lane.tone),
        Boolean(marker.hollow),
        true,
      );
  }
}

/** Draw one value per frame as a filled curve, scaled by the peak of the shot, which stays fixed during a drag. */
function drawCurve(ctx: Context2D, model: TimelineModel, row: LaneRow): void {
  const values = (row.lane.tone === "added" && model.liveCurve) || row.lane.curve || [];
  const top = row.lane.peak && row.lane.peak > 0 ? row.lane.peak : Math.max(...values, 0);
  const bottom = row.y + row.height - 3;
  const height = row.height - 7;
  const y = (value: number): number => bottom - height * clamp(top > 0 ? value / top : 0, 0, 1);
  const line = new Path2D();
  const first = clamp(Math.floor(xToFrame(model.scale, 0)) - 1, 0, values.length - 1);
  const last = clamp(Math.ceil(xToFrame(model.scale, model.scale.width)) + 1, 0, values.length - 1);
  // about one point per pixel, the maximum of its frames, so that no peak is lost
  const stride = Math.max(Math.floor(1 / model.scale.step), 1);
  for (let frame = first; frame <= last; frame += stride)
    line.lineTo(
      frameToX(model.scale, frame),
      y(stride === 1 ? values[frame] : Math.max(...values.slice(frame, frame + stride))),
    );
  line.lineTo(frameToX(model.scale, last), y(values[last]));
  const area = new Path2D(line);
  area.lineTo(frameToX(model.scale, last), bottom);
  area.lineTo(frameToX(model.scale, first), bottom);
  ctx.fillStyle = withAlpha(getToneColor(row.lane.tone), 0.42);
  ctx.fill(area);
  ctx.strokeStyle = getToneColor(row.lane.tone);
  ctx.lineWidth = 1.5;
  ctx.lineJoin = "round";
  ctx.stroke(line);
}
