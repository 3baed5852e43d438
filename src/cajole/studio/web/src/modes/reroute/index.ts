/** Reroute: move points of a simulation to goals with small forces, in a second run. */

import { formatNumber } from "../../core/format";
import type { ModeDefinition } from "../../core/modes";
import type { App } from "../../core/types";
import { createShotPlots } from "../../plots/shot-plots";
import type { PathMark } from "../../view/marks";
import { POINT_TOOLS } from "../tools";
import { createGoalReport } from "./goal-report";
import { createReroutePanel } from "./panel";

const ICON = [
  "M5 3.6h5.4a2.2 2.2 0 0 1 0 4.4H5.6a2.2 2.2 0 0 0 0 4.4H11",
  "M13.8 12.4a1.4 1.4 0 1 1-2.8 0 1.4 1.4 0 0 1 2.8 0zM5 3.6a1.4 1.4 0 1 1-2.8 0 1.4 1.4 0 0 1 2.8 0z",
];

/** Reason why no run can start now; null if one can. */
const getBusyReason = (app: App): string | null => (app.state?.reroute?.running ? "A run is in progress already." : null);

export const reroute: ModeDefinition = {
  name: "reroute",
  title: "Reroute",
  key: "5",
  icon: ICON,
  text: "Move points of a simulation to new goals",
  scenesHeading: "Simulations to reroute",
  handOverText: "Reroute it",
  defaults: { tool: "move", views: 2, plots: false },
  allowsVertexDrag: true,
  hasMovableMarkers: true,
  createPanel: createReroutePanel,
  createPlots: (app, sources) =>
    createShotPlots(app, sources, "Run again to see the added force.", { header: createGoalReport(app) }),
  commands: [
    {
      id: "reroute", title: "Run again", keys: ["Enter"], icon: ICON,
      getDisabledReason: (app) => getBusyReason(app) ?? (app.state?.reroute?.goals.length ? null : "Drag a point to its goal first."),
      run: (app) => void app.request("reroute"),
    },
    { id: "pilot", title: "Run the pilot", icon: "play", getDisabledReason: getBusyReason, run: (app) => void app.request("pilot") },
    {
      id: "goals", title: "Use the scene's goals", icon: "drag",
      getDisabledReason: (app) => (app.state?.reroute?.suggested ? null : "This project has no goals."),
      run: (app) => void app.request("moves"),
    },
  ],
  tools: POINT_TOOLS,
  getHints: (tool) =>
    tool === "move" || tool === "select"
      ? [["Drag", "a point to its goal"], ["⏎", "run again"], ["Space", "play or pause"], ["Wheel", "zoom"]]
      : undefined,
  getOnboarding: () => [
    {
      title: "Drag a point",
      text: "Go to a frame, click a point of the net and drag it to its goal.",
      done: (now, then) => now.reroute!.goals.length > then.reroute!.goals.length,
    },
    {
      title: "Run again",
      text: "Press Enter: the same run, with small forces that move the point to its goal. Green is the old path, red the new one.",
      done: (now) => now.reroute!.making === "run" || now.reroute!.result !== null,
    },
    {
      title: "Compare",
      text: "At the right: Pattern keeps the shape of the motion, Least force minimizes the forces.",
      done: (now) => now.reroute!.compared.length > 1,
    },
  ],
  emptyLaneHint: "Go to a frame, click a point, and drag it to its goal.",
  getMarkerRange: (state) => [1, Math.max(state.frames, 1) - 1], // forces cannot have moved a vertex at frame 0
  getTargets: (state) => state.reroute!.goals,

  /** Run the pilot of a scene. */
  onOpen: (app, state) => {
    const { pilot_frames: frames, net } = state.reroute!;
    if (frames === null && !net.own) void app.request("pilot");
  },

  togglePins: (app, nodes) => {
    const unpinned = nodes.filter((node) => !app.state?.reroute?.held.includes(node));
    void (unpinned.length > 0 ? app.request("pose.pin", { nodes: unpinned }) : app.request("pose.unpin", { nodes }));
  },

  createTargetBall: (state, position) => ({ at: position, radius: state.reroute!.dials.within, isCurrent: true, warn: false }),

  /** Goals as balls with the radius of the tolerance; the path of the pilot is green, that of the second run red. */
  addMarks: (marks, view, pane, { hoveredTarget }) => {
    const { state, ui } = view.app;
    const { goals, dials } = state!.reroute!;
    const frame = view.getFrame();
    const pilots = goals.map(({ pilot }): PathMark => ({ points: pilot, token: "ok" }));
    const runs = goals.flatMap(({ led }): PathMark[] => (led ? [{ points: led, token: "err" }] : []));
    if (ui.trails) marks.paths = [...pilots, ...runs];
    marks.balls = goals.map((goal) => ({
      at: goal.position, radius: dials.within, isCurrent: goal.frame === frame, warn: goal.warn !== null,
      label: pane === 0 && goal.id === hoveredTarget ? `${goal.name} · f ${formatNumber(goal.frame)}` : null,
    }));
  },
};
