/** Brush tool of Enrich: paint regions on the guide or on the shell. */

import { Color } from "three";
import { getToken } from "../../core/theme";
import type { App, Vec3 } from "../../core/types";
import { findWithinRadius } from "../../view/adjacency";
import { getPixelRay } from "../../view/camera";
import { CameraDrag, CANCEL_HINT, type Gesture, type ViewContext, type ViewTool } from "../../view/gesture";
import type { Pixel } from "../../view/gizmo";
import type { Marks } from "../../view/marks";
import { pickTriangle, type TriangleHit } from "../../view/picking";
import type { LinearColor } from "../../view/surface-model";
import { brush, getRegionColor, setBrush } from "./brush-settings";

const NO_REGION = -1; // region id of vertices without a region
/** Fraction of the region color over the base color, which still distinguishes guide and shell. */
const REGION_COLOR_STRENGTH = 0.9;
const DAB_SPACING = 6; // px between samples of a stroke

/** Surface point under a pixel, null if there is none. */
function pickSurface(view: ViewContext, pane: number, at: Pixel): TriangleHit | null {
  const mesh = view.getMesh(pane);
  return mesh?.hasPositions ? pickTriangle(getPixelRay(view.getCamera(pane), ...at), mesh.positions, mesh.faces) : null;
}

/** Brush radius [m]. */
const getBrushRadius = (view: ViewContext): number => brush.radius * (view.app.project?.size ?? 1);

/** Color token of the brush cursor. */
function getBrushColor(view: ViewContext, pane: number): string {
  if (brush.mode === "erase") return "err";
  return getRegionColor(brush.mode === "new" ? getNextRegion(view, pane) : brush.region);
}

/** Id of the next new region. */
function getNextRegion(view: ViewContext, pane: number): number {
  let highest = NO_REGION;
  for (const each of [pane, 1 - pane])
    for (const region of view.getMesh(each)?.model.regions ?? []) highest = Math.max(highest, region);
  return 1 + highest;
}

/** Make the region under the pointer the active one. */
function pickRegion(view: ViewContext, pane: number, hit: TriangleHit): void {
  const { model, positions } = view.getMesh(pane)!;
  const corners = getCorners(view, pane, hit);
  const [vertex] = findWithinRadius(positions, model.adjacency, corners, hit.point, 0);
  const region = model.regions?.[vertex] ?? NO_REGION;
  if (region === NO_REGION) return;
  setBrush({ region, mode: "add" });
  view.announce(`region ${region} selected`);
}

function getCorners(view: ViewContext, pane: number, hit: TriangleHit): number[] {
  return [0, 1, 2].map((i) => view.getMesh(pane)!.faces[3 * hit.triangle + i]);
}

/** Colors of guide and shell by region. A result hides them, except while the brush is active. */
export function getRegionColors({ state, ui }: App, isGuide: boolean): { base: string; palette(region: number): LinearColor } {
  const { result, running } = state!.enrich!;
  const isColored = brush.shown && (ui.tool === "brush" || (result === null && running === null));
  const base = isGuide ? "given-swatch" : "clay";
  const mixed = new Map<number, LinearColor>();
  const mix = (region: number): LinearColor => {
    const under = new Color().setStyle(getToken(base));
    return isColored ? under.lerp(new Color().setStyle(getToken(getRegionColor(region))), REGION_COLOR_STRENGTH) : under;
  };
  const palette = (region: number): LinearColor => {
    const color = mixed.get(region) ?? mix(region);
    mixed.set(region, color);
    return color;
  };
  return { base, palette };
}

/** The brush between strokes: its cursor, and the gesture that a press starts. */
export class BrushTool implements ViewTool {
  private cursor: { pane: number; mark: NonNullable<Marks["brush"]> } | null = null;

  constructor(private readonly view: ViewContext) {}

  /** True if a press paints: the tab may edit and no job is running. */
  get isActive(): boolean {
    const { ui, state } = this.view.app;
    return ui.tool === "brush" && ui.pilot && state?.enrich?.running === null;
  }

  /** Gesture that a press starts; null beside the body. */
  startGesture(event: PointerEvent, pane: number, at: Pixel): Gesture | null {
    const hit = pickSurface(this.view, pane, at);
    if (hit === null) return null;
    this.cursor = null;
    if (!event.altKey) return new BrushStroke(this.view, pane, at, hit);
    return new CameraDrag(pane, at, () => undefined, () => pickRegion(this.view, pane, hit));
  }

  /** Move the cursor to a pixel of a view, null to hide it. */
  updateCursor(location: { pane: number; at: Pixel } | null): void {
    if (!this.isActive && this.cursor === null) return;
    const hit = location && this.isActive ? pickSurface(this.view, location.pane, location.at) : null;
    const token = location ? getBrushColor(this.view, location.pane) : "";
    this.cursor = hit && { pane: location!.pane, mark: { at: hit.point, radius: getBrushRadius(this.view), token } };
    this.view.requestOverlay();
  }

  /** Add the cursor to the marks of its view. */
  addMarks(marks: Marks[], gesture: Gesture | null): void {
    if (gesture instanceof BrushStroke) marks[gesture.pane].brush = gesture.getCursorMark();
    else if (this.cursor !== null && this.isActive) marks[this.cursor.pane].brush = this.cursor.mark;
  }
}

/** One brush stroke: previewed locally, sent on release, one undo step. */
class BrushStroke implements Gesture {
  private readonly before: Int32Array<ArrayBuffer>;
  private readonly region: number;
  private readonly mode = brush.mode;
  private readonly touched = new Set<number>();
  private last: Pixel;
  private point: Vec3;

  constructor(private readonly view: ViewContext, readonly pane: number, start: Pixel, hit: TriangleHit) {
    const { model } = view.getMesh(pane)!;
    this.before = model.regions?.slice() ?? new Int32Array(model.count).fill(NO_REGION);
    this.region = { erase: NO_REGION, new: getNextRegion(view, pane), add: brush.region }[this.mode];
    this.last = start;
    this.point = hit.point;
    view.app.setHints([["Drag", "paint"], CANCEL_HINT]);
    this.paintAt(hit);
  }

  move(at: Pixel): void {
    const distance = Math.hypot(at[0] - this.last[0], at[1] - this.last[1]);
    const steps = Math.max(1, Math.ceil(distance / DAB_SPACING));
    for (let i = 1; i <= steps; i++) {
      const share = i / steps;
      const hit = pickSurface(this.view, this.pane, [
        this.last[0] + share * (at[0] - this.last[0]),
        this.last[1] + share * (at[1] - this.last[1]),
      ]);
      if (hit) this.paintAt(hit);
    }
    this.last = at;
  }

  private paintAt(hit: TriangleHit): void {
    const { model, positions } = this.view.getMesh(this.pane)!;
    const corners = getCorners(this.view, this.pane, hit);
    const regions = (model.regions ??= new Int32Array(model.count).fill(NO_REGION));
    for (const vertex of findWithinRadius(positions, model.adjacency, corners, hit.point, getBrushRadius(this.view))) {
      this.touched.add(vertex);
      regions[vertex] = this.region;
    }
    this.point = hit.point;
    this.view.updateColors();
  }

  release(): void {
    this.view.app.setHints(null);
    const region = this.mode === "new" ? null : this.region;
    const nodes = [...this.touched];
    void this.view.app
      .request("paint", { on: this.pane === 0 ? "guide" : "shell", region, nodes, both: brush.both })
      .then(
        (answer) => this.mode === "new" && setBrush({ mode: "add", region: answer.region }), // paint on with the new region
        () => this.restore(),
      );
    this.view.announce(`${nodes.length === 1 ? "one vertex" : `${nodes.length} vertices`} painted`);
  }

  cancel(): void {
    this.view.app.setHints(null);
    this.restore();
  }

  private restore(): void {
    const model = this.view.getMesh(this.pane)?.model;
    if (model?.count === this.before.length) model.regions = this.before;
    this.view.updateColors();
  }

  handleKey(event: KeyboardEvent): "done" | null {
    if (event.key !== "Escape") return null;
    this.cancel();
    return "done";
  }

  /** Cursor at the last painted point. */
  getCursorMark(): Marks["brush"] {
    const token = this.mode === "erase" ? "err" : getRegionColor(this.region);
    return { at: this.point, radius: getBrushRadius(this.view), token };
  }

  addMarks(marks: Marks): void {
    marks.hover = null;
  }
}
