/** Rows of the table for Enrich: the brush for regions, and the run. */

import { idle } from "./acts";
import { brush, changeBrush, sizeBrush, takeBrush } from "./brush";
import type { Row } from "./table";

export const ENRICHING: readonly Row[] = [
  {
    name: "tool.brush",
    title: "Brush for regions",
    keys: ["b"],
    icon: "brush",
    modes: ["enrich"],
    do: (app) => app.set({ tool: "brush" }),
  },
  {
    name: "brush.new",
    title: "Paint a new region",
    keys: ["r"],
    icon: "plus",
    modes: ["enrich"],
    do: (app) => takeBrush(app, "new"),
  },
  {
    name: "brush.erase",
    title: "Erase regions",
    keys: ["e"],
    icon: "erase",
    modes: ["enrich"],
    do: (app) => takeBrush(app, brush.use === "erase" ? "add" : "erase"),
  },
  {
    name: "brush.smaller",
    title: "Smaller brush",
    keys: ["-"],
    row: "Smaller, larger brush",
    modes: ["enrich"],
    do: () => sizeBrush(-1),
  },
  {
    name: "brush.larger",
    title: "Larger brush",
    keys: ["=", "+"],
    row: "Smaller, larger brush",
    modes: ["enrich"],
    do: () => sizeBrush(1),
  },
  {
    name: "regions.shown",
    title: "Colours of regions",
    keys: ["o"],
    icon: "eye",
    modes: ["enrich"],
    do: () => changeBrush({ shown: !brush.shown }),
  },
  {
    name: "enrich",
    title: "Enrich",
    keys: ["Enter"],
    icon: "enrich",
    modes: ["enrich"],
    when: idle,
    do: (app) => void app.ask("enrich"),
  },
];
