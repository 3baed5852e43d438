/** Goals of Reroute: the one in hand with its place, frame and window, and all of them in a list. */

import { h } from "../core/dom";
import { formatLength, formatNumber } from "../core/format";
import { onHover, emitHover } from "../core/hover";
import type { GoalInfo } from "../core/reroute-types";
import type { App, Component, ProjectState, Vec3 } from "../core/types";
import { findTarget } from "../core/targets";
import { createButton, createIconButton } from "../ui/controls/button";
import { createKeyedList } from "../ui/controls/common";
import { createNumberField, createFieldRow } from "../ui/controls/field";
import { createDisc, createEmptyHint, createList, createListRow, type ListRow } from "../ui/controls/list";
import { createSection } from "../ui/controls/section";
import { goTo, tell } from "./mode-panel";

/** Scrubbing by a pixel moves by this share of the body's size. */
const SCRUB = 1 / 500;

export interface StatePart extends Component {
  update(state: ProjectState): void;
}

const remove = (app: App, goal: GoalInfo): void => tell(app, "marker.delete", { lane: "goals", ids: [goal.id] });

/** The point that is selected, and its goal at this frame. */
export function goalPart(app: App): StatePart {
  let goal: GoalInfo | null = null;
  let at: { node: number; frame: number; position: Vec3 } | null = null;
  const step = (): number => SCRUB * (app.project?.size ?? 1);
  const axes = (["x", "y", "z"] as const).map((axis, k) =>
    createNumberField({
      name: `Position ${axis.toUpperCase()}`, axis, unit: "m", suffix: "", step, text: (value) => formatNumber(value, 3),
      onChange: (value) =>
        at ? app.request("place", { node: at.node, frame: at.frame, position: at.position.with(k, value) }) : undefined,
    }),
  );
  const frame = createNumberField({
    name: "Frame of the goal", unit: "f", suffix: "", integer: true, min: 1, step: () => 0.25, text: String,
    onChange: async (value) => {
      if (goal) await app.request("marker.move", { lane: "goals", ids: [goal.id], frames: [value], final: true });
      await app.request("frame", { frame: value });
    },
  });
  const led = createNumberField({
    name: "Window", unit: "f", suffix: "", integer: true, min: 0, max: 5000, step: () => 0.25,
    text: (value) => (value === 0 ? "auto" : String(value)),
    tip: "Frames in which it is led there; 0: as many as it is far",
    onChange: (value) => (goal ? app.request("goal.set", { goal: goal.id, window: value === 0 ? null : value }) : undefined),
  });
  const drop = createIconButton({ name: "Delete this goal", icon: "trash", key: "Del", onPress: () => goal && remove(app, goal) });
  const none = createEmptyHint("Go to a frame, click a point, and drag it to where it shall be.");
  const rows = [createFieldRow("Frame", frame), createFieldRow("Window", led)];
  const body = h(
    "div",
    null,
    h("div", { class: "p-label p-block-label" }, "Where it shall be"),
    h("div", { class: "p-three" }, axes.map(({ element }) => element)),
    rows.map(({ element }) => element),
  );
  const whole = createSection({ title: "Goal", actions: [drop.element] }, none.element, body);
  return {
    element: whole.element,
    update: (state) => {
      const [point] = state.selection;
      at = point?.position ? { node: point.node, frame: state.frame, position: point.position } : null;
      goal = point ? (findTarget(state, point.node, state.frame) as GoalInfo | null) : null;
      none.setVisible(!point);
      body.hidden = !point;
      drop.setVisible(goal !== null);
      whole.setNote(point?.name ?? "");
      axes.forEach((axis, k) => axis.set(point?.position?.[k] ?? null));
      frame.setRange(1, state.frames - 1);
      frame.set(state.frame);
      frame.setSuffix(`${formatNumber(state.frame / state.fps, 2)} s`);
      led.set(goal ? (goal.window ?? 0) : null);
      led.setSuffix(goal ? `from f ${goal.start}` : "");
      led.setDisabledReason(goal ? null : "Drag the point first");
      const why = refusal(state);
      for (const axis of axes) axis.setDisabledReason(why);
    },
  };
}

/** Why the selected point cannot be given a goal at this frame, null when it can. */
function refusal({ selection, frame, reroute }: ProjectState): string | null {
  if (selection.length > 1) return "Select one point to type its place";
  if (selection[0]?.fixed) return "This point is held, and nothing leads it";
  if (reroute?.pilot_frames === null) return "Run the pilot first";
  return frame === 0 ? "Go to a later frame: nothing can have led it at the first" : null;
}

type Listed = ListRow & { goal: GoalInfo };

/** All goals, and those of the scene. */
export function goalsPart(app: App): StatePart & { dispose(): void } {
  const holder = createList("Goals");
  const suggest = createButton({
    text: "Take the scene's goals", icon: "drag", tip: "What this scene was made to show", onPress: () => tell(app, "moves"),
  });
  const whole = createSection({ title: "Goals" }, holder, h("div", { class: "p-buttons" }, suggest.element));
  let looked: number | null = null;
  let here: ProjectState | null = null;
  const make = (goal: GoalInfo): Listed => {
    const gone = createIconButton({ name: `Delete ${goal.name}`, icon: "x", size: 24, onPress: () => remove(app, part.goal) });
    const made = createListRow({
      marker: createDisc(),
      onPick: () => {
        goTo(app, part.goal.frame);
        tell(app, "select", { nodes: [part.goal.node] });
      },
      onHover: (over) => emitHover(over ? part.goal.node : null, "panel"),
      actions: [gone.element],
    });
    const part: Listed = { ...made, goal };
    return part;
  };
  const update = (part: Listed, goal: GoalInfo): void => {
    part.goal = goal;
    const { report } = goal;
    part.set({
      name: goal.name,
      value: report === null ? `f ${goal.frame}` : `f ${goal.frame} · ${report.reached ? "reached" : formatLength(report.error)}`,
      selected: here !== null && goal.frame === here.frame && here.selection.some(({ node }) => node === goal.node),
      highlighted: goal.node === looked,
      warn: goal.warn,
      tip: `${formatLength(goal.moved)} from the pilot, led from frame ${goal.start}`,
    });
  };
  const rows = createKeyedList<GoalInfo, Listed>(holder, (goal) => goal.id, make, update);
  const draw = (): void => rows(here?.reroute?.goals ?? []);
  const end = onHover("panel", (node) => {
    looked = node;
    draw();
  });
  return {
    element: whole.element,
    dispose: end,
    update: (state) => {
      here = state;
      draw();
      const part = state.reroute!;
      whole.setNote(part.goals.length ? String(part.goals.length) : "");
      whole.setVisible(part.goals.length > 0 || part.suggested);
      suggest.setVisible(part.suggested && part.goals.length === 0);
    },
  };
}
