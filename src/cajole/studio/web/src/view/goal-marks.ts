/** Overlay marks of Reroute: goals as balls of the tolerance radius, and the paths of their vertices. */

import { formatNumber } from "../core/format";
import { getToken } from "../core/theme";
import type { App, Vec3 } from "../core/types";
import { pixelsPerMetre } from "./camera";
import type { ViewContext } from "./gesture";
import { getTokenWithAlpha, type OverlayPainter } from "./overlay-painter";

const MIN_BALL_SIZE = 9; // px

export interface PathMark {
  points: readonly number[]; // flat x y z
  token: "ok" | "err"; // color token: green is the pilot, red the second run
}
export interface BallMark {
  at: Vec3;
  radius: number; // [m]
  isCurrent: boolean; // its frame is the one shown
  warn: boolean; // missed
  label?: string | null;
}

/** Paths of all goal vertices, the pilot's below those of the second run. */
export function createGoalPaths({ state, ui }: App): PathMark[] {
  const goals = ui.trails ? (state?.reroute?.goals ?? []) : [];
  const pilots = goals.map(({ pilot }): PathMark => ({ points: pilot, token: "ok" }));
  return [...pilots, ...goals.flatMap(({ led }): PathMark[] => (led ? [{ points: led, token: "err" }] : []))];
}

/** Balls of all goals; hovered: id of the goal that gets a label. */
export function createGoalBalls(view: ViewContext, hovered: string | null): BallMark[] {
  const part = view.app.state?.reroute;
  const frame = view.getFrame();
  return (part?.goals ?? []).map((goal) => ({
    at: goal.position,
    radius: part!.dials.within,
    isCurrent: goal.frame === frame,
    warn: goal.warn !== null,
    label: goal.id === hovered ? `${goal.name} · f ${formatNumber(goal.frame)}` : null,
  }));
}

export function drawGoalPath(painter: OverlayPainter, { points, token: tokenName }: PathMark): void {
  const path = painter.toPath(points);
  if (path.length < 2) return;
  painter.drawLine(path, getToken("casing"), 4.5);
  painter.drawLine(path, getToken(tokenName), 2.5);
}

export function drawGoalBall(painter: OverlayPainter, { at, radius, isCurrent, warn }: BallMark): void {
  const center = painter.toPixel(at);
  if (center === null) return;
  const across = Math.max(MIN_BALL_SIZE, 2 * radius * pixelsPerMetre(painter.camera, at));
  painter.drawDisc(center, across + 2, "transparent", getToken("casing"), 3);
  painter.drawDisc(center, across, getTokenWithAlpha("given-swatch", isCurrent ? 0.75 : 0.35), getToken("given-swatch"), 1.5);
  if (!warn) return;
  painter.context.setLineDash([3, 3]);
  painter.drawDisc(center, across + 10, "transparent", getToken("warn"), 1.5);
  painter.context.setLineDash([]);
}
