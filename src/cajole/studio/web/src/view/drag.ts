/** Drag constraints: in the view plane, along an axis, or in an axis plane. */

import type { Vec3 } from "../core/types";
import type { Ray } from "./camera";
import { add, AXES, dot, length, scale, sub } from "./vec";

export type AxisName = "x" | "y" | "z";
/** Constraint of a drag: null is the view plane, one letter an axis, two a plane. */
export type AxisLock = null | "x" | "y" | "z" | "xy" | "yz" | "xz";

const FINE_FACTOR = 0.1; // pointer speed while Shift is held

/** Parameter [m] along an axis through `origin` of the point closest to a ray; null if they are parallel. */
export function closestOnAxis(ray: Ray, origin: Vec3, axis: Vec3): number | null {
  // |o + s d - (p + t a)|² is least where both derivatives vanish
  const apart = sub(origin, ray.origin);
  const b = dot(ray.direction, axis);
  const det = 1 - b * b;
  if (det < 1e-9) return null;
  return (b * dot(ray.direction, apart) - dot(axis, apart)) / det;
}

/** Intersect a ray with a plane; null if it is parallel or points away. */
export function intersectPlane(ray: Ray, origin: Vec3, normal: Vec3): Vec3 | null {
  const facing = dot(ray.direction, normal);
  if (Math.abs(facing) < 1e-6) return null;
  const distance = dot(sub(origin, ray.origin), normal) / facing;
  return distance > 0 ? add(ray.origin, scale(ray.direction, distance)) : null;
}

/** Offset [m] from the anchor to the pointer under a lock; null where it is undefined. */
function computeOffset(ray: Ray, anchor: Vec3, lock: AxisLock, forward: Vec3): Vec3 | null {
  if (lock === null) return subtractAnchor(anchor, intersectPlane(ray, anchor, forward));
  if (lock.length === 1) {
    const axis = AXES[lock as AxisName];
    const along = closestOnAxis(ray, anchor, axis);
    return along === null ? null : scale(axis, along);
  }
  const normal = (["x", "y", "z"] as const).find((name) => !lock.includes(name))!;
  return subtractAnchor(anchor, intersectPlane(ray, anchor, AXES[normal]));
}

const subtractAnchor = (anchor: Vec3, point: Vec3 | null): Vec3 | null => (point === null ? null : sub(point, anchor));

/** Offset rounded to multiples of `step`. */
export const snapped = (offset: Vec3, step: number): Vec3 => offset.map((value) => Math.round(value / step) * step) as Vec3;

/** Lock after an axis key: the same key again unlocks; plane: the plane perpendicular to the axis. */
export function toggleLock(lock: AxisLock, axis: AxisName, plane: boolean): AxisLock {
  const next = plane ? ("xyz".replace(axis, "") as "xy" | "yz" | "xz") : axis;
  return lock === next ? null : next;
}

/** Axes that can be typed under a lock, in Tab order. */
export const getLockAxes = (lock: AxisLock): AxisName[] => (lock === null ? ["x", "y", "z"] : ([...lock] as AxisName[]));

/** Accumulates pointer rays into the offset [m] of the dragged point. */
export class DragTracker {
  readonly anchor: Vec3;
  private readonly start: Ray;
  private last: Ray;
  private total: Vec3 = [0, 0, 0];
  private forward: Vec3;
  private axisLock: AxisLock;

  constructor(anchor: Vec3, start: Ray, lock: AxisLock, forward: Vec3) {
    this.anchor = anchor;
    this.start = start;
    this.last = start;
    this.axisLock = lock;
    this.forward = forward;
  }

  get lock(): AxisLock {
    return this.axisLock;
  }

  /** Offset so far [m]. */
  get offset(): Vec3 {
    return this.total;
  }

  get distance(): number {
    return length(this.total);
  }

  /** Target position of the point. */
  get position(): Vec3 {
    return add(this.anchor, this.total);
  }

  /** Change the lock; the pointer path so far is applied under the new one. */
  setLock(lock: AxisLock): void {
    this.axisLock = lock;
    this.total = this.computeStep(this.start, this.last) ?? [0, 0, 0];
  }

  /** Move the pointer; fine: at a tenth of its speed. */
  moveTo(ray: Ray, fine: boolean): void {
    const step = this.computeStep(this.last, ray);
    if (step === null) return; // the axis points at the camera
    this.total = add(this.total, scale(step, fine ? FINE_FACTOR : 1));
    this.last = ray;
  }

  /** Set the offset from typed amounts [m]; other axes are zero. */
  setTyped(amounts: Partial<Record<AxisName, number>>): void {
    this.total = [amounts.x ?? 0, amounts.y ?? 0, amounts.z ?? 0];
  }

  private computeStep(from: Ray, to: Ray): Vec3 | null {
    const before = computeOffset(from, this.anchor, this.axisLock, this.forward);
    const after = computeOffset(to, this.anchor, this.axisLock, this.forward);
    return before === null || after === null ? null : sub(after, before);
  }
}

/** Typed text per axis. An incomplete number ("-") is ignored. */
export class TypedAmounts {
  private texts: Partial<Record<AxisName, string>> = {};
  private axisIndex = 0;
  private axes: AxisName[];

  constructor(axes: AxisName[]) {
    this.axes = axes;
  }

  /** True if anything was typed. */
  get hasInput(): boolean {
    return Object.keys(this.texts).length > 0;
  }

  get axis(): AxisName {
    return this.axes[this.axisIndex];
  }

  get text(): string {
    return this.texts[this.axis] ?? "";
  }

  /** True if the text of the current axis is empty or a number. */
  get isValid(): boolean {
    return this.text === "" || isAmount(this.text);
  }

  /** Change the axes; the text of the first axis moves to the new first axis. */
  setAxes(axes: AxisName[]): void {
    const text = this.texts[this.axes[0]];
    this.axes = axes;
    this.axisIndex = 0;
    this.texts = text === undefined ? {} : { [axes[0]]: text };
  }

  /** Handle a key; returns true if it was used. */
  handleKey(name: string): boolean {
    if (/^[0-9]$/.test(name)) return this.setText(this.text + name);
    if (name === "." || name === ",") return this.text.includes(".") || this.setText(this.text + ".");
    if (name === "-" || name === "−") return this.setText(negate(this.text));
    if (!this.hasInput) return false;
    if (name === "Backspace") return this.setText(this.text.slice(0, -1));
    if (name !== "Tab") return false;
    this.axisIndex = (this.axisIndex + 1) % this.axes.length;
    return this.setText(this.text);
  }

  /** Amounts [m] of all axes whose text is a number. */
  get amounts(): Partial<Record<AxisName, number>> {
    const good = Object.entries(this.texts).filter(([, text]) => isAmount(text));
    return Object.fromEntries(good.map(([axis, text]) => [axis, Number(text)]));
  }

  private setText(text: string): true {
    this.texts[this.axis] = text;
    return true;
  }
}

const negate = (text: string): string => (text.startsWith("-") ? text.slice(1) : `-${text}`);

const isAmount = (text: string): boolean => /[0-9]/.test(text) && Number.isFinite(Number(text));
