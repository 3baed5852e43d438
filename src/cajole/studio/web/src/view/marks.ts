/** Overlay marks above a body, and how they are drawn on the 2D canvas. */

import { getToken } from "../core/theme";
import type { PulseMessage, Tone, Vec3 } from "../core/types";
import { type ViewCamera, pixelsPerMetre } from "./camera";
import type { AxisName, AxisLock } from "./drag";
import { computeGizmo, type GizmoPart, type GizmoShape, type Pixel } from "./gizmo";
import { getTokenWithAlpha, OverlayPainter } from "./overlay-painter";
import { add, AXES, scale } from "./vec";

const DOT_SPACING = 14; // px between dots of a trail
const HALO_SIZE = 29; // px, diameter
const MIN_BALL_SIZE = 9; // px, diameter

export interface DiscMark {
  at: Vec3;
  size: number; // px, diameter
  active?: boolean; // with a white ring
  warn?: boolean; // with a dashed ring
  label?: string | null;
}
export interface ArrowMark {
  at: Vec3;
  offset: Vec3;
  tone: Tone;
  pixels: number; // half width of the shaft
  label?: string | null;
  alpha?: number;
  disc?: boolean; // at its start
  replaceable?: boolean; // hidden during a new pull
}
export interface TrailMark { given: Float32Array | null; result: Float32Array }
export interface LineMark { from: Vec3; to: Vec3; label?: string }
/** Path of a target vertex. */
export interface PathMark {
  points: readonly number[]; // flat x y z
  token: "ok" | "err"; // color token
}
/** Ball around a target position. */
export interface BallMark {
  at: Vec3;
  radius: number; // [m]
  isCurrent: boolean; // its frame is the one shown
  warn: boolean; // missed
  label?: string | null;
}

export interface Marks {
  trails: TrailMark[];
  paths: PathMark[];
  balls: BallMark[];
  contacts: { point: Vec3; normal: Vec3 }[];
  arrows: ArrowMark[];
  halos: Vec3[]; // around hovered vertices
  discs: DiscMark[];
  handle: { at: Vec3; grip: GizmoPart | null; held: boolean; lock: AxisLock } | null;
  lagLine: LineMark | null;
  measure: LineMark | null;
  hover: Vec3 | null;
  box: [number, number, number, number] | null; // px
  faces: Vec3[][]; // self-intersecting triangles
  brush: { at: Vec3; radius: number; token: string } | null; // [m], and its color token
}

/** What the marks of a mode depend on besides the state. */
export interface MarkContext {
  hoveredTarget: string | null; // id of the target whose disc is hovered
  isGestureActive: boolean;
  liveUpdate: PulseMessage | null; // latest one
}

export const createMarks = (): Marks => ({
  trails: [], paths: [], balls: [], contacts: [], arrows: [], halos: [], discs: [], handle: null, lagLine: null,
  measure: null, hover: null, box: null, faces: [], brush: null,
});

/** Clickable dot of a trail [px]. */
export interface TrailDot { x: number; y: number; frame: number }

/** Draw all marks in order; returns the dots of trails. */
export function drawMarks(context: CanvasRenderingContext2D, camera: ViewCamera, marks: Marks, bodySize: number): TrailDot[] {
  const painter = new OverlayPainter(context, camera);
  const dots = marks.trails.flatMap((trail) => drawTrail(painter, trail));
  for (const path of marks.paths) drawPath(painter, path);
  for (const face of marks.faces) drawFace(painter, face);
  for (const contact of marks.contacts) drawContact(painter, contact, bodySize);
  for (const arrow of marks.arrows) drawArrow(painter, arrow);
  if (marks.lagLine) drawLine(painter, marks.lagLine, [], 1);
  if (marks.measure) drawLine(painter, marks.measure, [4, 3], 1.5);
  if (marks.handle?.held) drawLockAxes(painter, marks.handle.at, marks.handle.lock, bodySize);
  for (const position of marks.halos) drawHalo(painter, position);
  for (const disc of marks.discs) if (!disc.active) drawDisc(painter, disc);
  const hover = marks.hover && painter.toPixel(marks.hover);
  if (hover) painter.drawDisc(hover, 7, getToken("thumb"), getToken("view-rim"), 1.5);
  if (marks.handle) drawGizmo(painter, computeGizmo(camera, marks.handle.at), marks.handle);
  for (const disc of marks.discs) if (disc.active) drawDisc(painter, disc);
  for (const ball of marks.balls) drawBall(painter, ball);
  for (const { at, label, offset } of marks.arrows) drawMarkLabel(painter, add(at, offset), label, at);
  for (const { at, label } of [...marks.discs, ...marks.balls]) drawMarkLabel(painter, at, label);
  if (marks.box) drawBox(painter, marks.box);
  if (marks.brush) drawBrush(painter, marks.brush);
  return dots;
}

/** Draw a label at a point; from: start of the arrow that it must not cover. */
function drawMarkLabel(painter: OverlayPainter, at: Vec3, text: string | null | undefined, from?: Vec3): void {
  const [pixel, start] = [painter.toPixel(at), from ? painter.toPixel(from) : null];
  if (!text || !pixel) return;
  const direction: Pixel = start ? [pixel[0] - start[0], pixel[1] - start[1]] : [1, 0];
  const long = Math.hypot(...direction);
  painter.drawLabel(pixel, text, long > 0 ? [direction[0] / long, direction[1] / long] : [1, 0]);
}

/** Draw a self-intersecting triangle. */
function drawFace(painter: OverlayPainter, corners: readonly Vec3[]): void {
  const points = corners.map((corner) => painter.toPixel(corner));
  if (points.some((point) => point === null)) return;
  painter.fillArea(points as Pixel[], getTokenWithAlpha("err", 0.45));
  painter.drawLine([...points, points[0]] as Pixel[], getToken("err"), 1.5);
}

/** Draw the brush cursor. */
function drawBrush(painter: OverlayPainter, { at, radius, token: tokenName }: NonNullable<Marks["brush"]>): void {
  const center = painter.toPixel(at);
  if (center === null) return;
  const across = Math.max(8, 2 * radius * pixelsPerMetre(painter.camera, at));
  painter.drawDisc(center, across + 3, "transparent", getToken("casing"), 3);
  painter.drawDisc(center, across, getTokenWithAlpha(tokenName, 0.18), getToken(tokenName), 1.5);
}

function drawPath(painter: OverlayPainter, { points, token: tokenName }: PathMark): void {
  const path = painter.toPath(points);
  if (path.length < 2) return;
  painter.drawLine(path, getToken("casing"), 4.5);
  painter.drawLine(path, getToken(tokenName), 2.5);
}

function drawBall(painter: OverlayPainter, { at, radius, isCurrent, warn }: BallMark): void {
  const center = painter.toPixel(at);
  if (center === null) return;
  const across = Math.max(MIN_BALL_SIZE, 2 * radius * pixelsPerMetre(painter.camera, at));
  painter.drawDisc(center, across + 2, "transparent", getToken("casing"), 3);
  painter.drawDisc(center, across, getTokenWithAlpha("given-swatch", isCurrent ? 0.75 : 0.35), getToken("given-swatch"), 1.5);
  if (!warn) return;
  painter.context.setLineDash([3, 3]);
  painter.drawDisc(center, across + 10, "transparent", getToken("warn"), 1.5);
  painter.context.setLineDash([]);
}

function drawDisc(painter: OverlayPainter, disc: DiscMark): void {
  const at = painter.toPixel(disc.at);
  if (at === null) return;
  if (disc.active) painter.drawDisc(at, disc.size - 3, getToken("asked-dot"), getToken("thumb"), 3);
  else painter.drawDisc(at, disc.size - 2, getToken("asked-dot"), getToken("view-rim"), 2);
  if (!disc.warn) return;
  painter.context.setLineDash([3, 3]);
  painter.drawDisc(at, disc.size + 10, "transparent", getToken("warn"), 1.5);
  painter.context.setLineDash([]);
}

function drawHalo(painter: OverlayPainter, position: Vec3): void {
  const at = painter.toPixel(position);
  if (at) painter.drawDisc(at, HALO_SIZE, getTokenWithAlpha("asked-dot", 0.35), getToken("asked-dot"), 1.5);
}

function drawArrow(painter: OverlayPainter, arrow: ArrowMark): void {
  painter.context.globalAlpha = arrow.alpha ?? 1;
  const color = getToken(arrow.tone === "asked" ? "asked-dot" : arrow.tone);
  painter.drawArrow(arrow.at, arrow.offset, arrow.pixels, color);
  const at = painter.toPixel(arrow.at);
  if (at && arrow.disc) painter.drawDisc(at, 2.6 * arrow.pixels, color, getToken("thumb"), 2);
  painter.context.globalAlpha = 1;
}

function drawContact(painter: OverlayPainter, { point, normal }: { point: Vec3; normal: Vec3 }, bodySize: number): void {
  const [at, end] = [painter.toPixel(point), painter.toPixel(add(point, scale(normal, 0.06 * bodySize)))];
  if (!at || !end) return;
  painter.drawLine([at, end], getToken("err"), 1.5);
  painter.drawDisc(at, 6, getToken("err"), getToken("view-rim"), 1);
}

function drawLine(painter: OverlayPainter, mark: LineMark, dash: number[], width: number): void {
  const [from, to] = [painter.toPixel(mark.from), painter.toPixel(mark.to)];
  if (!from || !to) return;
  painter.drawLine([from, to], getToken("asked-dot"), width, dash);
  if (!mark.label) return;
  for (const end of [from, to]) painter.drawDisc(end, 5, getToken("asked-dot"), getToken("thumb"), 1);
  painter.drawLabel([(from[0] + to[0]) / 2, (from[1] + to[1]) / 2], mark.label);
}

/** Draw dashed lines along the locked axes. */
function drawLockAxes(painter: OverlayPainter, at: Vec3, lock: AxisLock, bodySize: number): void {
  if (lock === null) return;
  for (const name of [...lock] as AxisName[]) {
    const direction = scale(AXES[name], 1.2 * bodySize);
    const [from, to] = [painter.toPixel(add(at, scale(direction, -1))), painter.toPixel(add(at, direction))];
    if (from && to) painter.drawLine([from, to], getTokenWithAlpha(name, 0.7), 1, [5, 4]);
  }
}

function drawGizmo(painter: OverlayPainter, shape: GizmoShape, { grip, held, lock }: NonNullable<Marks["handle"]>): void {
  const { context } = painter;
  const strong = (name: GizmoPart): boolean => (held ? (lock ?? "view") === name : grip === name);
  for (const plane of shape.planes) {
    const corners = plane.corners.map((corner) => painter.toPixel(corner));
    if (corners.some((corner) => corner === null)) continue;
    context.globalAlpha = plane.alpha * (strong(plane.name) ? 0.75 : held ? 0.16 : 0.36);
    painter.fillArea(corners as Pixel[], getToken(plane.normal));
  }
  for (const axis of shape.axes) {
    context.globalAlpha = axis.alpha * (strong(axis.name) || !held ? 1 : 0.45);
    const [from, to] = [painter.toPixel(axis.from), painter.toPixel(axis.to)];
    if (!from || !to) continue;
    painter.drawLine([from, to], getToken(axis.name), strong(axis.name) ? 4 : 3);
    painter.drawCone(axis.to, axis.tip, shape.radius * (strong(axis.name) ? 1.2 : 1), getToken(axis.name), false);
  }
  context.globalAlpha = 1;
}

function drawBox(painter: OverlayPainter, [left, top, right, bottom]: [number, number, number, number]): void {
  const { context } = painter;
  context.fillStyle = getToken("wash-asked");
  context.fillRect(left, top, right - left, bottom - top);
  context.lineWidth = 1;
  context.strokeStyle = getToken("asked");
  context.strokeRect(Math.round(left) + 0.5, Math.round(top) + 0.5, Math.round(right - left), Math.round(bottom - top));
}

function drawTrail(painter: OverlayPainter, trail: TrailMark): TrailDot[] {
  if (trail.given) painter.drawLine(painter.toPath(trail.given), getToken("given-swatch"), 2, [5, 4]);
  const path = painter.toPath(trail.result);
  painter.drawLine(path, getToken("casing"), 5);
  painter.drawLine(path, getToken("got-trail"), 2.5);
  const dots = sampleTrailDots(path);
  for (const dot of dots) painter.drawDisc([dot.x, dot.y], 4.5, getToken("thumb"), getToken("view-rim"), 1);
  return dots;
}

/** Dots at every k-th frame, k of 1, 2, 5, 10 …, at least DOT_SPACING apart on average. */
function sampleTrailDots(path: readonly Pixel[]): TrailDot[] {
  const steps = path.slice(1).map(([x, y], i) => Math.hypot(x - path[i][0], y - path[i][1]));
  const whole = steps.reduce((sum, step) => sum + step, 0);
  const least = (DOT_SPACING * path.length) / Math.max(whole, 1e-9);
  const every = [1, 2, 5, 10, 20, 50, 100].find((step) => step >= least);
  if (every === undefined) return [];
  return path.flatMap(([x, y], frame) => (frame % every === 0 ? [{ x, y, frame }] : []));
}
