/** Gestures that select a rectangle of vertices and measure between two points. */

import { formatCount, formatLength } from "../core/format";
import type { Vec3 } from "../core/types";
import { getViewAxes, getPixelRay } from "./camera";
import type { Gesture, ViewContext } from "./gesture";
import type { Pixel } from "./gizmo";
import type { LineMark, Marks } from "./marks";
import { intersectPlane } from "./drag";
import { pickRectangle, pickVertex } from "./picking";
import { distance, getVertex } from "./vec";

/** Larger selections are replaced by a farthest-point sample of this size. */
const MAX_SELECTED = 60;

export class MarqueeGesture implements Gesture {
  private at: Pixel;
  private throughBody = false;

  /** onSelect: called with the vertices of the body. */
  constructor(
    private readonly view: ViewContext,
    readonly pane: number,
    private readonly start: Pixel,
    private readonly onSelect: (nodes: number[]) => void,
  ) {
    this.at = start;
  }

  move(at: Pixel, event: PointerEvent): void {
    this.at = at;
    this.throughBody = event.altKey;
    this.view.requestOverlay();
  }

  private get box(): [number, number, number, number] {
    const [[x0, y0], [x1, y1]] = [this.start, this.at];
    return [Math.min(x0, x1), Math.min(y0, y1), Math.max(x0, x1), Math.max(y0, y1)];
  }

  release(): void {
    const mesh = this.view.getBodyMesh();
    this.view.requestOverlay();
    if (mesh === null) return;
    const found = pickRectangle(this.view.getCamera(this.pane), this.box, mesh, this.throughBody);
    const sampled = sampleFarthest(found.map((vertex) => [vertex, getVertex(mesh.positions, vertex)]), MAX_SELECTED);
    for (const vertex of sampled) mesh.model.preferVertex(vertex);
    if (sampled.length < found.length) this.showReducedToast(found.length, sampled.length);
    this.onSelect([...new Set(sampled.map((vertex) => mesh.model.getNode(vertex)))]);
  }

  private showReducedToast(found: number, sampled: number): void {
    this.view.app.showToast({
      tone: "ok", title: `${formatCount(found, "vertex", "vertices")} in the box`,
      text: `${sampled} of them, spread over all, are selected.`,
    });
  }

  cancel(): void {
    this.view.requestOverlay();
  }

  handleKey(event: KeyboardEvent): "done" | null {
    if (event.key !== "Escape") return null;
    this.cancel();
    return "done";
  }

  addMarks(marks: Marks): void {
    marks.hover = null;
    marks.box = this.box;
  }
}

/** Farthest-point sampling: at most `count` of some [index, position] pairs. */
function sampleFarthest(places: [number, Vec3][], count: number): number[] {
  if (places.length <= count) return places.map(([name]) => name);
  const distances = new Float64Array(places.length).fill(Infinity);
  const sampled: number[] = [];
  let next = 0;
  while (sampled.length < count) {
    sampled.push(places[next][0]);
    const from = places[next][1];
    next = 0;
    for (let i = 0; i < places.length; i++) {
      distances[i] = Math.min(distances[i], distance(places[i][1], from));
      if (distances[i] > distances[next]) next = i;
    }
  }
  return sampled;
}

/** Measure between two points on the surface, or in the view plane beside it. */
export class MeasureGesture implements Gesture {
  private readonly from: Vec3;
  private to: Vec3;

  /** onMeasure: called with the line as it changes. */
  constructor(
    private readonly view: ViewContext,
    readonly pane: number,
    start: Pixel,
    private readonly onMeasure: (line: LineMark | null) => void,
  ) {
    this.from = this.to = this.pickPoint(start, view.getCamera(pane).pose.target);
  }

  private pickPoint([x, y]: Pixel, fallback: Vec3): Vec3 {
    const camera = this.view.getCamera(this.pane);
    const mesh = this.view.getBodyMesh();
    const { forward } = getViewAxes(camera.pose);
    return (mesh && pickVertex(camera, x, y, mesh)?.point) ?? intersectPlane(getPixelRay(camera, x, y), fallback, forward) ?? fallback;
  }

  move(at: Pixel): void {
    this.to = this.pickPoint(at, this.from);
    this.onMeasure({ from: this.from, to: this.to, label: formatLength(distance(this.from, this.to)) });
  }

  release(): void {
    if (distance(this.from, this.to) === 0) return this.onMeasure(null);
    this.view.announce(`${formatLength(distance(this.from, this.to))} apart`);
  }

  cancel(): void {
    this.onMeasure(null);
  }

  addMarks(): void {}
}
