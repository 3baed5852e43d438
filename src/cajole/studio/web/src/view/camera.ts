/** The turntable: z is up, the camera circles a target. All of it is arithmetic that a test can hold to account. */

import type { Vec3 } from "../core/types";
import { add, cross, dot, scale, sub } from "./vec";

export const FOV = 26; // vertical, degrees: long enough to keep proportions true, short enough to feel depth
const STEEPEST = 89; // degrees of elevation: the turntable has no roll, straight up would spin
const FILL = 0.84; // of the shorter side, when something is framed

/** Where the camera looks from: degrees as seen from the target, metres. */
export interface Eye {
  readonly azimuth: number;
  readonly elevation: number;
  readonly target: Vec3;
  readonly distance: number;
}
/** An eye and the size [px] of the view that it looks through; middle: where its target is seen, half way by itself. */
export interface Lens {
  readonly eye: Eye;
  readonly width: number;
  readonly height: number;
  readonly middle?: readonly [number, number];
}
export interface Ray {
  readonly origin: Vec3;
  readonly direction: Vec3; // of length 1
}
/** Unit vectors of the view: to the right, up, and from the camera into the picture. */
export interface Frame {
  readonly right: Vec3;
  readonly up: Vec3;
  readonly forward: Vec3;
}

export function frameOf(eye: Eye): Frame {
  const a = (eye.azimuth * Math.PI) / 180;
  const e = (eye.elevation * Math.PI) / 180;
  const back: Vec3 = [Math.cos(a) * Math.cos(e), Math.sin(a) * Math.cos(e), Math.sin(e)];
  const right: Vec3 = [-Math.sin(a), Math.cos(a), 0];
  return { right, up: cross(back, right), forward: scale(back, -1) };
}

export const placeOf = (eye: Eye): Vec3 => sub(eye.target, scale(frameOf(eye).forward, eye.distance));

/** The pixel at which the target is seen. */
export const middleOf = (lens: Lens): readonly [number, number] => lens.middle ?? [lens.width / 2, lens.height / 2];

/** Tangent of half the vertical field of view. */
export const HALF = Math.tan((FOV * Math.PI) / 360);

/** Pixels from the view's top left of a point, and its depth [m] before the camera, not positive behind it. */
export function project(lens: Lens, point: Vec3): { x: number; y: number; depth: number } {
  const { right, up, forward } = frameOf(lens.eye);
  const seen = sub(point, placeOf(lens.eye));
  const depth = dot(seen, forward);
  const perMetre = lens.height / (2 * HALF * (depth === 0 ? 1e-12 : depth));
  const [x, y] = middleOf(lens);
  return { x: x + dot(seen, right) * perMetre, y: y - dot(seen, up) * perMetre, depth };
}

/** The ray through a pixel of the view. */
export function rayAt(lens: Lens, x: number, y: number): Ray {
  const { right, up, forward } = frameOf(lens.eye);
  const unit = (2 * HALF) / lens.height;
  const middle = middleOf(lens);
  const across = scale(right, (x - middle[0]) * unit);
  const upward = scale(up, (middle[1] - y) * unit);
  const way = add(forward, add(across, upward));
  return { origin: placeOf(lens.eye), direction: scale(way, 1 / Math.hypot(...way)) };
}

/** Pixels that a metre across the view takes at a point. */
export function pixelsPerMetre(lens: Lens, point: Vec3): number {
  return lens.height / (2 * HALF * Math.max(project(lens, point).depth, 1e-9));
}

/** The eye after a drag of (dx, dy) pixels on the background: a third of a degree a pixel. */
export function orbited(eye: Eye, dx: number, dy: number): Eye {
  const elevation = Math.min(Math.max(eye.elevation + dy * 0.33, -STEEPEST), STEEPEST);
  return { ...eye, azimuth: wrapped(eye.azimuth - dx * 0.33), elevation };
}

/** The eye after the picture was shifted by (dx, dy) pixels: the target's plane stays under the pointer. */
export function panned(eye: Eye, dx: number, dy: number, height: number): Eye {
  const { right, up } = frameOf(eye);
  const unit = (2 * HALF * eye.distance) / height;
  return { ...eye, target: add(eye.target, add(scale(right, -dx * unit), scale(up, dy * unit))) };
}

/** The eye scaled about a point by `factor` (< 1 comes nearer): the point keeps its pixel. */
export function zoomed(eye: Eye, factor: number, about: Vec3, limits: [number, number]): Eye {
  const reached = Math.min(Math.max(eye.distance * factor, limits[0]), limits[1]);
  const share = reached / eye.distance;
  return { ...eye, distance: reached, target: add(about, scale(sub(eye.target, about), share)) };
}

/**
 * The eye moved, not turned, so that points fill `FILL` of the side that they meet first and lie in the middle of the
 * other. sides: tangents of half the angles that the room for them takes, across and upward; least: half a size [m]
 * that is shown at any rate.
 *
 * From a camera at (X, Y, Z) in the view's own axes a point (x, y, z) is within a side of tangent t when
 * |x - X| <= t (z - Z). Over all points: max(x - t z) + t Z <= X <= min(x + t z) - t Z, and so for Y: the largest Z
 * that leaves room for both is the answer.
 */
export function framed(eye: Eye, points: readonly Vec3[], sides: readonly [number, number], least: number): Eye {
  if (points.length === 0) return eye;
  const { right, up, forward } = frameOf(eye);
  const tangents = sides.map((side) => FILL * Math.max(side, 1e-3)); // a view without room still needs a place
  const bounds = [right, up].map((axis, i) => boundsOf(points, axis, forward, tangents[i]));
  const [near, far] = rangeOf(points, forward);
  const deep = (near + far) / 2;
  const reached = bounds.map(([low, high], i) => (high - low) / (2 * tangents[i]));
  const z = Math.min(...reached, deep - least / Math.min(...tangents));
  const [x, y] = bounds.map(([low, high]) => (low + high) / 2);
  const target = add(add(scale(right, x), scale(up, y)), scale(forward, deep));
  return { ...eye, target, distance: deep - z };
}

/** max(x - t z) and min(x + t z) over points, x along an axis and z along the view. */
function boundsOf(points: readonly Vec3[], axis: Vec3, forward: Vec3, tangent: number): [number, number] {
  let low = -Infinity;
  let high = Infinity;
  for (const point of points) {
    const [x, deep] = [dot(point, axis), tangent * dot(point, forward)];
    low = Math.max(low, x - deep);
    high = Math.min(high, x + deep);
  }
  return [low, high];
}

/** The least and the greatest of points along an axis. */
function rangeOf(points: readonly Vec3[], axis: Vec3): [number, number] {
  let low = Infinity;
  let high = -Infinity;
  for (const point of points) {
    const along = dot(point, axis);
    low = Math.min(low, along);
    high = Math.max(high, along);
  }
  return [low, high];
}

/** Corners of a box given by its least and greatest corner. */
export function corners([low, high]: readonly [Vec3, Vec3]): Vec3[] {
  const pick = (bits: number): Vec3 => [0, 1, 2].map((i) => (bits & (1 << i) ? high[i] : low[i])) as Vec3;
  return Array.from({ length: 8 }, (_, bits) => pick(bits));
}

/** Part of the way from one eye to another, the short way round. */
export function between(from: Eye, to: Eye, share: number): Eye {
  const turn = wrapped(to.azimuth - from.azimuth);
  const part = (a: number, b: number): number => a + (b - a) * share;
  return {
    azimuth: wrapped(from.azimuth + turn * share),
    elevation: part(from.elevation, to.elevation),
    target: from.target.map((value, i) => part(value, to.target[i])) as Vec3,
    // in proportion, so that a long way in does not seem to rush at its end
    distance: from.distance * (to.distance / from.distance) ** share,
  };
}

/** An angle in (-180, 180]. */
function wrapped(degrees: number): number {
  const turned = (((degrees + 180) % 360) + 360) % 360;
  return turned === 0 ? 180 : turned - 180;
}
