/** The panel of Edit: the dragged point, all drags, and how the motion follows. */

import { h, setText } from "../core/dom";
import { formatCount, formatDigits, formatLength, formatNumber } from "../core/format";
import { emitHover, onHover } from "../core/hover";
import type { App, Component, DragInfo, EditState, ProjectState, SelectedVertex, Vec3 } from "../core/types";
import { createButton, createIconButton } from "../ui/controls/button";
import { createLetterToggles, createSegmentedControl, createSwitch } from "../ui/controls/choice";
import { createKeyedList, createRow } from "../ui/controls/common";
import { createFieldRow, createNumberField, type NumberField } from "../ui/controls/field";
import {
  createDisc,
  createEmptyHint,
  createList,
  createListRow,
  createMarkerIcon,
  type ListRow,
} from "../ui/controls/list";
import { createSection } from "../ui/controls/section";
import { createSlider } from "../ui/controls/slider";
import { createLogScale, createLogScaleWithZero } from "../ui/controls/slider-scale";
import { createHandOverButton, createLiveSender, createSender, goToFrame, type ModePanel, send } from "./mode-panel";

export interface FineTuningSection extends Component {
  update(edit: EditState, frames: number): void;
}

/** Damping [1/s] and [s] that bodies of hand size to house size have. */
const ALPHA_SCALE = createLogScaleWithZero(0.01, 100);
const BETA_SCALE = createLogScaleWithZero(1e-5, 1);

export function createFineTuningSection(app: App): FineTuningSection {
  const energy = createSegmentedControl({
    name: "Energy",
    value: "forces" as EditState["energy"],
    onChange: createSender(app, "tune", "energy"),
    choices: [
      { value: "forces", text: "Forces", tip: "The least force: the change swings as the body does" },
      { value: "smooth", text: "Smooth", tip: "The change comes and goes without swinging on" },
    ],
  });
  const smoothness = createSlider({
    name: "Smoothness",
    value: 1,
    defaultValue: 1,
    scale: createLogScale(0.01, 100),
    text: (value) => formatDigits(value),
    tip: "More reaches farther in time",
    onInput: createLiveSender(app, "tune", "smoothness"),
    onChange: createLiveSender(app, "tune", "smoothness"),
  });
  const alpha = createDampingSlider(app, "alpha", "Damping α", ALPHA_SCALE, "Swings die out, slow ones first [1/s]");
  const beta = createDampingSlider(app, "beta", "Damping β", BETA_SCALE, "Swings die out, quick ones first [s]");
  const warp = createSegmentedControl({
    name: "Warp",
    value: "composition" as EditState["warp"],
    onChange: createSender(app, "reopen", "warp"),
    choices: [
      { value: "composition", text: "Turn", tip: "Large changes turn with the body: composition" },
      { value: "additive", text: "Add", tip: "Changes are added to the input's own turns: additive" },
      { value: "none", text: "Off", tip: "The linear change as it is; large turns swell" },
    ],
  });
  const window = createWindowFields(app);
  const lines = [
    createRow("Energy", energy.element),
    createRow("Smoothness", smoothness.element),
    createRow("Damping α", alpha.element),
    createRow("Damping β", beta.element),
    createRow("Warp", warp.element),
    createRow("Frames", window.elements, "Outside of these frames nothing changes"),
  ];
  const whole = createSection(
    { title: "Fine tuning", foldKey: "edit" },
    lines.map((line) => line.element),
  );
  return {
    element: whole.element,
    update: (edit, frames) => {
      energy.set(edit.energy);
      lines[1]!.element.hidden = edit.energy !== "smooth";
      smoothness.set(edit.smoothness);
      alpha.setScale(ALPHA_SCALE, edit.defaults.alpha);
      alpha.set(edit.alpha);
      beta.setScale(BETA_SCALE, edit.defaults.beta);
      beta.set(edit.beta);
      warp.set(edit.warp);
      window.update(edit, frames);
    },
  };
}

function createDampingSlider(app: App, name: "alpha" | "beta", title: string, scale: typeof ALPHA_SCALE, tip: string) {
  const change = createLiveSender(app, "tune", name);
  return createSlider({
    name: title,
    value: 0,
    defaultValue: 0,
    scale,
    text: (value) => (value === 0 ? "0" : formatDigits(value, 2)),
    tip,
    onInput: change,
    onChange: change,
  });
}

/** The fewest frames that a window can have: two at each end stay, one between them moves. */
const MIN_WINDOW_FRAMES = 5;

function createWindowFields(app: App) {
  let [first, last] = [0, 0];
  const change = (a: number, b: number): Promise<unknown> => app.request("tune", { window: [a, b] });
  const step = (): number => 0.25;
  const text = (value: number): string => formatNumber(value);
  const from = createNumberField({
    name: "First frame that may change",
    integer: true,
    step,
    text,
    onChange: (value) => change(value, last),
  });
  const to = createNumberField({
    name: "Last frame that may change",
    integer: true,
    step,
    text,
    onChange: (value) => change(first, value),
  });
  const all = createIconButton({
    name: "Let all frames change",
    icon: "fit",
    onPress: () => send(app, "tune", { window: null }),
  });
  return {
    elements: [from.element, to.element, all.element],
    update: (edit: EditState, frames: number) => {
      [first, last] = edit.window ?? [0, frames - 1];
      from.setRange(0, last - MIN_WINDOW_FRAMES + 1);
      to.setRange(first + MIN_WINDOW_FRAMES - 1, frames - 1);
      from.set(first);
      to.set(last);
      all.setDisabledReason(edit.window === null ? "All frames may change already" : null);
    },
  };
}

export function createEditPanel(app: App): ModePanel {
  const point = createPointSection(app);
  const drags = createDragsSection(app);
  const motion = createMotionSection(app);
  const fine = createFineTuningSection(app);
  const enrich = createHandOverButton(app, "enrich");
  const next = createSection({ title: "Go on" }, h("div", { class: "p-buttons" }, enrich.part.element));
  return {
    element: h("div", null, point.element, drags.element, motion.element, fine.element, next.element),
    footer: null,
    update: (state) => {
      if (!state.edit) return;
      point.update(state);
      drags.update(state.edit, state.frame, new Set(state.selection.map((each) => each.node)));
      motion.update(state.edit);
      fine.update(state.edit, state.frames);
    },
    dispose: () => drags.dispose(),
  };
}

type DragRow = ListRow & { drag: DragInfo };

function createDragsSection(app: App) {
  const container = createList("Drags");
  const none = createEmptyHint("Drag the selected point, or type its place.");
  const hold = createIconButton({
    name: "Hold the selected points where they are",
    icon: "plus",
    key: "P",
    onPress: () => send(app, "pin", { nodes: app.state!.selection.map((each) => each.node), frame: app.state!.frame }),
  });
  const suggest = createButton({
    text: "Make the suggested drags",
    icon: "drag",
    tip: "What this scene was made to show",
    onPress: () => send(app, "moves"),
  });
  const whole = createSection(
    { title: "Drags", actions: [hold.element] },
    container,
    none.element,
    h("div", { class: "p-buttons" }, suggest.element),
  );
  let hoveredNode: number | null = null;
  let current: { frame: number; nodes: Set<number> } = { frame: 0, nodes: new Set() };
  const make = (drag: DragInfo): DragRow => {
    const remove = createIconButton({
      name: `Release ${drag.name}`,
      icon: "x",
      size: 24,
      onPress: () => releaseDrag(app, part.drag),
    });
    const row = createListRow({
      marker: drag.pin ? createMarkerIcon("pin") : createDisc(),
      onPick: () => goToDrag(app, part.drag),
      onHover: (over) => emitHover(over ? part.drag.node : null, "panel"),
      actions: [remove.element],
    });
    const part: DragRow = { ...row, drag };
    return part;
  };
  const update = (part: DragRow, drag: DragInfo): void => {
    part.drag = drag;
    part.set({
      name: drag.name,
      value: `f ${drag.frame}`,
      selected: drag.frame === current.frame && current.nodes.has(drag.node),
      highlighted: drag.node === hoveredNode,
      warn: drag.warn,
      tip: drag.pin
        ? "Held where it was"
        : `Moved by ${formatDragLength(drag)}${drag.directions === "xyz" ? "" : `, held along ${drag.directions}`}`,
    });
  };
  // A drag and a pin of the same point have other markers.
  const updateRows = createKeyedList<DragInfo, DragRow>(container, (drag) => `${drag.id}${drag.pin ? " pin" : ""}`, make, update);
  let drags: DragInfo[] = [];
  const end = onHover("panel", (node) => {
    hoveredNode = node;
    updateRows(drags);
  });
  return {
    element: whole.element,
    dispose: end,
    update: (edit: EditState, frame: number, nodes: Set<number>) => {
      current = { frame, nodes };
      drags = [...edit.drags].sort((a, b) => a.frame - b.frame);
      updateRows(drags);
      whole.setNote(drags.length ? String(drags.length) : "");
      none.setVisible(drags.length === 0 && nodes.size > 0);
      whole.setVisible(drags.length > 0 || nodes.size > 0 || edit.suggested > 0);
      hold.setDisabledReason(nodes.size ? null : "Select a point first");
      suggest.setVisible(edit.suggested > 0);
      suggest.setText(edit.suggested === 1 ? "Make the suggested drag" : `Make the ${edit.suggested} suggested drags`);
    },
  };
}

function createMotionSection(app: App) {
  const tune = createLiveSender(app, "tune", "h");
  // A longer reach is a shorter time step of the energy: the body then counts as slower.
  const setReach = (value: number): Promise<unknown> => tune((app.state?.edit?.defaults.h ?? 1) / value);
  const ends = createSegmentedControl({
    name: "Ends",
    value: "fixed" as EditState["ends"],
    onChange: createSender(app, "tune", "ends"),
    choices: [
      { value: "fixed", text: "Fixed", tip: "The last frames stay as they came in" },
      { value: "free", text: "Free", tip: "The last frames go along" },
    ],
  });
  const reach = createSlider({
    name: "Reach in time",
    value: 1,
    defaultValue: 1,
    scale: createLogScale(1 / 30, 30),
    text: (value) => `× ${formatNumber(value, value < 9.95 ? 2 : 1)}`,
    inputText: (value) => value.toPrecision(3),
    tip: "Right: a drag takes more frames along, gently. Left: fewer, quickly",
    onInput: setReach,
    onChange: setReach,
  });
  const detail = createSlider({
    name: "Detail",
    value: 100,
    scale: createLogScale(1, 500, { whole: true }),
    text: (value) => formatNumber(value),
    tip: "Shapes that a change is made of: more are sharper, fewer rounder. Applied when let go",
    onChange: createSender(app, "reopen", "modes"),
  });
  const counted = h("span", { class: "p-quiet" });
  const contacts = createSwitch({
    name: "Keep contacts",
    value: true,
    tip: "What touches the ground goes on touching it",
    onChange: createSender(app, "reopen", "contacts"),
  });
  const whole = createSection(
    { title: "Motion" },
    createRow("Ends", ends.element).element,
    createRow("Reach in time", reach.element).element,
    createRow("Detail", detail.element).element,
    createRow("Keep contacts", [counted, contacts.element]).element,
  );
  return {
    element: whole.element,
    update: (edit: EditState) => {
      ends.set(edit.ends);
      reach.set(edit.defaults.h / edit.h);
      detail.setScale(createLogScale(1, Math.max(2, edit.most_modes), { whole: true }), edit.defaults.modes);
      detail.set(edit.modes);
      contacts.set(edit.contacts);
      contacts.setDisabledReason(edit.contacts_found === 0 ? "Nothing touches in this motion" : null);
      setText(
        counted,
        edit.contacts_found === 0
          ? "none"
          : edit.contacts
            ? `${formatNumber(edit.contacts_kept)} of ${formatNumber(edit.contacts_found)}`
            : formatCount(edit.contacts_found, "found", "found"),
      );
    },
  };
}

export interface PointSection extends Component {
  update(state: ProjectState): void;
}

/** Scrubbing by a pixel moves by this share of the body's size. */
const SCRUB_STEP = 1 / 500;
/** Gestures of the panel are told from those of the viewport by counting from here. */
let lastGesture = 1_000_000;

export function createPointSection(app: App): PointSection {
  const context: { point: SelectedVertex | null; drag: DragInfo | null; frame: number } = { point: null, drag: null, frame: 0 };
  const step = (): number => SCRUB_STEP * (app.project?.size ?? 1);
  const release = createButton({
    text: "Release",
    kind: "ghost",
    tip: "Let this drag go (Del)",
    onPress: () => context.drag && releaseDrag(app, context.drag),
  });
  release.element.classList.add("p-small");
  const axes = (["x", "y", "z"] as const).map((axis, k) =>
    createNumberField({
      name: `Position ${axis.toUpperCase()}`,
      axis,
      unit: "m",
      suffix: "",
      step,
      text: (value) => formatNumber(value, 3),
      onChange: (value) =>
        context.point?.position ? placePoint(app, context, context.point.position.with(k, value) as Vec3) : undefined,
    }),
  );
  const moved = createNumberField({
    name: "Moved by",
    unit: "m",
    min: 0,
    step,
    text: (value) => formatNumber(value, 3),
    tip: "How far it was dragged from where it came in",
    onChange: (value) => setDragLength(app, context, value),
  });
  const frame = createNumberField({
    name: "Frame",
    unit: "f",
    suffix: "",
    integer: true,
    min: 0,
    step: () => 0.25,
    text: (value) => String(value),
    onChange: (value) => moveDragToFrame(app, context, value),
  });
  const held = createLetterToggles(
    "Directions that are held",
    {
      x: "Hold x; off: the motion decides",
      y: "Hold y; off: the motion decides",
      z: "Hold z; off: the motion decides",
    },
    (directions) => setHeldDirections(app, context, directions),
  );
  const follows = h("span", { class: "p-read" });
  const lines = [
    createFieldRow("Moved by", moved),
    createFieldRow("Frame", frame),
    createRow("Held", held.element, "What the drag decides; the rest is left to the motion"),
    createRow("Follows", follows, "Frames that this drag takes along"),
  ];
  const body = h(
    "div",
    null,
    h("div", { class: "p-label p-block-label" }, "Position"),
    h(
      "div",
      { class: "p-three" },
      axes.map((axis) => axis.element),
    ),
    lines.map((line) => line.element),
  );
  const none = createEmptyHint("Click a point of the body, then drag it.");
  const whole = createSection({ title: "Dragged point", actions: [release.element] }, none.element, body);

  return {
    element: whole.element,
    update: (state) => {
      const count = state.selection.length;
      context.point = state.selection[0] ?? null;
      context.frame = state.frame;
      context.drag =
        state.edit?.drags.find((drag) => drag.node === context.point?.node && drag.frame === state.frame) ?? null;
      if (context.point === null) whole.setNote("");
      else if (count > 1) whole.setNote(`${count} points`);
      else if (context.point.name.startsWith("vertex")) whole.setNote(context.point.name);
      else whole.setNote(context.point.name, ` · vertex ${formatNumber(context.point.node)}`);
      none.setVisible(context.point === null);
      body.hidden = context.point === null;
      release.setVisible(context.drag !== null);
      if (context.point === null) return;
      axes.forEach((axis, k) => axis.set(context.point!.position?.[k] ?? null));
      moved.set(context.drag?.moved ?? getDistanceMoved(context.point));
      frame.setRange(0, state.frames - 1);
      frame.set(state.frame);
      frame.setSuffix(`${formatNumber(state.frame / state.fps, 2)} s`);
      held.set(context.drag?.directions || "xyz");
      held.setDisabledReason(context.drag === null ? "Drag the point first" : null);
      disableFields(state, context.point, [...axes, moved]);
      if (context.drag === null) moved.setDisabledReason("Drag the point first");
      const reach = state.lanes.flatMap((lane) => lane.markers).find((marker) => marker.id === context.drag?.id)?.reach;
      lines[3]!.element.hidden = reach === undefined;
      if (reach) setText(follows, `frames ${reach[0]}–${reach[1]}`);
    },
  };
}

/** Says why a point cannot be placed at this frame, where it cannot. */
function disableFields(state: ProjectState, point: SelectedVertex, fields: NumberField[]): void {
  const [first, last] = state.edit!.editable;
  let reason: string | null = null;
  if (state.selection.length > 1) reason = "Select one point to type its place";
  else if (point.fixed) reason = "This point is held fast: it never moves";
  else if (state.frame < first || state.frame > last) reason = `Frames ${first} to ${last} can be changed`;
  for (const each of fields) each.setDisabledReason(reason);
}

interface PointContext {
  point: SelectedVertex | null;
  drag: DragInfo | null;
  frame: number;
}

/** Puts the point somewhere, with the directions that its drag holds. */
function placePoint(app: App, context: PointContext, position: Vec3): Promise<unknown> {
  const { point, drag, frame } = context;
  if (drag && drag.directions !== "xyz")
    return commitDrag(app, context, drag.directions, subtract(position, point!.position!));
  return app.request("place", { node: point!.node, frame, position });
}

/** The same way, farther or less far. */
function setDragLength(app: App, context: PointContext, length: number): Promise<unknown> | void {
  const { drag, point } = context;
  if (!drag || drag.moved === 0 || !point?.position) {
    app.showToast({
      tone: "warn",
      title: "No way to go yet",
      text: "Drag the point, or type its position, to give it a direction.",
    });
    return Promise.reject(new Error("no direction"));
  }
  const offset = subtract(drag.position, drag.given);
  const size = Math.hypot(...offset) || 1;
  return placePoint(app, context, drag.given.map((x, k) => x + (offset[k]! / size) * length) as Vec3);
}

/** A drag goes along to another frame; without one, only the edit frame does. */
async function moveDragToFrame(app: App, context: PointContext, frame: number): Promise<void> {
  if (context.drag) await app.request("marker.move", { lane: "drags", ids: [context.drag.id], frames: [frame], final: true });
  await app.request("frame", { frame });
}

/** Takes hold of the point where it is, with other directions. */
function setHeldDirections(app: App, context: PointContext, directions: string): Promise<unknown> {
  return commitDrag(app, context, directions, [0, 0, 0]);
}

/** A whole gesture at once: one step of undo. */
async function commitDrag(app: App, context: PointContext, directions: string, delta: Vec3): Promise<void> {
  const gesture = ++lastGesture;
  await app.request("drag.begin", { gesture, nodes: [context.point!.node], frame: context.frame, directions });
  try {
    await app.request("drag.move", { gesture, seq: 1, delta });
  } catch (error) {
    await app.request("drag.cancel", { gesture }, { quiet: true });
    throw error;
  }
  await app.request("drag.commit", { gesture });
}

export function releaseDrag(app: App, drag: DragInfo): void {
  send(app, "marker.delete", { lane: "drags", ids: [drag.id] });
}

/** Selects what was dragged, at its frame. */
export function goToDrag(app: App, drag: DragInfo): void {
  goToFrame(app, drag.frame);
  send(app, "select", { nodes: [drag.node] });
}

const subtract = (a: Vec3, b: Vec3): Vec3 => [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
const getDistanceMoved = (point: SelectedVertex): number | null =>
  point.position && point.given ? Math.hypot(...subtract(point.position, point.given)) : null;

/** "0.42 m", for lists. */
export const formatDragLength = (drag: DragInfo): string => formatLength(drag.moved);
