/** Commands of Enrich. */

import { getBusyReason } from "./command-actions";
import { brush, setBrush, resizeBrush, activateBrush } from "./brush";
import type { CommandSpec } from "./command-table";

export const ENRICH_COMMANDS: readonly CommandSpec[] = [
  {
    id: "tool.brush",
    title: "Brush for regions",
    keys: ["b"],
    icon: "brush",
    modes: ["enrich"],
    run: (app) => app.setUi({ tool: "brush" }),
  },
  {
    id: "brush.new",
    title: "Paint a new region",
    keys: ["r"],
    icon: "plus",
    modes: ["enrich"],
    run: (app) => activateBrush(app, "new"),
  },
  {
    id: "brush.erase",
    title: "Erase regions",
    keys: ["e"],
    icon: "erase",
    modes: ["enrich"],
    run: (app) => activateBrush(app, brush.mode === "erase" ? "add" : "erase"),
  },
  {
    id: "brush.smaller",
    title: "Smaller brush",
    keys: ["-"],
    helpRow: "Smaller, larger brush",
    modes: ["enrich"],
    run: () => resizeBrush(-1),
  },
  {
    id: "brush.larger",
    title: "Larger brush",
    keys: ["=", "+"],
    helpRow: "Smaller, larger brush",
    modes: ["enrich"],
    run: () => resizeBrush(1),
  },
  {
    id: "regions.shown",
    title: "Colours of regions",
    keys: ["o"],
    icon: "eye",
    modes: ["enrich"],
    run: () => setBrush({ shown: !brush.shown }),
  },
  {
    id: "enrich",
    title: "Enrich",
    keys: ["Enter"],
    icon: "enrich",
    modes: ["enrich"],
    getDisabledReason: getBusyReason,
    run: (app) => void app.request("enrich"),
  },
];
