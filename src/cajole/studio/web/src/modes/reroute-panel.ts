/** Panel of Reroute: second run and its comparison, goals, method, springs. */

import "../style/reroute.css";
import { h, setText } from "../core/dom";
import { formatDigits, formatForce, formatLength, formatNumber, formatSeconds } from "../core/format";
import { emitHover, onHover } from "../core/hover";
import type { GoalInfo, RerouteDials, RerouteMethod, RerouteRun, RerouteState } from "../core/reroute-types";
import { findTarget } from "../core/targets";
import { prefersReducedMotion } from "../core/theme";
import type { App, Component, ProjectState, Vec3 } from "../core/types";
import { createButton, createIconButton } from "../ui/controls/button";
import { type Choice, createSegmentedControl, createSwitch } from "../ui/controls/choice";
import { createKeyedList, createRow } from "../ui/controls/common";
import { createFieldRow, createNumberField } from "../ui/controls/field";
import { createDisc, createEmptyHint, createList, createListRow, type ListRow } from "../ui/controls/list";
import { createSection } from "../ui/controls/section";
import { createSlider } from "../ui/controls/slider";
import { createLogScale, createLogScaleWithZero, type SliderScale } from "../ui/controls/slider-scale";
import { createHandOverButton, createLiveSender, createSender, goToFrame, type ModePanel, send } from "./mode-panel";

/** Section updated from the reroute state. */
interface RerouteSection extends Component {
  update(part: RerouteState): void;
}

const METHOD_CHOICES: readonly Choice<RerouteMethod>[] = [
  { value: "pattern", text: "Pattern", tip: "Rotate and scale the path of the pilot: keeps the character of the motion" },
  { value: "least-force", text: "Least force", tip: "The path of least force" },
  { value: "paper", text: "Paper", tip: "Steps of scaled length in a cone (2007), for comparison" },
];

type NumberParameters = Exclude<keyof RerouteDials, "method">;

interface RerouteParameterOptions {
  name: NumberParameters;
  title: string;
  scale: SliderScale;
  text: (value: number) => string;
  tip: string;
  unit?: string;
  defaultValue?: number;
}

/** Row with a slider for a number. */
function createParameterRow(app: App, { name, title, scale, text, tip, unit, defaultValue }: RerouteParameterOptions) {
  const change = createLiveSender(app, "route", name);
  const part = createSlider({
    name: title, value: scale.min, scale, text, tip, inputText: (value) => String(Number(value.toPrecision(4))),
    onInput: change, onChange: change, ...(unit ? { unit } : {}), ...(defaultValue === undefined ? {} : { defaultValue }),
  });
  return { element: createRow(title, part.element).element, part, update: (dials: RerouteDials) => part.set(dials[name] ?? scale.min) };
}

/** Method and parameters of the second run. */
function createMethodSection(app: App): RerouteSection {
  const size = app.project?.size ?? 1;
  const methods = createSegmentedControl({
    name: "Method", value: "pattern" as RerouteMethod, choices: METHOD_CHOICES, onChange: createSender(app, "route", "method"),
  });
  const alpha = createParameterRow(app, {
    name: "alpha", title: "Window", scale: createLogScale(20, 1000), defaultValue: 150,
    text: (value) => `${formatNumber(value)} f`,
    tip: "Frames of control for a goal one body size away. Longer needs less force",
  });
  const reach = createParameterRow(app, {
    name: "reach", title: "Reach", scale: createLogScaleWithZero(0.01 * size, 2 * size), text: formatLength, unit: "m",
    tip: "Radius along the net in which neighbors are controlled too. 0: the point alone, which makes a spike",
  });
  const within = createParameterRow(app, {
    name: "within", title: "Tolerance", scale: createLogScale(1e-4 * size, 0.1 * size), text: formatLength, unit: "m",
    tip: "Distance at which a goal counts as reached: radius of the yellow balls",
  });
  const limit = createParameterRow(app, {
    name: "limit", title: "Force limit", scale: createLogScale(1e-3, 100), text: formatForce, unit: "N",
    tip: "Largest force on a point. If it is too small, goals are missed and the report says so",
  });
  const limits = createSwitch({
    name: "Limit the force", value: false, tip: "Off: unlimited",
    onChange: (on) => app.request("route", { limit: on ? (app.state?.reroute?.net.weight ?? 1) / 20 : null }),
  });
  const section = createSection(
    { title: "Method" },
    h("div", { class: "reroute-methods" }, methods.element),
    alpha.element, reach.element, within.element,
    createRow("Limit force", limits.element).element,
    limit.element,
  );
  return {
    element: section.element,
    update: ({ dials, net }) => {
      methods.set(dials.method);
      reach.part.setScale(createLogScaleWithZero(0.01 * size, 2 * size), net.usual_reach);
      limit.part.setScale(createLogScale(net.weight / 1000, 10 * net.weight));
      for (const each of [alpha, reach, within, limit]) each.update(dials);
      limits.set(dials.limit !== null);
      limit.element.hidden = dials.limit === null;
    },
  };
}

/** Spring parameters of an uploaded mesh. */
function createSpringsSection(app: App): RerouteSection {
  const lines = [
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
      text: (value) => `${formatDigits(value, 2)}`, tip: "Of every spring, N s/m",
    }),
  ];
  const frames = createNumberField({
    name: "Frames", min: 2, max: 2000, integer: true, step: () => 1, text: String,
    tip: "Length of the simulation", onChange: createSender(app, "route", "frames"),
  });
  const pinnedText = h("p", { class: "p-quiet" });
  const section = createSection(
    { title: "Springs", foldKey: "reroute.springs" },
    lines.map(({ element }) => element),
    createFieldRow("Frames", frames).element,
    pinnedText,
  );
  return {
    element: section.element,
    update: ({ dials, net, held: nodes }) => {
      section.setVisible(net.own);
      for (const each of lines) each.update(dials);
      frames.set(dials.frames);
      frames.setSuffix(formatSeconds((dials.frames - 1) / (app.state?.fps ?? 60)));
      section.setNote(`${formatNumber(net.springs)} springs`);
      pinnedText.textContent = nodes.length
        ? `${formatNumber(nodes.length)} points are pinned.`
        : "No point is pinned. Press P on a point to pin it.";
    },
  };
}

export function createReroutePanel(app: App): ModePanel {
  const goal = createGoalSection(app);
  const goals = createGoalsSection(app);
  const dials = [createMethodSection(app), createSpringsSection(app)];
  const result = createResultSection(app);
  const action = createRerouteAction(app);
  const inputs = h("div", null, goal.element, goals.element, dials.map(({ element }) => element));
  return {
    element: h("div", null, result.element, inputs),
    footer: action.element,
    update: (state) => {
      const part = state.reroute;
      if (!part) return;
      goal.update(state);
      goals.update(state);
      for (const each of [...dials, result, action]) each.update(part);
      // what is asked for now would only be done after the run
      inputs.inert = part.running !== null;
      inputs.classList.toggle("reroute-waits", part.running !== null);
    },
    dispose: () => goals.dispose(),
  };
}

const getMethodTitle = (method: RerouteMethod): string => METHOD_CHOICES.find(({ value }) => value === method)?.text ?? method;

/** Result, compared with another method. */
function createResultSection(app: App): RerouteSection {
  const text = h("p", { class: "panel-text" });
  const facts = h("p", { class: "p-quiet" });
  const table = h("table", { class: "reroute-table" });
  const sight = createSegmentedControl({
    name: "Shown run", value: "pattern" as RerouteMethod, choices: METHOD_CHOICES,
    onChange: createSender(app, "compare", "with"),
  });
  const compare = createButton({
    text: "Compare with least force", icon: "two", tip: "Run both methods with the same goals",
    onPress: () => send(app, "compare", { with: getComparedMethod(app.state?.reroute) }),
  });
  const plots = createButton({
    text: "Report", icon: "plot", tip: "Table of goals below the timeline", onPress: () => app.setUi({ plots: true }),
  });
  const [edit, enrich] = [createHandOverButton(app, "edit"), createHandOverButton(app, "enrich")];
  const line = h("div", { class: "reroute-methods" }, sight.element);
  const first = h("div", { class: "p-buttons" }, compare.element);
  const rows = [[plots], [edit.part, enrich.part]].map((parts) =>
    h("div", { class: "p-buttons" }, parts.map(({ element }) => element)),
  );
  const section = createSection({ title: "Second run" }, text, facts, table, line, first, rows);
  return {
    element: section.element,
    update: (part) => {
      const { result, compared } = part;
      section.setVisible(result !== null && part.making !== "pilot");
      if (result === null) return;
      const shown = compared.find(({ method }) => method === part.sight) ?? result;
      setText(text, result.stale ? "The settings have changed. Run again to update the result." : shown.text);
      setText(
        facts,
        `effort ${formatDigits(shown.effort)} N² s · ${formatForce(shown.peak)} at most · took ${formatSeconds(shown.seconds, 1)}`,
      );
      table.hidden = compared.length < 2;
      line.hidden = compared.length < 2;
      if (compared.length > 1) fillTable(table, compared);
      sight.set(part.sight);
      first.hidden = compared.length > 1;
      compare.setText(`Compare with ${getMethodTitle(getComparedMethod(part)).toLowerCase()}`);
      for (const each of [edit, enrich]) each.setDisabledReason(part.running ? "Wait until it has run" : null);
    },
  };
}

/** Method to compare with: least force, or pattern if that is the current one. */
function getComparedMethod(part: RerouteState | undefined): RerouteMethod {
  return (part?.result?.method ?? part?.dials.method) === "least-force" ? "pattern" : "least-force";
}

function fillTable(table: HTMLElement, runs: readonly RerouteRun[]): void {
  const head = h("tr", null, h("th"), runs.map(({ method }) => h("th", { scope: "col" }, getMethodTitle(method))));
  const line = (name: string, value: (run: RerouteRun) => string): HTMLElement =>
    h("tr", null, h("th", { scope: "row" }, name), runs.map((run) => h("td", null, value(run))));
  table.replaceChildren(
    h("thead", null, head),
    h(
      "tbody",
      null,
      line("Reached", ({ reached, count }) => `${reached} of ${count}`),
      line("Effort, N² s", ({ effort }) => formatDigits(effort)),
      line("Peak force", ({ peak }) => formatForce(peak)),
      line("Shape error", ({ shape }) => formatDigits(shape, 2)),
    ),
  );
}

/** Button that runs the pilot first, then second runs. */
function createRerouteAction(app: App): RerouteSection {
  let current: RerouteState | null = null;
  const go = createButton({
    text: "Run again", icon: "reroute", kind: "primary", main: true, key: "Enter",
    tip: "The same simulation, with small forces that move points to their goals",
    onPress: () => {
      send(app, current?.pilot_frames === null ? "pilot" : "reroute");
      if (!prefersReducedMotion()) app.setUi({ playing: true });
    },
  });
  const cancel = createButton({
    text: "Cancel",
    tip: "Cancel and keep the previous result",
    onPress: () => current?.running && send(app, "cancel", { job: current.running }),
  });
  cancel.element.classList.add("p-main");
  const element = h("div", { class: "panel-action" }, go.element, cancel.element);
  return {
    element,
    update: (part) => {
      current = part;
      const running = part.running !== null;
      go.setBusy(running);
      go.setText(
        running
          ? part.making === "pilot"
            ? "Running the pilot…"
            : "Running again…"
          : part.pilot_frames === null
            ? "Run the pilot"
            : "Run again",
      );
      go.setDisabledReason(!running && part.pilot_frames !== null && part.goals.length === 0 ? "Drag a point to its goal first" : null);
      cancel.setVisible(running);
      element.toggleAttribute("data-running", running);
    },
  };
}

/** Change per pixel of scrubbing, as a fraction of the body size. */
const SCRUB_STEP = 1 / 500;

interface StateSection extends Component {
  update(state: ProjectState): void;
}

const deleteGoal = (app: App, goal: GoalInfo): void => send(app, "marker.delete", { lane: "goals", ids: [goal.id] });

/** Selected point and its goal at this frame. */
function createGoalSection(app: App): StateSection {
  let goal: GoalInfo | null = null;
  let target: { node: number; frame: number; position: Vec3 } | null = null;
  const step = (): number => SCRUB_STEP * (app.project?.size ?? 1);
  const axes = (["x", "y", "z"] as const).map((axis, k) =>
    createNumberField({
      name: `Position ${axis.toUpperCase()}`, axis, unit: "m", suffix: "", step, text: (value) => formatNumber(value, 3),
      onChange: (value) =>
        target ? app.request("place", { node: target.node, frame: target.frame, position: target.position.with(k, value) }) : undefined,
    }),
  );
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
  const body = h(
    "div",
    null,
    h("div", { class: "p-label p-block-label" }, "Goal position"),
    h("div", { class: "p-three" }, axes.map(({ element }) => element)),
    rows.map(({ element }) => element),
  );
  const section = createSection({ title: "Goal", actions: [drop.element] }, none.element, body);
  return {
    element: section.element,
    update: (state) => {
      const [point] = state.selection;
      target = point?.position ? { node: point.node, frame: state.frame, position: point.position } : null;
      goal = point ? (findTarget(state, point.node, state.frame) as GoalInfo | null) : null;
      none.setVisible(!point);
      body.hidden = !point;
      drop.setVisible(goal !== null);
      section.setNote(point?.name ?? "");
      axes.forEach((axis, k) => axis.set(point?.position?.[k] ?? null));
      frame.setRange(1, state.frames - 1);
      frame.set(state.frame);
      frame.setSuffix(`${formatNumber(state.frame / state.fps, 2)} s`);
      windowField.set(goal ? (goal.window ?? 0) : null);
      windowField.setSuffix(goal ? `from f ${goal.start}` : "");
      windowField.setDisabledReason(goal ? null : "Drag the point first");
      const reason = getGoalDisabledReason(state);
      for (const axis of axes) axis.setDisabledReason(reason);
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

type GoalRow = ListRow & { goal: GoalInfo };

/** List of goals, and a button that adds those of the scene. */
function createGoalsSection(app: App): StateSection & { dispose(): void } {
  const container = createList("Goals");
  const suggest = createButton({
    text: "Take the scene's goals", icon: "drag", tip: "Example goals of this scene", onPress: () => send(app, "moves"),
  });
  const section = createSection({ title: "Goals" }, container, h("div", { class: "p-buttons" }, suggest.element));
  let hoveredNode: number | null = null;
  let current: ProjectState | null = null;
  const make = (goal: GoalInfo): GoalRow => {
    const deleteButton = createIconButton({ name: `Delete ${goal.name}`, icon: "x", size: 24, onPress: () => deleteGoal(app, part.goal) });
    const made = createListRow({
      marker: createDisc(),
      onPick: () => {
        goToFrame(app, part.goal.frame);
        send(app, "select", { nodes: [part.goal.node] });
      },
      onHover: (over) => emitHover(over ? part.goal.node : null, "panel"),
      actions: [deleteButton.element],
    });
    const part: GoalRow = { ...made, goal };
    return part;
  };
  const update = (part: GoalRow, goal: GoalInfo): void => {
    part.goal = goal;
    const { report } = goal;
    part.set({
      name: goal.name,
      value: report === null ? `f ${goal.frame}` : `f ${goal.frame} · ${report.reached ? "reached" : formatLength(report.error)}`,
      selected: current !== null && goal.frame === current.frame && current.selection.some(({ node }) => node === goal.node),
      highlighted: goal.node === hoveredNode,
      warn: goal.warn,
      tip: `${formatLength(goal.moved)} from the pilot, controlled from frame ${goal.start}`,
    });
  };
  const updateRows = createKeyedList<GoalInfo, GoalRow>(container, (goal) => goal.id, make, update);
  const draw = (): void => updateRows(current?.reroute?.goals ?? []);
  const end = onHover("panel", (node) => {
    hoveredNode = node;
    draw();
  });
  return {
    element: section.element,
    dispose: end,
    update: (state) => {
      current = state;
      draw();
      const part = state.reroute!;
      section.setNote(part.goals.length ? String(part.goals.length) : "");
      section.setVisible(part.goals.length > 0 || part.suggested);
      suggest.setVisible(part.suggested && part.goals.length === 0);
    },
  };
}
