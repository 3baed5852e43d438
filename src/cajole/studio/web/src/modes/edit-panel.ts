/** Panel of Edit: selected point, list of drags, motion options, fine tuning. */

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

interface FineTuningSection extends Component {
  update(edit: EditState, frames: number): void;
}

/** Rayleigh damping alpha [1/s] and beta [s]. */
const ALPHA_SCALE = createLogScaleWithZero(0.01, 100);
const BETA_SCALE = createLogScaleWithZero(1e-5, 1);

function createFineTuningSection(app: App): FineTuningSection {
  const energy = createSegmentedControl({
    name: "Energy",
    value: "forces" as EditState["energy"],
    onChange: createSender(app, "tune", "energy"),
    choices: [
      { value: "forces", text: "Forces", tip: "Minimize the added force: the edit oscillates like the body" },
      { value: "smooth", text: "Smooth", tip: "Minimize acceleration: the edit fades in and out without oscillation" },
    ],
  });
  const smoothness = createSlider({
    name: "Smoothness",
    value: 1,
    defaultValue: 1,
    scale: createLogScale(0.01, 100),
    text: (value) => formatDigits(value),
    tip: "Higher values extend the edit over more frames",
    onInput: createLiveSender(app, "tune", "smoothness"),
    onChange: createLiveSender(app, "tune", "smoothness"),
  });
  const alpha = createDampingSlider(
    app,
    "alpha",
    "Damping α",
    ALPHA_SCALE,
    "Mass-proportional damping [1/s]: affects slow oscillations most",
  );
  const beta = createDampingSlider(
    app,
    "beta",
    "Damping β",
    BETA_SCALE,
    "Stiffness-proportional damping [s]: affects fast oscillations most",
  );
  const warp = createSegmentedControl({
    name: "Warp",
    value: "composition" as EditState["warp"],
    onChange: createSender(app, "reopen", "warp"),
    choices: [
      { value: "composition", text: "Turn", tip: "Composition: large edits rotate with the body" },
      { value: "additive", text: "Add", tip: "Additive: edits are added to the rotations of the input" },
      { value: "none", text: "Off", tip: "Linear displacements without warping; large rotations cause growth" },
    ],
  });
  const window = createWindowFields(app);
  const lines = [
    createRow("Energy", energy.element),
    createRow("Smoothness", smoothness.element),
    createRow("Damping α", alpha.element),
    createRow("Damping β", beta.element),
    createRow("Warp", warp.element),
    createRow("Frames", window.elements, "Frames outside this window do not change"),
  ];
  const section = createSection(
    { title: "Fine tuning", foldKey: "edit" },
    lines.map((line) => line.element),
  );
  return {
    element: section.element,
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

/** Least length of the edit window: two fixed frames at each end, one free frame between. */
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
  const none = createEmptyHint("Drag the selected point, or type its position.");
  const hold = createIconButton({
    name: "Pin the selected points where they are",
    icon: "plus",
    key: "P",
    onPress: () => send(app, "pin", { nodes: app.state!.selection.map((each) => each.node), frame: app.state!.frame }),
  });
  const suggest = createButton({
    text: "Make the suggested drags",
    icon: "drag",
    tip: "Example drags of this scene",
    onPress: () => send(app, "moves"),
  });
  const section = createSection(
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
        ? "Pinned"
        : `Moved by ${formatDragLength(drag)}${drag.directions === "xyz" ? "" : `, held along ${drag.directions}`}`,
    });
  };
  // a drag and a pin of the same point have different markers
  const updateRows = createKeyedList<DragInfo, DragRow>(container, (drag) => `${drag.id}${drag.pin ? " pin" : ""}`, make, update);
  let drags: DragInfo[] = [];
  const end = onHover("panel", (node) => {
    hoveredNode = node;
    updateRows(drags);
  });
  return {
    element: section.element,
    dispose: end,
    update: (edit: EditState, frame: number, nodes: Set<number>) => {
      current = { frame, nodes };
      drags = [...edit.drags].sort((a, b) => a.frame - b.frame);
      updateRows(drags);
      section.setNote(drags.length ? String(drags.length) : "");
      none.setVisible(drags.length === 0 && nodes.size > 0);
      section.setVisible(drags.length > 0 || nodes.size > 0 || edit.suggested > 0);
      hold.setDisabledReason(nodes.size ? null : "Select a point first");
      suggest.setVisible(edit.suggested > 0);
      suggest.setText(edit.suggested === 1 ? "Make the suggested drag" : `Make the ${edit.suggested} suggested drags`);
    },
  };
}

function createMotionSection(app: App) {
  const tune = createLiveSender(app, "tune", "h");
  // a longer reach is a smaller time step of the energy
  const setReach = (value: number): Promise<unknown> => tune((app.state?.edit?.defaults.h ?? 1) / value);
  const ends = createSegmentedControl({
    name: "Ends",
    value: "fixed" as EditState["ends"],
    onChange: createSender(app, "tune", "ends"),
    choices: [
      { value: "fixed", text: "Fixed", tip: "The last frames stay as in the input" },
      { value: "free", text: "Free", tip: "The last frames may change" },
    ],
  });
  const reach = createSlider({
    name: "Reach in time",
    value: 1,
    defaultValue: 1,
    scale: createLogScale(1 / 30, 30),
    text: (value) => `× ${formatNumber(value, value < 9.95 ? 2 : 1)}`,
    inputText: (value) => value.toPrecision(3),
    tip: "Higher: a drag changes more frames with less force. Lower: fewer frames, more force",
    onInput: setReach,
    onChange: setReach,
  });
  const detail = createSlider({
    name: "Detail",
    value: 100,
    scale: createLogScale(1, 500, { whole: true }),
    text: (value) => formatNumber(value),
    tip: "Number of vibration modes: more allow local edits, fewer give smooth ones. Applied on release",
    onChange: createSender(app, "reopen", "modes"),
  });
  const counted = h("span", { class: "p-quiet" });
  const contacts = createSwitch({
    name: "Keep contacts",
    value: true,
    tip: "Points in contact with the ground stay in contact",
    onChange: createSender(app, "reopen", "contacts"),
  });
  const section = createSection(
    { title: "Motion" },
    createRow("Ends", ends.element).element,
    createRow("Reach in time", reach.element).element,
    createRow("Detail", detail.element).element,
    createRow("Keep contacts", [counted, contacts.element]).element,
  );
  return {
    element: section.element,
    update: (edit: EditState) => {
      ends.set(edit.ends);
      reach.set(edit.defaults.h / edit.h);
      detail.setScale(createLogScale(1, Math.max(2, edit.most_modes), { whole: true }), edit.defaults.modes);
      detail.set(edit.modes);
      contacts.set(edit.contacts);
      contacts.setDisabledReason(edit.contacts_found === 0 ? "This motion has no contacts" : null);
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

interface PointSection extends Component {
  update(state: ProjectState): void;
}

/** Change per pixel of scrubbing, as a fraction of the body size. */
const SCRUB_STEP = 1 / 500;
/** Gesture ids of the panel, in another range than those of the viewport. */
let lastGesture = 1_000_000;

function createPointSection(app: App): PointSection {
  const context: { point: SelectedVertex | null; drag: DragInfo | null; frame: number } = { point: null, drag: null, frame: 0 };
  const step = (): number => SCRUB_STEP * (app.project?.size ?? 1);
  const release = createButton({
    text: "Release",
    kind: "ghost",
    tip: "Delete this drag (Del)",
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
    tip: "Distance to the position in the input",
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
  const directions = createLetterToggles(
    "Directions that are held",
    {
      x: "Constrain x; off: free",
      y: "Constrain y; off: free",
      z: "Constrain z; off: free",
    },
    (directions) => setHeldDirections(app, context, directions),
  );
  const follows = h("span", { class: "p-read" });
  const lines = [
    createFieldRow("Moved by", moved),
    createFieldRow("Frame", frame),
    createRow("Held", directions.element, "Constrained directions; the others are free"),
    createRow("Follows", follows, "Frames that this drag changes"),
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
  const section = createSection({ title: "Dragged point", actions: [release.element] }, none.element, body);

  return {
    element: section.element,
    update: (state) => {
      const count = state.selection.length;
      context.point = state.selection[0] ?? null;
      context.frame = state.frame;
      context.drag =
        state.edit?.drags.find((drag) => drag.node === context.point?.node && drag.frame === state.frame) ?? null;
      if (context.point === null) section.setNote("");
      else if (count > 1) section.setNote(`${count} points`);
      else if (context.point.name.startsWith("vertex")) section.setNote(context.point.name);
      else section.setNote(context.point.name, ` · vertex ${formatNumber(context.point.node)}`);
      none.setVisible(context.point === null);
      body.hidden = context.point === null;
      release.setVisible(context.drag !== null);
      if (context.point === null) return;
      axes.forEach((axis, k) => axis.set(context.point!.position?.[k] ?? null));
      moved.set(context.drag?.moved ?? getDistanceMoved(context.point));
      frame.setRange(0, state.frames - 1);
      frame.set(state.frame);
      frame.setSuffix(`${formatNumber(state.frame / state.fps, 2)} s`);
      directions.set(context.drag?.directions || "xyz");
      directions.setDisabledReason(context.drag === null ? "Drag the point first" : null);
      disableFields(state, context.point, [...axes, moved]);
      if (context.drag === null) moved.setDisabledReason("Drag the point first");
      const reach = state.lanes.flatMap((lane) => lane.markers).find((marker) => marker.id === context.drag?.id)?.reach;
      lines[3]!.element.hidden = reach === undefined;
      if (reach) setText(follows, `frames ${reach[0]}–${reach[1]}`);
    },
  };
}

/** Disable the fields if the point cannot be placed at this frame. */
function disableFields(state: ProjectState, point: SelectedVertex, fields: NumberField[]): void {
  const [first, last] = state.edit!.editable;
  let reason: string | null = null;
  if (state.selection.length > 1) reason = "Select one point to type its position";
  else if (point.fixed) reason = "This point is fixed";
  else if (state.frame < first || state.frame > last) reason = `Frames ${first} to ${last} can be changed`;
  for (const each of fields) each.setDisabledReason(reason);
}

interface PointContext {
  point: SelectedVertex | null;
  drag: DragInfo | null;
  frame: number;
}

/** Place the point, with the constrained directions of its drag. */
function placePoint(app: App, context: PointContext, position: Vec3): Promise<unknown> {
  const { point, drag, frame } = context;
  if (drag && drag.directions !== "xyz")
    return commitDrag(app, context, drag.directions, subtract(position, point!.position!));
  return app.request("place", { node: point!.node, frame, position });
}

/** Change the length of a drag, in the same direction. */
function setDragLength(app: App, context: PointContext, length: number): Promise<unknown> | void {
  const { drag, point } = context;
  if (!drag || drag.moved === 0 || !point?.position) {
    app.showToast({
      tone: "warn",
      title: "The drag has no direction yet",
      text: "Drag the point, or type its position, to give it a direction.",
    });
    return Promise.reject(new Error("no direction"));
  }
  const offset = subtract(drag.position, drag.given);
  const size = Math.hypot(...offset) || 1;
  return placePoint(app, context, drag.given.map((x, k) => x + (offset[k]! / size) * length) as Vec3);
}

/** Move the drag, if any, and the edit frame to another frame. */
async function moveDragToFrame(app: App, context: PointContext, frame: number): Promise<void> {
  if (context.drag) await app.request("marker.move", { lane: "drags", ids: [context.drag.id], frames: [frame], final: true });
  await app.request("frame", { frame });
}

/** Constrain other directions of the point at its current position. */
function setHeldDirections(app: App, context: PointContext, directions: string): Promise<unknown> {
  return commitDrag(app, context, directions, [0, 0, 0]);
}

/** Send a complete drag gesture: one undo step. */
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

function releaseDrag(app: App, drag: DragInfo): void {
  send(app, "marker.delete", { lane: "drags", ids: [drag.id] });
}

/** Seek to a drag and select its vertex. */
function goToDrag(app: App, drag: DragInfo): void {
  goToFrame(app, drag.frame);
  send(app, "select", { nodes: [drag.node] });
}

const subtract = (a: Vec3, b: Vec3): Vec3 => [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
const getDistanceMoved = (point: SelectedVertex): number | null =>
  point.position && point.given ? Math.hypot(...subtract(point.position, point.given)) : null;

/** "0.42 m", for lists. */
const formatDragLength = (drag: DragInfo): string => formatLength(drag.moved);
