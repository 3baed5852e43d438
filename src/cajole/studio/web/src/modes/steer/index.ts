/** Steer: a live body or flow under control, pushed with the pointer. */

import { createToolCommand, type CommandSpec } from "../../core/command-table";
import type { Hints, ModeDefinition, OnboardingStep } from "../../core/modes";
import { formatPush, getPushStiffness } from "../../core/push-settings";
import type { App, Tone, Vec3 } from "../../core/types";
import { WINDOW_SECONDS } from "../../plots/live-history";
import { createPlotRow, type PlotRow } from "../../plots/plot-row";
import type { PlotSet, PlotSources } from "../../plots/plots";
import { computeForceArrow } from "../../view/mark-composition";
import type { ArrowMark } from "../../view/marks";
import { length, scale } from "../../view/vec";
import { createToolEntry } from "../tools";
import { createLiveData, LIVE_RANGE } from "./live-data";
import { createSteerPanel } from "./panel";

const FLOW_ARROW_SCALE = 0.45; // arrows of a flow are shorter, since they are dense
const KICK_KEY_OFFSET = 6; // keys 7 to 9: the digits before select modes, and F1 belongs to the browser

/** Command of the kick of a flow with this number. */
const createKickCommand = (number: number): CommandSpec => ({
  id: `kick.${number}`, title: `Kick F${number} of a flow`, keys: [String(KICK_KEY_OFFSET + number)],
  helpRow: "Kicks of a flow", icon: "impulse",
  getDisabledReason: (app) => (number <= (app.state?.steer?.flow?.kicks.length ?? 0) ? null : "This scene has no such kick."),
  run: (app) => void app.request("kick", { number }),
});

const PUSH_KEYS: Hints = [["C", "control on or off"], ["R", "repeat push"]];
const PLAY_KEY = ["Space", "play or pause"] as const;

/** Onboarding of a body or a flow. */
const createSteps = (push: [string, string], drift: string, curves: string): OnboardingStep[] => [
  { title: push[0], text: push[1], done: (now, then) => now.steer!.pushes.length > then.steer!.pushes.length },
  {
    title: "Switch control off and push again", text: `Press C, then push: ${drift}`,
    done: (now, then) => !now.steer!.control && now.steer!.pushes.length > then.steer!.pushes.length,
  },
  { title: "Compare the two curves", text: `${curves} Press C to switch control on again.`, done: (now) => now.steer!.control },
];
const BODY_STEPS = createSteps(
  ["Push the body", "Press on it and drag. The controller brings it back."],
  "the body does not return.",
  "Clay is the tracking error, violet the control force.",
);
const FLOW_STEPS = createSteps(
  ["Push the flow", "Press anywhere in the box and drag. Control moves the red particles back to their yellow targets."],
  "the particles drift with the flow.",
  "Clay is the largest particle error in cells, violet the control force.",
);

const ICON = ["M9 1.8L3.6 9h3.6l-.6 5.2L12.2 7H8.4z"];

export const steer: ModeDefinition = {
  name: "steer",
  title: "Steer",
  key: "3",
  icon: ICON,
  text: "Push a live body, watch it recover",
  scenesHeading: "Bodies to steer",
  handOverText: "Steer it",
  defaults: { tool: "push", views: 1, plots: true },
  live: {
    isRunning: (state) => state.steer!.running,
    isLoop: (state) => state.steer!.loop,
    toggle: (app) => void app.request("run", { play: !app.state?.steer?.running, speed: app.state?.steer?.speed ?? 1 }),
    restart: (app) => void app.request("restart"),
  },
  createPanel: createSteerPanel,
  createPlots: createLivePlots,
  commands: [
    createToolCommand("push", "Push", "f"),
    createToolCommand("impulse", "Impulse", "i"),
    {
      id: "control", title: "Control on or off", keys: ["c"], icon: ICON,
      run: (app) => void app.request("control", { on: !app.state?.steer?.control }),
    },
    { id: "push.repeat", title: "Repeat last push", keys: ["r"], icon: "push", run: (app) => void app.request("push.repeat") },
    createKickCommand(1),
    createKickCommand(2),
    createKickCommand(3),
    {
      id: "smoke", title: "Smoke in a flow", keys: ["s"], icon: "eye",
      getDisabledReason: (app) => (app.state?.steer?.flow ? null : "Only a flow has smoke."),
      run: (app) => void app.request("smoke", { on: !app.state?.steer?.flow?.smoke }),
    },
  ],
  gestures: [{ title: "Push the body, or the flow", group: "Direct", keys: ["Drag"] }],
  tools: [createToolEntry("select"), createToolEntry("push"), null, createToolEntry("impulse")],
  getHints: (tool, project) => {
    if (tool !== "push" && tool !== "impulse") return undefined;
    if (project?.field) return [["Drag", "in the box to push the flow"], ...PUSH_KEYS, ["S", "smoke"], PLAY_KEY];
    return [["Drag", tool === "push" ? "on the body to push" : "and release to apply an impulse"], ...PUSH_KEYS, PLAY_KEY];
  },
  getOnboarding: (state) => (state.steer?.flow ? FLOW_STEPS : BODY_STEPS),
  emptyLaneHint: "Press and drag to push.",
  getLegend: (app) => [
    ["given", app.state?.steer?.ghost === "uncontrolled" ? "No control" : "Reference"],
    ["got", app.project?.field ? "Particles" : "Live body"],
    ["world", "Your push"],
    ["added", "Control force"],
  ],

  /** Arrows of the control forces, and of the active push unless a gesture draws it. */
  addMarks: (marks, { app: { project } }, pane, { isGestureActive, liveUpdate }) => {
    if (pane !== 0 || project === null || liveUpdate === null) return;
    const { arrows, push, at } = liveUpdate;
    const size = (project.field ? FLOW_ARROW_SCALE : 1) * project.size;
    marks.arrows = arrows.map((arrow): ArrowMark => ({
      at: arrow.slice(0, 3) as Vec3,
      offset: computeForceArrow(arrow.slice(3, 6) as Vec3, project.weight, size),
      tone: "added", pixels: 2.6,
    }));
    if (push === null || at === null || isGestureActive) return;
    const label = `your push · ${formatPush(project, length(push))}`;
    marks.arrows.push({ at, offset: scale(push, 1 / getPushStiffness(project)), tone: "world", pixels: 4.5, disc: true, label });
  },
};

/** Error and effort of the last seconds. */
function createLivePlots(app: App, { history }: PlotSources): PlotSet {
  const createRow = (name: string, tone: Tone, axis: boolean): PlotRow =>
    createPlotRow({
      name, tone, axis, empty: axis ? "" : "Push the body to see it recover.",
      getTicks: () => Array.from({ length: WINDOW_SECONDS }, (_, i) => i + 1 - WINDOW_SECONDS),
      formatTick: (at) => (at === 0 ? "now" : `\u2212${-at}`),
    });
  const [error, effort] = [createRow("Error", "got", false), createRow("Effort", "added", true)];
  return {
    header: null,
    rows: [error, effort],
    firstTimed: 0,
    axisLabel: "seconds ago",
    update: () => {
      const recent = history.getRecent();
      const pushes = app.state?.steer?.pushes ?? [];
      const flow = app.state?.steer?.flow !== undefined;
      error.show(createLiveData(recent, "error", pushes, flow));
      effort.show({ ...createLiveData(recent, "effort", pushes, flow), empty: false }); // only one row shows the hint
    },
    cursors: (width) => [(width * -LIVE_RANGE[0]) / (LIVE_RANGE[1] - LIVE_RANGE[0]), null],
  };
}
