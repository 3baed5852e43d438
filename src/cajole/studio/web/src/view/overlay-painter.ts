/** Drawing primitives of the overlay: discs, lines, labels and shaded arrows, in pixels of a view. */

import { getToken } from "../core/theme";
import type { Vec3 } from "../core/types";
import { type ViewCamera, pixelsPerMetre, getCameraPosition, projectPoint } from "./camera";
import type { Pixel } from "./gizmo";
import { add, cross, distance, dot, length, scale, sub, normalize } from "./vec";

const ARROW_HEAD = { wide: 2.7, long: 6 }; // multiples of the shaft radius
const LABEL_GAP = 14; // px between a mark and its label
const CIRCLE_SEGMENTS = 20; // segments of a circle in space

/** Color of a token with an alpha. */
export const getTokenWithAlpha = (name: string, alpha: number): string =>
  `color-mix(in srgb, ${getToken(name)} ${Math.round(100 * alpha)}%, transparent)`;

/** Draws in one view; `toPixel` is null behind the camera. */
export class OverlayPainter {
  constructor(readonly context: CanvasRenderingContext2D, readonly camera: ViewCamera) {}

  toPixel(point: Vec3): Pixel | null {
    const projected = projectPoint(this.camera, point);
    return projected.depth > 0 ? [projected.x, projected.y] : null;
  }

  /** Pixels of points x y z x y z …; a point behind the camera repeats the one before. */
  toPath(flat: ArrayLike<number>): Pixel[] {
    const out: Pixel[] = [];
    for (let i = 0; i + 2 < flat.length; i += 3)
      out.push(this.toPixel([flat[i], flat[i + 1], flat[i + 2]]) ?? out[out.length - 1] ?? [0, 0]);
    return out;
  }

  drawDisc([x, y]: Pixel, diameter: number, fill: string, rim: string, width: number): void {
    const { context } = this;
    context.beginPath();
    context.arc(x, y, diameter / 2, 0, 2 * Math.PI);
    context.fillStyle = fill;
    context.fill();
    if (width <= 0) return;
    context.lineWidth = width;
    context.strokeStyle = rim;
    context.stroke();
  }

  drawLine(points: readonly Pixel[], color: string, width: number, dash: number[] = []): void {
    if (points.length < 2) return;
    const { context } = this;
    this.tracePath(points, false);
    context.setLineDash(dash);
    context.lineWidth = width;
    context.lineJoin = "round";
    context.lineCap = dash.length > 0 ? "butt" : "round";
    context.strokeStyle = color;
    context.stroke();
    context.setLineDash([]);
  }

  fillArea(points: readonly Pixel[], color: string): void {
    this.tracePath(points, true);
    this.context.fillStyle = color;
    this.context.fill();
  }

  private tracePath(points: readonly Pixel[], closed: boolean): void {
    const { context } = this;
    context.beginPath();
    points.forEach(([x, y], i) => (i === 0 ? context.moveTo(x, y) : context.lineTo(x, y)));
    if (closed) context.closePath();
  }

  /** Draw a text box beside a pixel in the direction `toward`, inside the view. */
  drawLabel([x, y]: Pixel, text: string, toward: Pixel = [1, 0]): void {
    const { context, camera } = this;
    context.font = `12px ${getToken("font")}`;
    const width = context.measureText(text).width + 16;
    const [ax, ay] = [x + LABEL_GAP * toward[0], y + LABEL_GAP * toward[1]];
    const fits = toward[0] >= 0 ? ax + width <= camera.width - 8 : ax - width < 8;
    const left = Math.min(Math.max(fits ? ax : ax - width, 8), camera.width - width - 8);
    const top = Math.min(Math.max(ay - 11, 8), camera.height - 30);
    context.beginPath();
    context.roundRect(left, top, width, 22, 6);
    context.fillStyle = getToken("glass");
    context.fill();
    context.lineWidth = 1;
    context.strokeStyle = getToken("line");
    context.stroke();
    context.fillStyle = getToken("t1");
    context.textBaseline = "middle";
    context.fillText(text, left + 8, top + 11.5);
  }

  /** Draw a cone; shade: lit from the upper left. */
  drawCone(base: Vec3, apex: Vec3, radius: number, color: string, shade: boolean): void {
    const ring = computeCircle(base, sub(apex, base), radius).map((point) => this.toPixel(point));
    const tip = this.toPixel(apex);
    if (tip === null || ring.some((point) => point === null)) return;
    const rim = ring as Pixel[];
    this.fillArea(computeConvexHull([...rim, tip]), color);
    if (!shade) return;
    this.drawGloss(computeConvexHull([...rim, tip]));
    const away = dot(sub(apex, base), sub(base, getCameraPosition(this.camera.pose))) > 0;
    if (away) this.fillArea(computeConvexHull(rim), getTokenWithAlpha("view-shade", 0.28));
  }

  /** Draw a shaded cylinder between two points. */
  drawBar(from: Vec3, to: Vec3, radius: number, color: string): void {
    const axis = sub(to, from);
    const points = [...computeCircle(from, axis, radius), ...computeCircle(to, axis, radius)].map((point) => this.toPixel(point));
    if (points.some((point) => point === null)) return;
    const outline = computeConvexHull(points as Pixel[]);
    this.fillArea(outline, color);
    this.drawGloss(outline);
  }

  /** Draw a shaded arrow over an offset [m]; pixels: half width of its shaft. */
  drawArrow(from: Vec3, offset: Vec3, pixels: number, color: string): void {
    const arrowLength = length(offset);
    if (arrowLength === 0) return;
    const radius = Math.min(pixels / pixelsPerMetre(this.camera, from), arrowLength / 8);
    const tip = add(from, offset);
    const neck = add(from, scale(offset, 1 - Math.min(0.75, (ARROW_HEAD.long * radius) / arrowLength)));
    const bar = (): void => this.drawBar(from, neck, radius, color);
    const head = (): void => this.drawCone(neck, tip, ARROW_HEAD.wide * radius, color, true);
    const position = getCameraPosition(this.camera.pose);
    const toward = distance(position, tip) < distance(position, from);
    for (const draw of toward ? [bar, head] : [head, bar]) draw();
  }

  /** Shade an outline with light from the upper left. */
  private drawGloss(outline: readonly Pixel[]): void {
    const xs = outline.map(([x]) => x);
    const ys = outline.map(([, y]) => y);
    const [left, right, top, bottom] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
    const gradient = this.context.createLinearGradient(...computeGradientEnds(outline, [left, top, right, bottom]));
    gradient.addColorStop(0, getTokenWithAlpha("thumb", 0.34));
    gradient.addColorStop(0.42, getTokenWithAlpha("thumb", 0));
    gradient.addColorStop(0.5, getTokenWithAlpha("view-shade", 0));
    gradient.addColorStop(1, getTokenWithAlpha("view-shade", 0.36));
    this.tracePath(outline, true);
    this.context.fillStyle = gradient;
    this.context.fill();
  }
}

/** Start and end of a gradient perpendicular to the longest diagonal of an outline, from the lit side. */
function computeGradientEnds(outline: readonly Pixel[], box: [number, number, number, number]): [number, number, number, number] {
  let [far, along]: [number, Pixel] = [0, [1, 0]];
  for (const [ax, ay] of outline) {
    for (const [bx, by] of outline) {
      const apart = Math.hypot(bx - ax, by - ay);
      if (apart > far) [far, along] = [apart, [(bx - ax) / apart, (by - ay) / apart]];
    }
  }
  const lit: Pixel = along[1] * 0.5 + along[0] * 0.9 > 0 ? [along[1], -along[0]] : [-along[1], along[0]];
  const center: Pixel = [(box[0] + box[2]) / 2, (box[1] + box[3]) / 2];
  const half = Math.max(...outline.map(([x, y]) => Math.abs((x - center[0]) * lit[0] + (y - center[1]) * lit[1])), 0.5);
  return [center[0] + lit[0] * half, center[1] + lit[1] * half, center[0] - lit[0] * half, center[1] - lit[1] * half];
}

/** Points of a circle around an axis. */
function computeCircle(center: Vec3, axis: Vec3, radius: number): Vec3[] {
  const along = normalize(axis);
  const side = normalize(cross(along, Math.abs(along[2]) < 0.9 ? [0, 0, 1] : [1, 0, 0]));
  const other = cross(along, side);
  return Array.from({ length: CIRCLE_SEGMENTS }, (_, i) => {
    const angle = (2 * Math.PI * i) / CIRCLE_SEGMENTS;
    return add(center, add(scale(side, radius * Math.cos(angle)), scale(other, radius * Math.sin(angle))));
  });
}

/** Convex hull of pixels by Andrew's monotone chain (1979). */
export function computeConvexHull(points: readonly Pixel[]): Pixel[] {
  const sorted = [...points].sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  if (sorted.length < 3) return sorted;
  const lower = computeChain(sorted);
  const upper = computeChain(sorted.reverse());
  return [...lower.slice(0, -1), ...upper.slice(0, -1)];
}

function computeChain(points: readonly Pixel[]): Pixel[] {
  const out: Pixel[] = [];
  for (const point of points) {
    while (out.length > 1 && computeTurn(out[out.length - 2], out[out.length - 1], point) <= 0) out.pop();
    out.push(point);
  }
  return out;
}

/** Twice the signed area of a triangle: positive when it turns to the left. */
const computeTurn = (a: Pixel, b: Pixel, c: Pixel): number => (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);
