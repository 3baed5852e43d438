/** Server state of Reroute: goals, parameters, and second runs. */

import type { PositionTarget } from "../../core/types";

export type RerouteMethod = "pattern" | "least-force" | "paper";
interface GoalReport {
  reached: boolean;
  error: number; closest: number; closest_frame: number; // [m]
  why: string; notes: string[];
  shape: number; stepping: number; turning: number | null; // how like the pilot's path
  speed: number; pilot_speed: number; // [m/s]
}
export interface GoalInfo extends PositionTarget {
  window: number | null; // frames, null as far as it is
  start: number; asked: number; // the frame from which it is led, frames that its window would have
  report: GoalReport | null;
  pilot: number[]; led: number[] | null; // paths over the window, flat x y z a frame
}
export interface RerouteDials {
  method: RerouteMethod;
  alpha: number; reach: number; limit: number | null; within: number; // frames a size, m, N, m
  stiffness: number; mass: number; damping: number; frames: number; // N/m, kg, N s/m
}
export interface RerouteRun {
  method: RerouteMethod; reached: number; count: number;
  effort: number; peak: number; error: number; shape: number; // N² s, N, m
  seconds: number; text: string; report: string; stale: boolean;
}
export interface RerouteState {
  goals: GoalInfo[];
  pilot_frames: number | null; // null: it was not run yet
  dials: RerouteDials;
  net: { vertices: number; springs: number; weight: number; own: boolean; usual_reach: number };
  held: number[]; // of a net of one's own
  suggested: boolean; // the scene has goals of its own
  running: string | null; // job
  making: "pilot" | "run" | null;
  result: RerouteRun | null;
  compared: RerouteRun[]; // the second runs that there are
  sight: RerouteMethod; // the one that is seen
}
