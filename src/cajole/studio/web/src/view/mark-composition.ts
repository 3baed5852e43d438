/** Compose the overlay marks from the state, the mode and the active gesture. */

import { getCurrentMode, getMode, getTargets } from "../core/modes";
import type { ProjectState, PulseMessage, Trail, Vec3 } from "../core/types";
import type { ViewContext } from "./gesture";
import { getHoverPosition, getTargetPosition, isGizmoVisible } from "./hover";
import { createMarks, type DiscMark, type MarkContext, type Marks, type TrailMark } from "./marks";
import type { PointerController } from "./pointer-controller";
import type { Selection } from "./selection";
import { length, scale } from "./vec";

export const DISC_SIZE = 13; // px: diameter of a disc, …
const ACTIVE_DISC_SIZE = 19; // … of the one with the gizmo, …
export const SMALL_DISC_SIZE = 9; // … of another frame or a pin

const trailMarks = new WeakMap<Trail, TrailMark>();

/** Trail as typed arrays, cached. */
function getTrailMark(trail: Trail): TrailMark {
  const known = trailMarks.get(trail);
  if (known) return known;
  const mark = { given: trail.given && Float32Array.from(trail.given), result: Float32Array.from(trail.result) };
  trailMarks.set(trail, mark);
  return mark;
}

/** Marks of both views. */
export function composeMarks(
  view: ViewContext,
  selection: Selection,
  pointer: PointerController,
  liveUpdate: PulseMessage | null,
): [Marks, Marks] {
  const [first, second] = [createMarks(), createMarks()];
  const { app } = view;
  const { state } = app;
  const mode = getCurrentMode(app);
  if (state === null || mode === null) return [first, second];
  const isGestureActive = pointer.gesture !== null;
  const context: MarkContext = { hoveredTarget: isGestureActive ? null : (pointer.hover?.drag?.id ?? null), isGestureActive, liveUpdate };
  mode.addMarks?.(second, view, 1, context);
  if (mode.showsTrailsOfResult && app.ui.trails) second.trails = state.trails.map(getTrailMark);
  if (view.getBodyMesh()?.hasPositions !== true) return [first, second];
  mode.addMarks?.(first, view, 0, context);
  if (app.ui.trails && (!mode.showsTrailsOfResult || app.ui.views === 1)) first.trails = state.trails.map(getTrailMark);
  first.halos = createHalos(view, state, pointer.hoveredNode);
  first.discs.push(...createSelectionDiscs(selection));
  const center = selection.center;
  if (center !== null && isGizmoVisible(app))
    first.handle = { at: center, grip: pointer.hover?.grip ?? null, held: false, lock: null };
  first.hover = app.ui.pilot ? getHoverPosition(view, pointer.hover) : null;
  pointer.addMarks(first);
  return [first, second];
}

/** Positions to highlight for a hovered vertex: its discs, its targets, else the vertex. */
function createHalos(view: ViewContext, state: ProjectState, node: number | null): Vec3[] {
  if (node === null) return [];
  const disc = getMode(state.mode).getDiscs?.(state).find(({ nodes, positions }) => positions && nodes.includes(node));
  if (disc?.positions) return disc.positions;
  const targets = getTargets(state).filter((target) => target.node === node);
  const positions = targets.length > 0 ? targets.map((target) => getTargetPosition(view, target)) : [view.getPosition(node)];
  return positions.filter((position) => position !== null);
}

function createSelectionDiscs({ points, center }: Selection): DiscMark[] {
  if (center === null) return [];
  if (points.length === 1) return [{ at: center, size: ACTIVE_DISC_SIZE, active: true }];
  return [...points.map(({ position }) => ({ at: position, size: DISC_SIZE })), { at: center, size: ACTIVE_DISC_SIZE, active: true }];
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
