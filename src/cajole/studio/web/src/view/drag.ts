/** How a pointer moves a point: freely in the view's plane, along an axis, or in a plane of two axes. */

import type { Vec3 } from "../core/types";
import type { Ray } from "./camera";
import { add, AXES, dot, length, scale, sub } from "./vec";

export type AxisName = "x" | "y" | "z";
/** What a drag is held to: null is the view's plane, one axis a line, two a plane. */
export type Lock = null | "x" | "y" | "z" | "xy" | "yz" | "xz";

const FINE = 0.1; // of the pointer's way while shift is held

/** How far along a line (unit `axis` through `origin`) the point nearest to a ray lies; null when they are parallel. */
export function alongAxis(ray: Ray, origin: Vec3, axis: Vec3): number | null {
  // |o + s d - (p + t a)|² is least where both derivatives vanish
  const apart = sub(origin, ray.origin);
  const b = dot(ray.direction, axis);
  const det = 1 - b * b;
  if (det < 1e-9) return null;
  return (b * dot(ray.direction, apart) - dot(axis, apart)) / det;
}

/** Where a ray meets the plane through `origin`; null when it runs along it, or away from it. */
export function onPlane(ray: Ray, origin: Vec3, normal: Vec3): Vec3 | null {
  const facing = dot(ray.direction, normal);
  if (Math.abs(facing) < 1e-6) return null;
  const far = dot(sub(origin, ray.origin), normal) / facing;
  return far > 0 ? add(ray.origin, scale(ray.direction, far)) : null;
}

/** The way [m] from the anchor to the pointer's place under a lock, or null where the pointer says nothing. */
export function wayOf(ray: Ray, anchor: Vec3, lock: Lock, forward: Vec3): Vec3 | null {
  if (lock === null) return from(anchor, onPlane(ray, anchor, forward));
  if (lock.length === 1) {
    const axis = AXES[lock as AxisName];
    const along = alongAxis(ray, anchor, axis);
    return along === null ? null : scale(axis, along);
  }
  const normal = (["x", "y", "z"] as const).find((name) => !lock.includes(name))!;
  return from(anchor, onPlane(ray, anchor, AXES[normal]));
}

const from = (anchor: Vec3, point: Vec3 | null): Vec3 | null => (point === null ? null : sub(point, anchor));

/** Each number rounded to whole steps. */
export const snapped = (way: Vec3, step: number): Vec3 => way.map((value) => Math.round(value / step) * step) as Vec3;

/** The lock after a key: the same again is free; shift means the plane without that axis. */
export function nextLock(lock: Lock, axis: AxisName, plane: boolean): Lock {
  const wanted = plane ? ("xyz".replace(axis, "") as "xy" | "yz" | "xz") : axis;
  return lock === wanted ? null : wanted;
}

/** Which axes a lock leaves to be typed, in the order of Tab. */
export const axesOf = (lock: Lock): AxisName[] => (lock === null ? ["x", "y", "z"] : ([...lock] as AxisName[]));

/** A drag under way: pointer rays go in, the point's way [m] from where it was comes out. */
export class Drag {
  readonly anchor: Vec3;
  private readonly start: Ray;
  private last: Ray;
  private moved: Vec3 = [0, 0, 0];
  private forward: Vec3;
  private bond: Lock;

  constructor(anchor: Vec3, start: Ray, lock: Lock, forward: Vec3) {
    this.anchor = anchor;
    this.start = start;
    this.last = start;
    this.bond = lock;
    this.forward = forward;
  }

  get lock(): Lock {
    return this.bond;
  }

  /** The way so far [m]. */
  get way(): Vec3 {
    return this.moved;
  }

  get size(): number {
    return length(this.moved);
  }

  /** Where the point is asked to be. */
  get place(): Vec3 {
    return add(this.anchor, this.moved);
  }

  /** Hold the drag to something else; what the pointer did so far counts under the new lock. */
  hold(lock: Lock): void {
    this.bond = lock;
    this.moved = this.step(this.start, this.last) ?? [0, 0, 0];
  }

  /** The pointer moved; fine: only a tenth of its way counts. */
  to(ray: Ray, fine: boolean): void {
    const step = this.step(this.last, ray);
    if (step === null) return; // the axis points at the eye: wait for a pointer that says something
    this.moved = add(this.moved, scale(step, fine ? FINE : 1));
    this.last = ray;
  }

  /** The way by typed amounts [m] of some axes; the others stay. */
  typed(amounts: Partial<Record<AxisName, number>>): void {
    this.moved = [amounts.x ?? 0, amounts.y ?? 0, amounts.z ?? 0];
  }

  private step(from: Ray, to: Ray): Vec3 | null {
    const before = wayOf(from, this.anchor, this.bond, this.forward);
    const after = wayOf(to, this.anchor, this.bond, this.forward);
    return before === null || after === null ? null : sub(after, before);
  }
}
