/** Keyframe: pose a body with loads, and optimize a motion through the poses. */

import { getShortcut } from "../../core/commands";
import { createToolCommand } from "../../core/command-table";
import { h, setText } from "../../core/dom";
import { formatForce, formatNumber } from "../../core/format";
import { createIcon } from "../../core/icons";
import { niceStep } from "../../core/math";
import type { ModeDefinition } from "../../core/modes";
import { getEditFrame } from "../../core/playback";
import { getPushStiffness } from "../../core/push-settings";
import type { App, Component } from "../../core/types";
import type { CostHistory } from "../../plots/plot-data";
import { createPlotRow, type PlotRow } from "../../plots/plot-row";
import { createShotPlots } from "../../plots/shot-plots";
import { SMALL_DISC_SIZE } from "../../view/mark-composition";
import { scale } from "../../view/vec";
import { createToolEntry } from "../tools";
import { createKeyframePanel } from "./panel";

export const keyframe: ModeDefinition = {
  name: "keyframe",
  title: "Keyframe",
  key: "2",
  icon: ["M8 2.4L13.6 8 8 13.6 2.4 8z"],
  text: "Pose a body, get a motion through the poses",
  scenesHeading: "Bodies to pose",
  handOverText: "Keyframe it",
  defaults: { tool: "pull", views: 2, plots: false },
  hasMovableMarkers: true,
  showsTrailsOfResult: true,
  createPanel: createKeyframePanel,
  createPlots: (app, sources) =>
    createShotPlots(app, sources, "Optimise to see the added force.", {
      extra: { row: createCostPlot(sources.costs), isTimed: false, getData: () => sources.costs.getData() },
    }),
  commands: [
    createToolCommand("pull", "Pull", "f"),
    {
      id: "key.capture", title: "Capture key", keys: ["k"], icon: "key",
      run: (app) => void app.request("key.capture", { frame: getEditFrame(app) }),
    },
    {
      id: "optimise", title: "Optimise", keys: ["Enter"], icon: "check",
      getDisabledReason: (app) => (app.state?.keyframe?.optimising ? "An optimization is running already." : null),
      run: (app) => void app.request("optimise"),
    },
    { id: "pose.reset", title: "Reset pose", icon: "refresh", run: (app) => void app.request("pose.reset") },
    {
      id: "gravity", title: "Gravity in the pose", icon: "gravity",
      run: (app) => void app.request("gravity", { on: !app.state?.keyframe?.gravity }),
    },
  ],
  gestures: [
    { title: "Pull the body", group: "Direct", keys: ["Drag"] },
    { title: "Add to the pulls", group: "Direct", keys: ["⇧", "drag"] },
  ],
  tools: [
    createToolEntry("select"),
    createToolEntry("pull"),
    createToolEntry("pin"),
    { command: "gravity", icon: "gravity", isPressed: (app) => app.state?.keyframe?.gravity ?? false },
    null,
    { command: "key.capture", icon: "camera" },
  ],
  getHints: (tool) =>
    tool === "pull" ? [["Drag", "pull"], ["⇧ Drag", "add to stack"], ["P", "pin"], ["K", "capture key"], ["⏎", "optimise"]] : undefined,
  getOnboarding: () => [
    {
      title: "Press on the body and pull", text: "The body deforms like the real material would.",
      done: (now) => now.keyframe!.loads.some((load) => load.kind === "pull"),
    },
    {
      title: "Capture this pose", text: "Press K: the pose becomes a key at the blue frame.",
      done: (now, then) => now.keyframe!.keys.length > then.keyframe!.keys.length,
    },
    {
      title: "Optimise",
      text: "Press Enter to find the motion through the keys with the least added force.",
      done: (now) => now.keyframe!.optimising !== null || now.keyframe!.result !== null,
    },
  ],
  getStallAction: (app) => ({
    text: "Relax effort ×10",
    run: () => void app.request("dials", { effort: 10 * app.state!.keyframe!.effort }),
  }),
  formatModelSize: (state) => `${formatNumber(state.keyframe!.detail)} modes`,
  emptyLaneHint: "Pull the body into a pose, then press K.",
  addMarker: (app, frame) => void app.request("key.capture", { frame }),
  getMarkerMenu: (app, marker) => {
    const key = app.state?.keyframe?.keys.find((each) => each.id === marker);
    if (!key) return [];
    const setHard = (hard: boolean) => () => void app.request("key.set", { key: key.id, hard });
    return [
      { text: "Load this pose", icon: "camera", onSelect: () => void app.request("key.load", { key: key.id }) },
      { text: "Exact", checked: key.hard, onSelect: setHard(true) },
      { text: "Soft", checked: !key.hard, onSelect: setHard(false) },
    ];
  },
  getDiscs: ({ keyframe: part }) => [
    ...part!.pins.map(({ nodes, places }) => ({ nodes, positions: places })),
    ...part!.loads.filter(({ kind }) => kind === "pull").map(({ nodes }) => ({ nodes })),
  ],
  togglePins: (app, nodes) => {
    const pinned = app.state?.keyframe?.pins.flatMap((pin) => pin.nodes) ?? [];
    const unpinned = nodes.filter((node) => !pinned.includes(node));
    void (unpinned.length > 0 ? app.request("pose.pin", { nodes: unpinned }) : app.request("pose.unpin", { nodes }));
  },
  addMarks: (marks, { app }, pane) => {
    const { project, state } = app;
    if (pane !== 0 || project === null) return;
    const { loads, pins } = state!.keyframe!;
    marks.discs = pins.flatMap((pin) => pin.places.map((at) => ({ at, size: SMALL_DISC_SIZE })));
    marks.arrows = loads
      .filter((load) => load.kind === "pull")
      .map((load) => ({
        at: load.at,
        offset: scale(load.force, 1 / (load.stiffness ?? getPushStiffness(project))), // as long as the drag
        tone: "asked",
        pixels: 4.5,
        disc: true,
        alpha: load.muted ? 0.45 : 1,
        label: formatForce(load.strength),
        replaceable: !load.frozen,
      }));
  },
  createViewBar: createPoseBar,
};

/** Cost per iteration, on a logarithmic scale. */
function createCostPlot(costs: CostHistory): PlotRow {
  const getStep = (): number => niceStep(Math.max(costs.getData().x[1] / 8, 1));
  return createPlotRow({
    name: "Cost", tone: "asked", axis: true, log: true, empty: "Optimise to see the cost decrease.",
    getTicks: () => Array.from({ length: 1 + Math.floor(costs.getData().x[1] / getStep()) }, (_, i) => i * getStep()),
    formatTick: (iteration) => String(iteration),
  });
}

/** Buttons that capture or reset the pose. */
function createPoseBar(app: App): Component {
  const words = h("span");
  const capture = h("button", { type: "button", class: "view-capture", onclick: () => app.runCommand("key.capture") },
    createIcon("key"),
    words,
    h("kbd", { "aria-hidden": "true" }, getShortcut("key.capture") ?? ""),
  );
  const reset = h("button", { type: "button", class: "view-reset", onclick: () => app.runCommand("pose.reset") }, "Reset pose");
  const element = h("div", { class: "view-pose" }, capture, reset);
  const update = (): void => {
    element.hidden = app.state?.mode !== keyframe.name;
    setText(words, `Capture key at ${formatNumber(getEditFrame(app))}`);
  };
  app.onState.on(update);
  update();
  return { element };
}
