/** Drawing of the timeline: ruler, ranges, lanes, cursors, overview. */

import { getToken } from "../core/theme";
import { FLAG_BOX, type CursorFlag, getCursorFlags, getOverviewThumb, layOutRows } from "./lane-layout";
import { drawLaneBackground, drawMarkers } from "./draw-lanes";
import { OVERVIEW_HEIGHT, RULER_HEIGHT, type TimelineModel } from "./timeline-model";
import { fillRoundRect, withAlpha, getFont, strokeLine, snapToPixel, type Context2D } from "./canvas-style";
import { isPartial, formatFrame, computeRulerSteps, listTicks, frameToX } from "./time-scale";

export function drawTimeline(ctx: Context2D, model: TimelineModel): void {
  const { scale, height } = model;
  ctx.textBaseline = "middle";
  ctx.textAlign = "left";
  ctx.fillStyle = getToken("bg1");
  ctx.fillRect(0, 0, scale.width, height);
  drawLoopBackground(ctx, model);
  drawGrid(ctx, model);
  ctx.save();
  ctx.beginPath();
  ctx.rect(0, RULER_HEIGHT, scale.width, height - RULER_HEIGHT);
  ctx.clip();
  const all = layOutRows(model);
  for (const row of all) drawLaneBackground(ctx, model, row);
  for (const { x, line } of getStyledFlags(model)) strokeLine(ctx, x, RULER_HEIGHT, x, height, line, 1.5);
  for (const row of all) drawMarkers(ctx, model, row);
  drawWindow(ctx, model);
  ctx.restore();
  drawRuler(ctx, model);
  drawLoop(ctx, model);
  if (model.dragged?.snapFrame != null) drawSnapLine(ctx, model, model.dragged.snapFrame);
  drawFlags(ctx, model);
  if (model.band) drawBand(ctx, model.band);
  if (isPartial(scale)) drawOverview(ctx, model);
}

/** Draw a lighter background inside the loop range. */
function drawLoopBackground(ctx: Context2D, model: TimelineModel): void {
  const [from, to] = model.app.ui.loopRange;
  const [x0, x1] = [frameToX(model.scale, from), frameToX(model.scale, Math.min(to, model.last))];
  ctx.fillStyle = getToken("bg2");
  ctx.fillRect(x0, RULER_HEIGHT, x1 - x0, model.height - RULER_HEIGHT);
}

function drawGrid(ctx: Context2D, model: TimelineModel): void {
  const { major } = computeRulerSteps(model.scale, model.fps, model.app.ui.unit);
  for (const frame of listTicks(model.scale, major)) {
    const x = snapToPixel(frameToX(model.scale, frame));
    strokeLine(ctx, x, RULER_HEIGHT, x, model.height, getToken("line2"));
  }
}

/** Draw ticks and labels, except labels below a cursor flag. */
function drawRuler(ctx: Context2D, model: TimelineModel): void {
  const { scale, fps, app } = model;
  ctx.fillStyle = getToken("bg2");
  ctx.fillRect(0, 0, scale.width, RULER_HEIGHT);
  const { major, minor } = computeRulerSteps(scale, fps, app.ui.unit);
  for (const frame of listTicks(scale, minor))
    strokeLine(
      ctx,
      snapToPixel(frameToX(scale, frame)),
      RULER_HEIGHT - 5,
      snapToPixel(frameToX(scale, frame)),
      RULER_HEIGHT,
      getToken("line2"),
    );
  ctx.font = getFont();
  ctx.textAlign = "center";
  const flagRanges = getStyledFlags(model).map(({ x, width }) => [x - width / 2 - 2, x + width / 2 + 2]);
  for (const frame of listTicks(scale, major)) {
    const x = frameToX(scale, frame);
    strokeLine(ctx, snapToPixel(x), RULER_HEIGHT - 8, snapToPixel(x), RULER_HEIGHT, getToken("line2"));
    const text = formatFrame(frame, fps, app.ui.unit, major);
    const width = ctx.measureText(text).width / 2;
    if (flagRanges.some(([from, to]) => x + width > from && x - width < to)) continue;
    ctx.fillStyle = getToken("t2");
    ctx.fillText(text, x, 10.5);
  }
  ctx.textAlign = "left";
  strokeLine(ctx, 0, RULER_HEIGHT - 0.5, scale.width, RULER_HEIGHT - 0.5, getToken("line"));
}

/** Draw the loop range as a bar with two grips at the bottom of the ruler. */
function drawLoop(ctx: Context2D, model: TimelineModel): void {
  const { loop, loopRange } = model.app.ui;
  const [x0, x1] = loopRange.map((frame) => Math.round(frameToX(model.scale, Math.min(frame, model.last))));
  const color = loop ? getToken("t3") : withAlpha(getToken("t3"), 0.4);
  ctx.fillStyle = color;
  ctx.fillRect(x0, RULER_HEIGHT - 4, x1 - x0, 3);
  for (const x of [x0, x1]) fillRoundRect(ctx, x - 3, RULER_HEIGHT - 9, 6, 10, 2, loop ? getToken("t2") : getToken("ctl"));
}

/** Dim frames outside the edit window, and draw grips at its ends. */
function drawWindow(ctx: Context2D, model: TimelineModel): void {
  const range = model.editWindow;
  if (!range) return;
  const [x0, x1] = range.map((frame) => frameToX(model.scale, frame));
  ctx.fillStyle = withAlpha(getToken("bg0"), 0.6);
  ctx.fillRect(0, RULER_HEIGHT, x0, model.height);
  ctx.fillRect(x1, RULER_HEIGHT, model.scale.width - x1, model.height);
  for (const [x, side] of [[x0, 1], [x1, -1]]) {
    strokeLine(ctx, snapToPixel(x), RULER_HEIGHT, snapToPixel(x), model.height, withAlpha(getToken("asked"), 0.7));
    fillRoundRect(ctx, side > 0 ? Math.round(x) : Math.round(x) - 6, RULER_HEIGHT + 1, 7, 11, 2, getToken("asked"));
  }
}

interface StyledFlag extends CursorFlag { fill: string; textColor: string; line: string }

function getStyledFlags(model: TimelineModel): StyledFlag[] {
  return getCursorFlags(model).map((flag) =>
    flag.cursor === "playhead"
      ? { ...flag, fill: getToken("playhead"), textColor: getToken("on-playhead"), line: getToken("playhead") }
      : { ...flag, fill: getToken("asked-fill"), textColor: getToken("on-fill"), line: getToken("asked-fill") });
}

function drawFlags(ctx: Context2D, model: TimelineModel): void {
  const bottom = FLAG_BOX.top + FLAG_BOX.height - 0.5;
  for (const { x, width, text, fill, textColor: ink, line } of getStyledFlags(model)) {
    if (x < -width || x > model.scale.width + width) continue;
    strokeLine(ctx, x, RULER_HEIGHT - 8, x, RULER_HEIGHT, line, 1.5);
    fillRoundRect(ctx, x - width / 2, FLAG_BOX.top, width, FLAG_BOX.height, 4, fill);
    ctx.fillStyle = fill;
    ctx.beginPath();
    ctx.moveTo(x - 4.5, bottom);
    ctx.lineTo(x + 4.5, bottom);
    ctx.lineTo(x, bottom + 5);
    ctx.fill();
    ctx.fillStyle = ink;
    ctx.font = getFont(700);
    ctx.textAlign = "center";
    ctx.fillText(text, x, 11.5);
    ctx.textAlign = "left";
  }
}

/** Draw the frame that a dragged marker snaps to. */
function drawSnapLine(ctx: Context2D, model: TimelineModel, frame: number): void {
  const x = snapToPixel(frameToX(model.scale, frame));
  strokeLine(ctx, x, RULER_HEIGHT, x, model.height, getToken("asked"));
}

function drawBand(ctx: Context2D, [a, b]: [[number, number], [number, number]]): void {
  const [x, y, width, height] = [Math.min(a[0], b[0]), Math.min(a[1], b[1]), Math.abs(a[0] - b[0]), Math.abs(a[1] - b[1])];
  ctx.fillStyle = getToken("wash-asked");
  ctx.fillRect(x, y, width, height);
  ctx.strokeStyle = getToken("asked");
  ctx.lineWidth = 1;
  ctx.strokeRect(snapToPixel(x), snapToPixel(y), Math.max(Math.round(width) - 1, 0), Math.max(Math.round(height) - 1, 0));
}

/** Draw the overview: visible part of the shot. */
function drawOverview(ctx: Context2D, model: TimelineModel): void {
  const y = model.height - OVERVIEW_HEIGHT;
  ctx.fillStyle = getToken("bg0");
  ctx.fillRect(0, y, model.scale.width, OVERVIEW_HEIGHT);
  const [from, to] = getOverviewThumb(model);
  fillRoundRect(ctx, from, y + 1, to - from, OVERVIEW_HEIGHT - 2, 2, getToken("ctl"));
}
