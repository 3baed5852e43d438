/** Enrich: simulate a fine shell that tracks a coarse guide. */

import { createToolCommand } from "../../core/command-table";
import { formatExponent } from "../../core/format";
import type { ModeDefinition } from "../../core/modes";
import type { App } from "../../core/types";
import { createPlotRow, type PlotData } from "../../plots/plot-row";
import { createShotPlots, getFrameRange } from "../../plots/shot-plots";
import { getVertex } from "../../view/vec";
import { createToolEntry } from "../tools";
import { activateBrush, brush, onBrush, resizeBrush, setBrush } from "./brush-settings";
import { BrushTool, getRegionColors } from "./brush-tool";
import { createEnrichPanel } from "./panel";

const ICON = ["M3 2.8c1.6.9 3.4.9 5 0 1.6.9 3.4.9 5 0v10.4", "M3 2.8c.6 3.4.2 7-1 10.4h12c-1.2-3.4-1.6-7-1-10.4"];

export const enrich: ModeDefinition = {
  name: "enrich",
  title: "Enrich",
  key: "4",
  icon: ICON,
  text: "Give a coarse motion fine folds",
  scenesHeading: "Guides to enrich",
  handOverText: "Enrich it",
  defaults: { tool: "select", views: 2, plots: false },
  ignoresVertices: true,
  createPanel: createEnrichPanel,
  createPlots: (app, sources) => {
    const row = createPlotRow({
      name: "Guide error", tone: "got", axis: false, log: true, empty: "Enrich to see how closely the guide is tracked.",
      getTicks: () => [],
      formatTick: () => "",
    });
    const getData = (width: number): PlotData => createGuideErrorData(app, width);
    return createShotPlots(app, sources, "Enrich to see the tracking force.", { extra: { row, isTimed: true, getData } });
  },
  commands: [
    createToolCommand("brush", "Brush for regions", "b"),
    { id: "brush.new", title: "Paint a new region", keys: ["r"], icon: "plus", run: (app) => activateBrush(app, "new") },
    {
      id: "brush.erase", title: "Erase regions", keys: ["e"], icon: "erase",
      run: (app) => activateBrush(app, brush.mode === "erase" ? "add" : "erase"),
    },
    { id: "brush.smaller", title: "Smaller brush", keys: ["-"], helpRow: "Smaller, larger brush", run: () => resizeBrush(-1) },
    { id: "brush.larger", title: "Larger brush", keys: ["=", "+"], helpRow: "Smaller, larger brush", run: () => resizeBrush(1) },
    { id: "regions.shown", title: "Colours of regions", keys: ["o"], icon: "eye", run: () => setBrush({ shown: !brush.shown }) },
    {
      id: "enrich", title: "Enrich", keys: ["Enter"], icon: ICON,
      getDisabledReason: (app) => (app.state?.enrich?.running ? "The shell is being computed already." : null),
      run: (app) => void app.request("enrich"),
    },
  ],
  gestures: [
    { title: "Paint a region", group: "Direct", keys: ["Drag"] },
    { title: "Pick the region under the pointer", group: "Direct", keys: ["Alt", "click"] },
  ],
  tools: [
    createToolEntry("select"),
    createToolEntry("brush"),
    { command: "brush.erase", icon: "erase", isPressed: (app) => app.ui.tool === "brush" && brush.mode === "erase" },
    null,
    { command: "regions.shown", icon: "eye", isPressed: () => brush.shown },
  ],
  getHints: (tool) =>
    tool === "brush"
      ? [["Drag", "paint a region"], ["Alt click", "pick a region"], ["R", "new region"], ["E", "erase"], ["⏎", "enrich"]]
      : [["B", "brush for regions"], ["⏎", "enrich"], ["Drag", "orbit"], ["Wheel", "zoom"]],
  getOnboarding: () => [
    {
      title: "Enrich",
      text: "Press Enter: the shell on the right tracks the yellow guide, and its material forms the folds.",
      done: (now) => now.enrich!.running !== null || now.enrich!.result !== null,
    },
    {
      title: "Choose another material",
      text: "At the right: stiff, thick materials form wide folds; soft, thin ones form many small folds.",
      done: (now, then) => now.enrich!.dials.material !== then.enrich!.dials.material,
    },
    {
      title: "Paint a region",
      text: "Select the brush (B) and drag over the guide. Small regions track the guide closely, large ones leave more freedom.",
      done: (now) => now.enrich!.regions.kind === "paint",
    },
  ],
  stopText: "Stop, keep frames",
  emptyLaneHint: "",
  addMarks: (marks, view, pane) => {
    const mesh = view.getMesh(pane);
    if (!mesh?.hasPositions) return;
    const { guide, shell } = view.app.state!.enrich!.crossed;
    marks.faces = (pane === 0 ? guide : shell).map((face) => [0, 1, 2].map((i) => getVertex(mesh.positions, mesh.faces[3 * face + i])));
  },
  createTool: (view) => new BrushTool(view),
  getRegionColors,
  getColorKey: ({ enrich: part }) => `${part!.result === null} ${part!.running === null}`,
  onSettings: onBrush,
  getLegend: (app) => [
    ["given", "Guide"],
    ["got", "Shell"],
    ...(app.state?.enrich?.crossed.shell.length ? [["err", "Self-intersection"] as const satisfies ["err", string]] : []),
  ],
};

/** Lower end of the error axis [shell sizes]: rounding errors. */
const MIN_ERROR = 1e-16;

/** Distance of the regions to their guide per frame, on a logarithmic scale. */
function createGuideErrorData(app: App, width: number): PlotData {
  const values = app.state?.lanes.find(({ id }) => id === "gaps")?.curve ?? [];
  const ys = values.map((value) => Math.max(value, MIN_ERROR));
  const most = ys.reduce((a, b) => Math.max(a, b), MIN_ERROR);
  const here = values[app.state?.frame ?? 0];
  return {
    xs: ys.map((_, i) => i),
    ys, x: getFrameRange(app, width), y: [MIN_ERROR / 2, Math.max(2 * most, 1e-2)],
    top: ys.length ? formatExponent(most) : "",
    value: here === undefined ? "–" : here === 0 ? "0" : formatExponent(here),
    unit: "of the size", empty: ys.length === 0,
  };
}
