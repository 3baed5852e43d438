/** Compose the overlay marks from the state and the active gesture. */

import { formatForce, formatNumber } from "../core/format";
import { formatPush, getPushStiffness } from "../core/push-settings";
import { getTargets } from "../core/targets";
import type { App, ProjectState, SteerUpdate, Trail, Vec3 } from "../core/types";
import type { ViewContext } from "./gesture";
import { createGoalBalls, createGoalPaths } from "./goal-marks";
import { getHoverPosition, getTargetPosition, isGizmoVisible } from "./hover";
import { type ArrowMark, createMarks, type DiscMark, type Marks, type TrailMark } from "./marks";
import type { PointerController } from "./pointer-controller";
import type { Selection } from "./selection";
import { getVertex, length, scale } from "./vec";

const DISC_SIZE = 13; // px: diameter of a disc, …
const ACTIVE_DISC_SIZE = 19; // … of the one with the gizmo, …
const SMALL_DISC_SIZE = 9; // … of another frame or a pin
const FLOW_ARROW_SCALE = 0.45; // arrows of a flow are shorter, since they are dense

const trailMarks = new WeakMap<Trail, TrailMark>();

/** Trail as typed arrays, cached. */
function getTrailMark(trail: Trail): TrailMark {
  const known = trailMarks.get(trail);
  if (known) return known;
  const mark = { given: trail.given && Float32Array.from(trail.given), result: Float32Array.from(trail.result) };
  trailMarks.set(trail, mark);
  return mark;
}

/** Marks of the first view. */
export function composeCurrentMarks(
  view: ViewContext,
  selection: Selection,
  pointer: PointerController,
  update: SteerUpdate | null,
): Marks {
  const marks = createMarks();
  const { app } = view;
  const { state } = app;
  if (state === null || view.getBodyMesh()?.hasPositions !== true) return marks;
  if (app.ui.trails && (state.mode !== "keyframe" || app.ui.views === 1)) marks.trails = state.trails.map(getTrailMark);
  marks.contacts = state.edit?.contacts ? state.edit.contact_points : [];
  marks.faces = getIntersectingFaces(view, 0);
  marks.paths = createGoalPaths(app);
  marks.balls = createGoalBalls(view, pointer.gesture === null ? (pointer.hover?.drag?.id ?? null) : null);
  marks.halos = createHalos(view, state, pointer.hoveredNode);
  marks.discs = [
    ...createDragDiscs(view, state, pointer),
    ...createPinDiscs(state),
    ...createSelectionDiscs(selection),
  ];
  marks.arrows = [...createLoadArrows(app, state), ...createSteerArrows(app, state, update, pointer)];
  const center = selection.center;
  if (center !== null && isGizmoVisible(app))
    marks.handle = { at: center, grip: pointer.hover?.grip ?? null, held: false, lock: null };
  marks.hover = app.ui.pilot ? getHoverPosition(view, pointer.hover) : null;
  pointer.addMarks(marks);
  return marks;
}

/** Marks of the second view: trails of Keyframe, goal paths of Reroute. */
export function composeResultMarks(view: ViewContext): Marks {
  const marks = createMarks();
  const { app } = view;
  marks.faces = getIntersectingFaces(view, 1);
  marks.paths = createGoalPaths(app);
  if (app.state?.reroute) marks.balls = createGoalBalls(view, null);
  if (app.state?.mode === "keyframe" && app.ui.trails) marks.trails = app.state.trails.map(getTrailMark);
  return marks;
}

/** Triangles of the guide or shell that intersect themselves in the first frame. */
function getIntersectingFaces(view: ViewContext, pane: number): Vec3[][] {
  const crossed = view.app.state?.enrich?.crossed;
  const mesh = view.getMesh(pane);
  if (!crossed || !mesh?.hasPositions) return [];
  const faces = pane === 0 ? crossed.guide : crossed.shell;
  return faces.map((face) => [0, 1, 2].map((i) => getVertex(mesh.positions, mesh.faces[3 * face + i])));
}

function createDragDiscs(view: ViewContext, state: ProjectState, pointer: PointerController): DiscMark[] {
  const frame = view.getFrame();
  return (state.edit?.drags ?? []).flatMap((drag) => {
    const at = getTargetPosition(view, drag);
    if (at === null) return [];
    const label =
      pointer.gesture === null && pointer.hover?.drag?.id === drag.id ? `${drag.name} · f ${formatNumber(drag.frame)}` : null;
    return [{ at, size: drag.frame === frame && !drag.pin ? DISC_SIZE : SMALL_DISC_SIZE + 1, warn: drag.warn !== null, label }];
  });
}

/** Positions to highlight for a hovered vertex: its targets, its pin, else the vertex. */
function createHalos(view: ViewContext, state: ProjectState, node: number | null): Vec3[] {
  if (node === null) return [];
  const pin = state.keyframe?.pins.find(({ nodes }) => nodes.includes(node));
  if (pin) return pin.places;
  const drags = getTargets(state).filter((drag) => drag.node === node);
  const positions = drags.length > 0 ? drags.map((drag) => getTargetPosition(view, drag)) : [view.getPosition(node)];
  return positions.filter((position) => position !== null);
}

function createPinDiscs(state: ProjectState): DiscMark[] {
  return (state.keyframe?.pins ?? []).flatMap((pin) => pin.places.map((at) => ({ at, size: SMALL_DISC_SIZE })));
}

function createSelectionDiscs(selection: Selection): DiscMark[] {
  const { points, center } = selection;
  if (center === null) return [];
  if (points.length === 1) return [{ at: center, size: ACTIVE_DISC_SIZE, active: true }];
  return [...points.map(({ position }) => ({ at: position, size: DISC_SIZE })), { at: center, size: ACTIVE_DISC_SIZE, active: true }];
}

/** Arrows of the pulls of a pose, in the length of the drag. */
function createLoadArrows(app: App, state: ProjectState): ArrowMark[] {
  const { project } = app;
  if (project === null) return [];
  return (state.keyframe?.loads ?? [])
    .filter((load) => load.kind === "pull")
    .map((load) => ({
      at: load.at,
      offset: scale(load.force, 1 / (load.stiffness ?? getPushStiffness(project))),
      tone: "asked",
      pixels: 4.5,
      disc: true,
      alpha: load.muted ? 0.45 : 1,
      label: formatForce(load.strength),
      replaceable: !load.frozen,
    }));
}

/** Arrows of control forces, and of the active push unless a gesture draws it. */
function createSteerArrows(app: App, state: ProjectState, update: SteerUpdate | null, pointer: PointerController): ArrowMark[] {
  const { project } = app;
  if (project === null || update === null || state.mode !== "steer") return [];
  const added: ArrowMark[] = update.arrows.map((arrow) => ({
    at: arrow.slice(0, 3) as Vec3,
    offset: computeForceArrow(arrow.slice(3, 6) as Vec3, project.weight, (project.field ? FLOW_ARROW_SCALE : 1) * project.size),
    tone: "added",
    pixels: 2.6,
  }));
  if (update.push === null || update.at === null || pointer.gesture !== null) return added;
  const label = `your push · ${formatPush(project, length(update.push))}`;
  return [
    ...added,
    { at: update.at, offset: scale(update.push, 1 / getPushStiffness(project)), tone: "world", pixels: 4.5, disc: true, label },
  ];
}

const WEIGHT_ARROW_LENGTH = 0.35; // fraction of the body size: arrow of a force equal to the body weight

/**
 * Offset [m] of the arrow of a force [N], scaled by the square root of its magnitude.
 *
 * weight [N] and size [m] are the body's.
 */
export function computeForceArrow(force: Vec3, weight: number, size: number): Vec3 {
  const strength = length(force);
  if (strength === 0 || weight <= 0) return [0, 0, 0];
  return scale(force, (WEIGHT_ARROW_LENGTH * size * Math.sqrt(strength / weight)) / strength);
}
