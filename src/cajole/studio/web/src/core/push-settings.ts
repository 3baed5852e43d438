/** Strength of pushes with the pointer. It is stored in the browser and not part of undo. */

import { formatDigits, formatForce } from "./format";
import { saveSetting, loadSetting } from "./storage";
import type { Project } from "./types";

/** A push over this fraction of the body size … */
const REFERENCE_LENGTH = 0.25;
/** … applies this fraction of the body weight, at strength 1. */
const REFERENCE_FORCE = 0.5;
const STORAGE_KEY = "hand";

interface PushSettings {
  /** 1: half the body weight at a distance of a quarter of its size. */
  pushStrength: number;
}

type Listener = (settings: Readonly<PushSettings>) => void;

const listeners = new Set<Listener>();
const current: PushSettings = { pushStrength: 1, ...loadPushSettings() };

/** Current settings, updated in place by `setPushSettings`. */
export const pushSettings: Readonly<PushSettings> = current;

/** Change settings and store them. */
export function setPushSettings(change: Partial<PushSettings>): void {
  Object.assign(current, change);
  saveSetting(STORAGE_KEY, current);
  for (const listener of listeners) listener(current);
}

/** Subscribe to changes; returns the unsubscribe function. */
export function onPushSettings(listener: Listener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Spring stiffness of a push [N/m]; the server computes that of a pull. */
export function getPushStiffness(project: Project): number {
  return ((REFERENCE_FORCE * project.weight) / (REFERENCE_LENGTH * project.size)) * current.pushStrength;
}

/** Force of a push at the reference length [N]. */
export function getPushForce(project: Project, strength: number = current.pushStrength): number {
  return REFERENCE_FORCE * project.weight * strength;
}

/** Format a push: a force on a body, an acceleration in a flow. */
export function formatPush(project: Project | null, force: number): string {
  return project?.field ? `${formatDigits(force, 2)} m/s²` : formatForce(force);
}

function loadPushSettings(): Partial<PushSettings> {
  const { pushStrength } = loadSetting<Partial<PushSettings>>(STORAGE_KEY, {});
  return typeof pushStrength === "number" && pushStrength > 0 && pushStrength < Infinity ? { pushStrength } : {};
}
