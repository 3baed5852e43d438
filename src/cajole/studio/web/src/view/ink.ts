/** Strokes of the layer above the bodies: discs, lines, labels and solid arrows, in pixels of a view. */

import { getToken } from "../core/theme";
import type { Vec3 } from "../core/types";
import { type Lens, pixelsPerMetre, placeOf, project } from "./camera";
import { hull } from "./hull";
import type { Pixel } from "./handle";
import { add, cross, distance, dot, length, scale, sub, unit } from "./vec";

const HEAD = { wide: 2.7, long: 6 }; // of an arrow's radius
const GAP = 14; // px between a mark and its words
const RING = 20; // corners of a circle in the world

/** A token's colour with an alpha. */
export const faint = (name: string, alpha: number): string =>
  `color-mix(in srgb, ${getToken(name)} ${Math.round(100 * alpha)}%, transparent)`;

/** Draws in one view; `at` gives the pixel of a point, null behind the camera. */
export class Ink {
  constructor(
    readonly context: CanvasRenderingContext2D,
    readonly lens: Lens,
  ) {}

  at(point: Vec3): Pixel | null {
    const seen = project(this.lens, point);
    return seen.depth > 0 ? [seen.x, seen.y] : null;
  }

  /** Points x y z x y z … one after the other; those behind the camera are where the last one was. */
  path(flat: ArrayLike<number>): Pixel[] {
    const out: Pixel[] = [];
    for (let i = 0; i + 2 < flat.length; i += 3)
      out.push(this.at([flat[i], flat[i + 1], flat[i + 2]]) ?? out[out.length - 1] ?? [0, 0]);
    return out;
  }

  disc([x, y]: Pixel, diameter: number, fill: string, rim: string, width: number): void {
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

  line(points: readonly Pixel[], color: string, width: number, dash: number[] = []): void {
    if (points.length < 2) return;
    const { context } = this;
    this.trace(points, false);
    context.setLineDash(dash);
    context.lineWidth = width;
    context.lineJoin = "round";
    context.lineCap = dash.length > 0 ? "butt" : "round";
    context.strokeStyle = color;
    context.stroke();
    context.setLineDash([]);
  }

  area(points: readonly Pixel[], color: string): void {
    this.trace(points, true);
    this.context.fillStyle = color;
    this.context.fill();
  }

  private trace(points: readonly Pixel[], closed: boolean): void {
    const { context } = this;
    context.beginPath();
    points.forEach(([x, y], i) => (i === 0 ? context.moveTo(x, y) : context.lineTo(x, y)));
    if (closed) context.closePath();
  }

  /** Words on glass beside a pixel, to its right or left as `toward` says, and always within the view. */
  label([x, y]: Pixel, text: string, toward: Pixel = [1, 0]): void {
    const { context, lens } = this;
    context.font = `12px ${getToken("font")}`;
    const width = context.measureText(text).width + 16;
    const [ax, ay] = [x + GAP * toward[0], y + GAP * toward[1]];
    const fits = toward[0] >= 0 ? ax + width <= lens.width - 8 : ax - width < 8;
    const left = Math.min(Math.max(fits ? ax : ax - width, 8), lens.width - width - 8);
    const top = Math.min(Math.max(ay - 11, 8), lens.height - 30);
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

  /** A cone as it looks from here, of one colour; shade: lit from above on the left. */
  cone(base: Vec3, apex: Vec3, radius: number, color: string, shade: boolean): void {
    const ring = circle(base, sub(apex, base), radius).map((point) => this.at(point));
    const tip = this.at(apex);
    if (tip === null || ring.some((point) => point === null)) return;
    const rim = ring as Pixel[];
    this.area(hull([...rim, tip]), color);
    if (!shade) return;
    this.gloss(hull([...rim, tip]));
    const away = dot(sub(apex, base), sub(base, placeOf(this.lens.eye))) > 0;
    if (away) this.area(hull(rim), faint("view-shade", 0.28));
  }

  /** A round bar between two points, shaded. */
  bar(from: Vec3, to: Vec3, radius: number, color: string): void {
    const way = sub(to, from);
    const points = [...circle(from, way, radius), ...circle(to, way, radius)].map((point) => this.at(point));
    if (points.some((point) => point === null)) return;
    const outline = hull(points as Pixel[]);
    this.area(outline, color);
    this.gloss(outline);
  }

  /** A solid arrow from a point over a way [m]; pixels: half its shaft's width. */
  arrow(from: Vec3, way: Vec3, pixels: number, color: string): void {
    const far = length(way);
    if (far === 0) return;
    const radius = Math.min(pixels / pixelsPerMetre(this.lens, from), far / 8);
    const tip = add(from, way);
    const neck = add(from, scale(way, 1 - Math.min(0.75, (HEAD.long * radius) / far)));
    const bar = (): void => this.bar(from, neck, radius, color);
    const head = (): void => this.cone(neck, tip, HEAD.wide * radius, color, true);
    const eye = placeOf(this.lens.eye);
    const toward = distance(eye, tip) < distance(eye, from);
    for (const draw of toward ? [bar, head] : [head, bar]) draw();
  }

  /** Light from above on the left over an outline, shade on the other side. */
  private gloss(outline: readonly Pixel[]): void {
    const xs = outline.map(([x]) => x);
    const ys = outline.map(([, y]) => y);
    const [left, right, top, bottom] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
    const gradient = this.context.createLinearGradient(...across(outline, [left, top, right, bottom]));
    gradient.addColorStop(0, faint("thumb", 0.34));
    gradient.addColorStop(0.42, faint("thumb", 0));
    gradient.addColorStop(0.5, faint("view-shade", 0));
    gradient.addColorStop(1, faint("view-shade", 0.36));
    this.trace(outline, true);
    this.context.fillStyle = gradient;
    this.context.fill();
  }
}

/** Where a gradient across an outline starts and ends: square to its longest diagonal, from the lit side. */
function across(outline: readonly Pixel[], box: [number, number, number, number]): [number, number, number, number] {
  let [far, along]: [number, Pixel] = [0, [1, 0]];
  for (const [ax, ay] of outline) {
    for (const [bx, by] of outline) {
      const apart = Math.hypot(bx - ax, by - ay);
      if (apart > far) [far, along] = [apart, [(bx - ax) / apart, (by - ay) / apart]];
    }
  }
  const lit: Pixel = along[1] * 0.5 + along[0] * 0.9 > 0 ? [along[1], -along[0]] : [-along[1], along[0]];
  const middle: Pixel = [(box[0] + box[2]) / 2, (box[1] + box[3]) / 2];
  const half = Math.max(...outline.map(([x, y]) => Math.abs((x - middle[0]) * lit[0] + (y - middle[1]) * lit[1])), 0.5);
  return [middle[0] + lit[0] * half, middle[1] + lit[1] * half, middle[0] - lit[0] * half, middle[1] - lit[1] * half];
}

/** Points of a circle around an axis. */
function circle(middle: Vec3, axis: Vec3, radius: number): Vec3[] {
  const along = unit(axis);
  const side = unit(cross(along, Math.abs(along[2]) < 0.9 ? [0, 0, 1] : [1, 0, 0]));
  const other = cross(along, side);
  return Array.from({ length: RING }, (_, i) => {
    const angle = (2 * Math.PI * i) / RING;
    return add(middle, add(scale(side, radius * Math.cos(angle)), scale(other, radius * Math.sin(angle))));
  });
}
