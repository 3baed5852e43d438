/** The dragged point: where it is, how far it went, when, and which of its directions are held. */

import { h, setText } from "../core/dom";
import { formatLength, formatNumber } from "../core/format";
import type { App, DragInfo, Component, SelectedVertex, ProjectState, Vec3 } from "../core/types";
import { createButton } from "../ui/controls/button";
import { createLetterToggles } from "../ui/controls/choice";
import { createRow } from "../ui/controls/common";
import { createNumberField, type NumberField, createFieldRow } from "../ui/controls/field";
import { createEmptyHint } from "../ui/controls/list";
import { createSection } from "../ui/controls/section";
import { goTo, tell } from "./mode-panel";

export interface PointPart extends Component {
  update(state: ProjectState): void;
}

/** Scrubbing by a pixel moves by this share of the body's size. */
const SCRUB = 1 / 500;
/** Gestures of the panel are told from those of the viewport by counting from here. */
let gestures = 1_000_000;

export function pointPart(app: App): PointPart {
  const seen: { point: SelectedVertex | null; drag: DragInfo | null; frame: number } = { point: null, drag: null, frame: 0 };
  const step = (): number => SCRUB * (app.project?.size ?? 1);
  const release = createButton({
    text: "Release",
    kind: "ghost",
    tip: "Let this drag go (Del)",
    onPress: () => seen.drag && letGo(app, seen.drag),
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
        seen.point?.position ? put(app, seen, seen.point.position.with(k, value) as Vec3) : undefined,
    }),
  );
  const moved = createNumberField({
    name: "Moved by",
    unit: "m",
    min: 0,
    step,
    text: (value) => formatNumber(value, 3),
    tip: "How far it was dragged from where it came in",
    onChange: (value) => stretch(app, seen, value),
  });
  const frame = createNumberField({
    name: "Frame",
    unit: "f",
    suffix: "",
    integer: true,
    min: 0,
    step: () => 0.25,
    text: (value) => String(value),
    onChange: (value) => shift(app, seen, value),
  });
  const held = createLetterToggles(
    "Directions that are held",
    {
      x: "Hold x; off: the motion decides",
      y: "Hold y; off: the motion decides",
      z: "Hold z; off: the motion decides",
    },
    (directions) => hold(app, seen, directions),
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
      const many = state.selection.length;
      seen.point = state.selection[0] ?? null;
      seen.frame = state.frame;
      seen.drag =
        state.edit?.drags.find((drag) => drag.node === seen.point?.node && drag.frame === state.frame) ?? null;
      if (seen.point === null) whole.setNote("");
      else if (many > 1) whole.setNote(`${many} points`);
      else if (seen.point.name.startsWith("vertex")) whole.setNote(seen.point.name);
      else whole.setNote(seen.point.name, ` · vertex ${formatNumber(seen.point.node)}`);
      none.setVisible(seen.point === null);
      body.hidden = seen.point === null;
      release.setVisible(seen.drag !== null);
      if (seen.point === null) return;
      axes.forEach((axis, k) => axis.set(seen.point!.position?.[k] ?? null));
      moved.set(seen.drag?.moved ?? distance(seen.point));
      frame.setRange(0, state.frames - 1);
      frame.set(state.frame);
      frame.setSuffix(`${formatNumber(state.frame / state.fps, 2)} s`);
      held.set(seen.drag?.directions || "xyz");
      held.setDisabledReason(seen.drag === null ? "Drag the point first" : null);
      refusals(state, seen.point, [...axes, moved]);
      if (seen.drag === null) moved.setDisabledReason("Drag the point first");
      const reach = state.lanes.flatMap((lane) => lane.markers).find((marker) => marker.id === seen.drag?.id)?.reach;
      lines[3]!.element.hidden = reach === undefined;
      if (reach) setText(follows, `frames ${reach[0]}–${reach[1]}`);
    },
  };
}

/** Says why a point cannot be placed at this frame, where it cannot. */
function refusals(state: ProjectState, point: SelectedVertex, fields: NumberField[]): void {
  const [first, last] = state.edit!.editable;
  let why: string | null = null;
  if (state.selection.length > 1) why = "Select one point to type its place";
  else if (point.fixed) why = "This point is held fast: it never moves";
  else if (state.frame < first || state.frame > last) why = `Frames ${first} to ${last} can be changed`;
  for (const each of fields) each.setDisabledReason(why);
}

interface Seen {
  point: SelectedVertex | null;
  drag: DragInfo | null;
  frame: number;
}

/** Puts the point somewhere, with the directions that its drag holds. */
function put(app: App, seen: Seen, position: Vec3): Promise<unknown> {
  const { point, drag, frame } = seen;
  if (drag && drag.directions !== "xyz")
    return drawn(app, seen, drag.directions, difference(position, point!.position!));
  return app.request("place", { node: point!.node, frame, position });
}

/** The same way, farther or less far. */
function stretch(app: App, seen: Seen, length: number): Promise<unknown> | void {
  const { drag, point } = seen;
  if (!drag || drag.moved === 0 || !point?.position) {
    app.showToast({
      tone: "warn",
      title: "No way to go yet",
      text: "Drag the point, or type its position, to give it a direction.",
    });
    return Promise.reject(new Error("no direction"));
  }
  const way = difference(drag.position, drag.given);
  const size = Math.hypot(...way) || 1;
  return put(app, seen, drag.given.map((x, k) => x + (way[k]! / size) * length) as Vec3);
}

/** A drag goes along to another frame; without one, only the edit frame does. */
async function shift(app: App, seen: Seen, frame: number): Promise<void> {
  if (seen.drag) await app.request("marker.move", { lane: "drags", ids: [seen.drag.id], frames: [frame], final: true });
  await app.request("frame", { frame });
}

/** Takes hold of the point where it is, with other directions. */
function hold(app: App, seen: Seen, directions: string): Promise<unknown> {
  return drawn(app, seen, directions, [0, 0, 0]);
}

/** A whole gesture at once: one step of undo. */
async function drawn(app: App, seen: Seen, directions: string, delta: Vec3): Promise<void> {
  const gesture = ++gestures;
  await app.request("drag.begin", { gesture, nodes: [seen.point!.node], frame: seen.frame, directions });
  try {
    await app.request("drag.move", { gesture, seq: 1, delta });
  } catch (error) {
    await app.request("drag.cancel", { gesture }, { quiet: true });
    throw error;
  }
  await app.request("drag.commit", { gesture });
}

export function letGo(app: App, drag: DragInfo): void {
  tell(app, "marker.delete", { lane: "drags", ids: [drag.id] });
}

/** Selects what was dragged, at its frame. */
export function visit(app: App, drag: DragInfo): void {
  goTo(app, drag.frame);
  tell(app, "select", { nodes: [drag.node] });
}

const difference = (a: Vec3, b: Vec3): Vec3 => [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
const distance = (point: SelectedVertex): number | null =>
  point.position && point.given ? Math.hypot(...difference(point.position, point.given)) : null;

/** "0.42 m", for lists. */
export const way = (drag: DragInfo): string => formatLength(drag.moved);
