/** Taking a rectangle of vertices, and measuring between two points. */

import { formatCount, formatLength } from "../core/format";
import type { Vec3 } from "../core/types";
import { frameOf, rayAt } from "./camera";
import type { Gesture, Sight } from "./gesture";
import type { Pixel } from "./handle";
import type { LineMark, Marks } from "./marks";
import { onPlane } from "./drag";
import { pickRectangle, pickVertex } from "./pick";
import { distance, vertexOf } from "./vec";

/** More vertices than these are not held one by one: some that are spread over them stand for all. */
const MOST = 60;

export class Marquee implements Gesture {
  private at: Pixel;
  private back = false;

  /** chosen: told the body's vertices. */
  constructor(
    private readonly sight: Sight,
    readonly pane: number,
    private readonly start: Pixel,
    private readonly chosen: (nodes: number[]) => void,
  ) {
    this.at = start;
  }

  move(at: Pixel, event: PointerEvent): void {
    this.at = at;
    this.back = event.altKey;
    this.sight.ink();
  }

  private get box(): [number, number, number, number] {
    const [[x0, y0], [x1, y1]] = [this.start, this.at];
    return [Math.min(x0, x1), Math.min(y0, y1), Math.max(x0, x1), Math.max(y0, y1)];
  }

  release(): void {
    const figure = this.sight.figure();
    this.sight.ink();
    if (figure === null) return;
    const found = pickRectangle(this.sight.lens(this.pane), this.box, figure, this.back);
    const kept = spread(
      found.map((vertex) => [vertex, vertexOf(figure.positions, vertex)]),
      MOST,
    );
    for (const vertex of kept) figure.model.prefer(vertex);
    if (kept.length < found.length) this.tell(found.length, kept.length);
    this.chosen([...new Set(kept.map((vertex) => figure.model.nodeOf(vertex)))]);
  }

  private tell(found: number, kept: number): void {
    this.sight.app.showToast({
      tone: "ok",
      title: `${formatCount(found, "vertex", "vertices")} in the box`,
      text: `${kept} of them, spread over all, are selected.`,
    });
  }

  cancel(): void {
    this.sight.ink();
  }

  key(event: KeyboardEvent): "done" | null {
    if (event.key !== "Escape") return null;
    this.cancel();
    return "done";
  }

  mark(marks: Marks): void {
    marks.hover = null;
    marks.box = this.box;
  }
}

/** At most `most` of some places, each as far from the others as can be. */
export function spread(places: [number, Vec3][], most: number): number[] {
  if (places.length <= most) return places.map(([name]) => name);
  const apart = new Float64Array(places.length).fill(Infinity);
  const kept: number[] = [];
  let next = 0;
  while (kept.length < most) {
    kept.push(places[next][0]);
    const from = places[next][1];
    next = 0;
    for (let i = 0; i < places.length; i++) {
      apart[i] = Math.min(apart[i], distance(places[i][1], from));
      if (apart[i] > apart[next]) next = i;
    }
  }
  return kept;
}

/** A line between two points of the body's surface, or of the plane of the view beside it. */
export class Measure implements Gesture {
  private readonly from: Vec3;
  private to: Vec3;

  /** measured: told the line as it grows. */
  constructor(
    private readonly sight: Sight,
    readonly pane: number,
    start: Pixel,
    private readonly measured: (line: LineMark | null) => void,
  ) {
    this.from = this.to = this.under(start, sight.lens(pane).eye.target);
  }

  private under([x, y]: Pixel, beside: Vec3): Vec3 {
    const lens = this.sight.lens(this.pane);
    const figure = this.sight.figure();
    const { forward } = frameOf(lens.eye);
    return (figure && pickVertex(lens, x, y, figure)?.point) ?? onPlane(rayAt(lens, x, y), beside, forward) ?? beside;
  }

  move(at: Pixel): void {
    this.to = this.under(at, this.from);
    this.measured({ from: this.from, to: this.to, label: formatLength(distance(this.from, this.to)) });
  }

  release(): void {
    if (distance(this.from, this.to) === 0) return this.measured(null);
    this.sight.announce(`${formatLength(distance(this.from, this.to))} apart`);
  }

  cancel(): void {
    this.measured(null);
  }

  mark(): void {}
}
