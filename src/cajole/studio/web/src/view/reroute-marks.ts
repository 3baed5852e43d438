/** Reroute above the bodies: goals as balls as wide as near enough is, and the ways of their vertices to them. */

import { formatNumber } from "../core/format";
import { getToken } from "../core/theme";
import type { App, Vec3 } from "../core/types";
import { pixelsPerMetre } from "./camera";
import type { Sight } from "./gesture";
import { faint, type Ink } from "./ink";

const LEAST = 9; // px across: a ball that is smaller would not be seen

export interface PathMark {
  points: readonly number[]; // flat x y z
  hue: "ok" | "err"; // green is the pilot's, red the second run's
}
export interface BallMark {
  at: Vec3;
  radius: number; // [m]
  now: boolean; // wanted at the frame that is seen
  warn: boolean; // missed
  label?: string | null;
}

/** The ways of all goals, the pilot's below the second run's. */
export function goalPaths({ state, ui }: App): PathMark[] {
  const goals = ui.trails ? (state?.reroute?.goals ?? []) : [];
  const pilots = goals.map(({ pilot }): PathMark => ({ points: pilot, hue: "ok" }));
  return [...pilots, ...goals.flatMap(({ led }): PathMark[] => (led ? [{ points: led, hue: "err" }] : []))];
}

/** All goals; hovered: the id of the one that the pointer is over, which is named. */
export function goalBalls(sight: Sight, hovered: string | null): BallMark[] {
  const part = sight.app.state?.reroute;
  const frame = sight.frame();
  return (part?.goals ?? []).map((goal) => ({
    at: goal.position,
    radius: part!.dials.within,
    now: goal.frame === frame,
    warn: goal.warn !== null,
    label: goal.id === hovered ? `${goal.name} · f ${formatNumber(goal.frame)}` : null,
  }));
}

export function inkPath(ink: Ink, { points, hue }: PathMark): void {
  const path = ink.path(points);
  if (path.length < 2) return;
  ink.line(path, getToken("casing"), 4.5);
  ink.line(path, getToken(hue), 2.5);
}

export function inkBall(ink: Ink, { at, radius, now, warn }: BallMark): void {
  const middle = ink.at(at);
  if (middle === null) return;
  const across = Math.max(LEAST, 2 * radius * pixelsPerMetre(ink.lens, at));
  ink.disc(middle, across + 2, "transparent", getToken("casing"), 3);
  ink.disc(middle, across, faint("given-swatch", now ? 0.75 : 0.35), getToken("given-swatch"), 1.5);
  if (!warn) return;
  ink.context.setLineDash([3, 3]);
  ink.disc(middle, across + 10, "transparent", getToken("warn"), 1.5);
  ink.context.setLineDash([]);
}
