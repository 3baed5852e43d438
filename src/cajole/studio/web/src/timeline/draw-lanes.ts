/** Draws lanes: what was asked as markers with their reach, spans as bars, force as a filled curve. */

import { getToken } from "../core/theme";
import type { Marker, ModeName } from "../core/types";
import { keysOf, type Item, type Row } from "./arrange";
import { fitted, labelRoom } from "./merge";
import { keyOf, type Model } from "./model";
import { box, faded, font, hairline, half, swatch, toned, type Brush } from "./paint";
import { clamp, frameAt, xOf } from "./scale";
import { trace } from "./shapes";

const RADIUS = 6;
const HALO = 10;
const SEVERAL = 8.5; // the radius of several drawn as one: a number is in it
const BAR = 9;
const REACH = 14;

/** What lies under the cursors: curves, reaches and bars. */
export function drawGround(ctx: Brush, model: Model, row: Row): void {
  hairline(ctx, 0, half(row.y + row.height) - 1, model.scale.width, half(row.y + row.height) - 1, getToken("line"));
  if (row.lane.curve?.length) drawCurve(ctx, model, row);
  for (const item of row.items) drawReach(ctx, model, row, item);
  const bars = row.items.filter((item) => item.end !== null);
  for (const item of bars) drawBar(ctx, model, row, item, item.end ?? item.x);
}

/** What lies over them: markers and their names. */
export function drawMarkers(ctx: Brush, model: Model, row: Row): void {
  drawLabels(ctx, model, row);
  for (const item of row.items) if (item.end === null) drawMarker(ctx, model, row, item);
  if (model.held?.copy) drawCopies(ctx, model, row);
  if (!row.lane.markers.length && !row.lane.curve) drawInvitation(ctx, model, row);
}

/** What fills the first lane of a mode, while it is empty. */
const INVITATIONS: Partial<Record<ModeName, string>> = {
  edit: "Click a point of the body, then drag it.",
  keyframe: "Pull the body into a pose, then press K.",
  steer: "Press and drag.",
  reroute: "Go to a frame, click a point, and drag it to where it shall be.",
};

/** An empty lane shows one dotted marker at the cursor's frame, and says what brings one. */
function drawInvitation(ctx: Brush, model: Model, row: Row): void {
  const x = xOf(model.scale, model.cursors.edit ?? model.cursors.play);
  const y = row.y + row.height / 2;
  ctx.setLineDash([2, 2.5]);
  ctx.lineWidth = 1.25;
  ctx.strokeStyle = toned(row.lane.tone);
  trace(ctx, row.lane.shape, x, y, RADIUS);
  ctx.stroke();
  ctx.setLineDash([]);
  ctx.fillStyle = getToken("t3");
  ctx.font = font();
  const text = INVITATIONS[model.state?.mode ?? "edit"] ?? "";
  const left = x + 14 + ctx.measureText(text).width < model.scale.width;
  ctx.textAlign = left ? "left" : "right";
  ctx.fillText(text, x + (left ? 14 : -14), y + 0.5);
  ctx.textAlign = "left";
}

/** How far a marker works in time: a bar that fades to both sides. */
function drawReach(ctx: Brush, model: Model, row: Row, item: Item): void {
  const drawn = new Set<string>(); // several at one frame reach equally far: one bar, not a darker one
  for (const marker of item.markers) {
    if (!marker.reach || drawn.has(String(marker.reach))) continue;
    drawn.add(String(marker.reach));
    const by = model.frameOf(row.lane, marker) - marker.frame;
    const [from, to] = [xOf(model.scale, marker.reach[0] + by), xOf(model.scale, marker.reach[1] + by)];
    if (to - from < 2 || to < 0 || from > model.scale.width) continue;
    const colour = swatch(row.lane.tone);
    const middle = clamp((xOf(model.scale, marker.frame + by) - from) / (to - from), 0.01, 0.99);
    const shade = ctx.createLinearGradient(from, 0, to, 0);
    shade.addColorStop(0, faded(colour, 0));
    shade.addColorStop(middle, faded(colour, model.isSelected(row.lane, marker) ? 0.5 : 0.38));
    shade.addColorStop(1, faded(colour, 0));
    ctx.fillStyle = shade;
    ctx.fillRect(from, row.y + (row.height - REACH) / 2, to - from, REACH);
  }
}

function drawBar(ctx: Brush, model: Model, row: Row, item: Item, end: number): void {
  const [marker] = item.markers;
  const wide = Math.max(end - item.x, 3);
  const y = row.y + (row.height - BAR) / 2;
  const quiet = row.lane.tone === "quiet";
  const key = keyOf(row.lane.id, marker.id);
  const on = model.isSelected(row.lane, marker);
  if (on || model.hover === key) box(ctx, item.x - 3, y - 3, wide + 6, BAR + 6, 5, faded(toned(row.lane.tone), 0.3));
  box(ctx, item.x, y, wide, BAR, 3, quiet ? faded(getToken("ctl"), 0.6) : faded(swatch(row.lane.tone), 0.4));
  if (marker.warn || on || model.focus === key)
    outlineBar(ctx, item.x, y, wide, marker.warn ? getToken("warn") : getToken(on ? "t1" : "asked"));
  ctx.font = font();
  ctx.fillStyle = getToken("t1");
  // Where a bar begins left of the canvas its words stay in sight.
  const from = Math.max(item.x + 8, 6);
  ctx.fillText(
    fitted(marker.text, end - 4 - from, (text) => ctx.measureText(text).width),
    from,
    row.y + row.height / 2 + 0.5,
  );
}

function outlineBar(ctx: Brush, x: number, y: number, wide: number, colour: string): void {
  ctx.strokeStyle = colour;
  ctx.lineWidth = 1.5;
  ctx.beginPath();
  ctx.roundRect(x, y, wide, BAR, 3);
  ctx.stroke();
}

/** Names right of their markers, cut or left out where the next one stands. */
function drawLabels(ctx: Brush, model: Model, row: Row): void {
  const items = row.items.filter((item) => item.end === null);
  const room = labelRoom(items.map((item) => item.x), model.scale.width);
  ctx.font = font();
  ctx.fillStyle = getToken("t2");
  items.forEach((item, i) => {
    if (item.x < -200 || item.x > model.scale.width) return;
    if (item.markers.length > 1) return;
    const { text } = item.markers[0];
    ctx.fillText(
      fitted(text, room[i], (words) => ctx.measureText(words).width),
      item.x + 14,
      row.y + row.height / 2 + 0.5,
    );
  });
}

function drawMarker(ctx: Brush, model: Model, row: Row, item: Item): void {
  const y = row.y + row.height / 2;
  const keys = keysOf(row, item);
  const on = item.markers.some((marker) => model.isSelected(row.lane, marker));
  const colour = swatch(row.lane.tone);
  if (on || keys.includes(model.hover ?? "")) halo(ctx, row, item.x, y, faded(colour, 0.35));
  const hollow = item.markers.every((marker) => marker.hollow);
  const several = item.markers.length > 1;
  shape(ctx, row, item.x, y, colour, hollow && !several, on, several ? SEVERAL : RADIUS);
  if (several) count(ctx, model, item.markers.length, item.x, y);
  if (item.markers.some((marker) => marker.warn)) ring(ctx, item.x, y, getToken("warn"), [3, 2.5]);
  if (keys.includes(model.focus ?? "")) ring(ctx, item.x, y, getToken("asked"), []);
}

function halo(ctx: Brush, row: Row, x: number, y: number, colour: string): void {
  ctx.fillStyle = colour;
  trace(ctx, row.lane.shape, x, y, HALO);
  ctx.fill();
}

function count(ctx: Brush, model: Model, several: number, x: number, y: number): void {
  ctx.font = font(700);
  ctx.fillStyle = getToken(model.app.ui.theme === "dark" ? "bg0" : "t1"); // dark on the swatch, in both
  ctx.textAlign = "center";
  ctx.fillText(several > 99 ? "…" : String(several), x, y + 0.5);
  ctx.textAlign = "left";
}

function shape(
  ctx: Brush,
  row: Row,
  x: number,
  y: number,
  colour: string,
  hollow: boolean,
  on: boolean,
  radius = RADIUS,
): void {
  trace(ctx, row.lane.shape, x, y, radius);
  ctx.fillStyle = hollow ? getToken("bg1") : colour;
  ctx.fill();
  if (hollow) {
    ctx.strokeStyle = colour;
    ctx.lineWidth = 1.75;
    ctx.stroke();
    if (!on) return;
    trace(ctx, row.lane.shape, x, y, radius + 1.5);
  }
  ctx.strokeStyle = getToken(on ? "thumb" : "bg1");
  ctx.lineWidth = on ? 1.75 : 1;
  ctx.stroke();
}

function ring(ctx: Brush, x: number, y: number, colour: string, dash: number[]): void {
  ctx.setLineDash(dash);
  ctx.strokeStyle = colour;
  ctx.lineWidth = 2;
  ctx.beginPath();
  ctx.arc(x, y, 11, 0, 2 * Math.PI);
  ctx.stroke();
  ctx.setLineDash([]);
}

/** Copies under the hand, beside their originals. */
function drawCopies(ctx: Brush, model: Model, row: Row): void {
  const copied = (marker: Marker): number | undefined => model.held?.frames.get(keyOf(row.lane.id, marker.id));
  for (const marker of row.lane.markers) {
    const frame = copied(marker);
    if (frame !== undefined)
      shape(
        ctx,
        row,
        xOf(model.scale, frame),
        row.y + row.height / 2,
        swatch(row.lane.tone),
        Boolean(marker.hollow),
        true,
      );
  }
}

/** A value a frame as a filled curve; its scale is the peak of the shot, which stays while something is dragged. */
function drawCurve(ctx: Brush, model: Model, row: Row): void {
  const values = (row.lane.tone === "added" && model.curve) || row.lane.curve || [];
  const top = row.lane.peak && row.lane.peak > 0 ? row.lane.peak : Math.max(...values, 0);
  const foot = row.y + row.height - 3;
  const high = row.height - 7;
  const y = (value: number): number => foot - high * clamp(top > 0 ? value / top : 0, 0, 1);
  const line = new Path2D();
  const first = clamp(Math.floor(frameAt(model.scale, 0)) - 1, 0, values.length - 1);
  const last = clamp(Math.ceil(frameAt(model.scale, model.scale.width)) + 1, 0, values.length - 1);
  // Not more than about one point a pixel, each the largest of its frames: a peak is never lost.
  const stride = Math.max(Math.floor(1 / model.scale.step), 1);
  for (let frame = first; frame <= last; frame += stride)
    line.lineTo(
      xOf(model.scale, frame),
      y(stride === 1 ? values[frame] : Math.max(...values.slice(frame, frame + stride))),
    );
  line.lineTo(xOf(model.scale, last), y(values[last]));
  const area = new Path2D(line);
  area.lineTo(xOf(model.scale, last), foot);
  area.lineTo(xOf(model.scale, first), foot);
  ctx.fillStyle = faded(toned(row.lane.tone), 0.42);
  ctx.fill(area);
  ctx.strokeStyle = toned(row.lane.tone);
  ctx.lineWidth = 1.5;
  ctx.lineJoin = "round";
  ctx.stroke(line);
}
