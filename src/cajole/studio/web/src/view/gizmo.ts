/** Move gizmo: three axes, three planes and a center, of constant size on screen. */

import type { Vec3 } from "../core/types";
import { type ViewCamera, pixelsPerMetre, getCameraPosition, projectPoint } from "./camera";
import type { AxisName, AxisLock } from "./drag";
import { add, AXES, distance, dot, scale, sub, normalize } from "./vec";

export const GIZMO_SIZE = 96; // px
const SHAFT: readonly [number, number] = [0.16, 0.9]; // start and end of the shaft, fractions of the size
const CONE_LENGTH = 0.2; // fraction of the size
const CONE_RADIUS = 0.066;
const SQUARE_SIZE = 0.2; // side of a plane handle …
const SQUARE_OFFSET = 0.36; // … and its offset along both axes
const HIT_DISTANCE = 10; // px
const FADE_END = 8; // angle [degrees] to the viewing direction at which an axis is invisible …
const FADE_START = 14; // … and from which on it is opaque

export type GizmoPart = Exclude<AxisLock, null> | "view";
export type Pixel = [number, number];

interface AxisShape {
  readonly name: AxisName;
  readonly from: Vec3;
  readonly to: Vec3;
  readonly tip: Vec3;
  readonly alpha: number;
}
interface PlaneShape {
  readonly name: "xy" | "yz" | "xz";
  readonly normal: AxisName;
  readonly corners: readonly Vec3[];
  readonly alpha: number;
}
export interface GizmoShape {
  readonly center: Vec3;
  readonly radius: number; // of the cones [m]
  readonly axes: readonly AxisShape[];
  readonly planes: readonly PlaneShape[];
}

/** Gizmo at a point for a camera, in world coordinates [m], farthest axis first. */
export function computeGizmo(camera: ViewCamera, center: Vec3): GizmoShape {
  const size = GIZMO_SIZE / pixelsPerMetre(camera, center);
  const position = getCameraPosition(camera.pose);
  const direction = normalize(sub(center, position));
  const out = (axis: AxisName, share: number): Vec3 => scale(AXES[axis], share * size);
  const axes = (["x", "y", "z"] as const).map((name) => ({
    name, from: add(center, out(name, SHAFT[0])), to: add(center, out(name, SHAFT[1])),
    tip: add(center, out(name, SHAFT[1] + CONE_LENGTH)), alpha: computeFade(Math.abs(dot(AXES[name], direction))),
  }));
  const planes = (
    [
      ["xy", "z"],
      ["yz", "x"],
      ["xz", "y"],
    ] as const
  ).map(([name, normal]) => ({
    name, normal, corners: computeSquare(center, name, out),
    alpha: computeFade(Math.sqrt(Math.max(0, 1 - dot(AXES[normal], direction) ** 2))),
  }));
  axes.sort((a, b) => distance(position, b.tip) - distance(position, a.tip));
  return { center, radius: CONE_RADIUS * size, axes, planes };
}

function computeSquare(center: Vec3, name: string, out: (axis: AxisName, share: number) => Vec3): Vec3[] {
  const [a, b] = [...name] as [AxisName, AxisName];
  const far = SQUARE_OFFSET + SQUARE_SIZE;
  const at = (u: number, v: number): Vec3 => add(center, add(out(a, u), out(b, v)));
  return [at(SQUARE_OFFSET, SQUARE_OFFSET), at(far, SQUARE_OFFSET), at(far, far), at(SQUARE_OFFSET, far)];
}

/** Opacity by the cosine to the viewing direction: 0 if it points at the camera. */
function computeFade(cosine: number): number {
  const degrees = (Math.acos(Math.min(1, cosine)) * 180) / Math.PI;
  return Math.min(1, Math.max(0, (degrees - FADE_END) / (FADE_START - FADE_END)));
}

/** Part of the gizmo under a pixel; of several, the nearest to the camera. */
export function pickGizmo(camera: ViewCamera, shape: GizmoShape, x: number, y: number): GizmoPart | null {
  const at = (point: Vec3): Pixel => {
    const projected = projectPoint(camera, point);
    return [projected.x, projected.y];
  };
  const position = getCameraPosition(camera.pose);
  const center = at(shape.center);
  if (Math.hypot(center[0] - x, center[1] - y) <= HIT_DISTANCE) return "view";
  const hits: { grip: GizmoPart; far: number }[] = [];
  for (const plane of shape.planes) {
    if (plane.alpha > 0.2 && isInsideConvex(plane.corners.map(at), x, y))
      hits.push({ grip: plane.name, far: distance(position, plane.corners[2]) });
  }
  for (const axis of shape.axes) {
    if (axis.alpha > 0.2 && distanceToSegment(at(axis.from), at(axis.tip), x, y) <= HIT_DISTANCE)
      hits.push({ grip: axis.name, far: distance(position, axis.tip) });
  }
  hits.sort((a, b) => a.far - b.far);
  return hits[0]?.grip ?? null;
}

/** Distance [px] from a pixel to a segment. */
export function distanceToSegment([ax, ay]: Pixel, [bx, by]: Pixel, x: number, y: number): number {
  const [dx, dy] = [bx - ax, by - ay];
  const long = dx * dx + dy * dy;
  const share = long === 0 ? 0 : Math.min(1, Math.max(0, ((x - ax) * dx + (y - ay) * dy) / long));
  return Math.hypot(ax + share * dx - x, ay + share * dy - y);
}

/** True if a pixel is inside a convex outline. */
export function isInsideConvex(outline: readonly Pixel[], x: number, y: number): boolean {
  const sides = outline.map(([ax, ay], i) => {
    const [bx, by] = outline[(i + 1) % outline.length];
    return (bx - ax) * (y - ay) - (by - ay) * (x - ax);
  });
  return sides.every((side) => side >= 0) || sides.every((side) => side <= 0);
}
