/** What the hand is set to: kept in the browser, told to nobody else, in no history. */

import { figures, newtons } from "./format";
import { keep, recall } from "./store";
import type { Project } from "./types";

/** A push as far as this share of the body's size … */
const REACH = 0.25;
/** … is worth this share of its weight, at strength 1. */
const SHARE = 0.5;
const KEPT = "hand";

export interface Settings {
  /** How strong the hand is when it pushes; 1: half the body's weight at a quarter of its size. */
  pushStrength: number;
}

type Hear = (settings: Readonly<Settings>) => void;

const heard = new Set<Hear>();
const present: Settings = { pushStrength: 1, ...stored() };

/** The present settings; read them when they are needed, not once. */
export const settings: Readonly<Settings> = present;

/** Change some of them, and keep them for the next visit. */
export function changeSettings(change: Partial<Settings>): void {
  Object.assign(present, change);
  keep(KEPT, present);
  for (const hear of heard) hear(present);
}

/** Be told of changes; returns what ends it. */
export function onSettings(hear: Hear): () => void {
  heard.add(hear);
  return () => heard.delete(hear);
}

/** [N/m]: force of a push for each metre that the hand is away from the body; the server tells that of a pull. */
export function handStiffness(project: Project): number {
  return ((SHARE * project.weight) / (REACH * project.size)) * present.pushStrength;
}

/** [N]: force of a push at its usual reach, at this strength. */
export function handForce(project: Project, strength: number = present.pushStrength): number {
  return SHARE * project.weight * strength;
}

/** How hard a push is, in words: newtons on a body, an acceleration in a flow. */
export function pushText(project: Project | null, force: number): string {
  return project?.field ? `${figures(force, 2)} m/s²` : newtons(force);
}

function stored(): Partial<Settings> {
  const { pushStrength } = recall<Partial<Settings>>(KEPT, {});
  return typeof pushStrength === "number" && pushStrength > 0 && pushStrength < Infinity ? { pushStrength } : {};
}
