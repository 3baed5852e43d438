/** Turntable camera: z is up, the camera orbits a target. Pure functions without three.js. */

import type { Vec3 } from "../core/types";
import { add, cross, dot, scale, sub } from "./vec";

export const FOV = 26; // vertical field of view, degrees
const MAX_ELEVATION = 89; // degrees: a turntable camera is singular at 90
const FILL = 0.84; // fraction of the free area that framed points fill

/** Spherical coordinates [degrees, m] of the camera around its target. */
export interface CameraPose {
  readonly azimuth: number;
  readonly elevation: number;
  readonly target: Vec3;
  readonly distance: number;
}
/** A pose and the size [px] of its view; center: pixel of the target, by default the center of the view. */
export interface ViewCamera {
  readonly pose: CameraPose;
  readonly width: number;
  readonly height: number;
  readonly center?: readonly [number, number];
}
export interface Ray {
  readonly origin: Vec3;
  readonly direction: Vec3; // of length 1
}
/** Unit vectors of the view: right, up, and the viewing direction. */
interface ViewAxes { readonly right: Vec3; readonly up: Vec3; readonly forward: Vec3 }

export function getViewAxes(pose: CameraPose): ViewAxes {
  const a = (pose.azimuth * Math.PI) / 180;
  const e = (pose.elevation * Math.PI) / 180;
  const back: Vec3 = [Math.cos(a) * Math.cos(e), Math.sin(a) * Math.cos(e), Math.sin(e)];
  const right: Vec3 = [-Math.sin(a), Math.cos(a), 0];
  return { right, up: cross(back, right), forward: scale(back, -1) };
}

export const getCameraPosition = (pose: CameraPose): Vec3 => sub(pose.target, scale(getViewAxes(pose).forward, pose.distance));

/** Pixel of the camera target. */
export const getCenter = (camera: ViewCamera): readonly [number, number] => camera.center ?? [camera.width / 2, camera.height / 2];

/** Tangent of half the vertical field of view. */
export const TAN_HALF_FOV = Math.tan((FOV * Math.PI) / 360);

/** Project a point to pixels from the top left of the view; depth [m] is not positive behind the camera. */
export function projectPoint(camera: ViewCamera, point: Vec3): { x: number; y: number; depth: number } {
  const { right, up, forward } = getViewAxes(camera.pose);
  const relative = sub(point, getCameraPosition(camera.pose));
  const depth = dot(relative, forward);
  const perMetre = camera.height / (2 * TAN_HALF_FOV * (depth === 0 ? 1e-12 : depth));
  const [x, y] = getCenter(camera);
  return { x: x + dot(relative, right) * perMetre, y: y - dot(relative, up) * perMetre, depth };
}

/** Ray through a pixel of the view. */
export function getPixelRay(camera: ViewCamera, x: number, y: number): Ray {
  const { right, up, forward } = getViewAxes(camera.pose);
  const unit = (2 * TAN_HALF_FOV) / camera.height;
  const center = getCenter(camera);
  const across = scale(right, (x - center[0]) * unit);
  const upward = scale(up, (center[1] - y) * unit);
  const direction = add(forward, add(across, upward));
  return { origin: getCameraPosition(camera.pose), direction: scale(direction, 1 / Math.hypot(...direction)) };
}

/** Pixels per metre at the depth of a point. */
export function pixelsPerMetre(camera: ViewCamera, point: Vec3): number {
  return camera.height / (2 * TAN_HALF_FOV * Math.max(projectPoint(camera, point).depth, 1e-9));
}

/** Pose after an orbit drag of (dx, dy) pixels: a third of a degree per pixel. */
export function orbited(pose: CameraPose, dx: number, dy: number): CameraPose {
  const elevation = Math.min(Math.max(pose.elevation + dy * 0.33, -MAX_ELEVATION), MAX_ELEVATION);
  return { ...pose, azimuth: wrapAngle(pose.azimuth - dx * 0.33), elevation };
}

/** Pose after a pan by (dx, dy) pixels: the plane of the target stays under the pointer. */
export function panned(pose: CameraPose, dx: number, dy: number, height: number): CameraPose {
  const { right, up } = getViewAxes(pose);
  const unit = (2 * TAN_HALF_FOV * pose.distance) / height;
  return { ...pose, target: add(pose.target, add(scale(right, -dx * unit), scale(up, dy * unit))) };
}

/** Pose after a zoom by `factor` (< 1 is closer) about a point, which keeps its pixel. */
export function zoomed(pose: CameraPose, factor: number, about: Vec3, limits: [number, number]): CameraPose {
  const reached = Math.min(Math.max(pose.distance * factor, limits[0]), limits[1]);
  const share = reached / pose.distance;
  return { ...pose, distance: reached, target: add(about, scale(sub(pose.target, about), share)) };
}

/**
 * Pose with the same direction in which points fill `FILL` of the tighter dimension and are centered in the other.
 * sides: tangents of the half angles of the free area, horizontal and vertical; minHalfSize [m]: least half extent
 * that stays visible.
 *
 * From a camera at (X, Y, Z) in the view's own axes a point (x, y, z) is within a side of tangent t when
 * |x - X| <= t (z - Z). Over all points: max(x - t z) + t Z <= X <= min(x + t z) - t Z, and so for Y: the largest Z
 * that leaves room for both is the answer.
 */
export function framed(pose: CameraPose, points: readonly Vec3[], sides: readonly [number, number], minHalfSize: number): CameraPose {
  if (points.length === 0) return pose;
  const { right, up, forward } = getViewAxes(pose);
  const tangents = sides.map((side) => FILL * Math.max(side, 1e-3)); // avoid a division by zero in a collapsed view
  const bounds = [right, up].map((axis, i) => computeSlopeBounds(points, axis, forward, tangents[i]));
  const [near, far] = computeRange(points, forward);
  const deep = (near + far) / 2;
  const reached = bounds.map(([low, high], i) => (high - low) / (2 * tangents[i]));
  const z = Math.min(...reached, deep - minHalfSize / Math.min(...tangents));
  const [x, y] = bounds.map(([low, high]) => (low + high) / 2);
  const target = add(add(scale(right, x), scale(up, y)), scale(forward, deep));
  return { ...pose, target, distance: deep - z };
}

/** max(x - t z) and min(x + t z) over points, x along an axis and z along the view. */
function computeSlopeBounds(points: readonly Vec3[], axis: Vec3, forward: Vec3, tangent: number): [number, number] {
  let low = -Infinity;
  let high = Infinity;
  for (const point of points) {
    const [x, deep] = [dot(point, axis), tangent * dot(point, forward)];
    low = Math.max(low, x - deep);
    high = Math.min(high, x + deep);
  }
  return [low, high];
}

/** Minimum and maximum of points along an axis. */
function computeRange(points: readonly Vec3[], axis: Vec3): [number, number] {
  let low = Infinity;
  let high = -Infinity;
  for (const point of points) {
    const along = dot(point, axis);
    low = Math.min(low, along);
    high = Math.max(high, along);
  }
  return [low, high];
}

/** The eight corners of a box [min, max]. */
export function getBoxCorners([low, high]: readonly [Vec3, Vec3]): Vec3[] {
  const pick = (bits: number): Vec3 => [0, 1, 2].map((i) => (bits & (1 << i) ? high[i] : low[i])) as Vec3;
  return Array.from({ length: 8 }, (_, bits) => pick(bits));
}

/** Interpolate two poses along the shorter rotation. */
export function interpolatePose(from: CameraPose, to: CameraPose, share: number): CameraPose {
  const turn = wrapAngle(to.azimuth - from.azimuth);
  const lerp = (a: number, b: number): number => a + (b - a) * share;
  return {
    azimuth: wrapAngle(from.azimuth + turn * share),
    elevation: lerp(from.elevation, to.elevation),
    target: from.target.map((value, i) => lerp(value, to.target[i])) as Vec3,
    // geometric interpolation: a constant relative zoom speed
    distance: from.distance * (to.distance / from.distance) ** share,
  };
}

/** Wrap an angle [degrees] to (-180, 180]. */
function wrapAngle(degrees: number): number {
  const turned = (((degrees + 180) % 360) + 360) % 360;
  return turned === 0 ? 180 : turned - 180;
}
