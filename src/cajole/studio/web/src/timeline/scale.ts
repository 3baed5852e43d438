/** Frames and pixels: which part of the shot the time line shows, and where its ticks stand. No DOM here. */

import { formatTimecode } from "../core/format";
import type { UiState } from "../core/types";

/** Room before the first and after the last frame, so that their flags and grips are whole [px]. */
export const LEFT = 14;
export const RIGHT = 18;
/** One frame at the closest zoom [px]. */
export const CLOSEST = 12;
/** Labels of the ruler are at least this far apart, its smallest ticks at least that [px]. */
export const LABEL_GAP = 60;
export const TICK_GAP = 6;

/** What is shown: `first` (fractional frame) stands LEFT from the edge, each frame takes `step` px. */
export interface Scale {
  readonly first: number;
  readonly step: number;
  readonly width: number; // [px] of the whole canvas
  readonly frames: number;
}

export const clamp = (value: number, low: number, high: number): number =>
  Math.min(Math.max(value, low), Math.max(low, high));

/** Pixels a frame takes when the whole shot is shown. */
export const fitting = (width: number, frames: number): number =>
  Math.max(width - LEFT - RIGHT, 1) / Math.max(frames - 1, 1);

/** The whole shot. */
export const whole = (width: number, frames: number): Scale => ({
  first: 0,
  step: fitting(width, frames),
  width,
  frames,
});

export const xOf = (scale: Scale, frame: number): number => LEFT + (frame - scale.first) * scale.step;

/** The fractional frame at a pixel; may lie outside the shot. */
export const frameAt = (scale: Scale, x: number): number => scale.first + (x - LEFT) / scale.step;

/** The nearest frame of the shot. */
export const wholeFrame = (scale: Scale, x: number): number =>
  clamp(Math.round(frameAt(scale, x)), 0, scale.frames - 1);

export const isWhole = (scale: Scale): boolean =>
  scale.first === 0 && scale.step === fitting(scale.width, scale.frames);

/** Whether a part of the shot is hidden, so that an overview helps. */
export const isPart = (scale: Scale): boolean =>
  frameAt(scale, 0) > 0 || frameAt(scale, scale.width) < scale.frames - 1;

/** At most half a view is empty at either end. */
function bounded(scale: Scale): Scale {
  const half = scale.width / scale.step / 2;
  return { ...scale, first: clamp(scale.first, -half, scale.frames - 1 - half) };
}

/** Zoomed by a factor while the frame under pixel `x` stays there; all the way out is the whole shot. */
export function zoomed(scale: Scale, factor: number, x: number): Scale {
  const least = fitting(scale.width, scale.frames);
  const step = clamp(scale.step * factor, least, Math.max(CLOSEST, least));
  if (step === least && factor <= 1) return whole(scale.width, scale.frames);
  return bounded({ ...scale, step, first: frameAt(scale, x) - (x - LEFT) / step });
}

/** Moved so that what was at pixel `dx` comes to pixel 0. */
export const panned = (scale: Scale, dx: number): Scale => bounded({ ...scale, first: scale.first + dx / scale.step });

/** The same view after the canvas or the shot changed its size: whole stays whole, else the first frame stays. */
export function resized(scale: Scale, width: number, frames: number): Scale {
  if (isWhole(scale) || frames !== scale.frames) return whole(width, frames);
  const least = fitting(width, frames);
  return bounded({ first: scale.first, step: clamp(scale.step, least, Math.max(CLOSEST, least)), width, frames });
}

/** A view in which `frame` is visible: the same if it is, else moved so that it stands in the middle. */
export function revealing(scale: Scale, frame: number): Scale {
  const x = xOf(scale, frame);
  return x >= 0 && x <= scale.width ? scale : panned(scale, x - scale.width / 2);
}

/** The smallest number of 1, 2, 5, 10, … that is not below `least`. */
export function oneTwoFive(least: number): number {
  const decade = 10 ** Math.floor(Math.log10(least));
  // A little slack: 0.2 * 10 must count as 2.
  for (const digit of [1, 2, 5]) if (digit * decade >= least * (1 - 1e-9)) return digit * decade;
  return 10 * decade;
}

/** Frames between labels and between small ticks, both for one unit. */
export interface Steps { major: number; minor: number }

/** Steps of the ruler: labels LABEL_GAP px apart or more, ticks TICK_GAP px or more and dividing the labels' steps. */
export function steps(scale: Scale, fps: number, unit: UiState["unit"]): Steps {
  const least = LABEL_GAP / scale.step;
  if (unit === "timecode") return timecodeSteps(scale, fps, least);
  const base = unit === "seconds" ? fps : 1; // frames of what the steps are counted in
  const major = unit === "seconds" ? oneTwoFive(least / base) * base : oneTwoFive(Math.max(least, 1));
  const parts = [10, 5, 4, 2].filter(
    (part) => (major / part) * scale.step >= TICK_GAP && (base !== 1 || major % part === 0),
  );
  return { major, minor: major / (parts[0] ?? 1) };
}

/** Timecode counts frames below a second, so its steps are parts of a second, then seconds and minutes. */
function timecodeSteps(scale: Scale, fps: number, least: number): Steps {
  const second = Math.max(Math.round(fps), 1);
  const below = Array.from({ length: second }, (_, i) => i + 1).filter((part) => second % part === 0);
  const above = [2, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600].map((seconds) => seconds * second);
  const all = [...below, ...above];
  const major = all.find((step) => step >= least) ?? oneTwoFive(least / second) * second;
  const minor = all.find((step) => step * scale.step >= TICK_GAP && major % step === 0) ?? major;
  return { major, minor };
}

/** Multiples of `step` that stand on the canvas and in the shot. */
export function ticks(scale: Scale, step: number): number[] {
  const from = Math.max(Math.ceil(frameAt(scale, -LABEL_GAP) / step - 1e-9), 0);
  const to = Math.min(frameAt(scale, scale.width + LABEL_GAP), scale.frames - 1);
  const found: number[] = [];
  for (let i = from; i * step <= to + 1e-6; i++) found.push(i * step);
  return found;
}

/** A frame in words of a unit: "96", "1.6", "00:01:36"; seconds have as many digits as the step needs. */
export function label(frame: number, fps: number, unit: UiState["unit"], major: number): string {
  if (unit === "frames") return String(Math.round(frame));
  if (unit === "timecode") return formatTimecode(frame, fps);
  return (frame / fps).toFixed(clamp(-Math.floor(Math.log10(major / fps) + 1e-9), 0, 3));
}

/** A frame as a person types it: "96", "1.6 s" or "00:01:36"; null when it is none. Not yet held to the shot. */
export function typedFrame(text: string, fps: number): number | null {
  const said = text.trim().replace(",", ".");
  if (/^\d+$/.test(said)) return Number(said);
  const seconds = /^(\d+(?:\.\d*)?|\.\d+)\s*s$/.exec(said);
  if (seconds) return Math.round(Number(seconds[1]) * fps);
  const code = /^(?:(\d+):)?(\d+):(\d+)$/.exec(said);
  if (!code) return null;
  const second = Math.max(Math.round(fps), 1);
  return (Number(code[1] ?? 0) * 60 + Number(code[2])) * second + Number(code[3]);
}
