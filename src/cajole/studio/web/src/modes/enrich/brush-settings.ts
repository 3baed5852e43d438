/** Settings of the region brush: mode, radius, active region. They stay in the browser and are not part of undo. */

import { saveSetting, loadSetting } from "../../core/storage";
import type { App } from "../../core/types";

/** add: paint the active region; new: the next stroke starts a region; erase: remove vertices from all regions. */
export type BrushMode = "add" | "new" | "erase";

interface BrushSettings {
  mode: BrushMode;
  region: number; // active region
  radius: number; // fraction of the body size
  both: boolean; // also paint the corresponding vertices of the other mesh
  shown: boolean; // color guide and shell by region
}

/** Range of the radius as a fraction of the body size, and the factor of one key press. */
export const RADIUS_RANGE: readonly [number, number] = [0.01, 0.4];
const RADIUS_STEP = 1.25;
const STORAGE_KEY = "brush";
/** Number of region colors in the design tokens. */
export const REGION_COLORS = 12;

const listeners = new Set<() => void>();
const current: BrushSettings = { mode: "add", region: 0, radius: 0.08, both: true, shown: true, ...loadBrush() };

/** Current settings, updated in place by `setBrush`. */
export const brush: Readonly<BrushSettings> = current;

export function setBrush(change: Partial<BrushSettings>): void {
  Object.assign(current, change);
  saveSetting(STORAGE_KEY, { radius: current.radius, both: current.both, shown: current.shown });
  for (const listener of [...listeners]) listener();
}

/** Subscribe to changes; returns the unsubscribe function. */
export function onBrush(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Select the brush tool in a mode. */
export function activateBrush(app: App, mode: BrushMode): void {
  setBrush({ mode });
  app.setUi({ tool: "brush" });
}

/** Scale the radius up (1) or down (-1). */
export function resizeBrush(direction: 1 | -1): void {
  const [low, high] = RADIUS_RANGE;
  setBrush({ radius: Math.min(high, Math.max(low, current.radius * RADIUS_STEP ** direction)) });
}

/** Name of the design token of a region's color. */
export const getRegionColor = (region: number): string => `region-${region % REGION_COLORS}`;

function loadBrush(): Partial<BrushSettings> {
  const { radius, both, shown } = loadSetting<Partial<BrushSettings>>(STORAGE_KEY, {});
  const fits = typeof radius === "number" && radius >= RADIUS_RANGE[0] && radius <= RADIUS_RANGE[1];
  return { ...(fits ? { radius } : {}), ...(both === false ? { both } : {}), ...(shown === false ? { shown } : {}) };
}
