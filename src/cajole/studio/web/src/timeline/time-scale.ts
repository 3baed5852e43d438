/** Scale between frames and pixels, and ticks of the ruler. No DOM access. */

import { formatTimecode } from "../core/format";
import { clamp, niceStep } from "../core/math";
import { createSignal } from "../core/signal";
import type { App, Signal, UiState } from "../core/types";

/** Space before the first and after the last frame for flags and grips [px]. */
export const PADDING_LEFT = 14;
export const PADDING_RIGHT = 18;
/** Pixels per frame at maximum zoom. */
export const MAX_FRAME_WIDTH = 12;
/** Least distance of labels and of ticks [px]. */
export const LABEL_GAP = 60;
export const TICK_GAP = 6;

/** Visible range: `first` (fractional frame) is at PADDING_LEFT, each frame takes `step` px. */
export interface TimeScale {
  readonly first: number;
  readonly step: number;
  readonly width: number; // [px] of the whole canvas
  readonly frames: number;
}

/** Pixels per frame if the whole shot is shown. */
const computeFitStep = (width: number, frames: number): number =>
  Math.max(width - PADDING_LEFT - PADDING_RIGHT, 1) / Math.max(frames - 1, 1);

/** Scale of the whole shot. */
export const createFitScale = (width: number, frames: number): TimeScale => ({
  first: 0, step: computeFitStep(width, frames), width, frames,
});

export const frameToX = (scale: TimeScale, frame: number): number => PADDING_LEFT + (frame - scale.first) * scale.step;

/** Fractional frame at a pixel; may be outside the shot. */
export const xToFrame = (scale: TimeScale, x: number): number => scale.first + (x - PADDING_LEFT) / scale.step;

/** Nearest frame of the shot. */
export const xToNearestFrame = (scale: TimeScale, x: number): number =>
  clamp(Math.round(xToFrame(scale, x)), 0, scale.frames - 1);

export const isFit = (scale: TimeScale): boolean =>
  scale.first === 0 && scale.step === computeFitStep(scale.width, scale.frames);

/** True if a part of the shot is hidden. */
export const isPartial = (scale: TimeScale): boolean =>
  xToFrame(scale, 0) > 0 || xToFrame(scale, scale.width) < scale.frames - 1;

/** Limit the scroll so that at most half of the view is empty. */
function clampScale(scale: TimeScale): TimeScale {
  const half = scale.width / scale.step / 2;
  return { ...scale, first: clamp(scale.first, -half, scale.frames - 1 - half) };
}

/** Scale zoomed about pixel `x`; the minimum shows the whole shot. */
export function zoomed(scale: TimeScale, factor: number, x: number): TimeScale {
  const least = computeFitStep(scale.width, scale.frames);
  const step = clamp(scale.step * factor, least, Math.max(MAX_FRAME_WIDTH, least));
  if (step === least && factor <= 1) return createFitScale(scale.width, scale.frames);
  return clampScale({ ...scale, step, first: xToFrame(scale, x) - (x - PADDING_LEFT) / step });
}

/** Scale panned by `dx` pixels. */
export const panned = (scale: TimeScale, dx: number): TimeScale => clampScale({ ...scale, first: scale.first + dx / scale.step });

/** Scale after a resize of the canvas or the shot: a fit scale stays fit, else the first frame stays. */
export function resized(scale: TimeScale, width: number, frames: number): TimeScale {
  if (isFit(scale) || frames !== scale.frames) return createFitScale(width, frames);
  const least = computeFitStep(width, frames);
  return clampScale({ first: scale.first, step: clamp(scale.step, least, Math.max(MAX_FRAME_WIDTH, least)), width, frames });
}

/** Scale in which `frame` is visible: unchanged if it is, else centered on it. */
export function scrolledTo(scale: TimeScale, frame: number): TimeScale {
  const x = frameToX(scale, frame);
  return x >= 0 && x <= scale.width ? scale : panned(scale, x - scale.width / 2);
}

/** Frames between labels and between ticks. */
interface RulerSteps { major: number; minor: number }

/** Ruler steps: labels at least LABEL_GAP px apart, ticks at least TICK_GAP px; ticks divide the label step. */
export function computeRulerSteps(scale: TimeScale, fps: number, unit: UiState["unit"]): RulerSteps {
  const least = LABEL_GAP / scale.step;
  if (unit === "timecode") return computeTimecodeSteps(scale, fps, least);
  const base = unit === "seconds" ? fps : 1; // frames per unit
  const major = unit === "seconds" ? niceStep(least / base) * base : niceStep(Math.max(least, 1));
  const parts = [10, 5, 4, 2].filter(
    (part) => (major / part) * scale.step >= TICK_GAP && (base !== 1 || major % part === 0),
  );
  return { major, minor: major / (parts[0] ?? 1) };
}

/** Ruler steps for timecode: divisors of a second in frames, then seconds and minutes. */
function computeTimecodeSteps(scale: TimeScale, fps: number, least: number): RulerSteps {
  const second = Math.max(Math.round(fps), 1);
  const below = Array.from({ length: second }, (_, i) => i + 1).filter((part) => second % part === 0);
  const above = [2, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600].map((seconds) => seconds * second);
  const all = [...below, ...above];
  const major = all.find((step) => step >= least) ?? niceStep(least / second) * second;
  const minor = all.find((step) => step * scale.step >= TICK_GAP && major % step === 0) ?? major;
  return { major, minor };
}

/** Multiples of `step` on the canvas and in the shot. */
export function listTicks(scale: TimeScale, step: number): number[] {
  const from = Math.max(Math.ceil(xToFrame(scale, -LABEL_GAP) / step - 1e-9), 0);
  const to = Math.min(xToFrame(scale, scale.width + LABEL_GAP), scale.frames - 1);
  const found: number[] = [];
  for (let i = from; i * step <= to + 1e-6; i++) found.push(i * step);
  return found;
}

/** Format a frame in a unit: "96", "1.6", "00:01:36"; seconds have as many digits as the step needs. */
export function formatFrame(frame: number, fps: number, unit: UiState["unit"], major: number): string {
  if (unit === "frames") return String(Math.round(frame));
  if (unit === "timecode") return formatTimecode(frame, fps);
  return (frame / fps).toFixed(clamp(-Math.floor(Math.log10(major / fps) + 1e-9), 0, 3));
}

/** Parse a frame: "96", "1.6 s" or "00:01:36"; null if invalid. Not clamped to the shot. */
export function parseFrame(text: string, fps: number): number | null {
  const trimmed = text.trim().replace(",", ".");
  if (/^\d+$/.test(trimmed)) return Number(trimmed);
  const seconds = /^(\d+(?:\.\d*)?|\.\d+)\s*s$/.exec(trimmed);
  if (seconds) return Math.round(Number(seconds[1]) * fps);
  const code = /^(?:(\d+):)?(\d+):(\d+)$/.exec(trimmed);
  if (!code) return null;
  const second = Math.max(Math.round(fps), 1);
  return (Number(code[1] ?? 0) * 60 + Number(code[2])) * second + Number(code[3]);
}

interface SharedScale { scale: TimeScale | null; changed: Signal<TimeScale> }

const sharedScales = new WeakMap<App, SharedScale>();

function getShared(app: App): SharedScale {
  const found = sharedScales.get(app) ?? { scale: null, changed: createSignal<TimeScale>() };
  sharedScales.set(app, found);
  return found;
}

export const getSharedScale = (app: App): TimeScale | null => getShared(app).scale;

/** Subscribe to the timeline's scale, which the plots share; returns the unsubscribe function. */
export const onSharedScale = (app: App, listener: (scale: TimeScale) => void): (() => void) => getShared(app).changed.on(listener);

export function setSharedScale(app: App, scale: TimeScale): void {
  const shared = getShared(app);
  if (shared.scale === scale) return;
  shared.scale = scale;
  shared.changed.emit(scale);
}
