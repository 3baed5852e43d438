/** What a person chose in this page, and what it begins with; kept by the browser, some of it for each mode. */

import { keep, recall } from "./store";
import { preferred } from "./theme";
import type { ModeName, Ui } from "./types";

type Kept = Pick<Ui, "ghost" | "trails" | "wireframe" | "snap" | "unit" | "panel" | "loop">;
type Each = Pick<Ui, "views" | "plots">;
const KEPT: readonly (keyof Kept)[] = ["ghost", "trails", "wireframe", "snap", "unit", "panel", "loop"];
const EACH: readonly (keyof Each)[] = ["views", "plots"];

const TOOLS: Record<ModeName, Ui["tool"]> = {
  edit: "move",
  keyframe: "pull",
  steer: "push",
  enrich: "select",
  reroute: "move",
};

/** What the page begins with. */
export function beginning(): Ui {
  const first: Kept = {
    ghost: true,
    trails: true,
    wireframe: false,
    snap: "frame",
    unit: "frames",
    panel: true,
    loop: true,
  };
  return {
    ...first,
    ...recall<Partial<Kept>>("choices", {}),
    page: "start",
    theme: recall<Ui["theme"] | null>("theme", null) ?? preferred(),
    playing: false,
    playhead: 0,
    loopRange: [0, 0],
    views: 2,
    plots: false,
    tool: "select",
    connection: "connecting",
    pilot: true,
  };
}

/** What a mode begins with: its tool, and the views and plots that were last used in it. */
export function beginningOf(mode: ModeName): Pick<Ui, "tool" | "views" | "plots"> {
  const usual: Each = mode === "steer" ? { views: 1, plots: true } : { views: 2, plots: false };
  return { tool: TOOLS[mode], ...usual, ...recall<Partial<Each>>(`choices.${mode}`, {}) };
}

/** Keeps what of a change is worth keeping. */
export function remember(change: Partial<Ui>, mode: ModeName | undefined): void {
  if (change.theme) keep("theme", change.theme);
  const mine = pick(change, KEPT);
  if (mine) keep("choices", { ...recall("choices", {}), ...mine });
  const each = mode && pick(change, EACH);
  if (each) keep(`choices.${mode}`, { ...recall(`choices.${mode}`, {}), ...each });
}

function pick(change: Partial<Ui>, names: readonly (keyof Ui)[]): Partial<Ui> | null {
  const found = names.filter((name) => name in change);
  return found.length > 0 ? Object.fromEntries(found.map((name) => [name, change[name]])) : null;
}
