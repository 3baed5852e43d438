/** The handle at a dragged point: three axes, three planes and a centre, of the same size on the screen everywhere. */

import type { Vec3 } from "../core/types";
import { type Lens, pixelsPerMetre, placeOf, project } from "./camera";
import type { AxisName, Lock } from "./drag";
import { add, AXES, distance, dot, scale, sub, unit } from "./vec";

export const SIZE = 96; // px
export const SHAFT: readonly [number, number] = [0.16, 0.9]; // of the size
export const CONE = 0.2; // its length
export const CONE_RADIUS = 0.066;
const SQUARE = 0.2; // side of a plane's square …
const SQUARE_AT = 0.36; // … and where it begins along both axes
const HIT = 10; // px
const NARROW = 8; // degrees from the line of sight at which an axis has faded out …
const CLEAR = 14; // … and from which on it is whole

export type Grip = Exclude<Lock, null> | "view";
export type Pixel = [number, number];

export interface AxisShape {
  readonly name: AxisName;
  readonly from: Vec3;
  readonly to: Vec3;
  readonly tip: Vec3;
  readonly alpha: number;
}
export interface PlaneShape {
  readonly name: "xy" | "yz" | "xz";
  readonly normal: AxisName;
  readonly corners: readonly Vec3[];
  readonly alpha: number;
}
export interface HandleShape {
  readonly centre: Vec3;
  readonly radius: number; // of the cones [m]
  readonly axes: readonly AxisShape[];
  readonly planes: readonly PlaneShape[];
}

/** The handle at a point, as a lens sees it: metres in the world, farthest part first. */
export function handleAt(lens: Lens, centre: Vec3): HandleShape {
  const size = SIZE / pixelsPerMetre(lens, centre);
  const eye = placeOf(lens.eye);
  const sight = unit(sub(centre, eye));
  const out = (axis: AxisName, share: number): Vec3 => scale(AXES[axis], share * size);
  const axes = (["x", "y", "z"] as const).map((name) => ({
    name,
    from: add(centre, out(name, SHAFT[0])),
    to: add(centre, out(name, SHAFT[1])),
    tip: add(centre, out(name, SHAFT[1] + CONE)),
    alpha: clear(Math.abs(dot(AXES[name], sight))),
  }));
  const planes = (
    [
      ["xy", "z"],
      ["yz", "x"],
      ["xz", "y"],
    ] as const
  ).map(([name, normal]) => ({
    name,
    normal,
    corners: square(centre, name, out),
    alpha: clear(Math.sqrt(Math.max(0, 1 - dot(AXES[normal], sight) ** 2))),
  }));
  axes.sort((a, b) => distance(eye, b.tip) - distance(eye, a.tip));
  return { centre, radius: CONE_RADIUS * size, axes, planes };
}

function square(centre: Vec3, name: string, out: (axis: AxisName, share: number) => Vec3): Vec3[] {
  const [a, b] = [...name] as [AxisName, AxisName];
  const far = SQUARE_AT + SQUARE;
  const at = (u: number, v: number): Vec3 => add(centre, add(out(a, u), out(b, v)));
  return [at(SQUARE_AT, SQUARE_AT), at(far, SQUARE_AT), at(far, far), at(SQUARE_AT, far)];
}

/** How much is left of what has this cosine to the line of sight: nothing when it points at the eye. */
function clear(cosine: number): number {
  const degrees = (Math.acos(Math.min(1, cosine)) * 180) / Math.PI;
  return Math.min(1, Math.max(0, (degrees - NARROW) / (CLEAR - NARROW)));
}

/** What of the handle a pixel means; where several are met, the nearest to the camera. */
export function gripAt(lens: Lens, shape: HandleShape, x: number, y: number): Grip | null {
  const at = (point: Vec3): Pixel => {
    const seen = project(lens, point);
    return [seen.x, seen.y];
  };
  const eye = placeOf(lens.eye);
  const middle = at(shape.centre);
  if (Math.hypot(middle[0] - x, middle[1] - y) <= HIT) return "view";
  const met: { grip: Grip; far: number }[] = [];
  for (const plane of shape.planes) {
    if (plane.alpha > 0.2 && inside(plane.corners.map(at), x, y))
      met.push({ grip: plane.name, far: distance(eye, plane.corners[2]) });
  }
  for (const axis of shape.axes) {
    if (axis.alpha > 0.2 && apart(at(axis.from), at(axis.tip), x, y) <= HIT)
      met.push({ grip: axis.name, far: distance(eye, axis.tip) });
  }
  met.sort((a, b) => a.far - b.far);
  return met[0]?.grip ?? null;
}

/** Distance [px] of a pixel from a segment. */
export function apart([ax, ay]: Pixel, [bx, by]: Pixel, x: number, y: number): number {
  const [dx, dy] = [bx - ax, by - ay];
  const long = dx * dx + dy * dy;
  const share = long === 0 ? 0 : Math.min(1, Math.max(0, ((x - ax) * dx + (y - ay) * dy) / long));
  return Math.hypot(ax + share * dx - x, ay + share * dy - y);
}

/** Whether a pixel is in a convex outline. */
export function inside(outline: readonly Pixel[], x: number, y: number): boolean {
  const sides = outline.map(([ax, ay], i) => {
    const [bx, by] = outline[(i + 1) % outline.length];
    return (bx - ax) * (y - ay) - (by - ay) * (x - ax);
  });
  return sides.every((side) => side >= 0) || sides.every((side) => side <= 0);
}
