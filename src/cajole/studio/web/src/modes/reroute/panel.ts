/** Panel of Reroute: second run and its comparison, goals, method, springs. */

import "./reroute.css";
import { h } from "../../core/dom";
import { formatDigits, formatForce, formatLength, formatNumber, formatSeconds } from "../../core/format";
import { getMode } from "../../core/modes";
import { prefersReducedMotion } from "../../core/theme";
import type { App, ProjectState } from "../../core/types";
import { createButton, createIconButton } from "../../ui/controls/button";
import type { Choice } from "../../ui/controls/choice";
import { createFieldRow, createNumberField } from "../../ui/controls/field";
import { createDisc, createEmptyHint } from "../../ui/controls/list";
import { createLatestSender } from "../../ui/controls/latest-sender";
import { createSection } from "../../ui/controls/section";
import { createLogScale, createLogScaleWithZero, type SliderScale } from "../../ui/controls/slider-scale";
import {
  createButtons, createChoiceRow, createHandOverButtons, createJobButton, createNumberRow, createPanelSection,
  createPositionFields, createSliderRow, createSwitchRow, createTargetList, createText, type ModePanel,
  type PanelPart, setWaiting,
} from "../panel-parts";
import type { GoalInfo, RerouteDials, RerouteRunReport, RerouteModeState } from "../../core/types";

type RerouteMethod = RerouteDials["method"];

const METHOD_CHOICES: readonly Choice<RerouteMethod>[] = [
  { value: "pattern", text: "Pattern", tip: "Rotate and scale the path of the pilot: keeps the character of the motion" },
  { value: "least-force", text: "Least force", tip: "The path of least force" },
  { value: "paper", text: "Paper", tip: "Steps of scaled length in a cone (2007), for comparison" },
];

export function createReroutePanel(app: App): ModePanel {
  const targets = [createGoalSection(app), createGoalsSection(app)];
  const dials = [createMethodSection(app), createSpringsSection(app)];
  const result = createResultSection(app);
  const action = createRerouteAction(app);
  const inputs = h("div", null, [...targets, ...dials].map(({ element }) => element));
  return {
    element: h("div", null, result.element, inputs),
    footer: action.element,
    update: (state) => {
      if (!state.reroute) return;
      for (const part of targets) part.update(state);
      for (const part of [...dials, result, action]) part.update(state.reroute);
      setWaiting(inputs, state.reroute.running !== null); // changes would only apply after the run
    },
    dispose: () => [targets[1]!, action].forEach((part) => part.dispose?.()),
  };
}

/** Button that runs the pilot first, then second runs. */
function createRerouteAction(app: App): PanelPart<RerouteModeState> {
  return createJobButton<RerouteModeState>(app, {
    icon: getMode("reroute").icon,
    tip: "The same simulation, with small forces that move points to their goals",
    end: { command: "cancel", text: "Cancel", tip: "Cancel and keep the previous result" },
    onPress: () => {
      void app.request(app.state?.reroute?.pilot_frames === null ? "pilot" : "reroute");
      if (!prefersReducedMotion()) app.setUi({ playing: true });
    },
    getJob: ({ running }) => running,
    getText: ({ making, pilot_frames: frames }, isRunning) => {
      if (isRunning) return making === "pilot" ? "Running the pilot…" : "Running again…";
      return frames === null ? "Run the pilot" : "Run again";
    },
    getDisabledReason: ({ pilot_frames: frames, goals }) => (frames !== null && goals.length === 0 ? "Drag a point to its goal first" : null),
  });
}

interface ParameterOptions {
  name: Exclude<keyof RerouteDials, "method">;
  title: string;
  scale: SliderScale;
  text: (value: number) => string;
  tip: string;
  unit?: string;
  defaultValue?: number;
  getScale?(state: RerouteModeState): [SliderScale, number?];
  isVisible?(state: RerouteModeState): boolean;
}

/** Row with a slider for a number. */
const createParameterRow = (app: App, { name, ...options }: ParameterOptions): PanelPart<RerouteModeState> =>
  createSliderRow({ ...options, get: ({ dials }) => dials[name] ?? options.scale.min, onChange: createLatestSender((value: number) => app.request("route", { [name]: value })) });

/** Method and parameters of the second run. */
function createMethodSection(app: App): PanelPart<RerouteModeState> {
  const size = app.project?.size ?? 1;
  const reachScale = createLogScaleWithZero(0.01 * size, 2 * size);
  const methods = createChoiceRow<RerouteModeState, RerouteMethod>({
    title: "", name: "Method", choices: METHOD_CHOICES, get: ({ dials }) => dials.method, onChange: (method) => app.request("route", { method }),
  });
  methods.element.classList.add("reroute-methods");
  return createPanelSection<RerouteModeState>(
    { title: "Method" },
    methods,
    createParameterRow(app, {
      name: "alpha", title: "Window", scale: createLogScale(20, 1000), defaultValue: 150, text: (value) => `${formatNumber(value)} f`,
      tip: "Frames of control for a goal one body size away. Longer needs less force",
    }),
    createParameterRow(app, {
      name: "reach", title: "Reach", scale: reachScale, getScale: ({ net }) => [reachScale, net.usual_reach], text: formatLength, unit: "m",
      tip: "Radius along the net in which neighbors are controlled too. 0: the point alone, which makes a spike",
    }),
    createParameterRow(app, {
      name: "within", title: "Tolerance", scale: createLogScale(1e-4 * size, 0.1 * size), text: formatLength, unit: "m",
      tip: "Distance at which a goal counts as reached: radius of the yellow balls",
    }),
    createSwitchRow({
      title: "Limit force", name: "Limit the force", tip: "Off: unlimited",
      get: ({ dials }) => dials.limit !== null,
      onChange: (on) => app.request("route", { limit: on ? (app.state?.reroute?.net.weight ?? 1) / 20 : null }),
    }),
    createParameterRow(app, {
      name: "limit", title: "Force limit", scale: createLogScale(1e-3, 100), text: formatForce, unit: "N",
      getScale: ({ net }) => [createLogScale(net.weight / 1000, 10 * net.weight)],
      tip: "Largest force on a point. If it is too small, goals are missed and the report says so",
      isVisible: ({ dials }) => dials.limit !== null,
    }),
  );
}

/** Spring parameters of an uploaded mesh. */
function createSpringsSection(app: App): PanelPart<RerouteModeState> {
  return createPanelSection<RerouteModeState>(
    {
      title: "Springs", foldKey: "reroute.springs",
      isVisible: ({ net }) => net.own,
      getNote: ({ net }) => `${formatNumber(net.springs)} springs`,
    },
    createParameterRow(app, {
      name: "stiffness", title: "Stiffness", scale: createLogScale(1, 1e5), defaultValue: 100, unit: "N/m",
      text: (value) => `${formatDigits(value, 2)} N/m`, tip: "Of every spring",
    }),
    createParameterRow(app, {
      name: "mass", title: "Mass", scale: createLogScale(1e-3, 1e3), defaultValue: 1, unit: "kg",
      text: (value) => `${formatDigits(value, 2)} kg`, tip: "Of the whole net",
    }),
    createParameterRow(app, {
      name: "damping", title: "Damping", scale: createLogScaleWithZero(1e-3, 100), defaultValue: 0.05, unit: "N s/m",
      text: (value) => formatDigits(value, 2), tip: "Of every spring, N s/m",
    }),
    createNumberRow({
      title: "Frames", min: 2, max: 2000, integer: true, step: () => 1, text: String, tip: "Length of the simulation",
      get: ({ dials }) => dials.frames,
      getSuffix: ({ dials }) => formatSeconds((dials.frames - 1) / (app.state?.fps ?? 60)),
      onChange: (frames) => app.request("route", { frames }),
    }),
    createText("p-quiet", ({ held: nodes }) =>
      nodes.length ? `${formatNumber(nodes.length)} points are pinned.` : "No point is pinned. Press P on a point to pin it.",
    ),
  );
}

const getMethodTitle = (method: RerouteMethod): string => METHOD_CHOICES.find(({ value }) => value === method)?.text ?? method;
const isCompared = ({ compared }: RerouteModeState): boolean => compared.length > 1;
const getShownRun = ({ compared, result, sight }: RerouteModeState): RerouteRunReport => compared.find(({ method }) => method === sight) ?? result!;

/** Method to compare with: least force, or pattern if that is the current one. */
const getComparedMethod = ({ result, dials }: RerouteModeState): RerouteMethod =>
  (result?.method ?? dials.method) === "least-force" ? "pattern" : "least-force";

/** Result, compared with another method. */
function createResultSection(app: App): PanelPart<RerouteModeState> {
  const table = h("table", { class: "reroute-table" });
  const compare = createButton({
    text: "", icon: "two", tip: "Run both methods with the same goals",
    onPress: () => void app.request("compare", { with: getComparedMethod(app.state!.reroute!) }),
  });
  const compareRow = createButtons(compare);
  const report = createButton({
    text: "Report", icon: "plot", tip: "Table of goals below the timeline", onPress: () => app.setUi({ plots: true }),
  });
  const shown = createChoiceRow<RerouteModeState, RerouteMethod>({
    title: "", name: "Shown run", choices: METHOD_CHOICES, isVisible: isCompared, get: ({ sight }) => sight, onChange: (choice) => app.request("compare", { with: choice }),
  });
  shown.element.classList.add("reroute-methods");
  return createPanelSection<RerouteModeState>(
    { title: "Second run", isVisible: ({ result, making }) => result !== null && making !== "pilot" },
    createText("panel-text", (state) =>
      state.result!.stale ? "The settings have changed. Run again to update the result." : getShownRun(state).text,
    ),
    createText("p-quiet", (state) => {
      const { effort, peak, seconds } = getShownRun(state);
      return `effort ${formatDigits(effort)} N² s · at most ${formatForce(peak)} · took ${formatSeconds(seconds, 1)}`;
    }),
    {
      element: table,
      update: (state) => {
        table.hidden = !isCompared(state);
        if (isCompared(state)) fillTable(table, state.compared);
      },
    },
    shown,
    {
      element: compareRow,
      update: (state) => {
        compareRow.hidden = isCompared(state);
        compare.setText(`Compare with ${getMethodTitle(getComparedMethod(state)).toLowerCase()}`);
      },
    },
    createButtons(report),
    createHandOverButtons(app, ["edit", "enrich"], ({ running }) => (running ? "Wait until the run has ended" : null)),
  );
}

function fillTable(table: HTMLElement, runs: readonly RerouteRunReport[]): void {
  const head = h("tr", null, h("th"), runs.map(({ method }) => h("th", { scope: "col" }, getMethodTitle(method))));
  const row = (name: string, value: (run: RerouteRunReport) => string): HTMLElement =>
    h("tr", null, h("th", { scope: "row" }, name), runs.map((run) => h("td", null, value(run))));
  const rows = [
    row("Reached", ({ reached, count }) => `${reached} of ${count}`),
    row("Effort, N² s", ({ effort }) => formatDigits(effort)),
    row("Peak force", ({ peak }) => formatForce(peak)),
    row("Shape error", ({ shape }) => formatDigits(shape, 2)),
  ];
  table.replaceChildren(h("thead", null, head), h("tbody", null, rows));
}

const deleteGoal = (app: App, goal: GoalInfo): void => void app.request("marker.delete", { lane: "goals", ids: [goal.id] });

/** Selected point and its goal at this frame. */
function createGoalSection(app: App): PanelPart<ProjectState> {
  let goal: GoalInfo | null = null;
  const position = createPositionFields(app, "Goal position", (value) => {
    const { frame, selection } = app.state!;
    return app.request("place", { node: selection[0]!.node, frame, position: value });
  });
  const frame = createNumberField({
    name: "Frame of the goal", unit: "f", suffix: "", integer: true, min: 1, step: () => 0.25, text: String,
    onChange: async (value) => {
      if (goal) await app.request("marker.move", { lane: "goals", ids: [goal.id], frames: [value], final: true });
      await app.request("frame", { frame: value });
    },
  });
  const windowField = createNumberField({
    name: "Window", unit: "f", suffix: "", integer: true, min: 0, max: 5000, step: () => 0.25,
    text: (value) => (value === 0 ? "auto" : String(value)),
    tip: "Frames of control before the goal; 0: by its distance",
    onChange: (value) => (goal ? app.request("goal.set", { goal: goal.id, window: value === 0 ? null : value }) : undefined),
  });
  const drop = createIconButton({ name: "Delete this goal", icon: "trash", key: "Del", onPress: () => goal && deleteGoal(app, goal) });
  const none = createEmptyHint("Go to a frame, click a point, and drag it to its goal.");
  const rows = [createFieldRow("Frame", frame), createFieldRow("Window", windowField)];
  const body = h("div", null, position.element, rows.map(({ element }) => element));
  const section = createSection({ title: "Goal", actions: [drop.element] }, none.element, body);
  return {
    element: section.element,
    update: (state) => {
      const [point = null] = state.selection;
      goal = state.reroute!.goals.find(({ node, frame: at }) => node === point?.node && at === state.frame) ?? null;
      none.setVisible(point === null);
      body.hidden = point === null;
      drop.setVisible(goal !== null);
      section.setNote(point?.name ?? "");
      position.update(point?.position ?? null, getGoalDisabledReason(state));
      frame.setRange(1, state.frames - 1);
      frame.set(state.frame);
      frame.setSuffix(`${formatNumber(state.frame / state.fps, 2)} s`);
      windowField.set(goal ? (goal.window ?? 0) : null);
      windowField.setSuffix(goal ? `from f ${goal.start}` : "");
      windowField.setDisabledReason(goal ? null : "Drag the point first");
    },
  };
}

/** Reason why the selected point cannot get a goal at this frame; null if it can. */
function getGoalDisabledReason({ selection, frame, reroute }: ProjectState): string | null {
  if (selection.length > 1) return "Select one point to type its position";
  if (selection[0]?.fixed) return "This point is pinned";
  if (reroute?.pilot_frames === null) return "Run the pilot first";
  return frame === 0 ? "Go to a later frame: the first frame cannot change" : null;
}

/** List of goals, and a button that adds those of the scene. */
function createGoalsSection(app: App): PanelPart<ProjectState> {
  const suggest = createButton({
    text: "Use the scene's goals", icon: "drag", tip: "Example goals of this scene", onPress: () => void app.request("moves"),
  });
  const list = createTargetList<GoalInfo>(app, {
    name: "Goals",
    lane: "goals",
    removeText: "Delete",
    createMarker: createDisc,
    describe: ({ name, frame, report, moved, start }) => ({
      name,
      value: report === null ? `f ${frame}` : `f ${frame} · ${report.reached ? "reached" : formatLength(report.error)}`,
      tip: `${formatLength(moved)} from the pilot, controlled from frame ${start}`,
    }),
  });
  const section = createSection({ title: "Goals" }, list.element, createButtons(suggest));
  return {
    element: section.element,
    dispose: list.dispose,
    update: ({ reroute }) => {
      const { goals, suggested } = reroute!;
      list.update(goals);
      section.setNote(goals.length ? String(goals.length) : "");
      section.setVisible(goals.length > 0 || suggested);
      suggest.setVisible(suggested && goals.length === 0);
    },
  };
}
