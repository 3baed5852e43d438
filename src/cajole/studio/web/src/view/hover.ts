/** Hit test under the pointer: gizmo, trail dot, target disc, then vertex. */

import type { App, Vec3, PositionTarget } from "../core/types";
import { getCurrentMode, getTargets } from "../core/modes";
import { projectPoint } from "./camera";
import type { ViewContext } from "./gesture";
import { type GizmoPart, pickGizmo, computeGizmo, type Pixel } from "./gizmo";
import type { TrailDot } from "./marks";
import { pickVertex, PICK_RADIUS } from "./picking";
import type { Selection } from "./selection";
import { getVertex } from "./vec";

export interface HoverTarget {
  pane: number;
  at: Pixel;
  grip: GizmoPart | null;
  dot: TrailDot | null; // of a trail
  drag: PositionTarget | null; // its disc
  touched: { vertex: number; node: number; near: boolean } | null; // near: within the pick radius
}

/** True if the gizmo may show: where vertices can be dragged, with the select or move tool. */
export function isGizmoVisible(app: App): boolean {
  return getCurrentMode(app)?.allowsVertexDrag === true && app.ui.pilot && (app.ui.tool === "select" || app.ui.tool === "move");
}

export function findHover(view: ViewContext, selection: Selection, dots: readonly TrailDot[], pane: number, at: Pixel): HoverTarget {
  const nothing: HoverTarget = { pane, at, grip: null, dot: null, drag: null, touched: null };
  const mesh = view.getBodyMesh();
  if (pane !== 0 || mesh === null || !mesh.hasPositions || getCurrentMode(view.app)?.ignoresVertices) return nothing;
  const camera = view.getCamera(pane);
  const center = selection.center;
  const grip = center !== null && isGizmoVisible(view.app) ? pickGizmo(camera, computeGizmo(camera, center), ...at) : null;
  if (grip !== null) return { ...nothing, grip };
  const dot = dots.find(({ x, y }) => Math.hypot(x - at[0], y - at[1]) <= 6) ?? null;
  if (dot !== null) return { ...nothing, dot };
  const drag = findTargetAt(view, at);
  const picked = pickVertex(camera, ...at, mesh);
  if (picked === null) return { ...nothing, drag };
  const { vertex, pixels } = picked;
  return { ...nothing, drag, touched: { vertex, node: mesh.model.getNode(vertex), near: pixels <= PICK_RADIUS } };
}

function findTargetAt(view: ViewContext, at: Pixel): PositionTarget | null {
  const camera = view.getCamera(0);
  const near = (position: Vec3 | null): boolean => {
    if (position === null) return false;
    const projected = projectPoint(camera, position);
    return projected.depth > 0 && Math.hypot(projected.x - at[0], projected.y - at[1]) <= 10;
  };
  return getTargets(view.app.state).find((drag) => near(getTargetPosition(view, drag))) ?? null;
}

/** Position of a target's disc: the target itself at its frame, else the vertex. */
export function getTargetPosition(view: ViewContext, drag: PositionTarget): Vec3 | null {
  return drag.frame === view.getFrame() ? drag.position : view.getPosition(drag.node);
}

/** Vertex whose disc is hovered: of a target, a pin or a pull; null for none. */
export function getHoveredDiscNode(app: App, hover: HoverTarget | null): number | null {
  if (hover?.drag) return hover.drag.node;
  const node = hover?.touched?.near ? hover.touched.node : null;
  const discs = (app.state && getCurrentMode(app)?.getDiscs?.(app.state)) ?? [];
  return node !== null && discs.some(({ nodes }) => nodes.includes(node)) ? node : null;
}

/** Position of the dot on the hovered vertex. */
export function getHoverPosition(view: ViewContext, hover: HoverTarget | null): Vec3 | null {
  const mesh = view.getBodyMesh();
  if (mesh === null || hover?.touched?.near !== true) return null;
  return getVertex(mesh.positions, hover.touched.vertex);
}

/** CSS cursor for the action of a press. */
export function getCursor(app: App, hover: HoverTarget | null): string {
  if (hover !== null && app.ui.tool === "brush") return "crosshair";
  if (hover === null || hover.pane !== 0) return "default";
  if (app.project?.field && (app.ui.tool === "push" || app.ui.tool === "impulse")) return "crosshair";
  if (app.ui.tool === "marquee" || app.ui.tool === "measure") return "crosshair";
  if (hover.grip !== null) return "grab";
  return hover.dot !== null || hover.touched?.near === true || hover.drag !== null ? "pointer" : "default";
}

/** True if two hover targets differ. */
export function hasHoverChanged(one: HoverTarget | null, other: HoverTarget | null): boolean {
  const key = (hover: HoverTarget | null): string =>
    hover === null
      ? ""
      : [hover.grip, hover.dot?.frame, hover.drag?.id, hover.touched?.near ? hover.touched.vertex : -1].join();
  return key(one) !== key(other);
}
