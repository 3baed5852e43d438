/** Enrich: painting regions on the guide, or on the shell that follows it. */

import { brush, setBrush, getRegionColor } from "../core/brush";
import type { Vec3 } from "../core/types";
import { rayAt } from "./camera";
import { CANCEL, type Gesture, type Sight } from "./gesture";
import type { Pixel } from "./handle";
import { Look } from "./looking";
import type { Marks } from "./marks";
import { within } from "./neighbours";
import { type Hit, pickTriangle } from "./pick";

const NONE = -1; // the region of what belongs to none
const STEP = 6; // px between two dabs of a stroke

/** Where a pointer touches the surface of a view, null beside it. */
function touchedAt(sight: Sight, pane: number, at: Pixel): Hit | null {
  const figure = sight.figureIn(pane);
  return figure?.shown ? pickTriangle(rayAt(sight.lens(pane), ...at), figure.positions, figure.faces) : null;
}

/** How large the brush is [m]. */
const radiusOf = (sight: Sight): number => brush.radius * (sight.app.project?.size ?? 1);

/** The colour of what the brush does, by its token. */
function brushHue(sight: Sight, pane: number): string {
  if (brush.mode === "erase") return "err";
  return getRegionColor(brush.mode === "new" ? nextRegion(sight, pane) : brush.region);
}

/** The number that a new region would have. */
function nextRegion(sight: Sight, pane: number): number {
  let most = NONE;
  for (const each of [pane, 1 - pane])
    for (const zone of sight.figureIn(each)?.model.zones ?? []) most = Math.max(most, zone);
  return 1 + most;
}

/** Takes the region under the pointer in hand. */
function pickRegion(sight: Sight, pane: number, hit: Hit): void {
  const { model, positions } = sight.figureIn(pane)!;
  const corners = cornersOf(sight, pane, hit);
  const [vertex] = within(positions, model.neighbours, corners, hit.point, 0);
  const region = model.zones?.[vertex] ?? NONE;
  if (region === NONE) return;
  setBrush({ region, mode: "add" });
  sight.announce(`region ${region} in hand`);
}

function cornersOf(sight: Sight, pane: number, hit: Hit): number[] {
  return [0, 1, 2].map((i) => sight.figureIn(pane)!.faces[3 * hit.triangle + i]);
}

/** The brush while no stroke is made: whether a press paints, and where it is held. */
export class BrushInHand {
  private held: { pane: number; mark: NonNullable<Marks["brush"]> } | null = null;

  constructor(private readonly sight: Sight) {}

  /** Whether a press paints: by whoever may change things, and not while a shell is being made. */
  get paints(): boolean {
    const { ui, state } = this.sight.app;
    return ui.tool === "brush" && ui.pilot && state?.mode === "enrich" && state.enrich?.running === null;
  }

  /** What a press begins; null beside the body. */
  begin(event: PointerEvent, pane: number, at: Pixel): Gesture | null {
    const hit = touchedAt(this.sight, pane, at);
    if (hit === null) return null;
    this.held = null;
    if (!event.altKey) return new Brush(this.sight, pane, at, hit);
    return new Look(pane, at, () => undefined, () => pickRegion(this.sight, pane, hit));
  }

  /** The brush is over a pixel of a view, null for nowhere. */
  hold(spot: { pane: number; at: Pixel } | null): void {
    if (!this.paints && this.held === null) return;
    const hit = spot && this.paints ? touchedAt(this.sight, spot.pane, spot.at) : null;
    const hue = spot ? brushHue(this.sight, spot.pane) : "";
    this.held = hit && { pane: spot!.pane, mark: { at: hit.point, radius: radiusOf(this.sight), hue } };
    this.sight.ink();
  }

  /** Its ring, into the marks of the view that it is over. */
  mark(marks: Marks[], gesture: Gesture | null): void {
    if (gesture instanceof Brush) marks[gesture.pane].brush = gesture.ring();
    else if (this.held !== null && this.paints) marks[this.held.pane].brush = this.held.mark;
  }
}

/** One stroke: seen at once, told when the hand lets go, one step of undo. */
class Brush implements Gesture {
  private readonly before: Int32Array<ArrayBuffer>;
  private readonly region: number;
  private readonly use = brush.mode;
  private readonly touched = new Set<number>();
  private last: Pixel;
  private point: Vec3;

  constructor(
    private readonly sight: Sight,
    readonly pane: number,
    start: Pixel,
    hit: Hit,
  ) {
    const { model } = sight.figureIn(pane)!;
    this.before = model.zones?.slice() ?? new Int32Array(model.count).fill(NONE);
    this.region = { erase: NONE, new: nextRegion(sight, pane), add: brush.region }[this.use];
    this.last = start;
    this.point = hit.point;
    sight.app.setHints([["Drag", "paint"], CANCEL]);
    this.dab(hit);
  }

  move(at: Pixel): void {
    const far = Math.hypot(at[0] - this.last[0], at[1] - this.last[1]);
    const steps = Math.max(1, Math.ceil(far / STEP));
    for (let i = 1; i <= steps; i++) {
      const share = i / steps;
      const hit = touchedAt(this.sight, this.pane, [
        this.last[0] + share * (at[0] - this.last[0]),
        this.last[1] + share * (at[1] - this.last[1]),
      ]);
      if (hit) this.dab(hit);
    }
    this.last = at;
  }

  private dab(hit: Hit): void {
    const { model, positions } = this.sight.figureIn(this.pane)!;
    const corners = cornersOf(this.sight, this.pane, hit);
    const zones = (model.zones ??= new Int32Array(model.count).fill(NONE));
    for (const vertex of within(positions, model.neighbours, corners, hit.point, radiusOf(this.sight))) {
      this.touched.add(vertex);
      zones[vertex] = this.region;
    }
    this.point = hit.point;
    this.sight.recolour();
  }

  release(): void {
    this.sight.app.setHints(null);
    const region = this.use === "new" ? null : this.region;
    const nodes = [...this.touched];
    void this.sight.app
      .request("paint", { on: this.pane === 0 ? "guide" : "shell", region, nodes, both: brush.both })
      .then((answer) => this.painted(answer))
      .catch(() => this.restore());
    this.sight.announce(`${nodes.length === 1 ? "one vertex" : `${nodes.length} vertices`} painted`);
  }

  /** A region that was begun is the one in hand. */
  private painted(answer: Record<string, unknown>): void {
    if (this.use === "new") setBrush({ mode: "add", region: Number(answer["region"]) });
  }

  cancel(): void {
    this.sight.app.setHints(null);
    this.restore();
  }

  private restore(): void {
    const model = this.sight.figureIn(this.pane)?.model;
    if (model?.count === this.before.length) model.zones = this.before;
    this.sight.recolour();
  }

  key(event: KeyboardEvent): "done" | null {
    if (event.key !== "Escape") return null;
    this.cancel();
    return "done";
  }

  /** The ring of the brush, in its own view. */
  ring(): Marks["brush"] {
    const hue = this.use === "erase" ? "err" : getRegionColor(this.region);
    return { at: this.point, radius: radiusOf(this.sight), hue };
  }

  mark(marks: Marks): void {
    marks.hover = null;
  }
}
