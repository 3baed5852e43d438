/** The brush for regions: what it does, how large it is, and which region is in hand. Told to nobody, in no history. */

import { keep, recall } from "./store";
import type { App } from "./types";

/** add: to the region in hand; new: begins one; erase: takes out of any. */
export type BrushUse = "add" | "new" | "erase";

export interface BrushSettings {
  use: BrushUse;
  region: number; // in hand
  radius: number; // share of the body's size
  both: boolean; // what lies on the other side goes along
  shown: boolean; // whether regions colour guide and shell
}

/** The smallest and the largest brush, as a share of the body's size, and what a key makes of it. */
export const RADII: readonly [number, number] = [0.01, 0.4];
const NOTCH = 1.25;
const KEPT = "brush";
/** Hues that there are tokens for. */
export const HUES = 12;

const heard = new Set<() => void>();
const present: BrushSettings = { use: "add", region: 0, radius: 0.08, both: true, shown: true, ...stored() };

/** The present brush; read it when it is needed, not once. */
export const brush: Readonly<BrushSettings> = present;

export function changeBrush(change: Partial<BrushSettings>): void {
  Object.assign(present, change);
  keep(KEPT, { radius: present.radius, both: present.both, shown: present.shown });
  for (const hear of [...heard]) hear();
}

/** Be told of changes; returns what ends it. */
export function onBrush(hear: () => void): () => void {
  heard.add(hear);
  return () => heard.delete(hear);
}

/** Takes the brush in hand for something. */
export function takeBrush(app: App, use: BrushUse): void {
  changeBrush({ use });
  app.set({ tool: "brush" });
}

/** Makes it larger (1) or smaller (-1). */
export function sizeBrush(way: 1 | -1): void {
  const [low, high] = RADII;
  changeBrush({ radius: Math.min(high, Math.max(low, present.radius * NOTCH ** way)) });
}

/** The token of a region's colour. */
export const hueOf = (region: number): string => `region-${region % HUES}`;

function stored(): Partial<BrushSettings> {
  const { radius, both, shown } = recall<Partial<BrushSettings>>(KEPT, {});
  const fits = typeof radius === "number" && radius >= RADII[0] && radius <= RADII[1];
  return { ...(fits ? { radius } : {}), ...(both === false ? { both } : {}), ...(shown === false ? { shown } : {}) };
}
