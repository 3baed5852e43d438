/** Draws the time line: ruler, ranges, lanes, cursors, overview; everything anew each time, it is cheap. */

import { getToken } from "../core/theme";
import { rows, thumb } from "./arrange";
import { drawGround, drawMarkers } from "./draw-lanes";
import { FLAG, type Flag, flags } from "./flags";
import { FOOT, RULER, type Model } from "./model";
import { box, faded, font, hairline, half, type Brush } from "./paint";
import { isPart, label, steps, ticks, xOf } from "./scale";

export function draw(ctx: Brush, model: Model): void {
  const { scale, height } = model;
  ctx.textBaseline = "middle";
  ctx.textAlign = "left";
  ctx.fillStyle = getToken("bg1");
  ctx.fillRect(0, 0, scale.width, height);
  drawLoopGround(ctx, model);
  drawGrid(ctx, model);
  ctx.save();
  ctx.beginPath();
  ctx.rect(0, RULER, scale.width, height - RULER);
  ctx.clip();
  const all = rows(model);
  for (const row of all) drawGround(ctx, model, row);
  for (const { x, line } of flagsOf(model)) hairline(ctx, x, RULER, x, height, line, 1.5);
  for (const row of all) drawMarkers(ctx, model, row);
  drawWindow(ctx, model);
  ctx.restore();
  drawRuler(ctx, model);
  drawLoop(ctx, model);
  if (model.held?.line != null) drawSnapLine(ctx, model, model.held.line);
  drawFlags(ctx, model);
  if (model.band) drawBand(ctx, model.band);
  if (isPart(scale)) drawOverview(ctx, model);
}

/** The lanes inside the loop are lighter. */
function drawLoopGround(ctx: Brush, model: Model): void {
  const [from, to] = model.app.ui.loopRange;
  const [x0, x1] = [xOf(model.scale, from), xOf(model.scale, Math.min(to, model.last))];
  ctx.fillStyle = getToken("bg2");
  ctx.fillRect(x0, RULER, x1 - x0, model.height - RULER);
}

function drawGrid(ctx: Brush, model: Model): void {
  const { major } = steps(model.scale, model.fps, model.app.ui.unit);
  for (const frame of ticks(model.scale, major)) {
    const x = half(xOf(model.scale, frame));
    hairline(ctx, x, RULER, x, model.height, getToken("line2"));
  }
}

/** Ticks and labels; one that would stand under a cursor's flag is left out. */
function drawRuler(ctx: Brush, model: Model): void {
  const { scale, fps, app } = model;
  ctx.fillStyle = getToken("bg2");
  ctx.fillRect(0, 0, scale.width, RULER);
  const { major, minor } = steps(scale, fps, app.ui.unit);
  for (const frame of ticks(scale, minor))
    hairline(ctx, half(xOf(scale, frame)), RULER - 5, half(xOf(scale, frame)), RULER, getToken("line2"));
  ctx.font = font();
  ctx.textAlign = "center";
  const taken = flagsOf(model).map(({ x, wide }) => [x - wide / 2 - 2, x + wide / 2 + 2]);
  for (const frame of ticks(scale, major)) {
    const x = xOf(scale, frame);
    hairline(ctx, half(x), RULER - 8, half(x), RULER, getToken("line2"));
    const text = label(frame, fps, app.ui.unit, major);
    const wide = ctx.measureText(text).width / 2;
    if (taken.some(([from, to]) => x + wide > from && x - wide < to)) continue;
    ctx.fillStyle = getToken("t2");
    ctx.fillText(text, x, 10.5);
  }
  ctx.textAlign = "left";
  hairline(ctx, 0, RULER - 0.5, scale.width, RULER - 0.5, getToken("line"));
}

/** The loop: a bar with two grips at the foot of the ruler. */
function drawLoop(ctx: Brush, model: Model): void {
  const { loop, loopRange } = model.app.ui;
  const [x0, x1] = loopRange.map((frame) => Math.round(xOf(model.scale, Math.min(frame, model.last))));
  const colour = loop ? getToken("t3") : faded(getToken("t3"), 0.4);
  ctx.fillStyle = colour;
  ctx.fillRect(x0, RULER - 4, x1 - x0, 3);
  for (const x of [x0, x1]) box(ctx, x - 3, RULER - 9, 6, 10, 2, loop ? getToken("t2") : getToken("ctl"));
}

/** Frames outside the editable range are dimmed; its ends have grips at the head of the lanes. */
function drawWindow(ctx: Brush, model: Model): void {
  const range = model.window ?? model.state?.edit?.window;
  if (!range) return;
  const [x0, x1] = range.map((frame) => xOf(model.scale, frame));
  ctx.fillStyle = faded(getToken("bg0"), 0.6);
  ctx.fillRect(0, RULER, x0, model.height);
  ctx.fillRect(x1, RULER, model.scale.width - x1, model.height);
  for (const [x, side] of [[x0, 1], [x1, -1]]) {
    hairline(ctx, half(x), RULER, half(x), model.height, faded(getToken("asked"), 0.7));
    box(ctx, side > 0 ? Math.round(x) : Math.round(x) - 6, RULER + 1, 7, 11, 2, getToken("asked"));
  }
}

interface Painted extends Flag { fill: string; ink: string; line: string }

function flagsOf(model: Model): Painted[] {
  return flags(model).map((flag) =>
    flag.of === "play"
      ? { ...flag, fill: getToken("playhead"), ink: getToken("on-playhead"), line: getToken("playhead") }
      : { ...flag, fill: getToken("asked-fill"), ink: getToken("on-fill"), line: getToken("asked-fill") });
}

function drawFlags(ctx: Brush, model: Model): void {
  const foot = FLAG.top + FLAG.high - 0.5;
  for (const { x, wide, text, fill, ink, line } of flagsOf(model)) {
    if (x < -wide || x > model.scale.width + wide) continue;
    hairline(ctx, x, RULER - 8, x, RULER, line, 1.5);
    box(ctx, x - wide / 2, FLAG.top, wide, FLAG.high, 4, fill);
    ctx.fillStyle = fill;
    ctx.beginPath();
    ctx.moveTo(x - 4.5, foot);
    ctx.lineTo(x + 4.5, foot);
    ctx.lineTo(x, foot + 5);
    ctx.fill();
    ctx.fillStyle = ink;
    ctx.font = font(700);
    ctx.textAlign = "center";
    ctx.fillText(text, x, 11.5);
    ctx.textAlign = "left";
  }
}

/** To what a dragged marker is drawn. */
function drawSnapLine(ctx: Brush, model: Model, frame: number): void {
  const x = half(xOf(model.scale, frame));
  hairline(ctx, x, RULER, x, model.height, getToken("asked"));
}

function drawBand(ctx: Brush, [a, b]: [[number, number], [number, number]]): void {
  const [x, y, wide, high] = [Math.min(a[0], b[0]), Math.min(a[1], b[1]), Math.abs(a[0] - b[0]), Math.abs(a[1] - b[1])];
  ctx.fillStyle = getToken("wash-asked");
  ctx.fillRect(x, y, wide, high);
  ctx.strokeStyle = getToken("asked");
  ctx.lineWidth = 1;
  ctx.strokeRect(half(x), half(y), Math.max(Math.round(wide) - 1, 0), Math.max(Math.round(high) - 1, 0));
}

/** At the foot: which part of the shot is shown. */
function drawOverview(ctx: Brush, model: Model): void {
  const y = model.height - FOOT;
  ctx.fillStyle = getToken("bg0");
  ctx.fillRect(0, y, model.scale.width, FOOT);
  const [from, to] = thumb(model);
  box(ctx, from, y + 1, to - from, FOOT - 2, 2, getToken("ctl"));
}
