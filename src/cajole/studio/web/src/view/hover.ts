/** What is under the pointer, in the order in which it may be meant. */

import type { App, Vec3, PositionTarget } from "../core/types";
import { isDragMode, getTargets } from "../core/targets";
import { project } from "./camera";
import type { Sight } from "./gesture";
import { type Grip, gripAt, handleAt, type Pixel } from "./handle";
import type { Dot } from "./marks";
import { pickVertex, REACH } from "./pick";
import type { Selection } from "./selection";
import { vertexOf } from "./vec";

export interface Hover {
  pane: number;
  at: Pixel;
  grip: Grip | null;
  dot: Dot | null; // of a trail
  drag: PositionTarget | null; // a disc of one
  touched: { vertex: number; node: number; near: boolean } | null; // near: the vertex is within reach
}

/** Whether the handle is shown: in Edit and Reroute, where there is something to move and no other tool is in hand. */
export function handleShown(app: App): boolean {
  return isDragMode(app.state) && app.ui.pilot && (app.ui.tool === "select" || app.ui.tool === "move");
}

export function hoverAt(sight: Sight, selection: Selection, dots: readonly Dot[], pane: number, at: Pixel): Hover {
  const nothing: Hover = { pane, at, grip: null, dot: null, drag: null, touched: null };
  const figure = sight.figure();
  if (pane !== 0 || figure === null || !figure.shown || sight.app.state?.mode === "enrich") return nothing;
  const lens = sight.lens(pane);
  const middle = selection.middle;
  const grip = middle !== null && handleShown(sight.app) ? gripAt(lens, handleAt(lens, middle), ...at) : null;
  if (grip !== null) return { ...nothing, grip };
  const dot = dots.find(({ x, y }) => Math.hypot(x - at[0], y - at[1]) <= 6) ?? null;
  if (dot !== null) return { ...nothing, dot };
  const drag = dragAt(sight, at);
  const picked = pickVertex(lens, ...at, figure);
  if (picked === null) return { ...nothing, drag };
  const { vertex, pixels } = picked;
  return { ...nothing, drag, touched: { vertex, node: figure.model.nodeOf(vertex), near: pixels <= REACH } };
}

function dragAt(sight: Sight, at: Pixel): PositionTarget | null {
  const lens = sight.lens(0);
  const near = (place: Vec3 | null): boolean => {
    if (place === null) return false;
    const seen = project(lens, place);
    return seen.depth > 0 && Math.hypot(seen.x - at[0], seen.y - at[1]) <= 10;
  };
  return getTargets(sight.app.state).find((drag) => near(placeOfDrag(sight, drag))) ?? null;
}

/** Where a drag's disc is: at its goal in its own frame, on the body in others. */
export function placeOfDrag(sight: Sight, drag: PositionTarget): Vec3 | null {
  return drag.frame === sight.frame() ? drag.position : sight.placeOf(drag.node);
}

/** The body's vertex whose disc is hovered: of a drag, a pin or a pull; null for none. */
export function discOf({ state }: App, hover: Hover | null): number | null {
  if (hover?.drag) return hover.drag.node;
  const node = hover?.touched?.near ? hover.touched.node : null;
  const { pins = [], loads = [] } = state?.keyframe ?? {};
  const pulls = loads.filter(({ kind }) => kind === "pull");
  return node !== null && [...pins, ...pulls].some(({ nodes }) => nodes.includes(node)) ? node : null;
}

/** Where the dot of a hovered vertex goes. */
export function hoverPlace(sight: Sight, hover: Hover | null): Vec3 | null {
  const figure = sight.figure();
  if (figure === null || hover?.touched?.near !== true) return null;
  return vertexOf(figure.positions, hover.touched.vertex);
}

/** The pointer that says what a press would do. */
export function cursorOf(app: App, hover: Hover | null): string {
  if (hover !== null && app.ui.tool === "brush") return "crosshair";
  if (hover === null || hover.pane !== 0) return "default";
  if (app.project?.field && (app.ui.tool === "push" || app.ui.tool === "impulse")) return "crosshair";
  if (app.ui.tool === "marquee" || app.ui.tool === "measure") return "crosshair";
  if (hover.grip !== null) return "grab";
  return hover.dot !== null || hover.touched?.near === true || hover.drag !== null ? "pointer" : "default";
}

/** Whether two looks are at different things. */
export function differs(one: Hover | null, other: Hover | null): boolean {
  const key = (hover: Hover | null): string =>
    hover === null
      ? ""
      : [hover.grip, hover.dot?.frame, hover.drag?.id, hover.touched?.near ? hover.touched.vertex : -1].join();
  return key(one) !== key(other);
}
