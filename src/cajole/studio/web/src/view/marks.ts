/** What is drawn above a body: put together from the state and the hand, then inked in one go. */

import { getToken } from "../core/theme";
import type { Tone, Vec3 } from "../core/types";
import { type Lens, pixelsPerMetre } from "./camera";
import type { AxisName, Lock } from "./drag";
import { handleAt, type Grip, type HandleShape, type Pixel } from "./handle";
import { faint, Ink } from "./ink";
import { type BallMark, inkBall, inkPath, type PathMark } from "./reroute-marks";
import { add, AXES, scale } from "./vec";

const APART = 14; // px between dots of a trail
const HALO = 29; // px across: seven around a disc, some around the one with the handle

export interface DiscMark {
  at: Vec3;
  size: number; // px across
  active?: boolean; // with a white ring
  warn?: boolean; // with a dashed ring
  label?: string | null;
}
export interface ArrowMark {
  at: Vec3;
  way: Vec3;
  tone: Tone;
  pixels: number; // half the shaft's width
  label?: string | null;
  alpha?: number;
  disc?: boolean; // where it begins
  passing?: boolean; // gives way to a new pull
}
export interface TrailMark {
  given: Float32Array | null;
  result: Float32Array;
}
export interface LineMark {
  from: Vec3;
  to: Vec3;
  label?: string;
}
export interface Marks {
  trails: TrailMark[];
  paths: PathMark[]; // of goals, in the pilot and in the second run
  balls: BallMark[]; // goals
  contacts: { point: Vec3; normal: Vec3 }[];
  arrows: ArrowMark[];
  halos: Vec3[]; // around points that are looked at
  discs: DiscMark[];
  handle: { at: Vec3; grip: Grip | null; held: boolean; lock: Lock } | null;
  tether: LineMark | null;
  measure: LineMark | null;
  hover: Vec3 | null;
  box: [number, number, number, number] | null; // px
  faces: Vec3[][]; // triangles that something is wrong with
  brush: { at: Vec3; radius: number; hue: string } | null; // [m], and the token of its colour
}

export const noMarks = (): Marks => ({
  trails: [],
  paths: [],
  balls: [],
  contacts: [],
  arrows: [],
  halos: [],
  discs: [],
  handle: null,
  tether: null,
  measure: null,
  hover: null,
  box: null,
  faces: [],
  brush: null,
});

/** A dot of a trail where it is on the screen, to be clicked. */
export interface Dot {
  x: number;
  y: number;
  frame: number;
}

/** Inks everything in its order; returns the dots of trails. */
export function inkMarks(context: CanvasRenderingContext2D, lens: Lens, marks: Marks, far: number): Dot[] {
  const ink = new Ink(context, lens);
  const dots = marks.trails.flatMap((trail) => inkTrail(ink, trail));
  for (const path of marks.paths) inkPath(ink, path);
  for (const face of marks.faces) inkFace(ink, face);
  for (const contact of marks.contacts) inkContact(ink, contact, far);
  for (const arrow of marks.arrows) inkArrow(ink, arrow);
  if (marks.tether) inkLine(ink, marks.tether, [], 1);
  if (marks.measure) inkLine(ink, marks.measure, [4, 3], 1.5);
  if (marks.handle?.held) inkAxis(ink, marks.handle.at, marks.handle.lock, far);
  for (const place of marks.halos) inkHalo(ink, place);
  for (const disc of marks.discs) if (!disc.active) inkDisc(ink, disc);
  const hover = marks.hover && ink.at(marks.hover);
  if (hover) ink.disc(hover, 7, getToken("thumb"), getToken("view-rim"), 1.5);
  if (marks.handle) inkHandle(ink, handleAt(lens, marks.handle.at), marks.handle);
  for (const disc of marks.discs) if (disc.active) inkDisc(ink, disc);
  for (const ball of marks.balls) inkBall(ink, ball);
  for (const { at, label, way } of marks.arrows) inkLabel(ink, add(at, way), label, at);
  for (const { at, label } of [...marks.discs, ...marks.balls]) inkLabel(ink, at, label);
  if (marks.box) inkBox(ink, marks.box);
  if (marks.brush) inkBrush(ink, marks.brush);
  return dots;
}

/** Words at a point; from: what they must not cover, where an arrow begins. */
function inkLabel(ink: Ink, at: Vec3, text: string | null | undefined, from?: Vec3): void {
  const [pixel, start] = [ink.at(at), from ? ink.at(from) : null];
  if (!text || !pixel) return;
  const way: Pixel = start ? [pixel[0] - start[0], pixel[1] - start[1]] : [1, 0];
  const long = Math.hypot(...way);
  ink.label(pixel, text, long > 0 ? [way[0] / long, way[1] / long] : [1, 0]);
}

/** A triangle that something is wrong with. */
function inkFace(ink: Ink, corners: readonly Vec3[]): void {
  const points = corners.map((corner) => ink.at(corner));
  if (points.some((point) => point === null)) return;
  ink.area(points as Pixel[], faint("err", 0.45));
  ink.line([...points, points[0]] as Pixel[], getToken("err"), 1.5);
}

/** Where the brush would paint. */
function inkBrush(ink: Ink, { at, radius, hue }: NonNullable<Marks["brush"]>): void {
  const middle = ink.at(at);
  if (middle === null) return;
  const across = Math.max(8, 2 * radius * pixelsPerMetre(ink.lens, at));
  ink.disc(middle, across + 3, "transparent", getToken("casing"), 3);
  ink.disc(middle, across, faint(hue, 0.18), getToken(hue), 1.5);
}

function inkDisc(ink: Ink, disc: DiscMark): void {
  const at = ink.at(disc.at);
  if (at === null) return;
  if (disc.active) ink.disc(at, disc.size - 3, getToken("asked-dot"), getToken("thumb"), 3);
  else ink.disc(at, disc.size - 2, getToken("asked-dot"), getToken("view-rim"), 2);
  if (!disc.warn) return;
  ink.context.setLineDash([3, 3]);
  ink.disc(at, disc.size + 10, "transparent", getToken("warn"), 1.5);
  ink.context.setLineDash([]);
}

function inkHalo(ink: Ink, place: Vec3): void {
  const at = ink.at(place);
  if (at) ink.disc(at, HALO, faint("asked-dot", 0.35), getToken("asked-dot"), 1.5);
}

function inkArrow(ink: Ink, arrow: ArrowMark): void {
  ink.context.globalAlpha = arrow.alpha ?? 1;
  const color = getToken(arrow.tone === "asked" ? "asked-dot" : arrow.tone);
  ink.arrow(arrow.at, arrow.way, arrow.pixels, color);
  const at = ink.at(arrow.at);
  if (at && arrow.disc) ink.disc(at, 2.6 * arrow.pixels, color, getToken("thumb"), 2);
  ink.context.globalAlpha = 1;
}

function inkContact(ink: Ink, { point, normal }: { point: Vec3; normal: Vec3 }, far: number): void {
  const [at, end] = [ink.at(point), ink.at(add(point, scale(normal, 0.06 * far)))];
  if (!at || !end) return;
  ink.line([at, end], getToken("err"), 1.5);
  ink.disc(at, 6, getToken("err"), getToken("view-rim"), 1);
}

function inkLine(ink: Ink, mark: LineMark, dash: number[], width: number): void {
  const [from, to] = [ink.at(mark.from), ink.at(mark.to)];
  if (!from || !to) return;
  ink.line([from, to], getToken("asked-dot"), width, dash);
  if (!mark.label) return;
  for (const end of [from, to]) ink.disc(end, 5, getToken("asked-dot"), getToken("thumb"), 1);
  ink.label([(from[0] + to[0]) / 2, (from[1] + to[1]) / 2], mark.label);
}

/** A dashed line along the axis that a drag is held to, through the scene. */
function inkAxis(ink: Ink, at: Vec3, lock: Lock, far: number): void {
  if (lock === null) return;
  for (const name of [...lock] as AxisName[]) {
    const way = scale(AXES[name], 1.2 * far);
    const [from, to] = [ink.at(add(at, scale(way, -1))), ink.at(add(at, way))];
    if (from && to) ink.line([from, to], faint(name, 0.7), 1, [5, 4]);
  }
}

function inkHandle(ink: Ink, shape: HandleShape, { grip, held, lock }: NonNullable<Marks["handle"]>): void {
  const { context } = ink;
  const strong = (name: Grip): boolean => (held ? (lock ?? "view") === name : grip === name);
  for (const plane of shape.planes) {
    const corners = plane.corners.map((corner) => ink.at(corner));
    if (corners.some((corner) => corner === null)) continue;
    context.globalAlpha = plane.alpha * (strong(plane.name) ? 0.75 : held ? 0.16 : 0.36);
    ink.area(corners as Pixel[], getToken(plane.normal));
  }
  for (const axis of shape.axes) {
    context.globalAlpha = axis.alpha * (strong(axis.name) || !held ? 1 : 0.45);
    const [from, to] = [ink.at(axis.from), ink.at(axis.to)];
    if (!from || !to) continue;
    ink.line([from, to], getToken(axis.name), strong(axis.name) ? 4 : 3);
    ink.cone(axis.to, axis.tip, shape.radius * (strong(axis.name) ? 1.2 : 1), getToken(axis.name), false);
  }
  context.globalAlpha = 1;
}

function inkBox(ink: Ink, [left, top, right, bottom]: [number, number, number, number]): void {
  const { context } = ink;
  context.fillStyle = getToken("wash-asked");
  context.fillRect(left, top, right - left, bottom - top);
  context.lineWidth = 1;
  context.strokeStyle = getToken("asked");
  context.strokeRect(Math.round(left) + 0.5, Math.round(top) + 0.5, Math.round(right - left), Math.round(bottom - top));
}

function inkTrail(ink: Ink, trail: TrailMark): Dot[] {
  if (trail.given) ink.line(ink.path(trail.given), getToken("given-swatch"), 2, [5, 4]);
  const path = ink.path(trail.result);
  ink.line(path, getToken("casing"), 5);
  ink.line(path, getToken("got-trail"), 2.5);
  const dots = dotsOf(path);
  for (const dot of dots) ink.disc([dot.x, dot.y], 4.5, getToken("thumb"), getToken("view-rim"), 1);
  return dots;
}

/** Every k-th frame, k of 1, 2, 5, 10 …, so that dots are mostly far enough apart to be clicked. */
export function dotsOf(path: readonly Pixel[]): Dot[] {
  const steps = path.slice(1).map(([x, y], i) => Math.hypot(x - path[i][0], y - path[i][1]));
  const whole = steps.reduce((sum, step) => sum + step, 0);
  const least = (APART * path.length) / Math.max(whole, 1e-9);
  const every = [1, 2, 5, 10, 20, 50, 100].find((step) => step >= least);
  if (every === undefined) return [];
  return path.flatMap(([x, y], frame) => (frame % every === 0 ? [{ x, y, frame }] : []));
}
