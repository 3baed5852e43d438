/** UI state on start: defaults merged with what the browser has stored, some of it per mode. */

import { saveSetting, loadSetting } from "./storage";
import { getSystemTheme } from "./theme";
import { getMode, type ModeName } from "./modes";
import type { UiState } from "./types";

type StoredUi = Pick<UiState, "ghost" | "trails" | "wireframe" | "snap" | "unit" | "panel" | "loop">;
type StoredModeUi = Pick<UiState, "views" | "plots">;
const STORED_KEYS: readonly (keyof StoredUi)[] = ["ghost", "trails", "wireframe", "snap", "unit", "panel", "loop"];
const STORED_MODE_KEYS: readonly (keyof StoredModeUi)[] = ["views", "plots"];

/** Initial UI state. */
export function loadUi(): UiState {
  const defaults: StoredUi = {
    ghost: true, trails: true, wireframe: false, snap: "frame", unit: "frames", panel: true, loop: true,
  };
  return {
    ...defaults, ...loadSetting<Partial<StoredUi>>("choices", {}), page: "start",
    theme: loadSetting<UiState["theme"] | null>("theme", null) ?? getSystemTheme(),
    playing: false, playhead: 0, loopRange: [0, 0], views: 2, plots: false, tool: "select", connection: "connecting",
    pilot: true,
  };
}

/** UI state on entering a mode: its default tool, and the views and plots last used in it. */
export function loadModeUi(mode: ModeName): Pick<UiState, "tool" | "views" | "plots"> {
  return { ...getMode(mode).defaults, ...loadSetting<Partial<StoredModeUi>>(`choices.${mode}`, {}) };
}

/** Store those fields of a change that persist. */
export function savePreferences(change: Partial<UiState>, mode: ModeName | undefined): void {
  if (change.theme) saveSetting("theme", change.theme);
  const stored = pickKeys(change, STORED_KEYS);
  if (stored) saveSetting("choices", { ...loadSetting("choices", {}), ...stored });
  const storedForMode = mode && pickKeys(change, STORED_MODE_KEYS);
  if (storedForMode) saveSetting(`choices.${mode}`, { ...loadSetting(`choices.${mode}`, {}), ...storedForMode });
}

function pickKeys(change: Partial<UiState>, names: readonly (keyof UiState)[]): Partial<UiState> | null {
  const found = names.filter((name) => name in change);
  return found.length > 0 ? Object.fromEntries(found.map((name) => [name, change[name]])) : null;
}
