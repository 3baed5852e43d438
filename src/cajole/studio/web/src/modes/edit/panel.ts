/** Panel of Edit: selected point, list of drags, motion options, fine tuning. */

import { h, setText } from "../../core/dom";
import { formatCount, formatDigits, formatLength, formatNumber } from "../../core/format";
import type { App, DragInfo, EditModeState, ProjectState, SelectedVertex, Vec3 } from "../../core/types";
import { createButton, createIconButton } from "../../ui/controls/button";
import { createLetterToggles } from "../../ui/controls/choice";
import { createRow } from "../../ui/controls/common";
import { createFieldRow, createNumberField } from "../../ui/controls/field";
import { createDisc, createEmptyHint, createMarkerIcon } from "../../ui/controls/list";
import { createLatestSender } from "../../ui/controls/latest-sender";
import { createSection } from "../../ui/controls/section";
import { createLogScale, createLogScaleWithZero } from "../../ui/controls/slider-scale";
import { sub } from "../../view/vec";
import {
  createButtons, createChoiceRow, createHandOverButtons, createPanelSection, createPositionFields, createSliderRow,
  createSwitchRow, createTargetList, getScrubStep, type ModePanel, type PanelPart,
} from "../panel-parts";

/** Least length of the edit window: two fixed frames at each end, one free frame between. */
const MIN_WINDOW_FRAMES = 5;
/** Gesture ids of the panel, in another range than those of the viewport. */
let lastGesture = 1_000_000;

export function createEditPanel(app: App): ModePanel {
  const sections = [createPointSection(app), createDragsSection(app)];
  const inputs = [createMotionSection(app), createFineTuningSection(app)];
  const next = createPanelSection<EditModeState>({ title: "Continue with" }, createHandOverButtons(app, ["enrich"]));
  return {
    element: h("div", null, [...sections, ...inputs, next].map(({ element }) => element)),
    footer: null,
    update: (state) => {
      if (!state.edit) return;
      for (const section of sections) section.update(state);
      for (const section of inputs) section.update(state.edit);
    },
    dispose: () => sections[1]!.dispose?.(),
  };
}

function createMotionSection(app: App): PanelPart<EditModeState> {
  const tune = createLatestSender((h: number) => app.request("tune", { h }));
  const counted = h("span", { class: "p-quiet" });
  const contacts = createSwitchRow<EditModeState>({
    title: "Keep contacts", before: counted, tip: "Points in contact with the ground stay in contact",
    get: (edit) => edit.contacts,
    getDisabledReason: (edit) => (edit.contacts_found === 0 ? "This motion has no contacts" : null),
    onChange: (contacts) => app.request("reopen", { contacts }),
  });
  return createPanelSection<EditModeState>(
    { title: "Motion" },
    createChoiceRow({
      title: "Ends",
      get: (edit) => edit.ends,
      onChange: (ends) => app.request("tune", { ends }),
      choices: [
        { value: "fixed", text: "Fixed", tip: "The last frames stay as in the input" },
        { value: "free", text: "Free", tip: "The last frames may change" },
      ],
    }),
    createSliderRow({
      title: "Reach in time",
      defaultValue: 1,
      scale: createLogScale(1 / 30, 30),
      text: (value) => `× ${formatNumber(value, value < 9.95 ? 2 : 1)}`,
      inputText: (value) => value.toPrecision(3),
      tip: "Higher: a drag changes more frames with less force. Lower: fewer frames, more force",
      get: (edit) => edit.defaults.h / edit.h,
      // a longer reach is a smaller time step of the energy
      onChange: (value) => tune((app.state?.edit?.defaults.h ?? 1) / value),
    }),
    createSliderRow({
      title: "Detail", scale: createLogScale(1, 500, { whole: true }),
      getScale: (edit) => [createLogScale(1, Math.max(2, edit.most_modes), { whole: true }), edit.defaults.modes],
      text: (value) => formatNumber(value),
      tip: "Number of vibration modes: more allow local edits, fewer give smooth ones. Applied on release",
      isLive: false,
      get: (edit) => edit.modes,
      onChange: (modes) => app.request("reopen", { modes }),
    }),
    {
      element: contacts.element,
      update: (edit) => {
        contacts.update(edit);
        const kept = `${formatNumber(edit.contacts_kept)} of ${formatNumber(edit.contacts_found)}`;
        const found = edit.contacts ? kept : formatCount(edit.contacts_found, "found", "found");
        setText(counted, edit.contacts_found === 0 ? "none" : found);
      },
    },
  );
}

function createFineTuningSection(app: App): PanelPart<EditModeState> {
  const createDampingRow = (name: "alpha" | "beta", title: string, least: number, most: number, tip: string): PanelPart<EditModeState> => {
    const scale = createLogScaleWithZero(least, most);
    return createSliderRow({
      title, scale, tip,
      getScale: (edit) => [scale, edit.defaults[name]],
      text: (value) => (value === 0 ? "0" : formatDigits(value, 2)),
      get: (edit) => edit[name],
      onChange: createLatestSender((value: number) => app.request("tune", { [name]: value })),
    });
  };
  return createPanelSection<EditModeState>(
    { title: "Fine tuning", foldKey: "edit" },
    createChoiceRow({
      title: "Energy",
      get: (edit) => edit.energy,
      onChange: (energy) => app.request("tune", { energy }),
      choices: [
        { value: "forces", text: "Forces", tip: "Minimize the added force: the edit oscillates like the body" },
        { value: "smooth", text: "Smooth", tip: "Minimize acceleration: the edit fades in and out without oscillation" },
      ],
    }),
    createSliderRow({
      title: "Smoothness", defaultValue: 1, scale: createLogScale(0.01, 100),
      text: (value) => formatDigits(value),
      tip: "Higher values extend the edit over more frames",
      isVisible: (edit) => edit.energy === "smooth",
      get: (edit) => edit.smoothness,
      onChange: createLatestSender((smoothness: number) => app.request("tune", { smoothness })),
    }),
    createDampingRow("alpha", "Damping α", 0.01, 100, "Mass-proportional damping [1/s]: affects slow oscillations most"),
    createDampingRow("beta", "Damping β", 1e-5, 1, "Stiffness-proportional damping [s]: affects fast oscillations most"),
    createChoiceRow({
      title: "Warp",
      get: (edit) => edit.warp,
      onChange: (warp) => app.request("reopen", { warp }),
      choices: [
        { value: "composition", text: "Turn", tip: "Composition: large edits rotate with the body" },
        { value: "additive", text: "Add", tip: "Additive: edits are added to the rotations of the input" },
        { value: "none", text: "Off", tip: "Linear displacements without warping; large rotations cause growth" },
      ],
    }),
    createWindowRow(app),
  );
}

/** Row with the first and last frame that may change. */
function createWindowRow(app: App): PanelPart<EditModeState> {
  let range: [first: number, last: number] = [0, 0];
  const [from, to] = (["First frame that may change", "Last frame that may change"] as const).map((name, end) =>
    createNumberField({
      name, integer: true, step: () => 0.25, text: (value) => formatNumber(value),
      onChange: (value) => app.request("tune", { window: end === 0 ? [value, range[1]] : [range[0], value] }),
    }),
  ) as [ReturnType<typeof createNumberField>, ReturnType<typeof createNumberField>];
  const all = createIconButton({ name: "Let all frames change", icon: "fit", onPress: () => void app.request("tune", { window: null }) });
  return {
    element: createRow("Frames", [from.element, to.element, all.element], "Frames outside this window do not change").element,
    update: ({ window }) => {
      const last = (app.state?.frames ?? 1) - 1;
      range = window ?? [0, last];
      from.setRange(0, range[1] - MIN_WINDOW_FRAMES + 1);
      to.setRange(range[0] + MIN_WINDOW_FRAMES - 1, last);
      from.set(range[0]);
      to.set(range[1]);
      all.setDisabledReason(window === null ? "All frames may change already" : null);
    },
  };
}

function createDragsSection(app: App): PanelPart<ProjectState> {
  const none = createEmptyHint("Drag the selected point, or type its position.");
  const pin = createIconButton({
    name: "Pin the selected points where they are", icon: "plus", key: "P",
    onPress: () => void app.request("pin", { nodes: app.state!.selection.map((each) => each.node), frame: app.state!.frame }),
  });
  const suggest = createButton({
    text: "Make the suggested drags", icon: "drag", tip: "Example drags of this scene", onPress: () => void app.request("moves"),
  });
  const list = createTargetList<DragInfo>(app, {
    name: "Drags",
    lane: "drags",
    removeText: "Release",
    createMarker: (drag) => (drag.pin ? createMarkerIcon("pin") : createDisc()),
    getKey: (drag) => `${drag.id}${drag.pin ? " pin" : ""}`, // a drag and a pin of the same point have different markers
    describe: (drag) => {
      const held = drag.directions === "xyz" ? "" : `, constrained along ${drag.directions}`;
      return { name: drag.name, value: `f ${drag.frame}`, tip: drag.pin ? "Pinned" : `Moved by ${formatLength(drag.moved)}${held}` };
    },
  });
  const section = createSection({ title: "Drags", actions: [pin.element] }, list.element, none.element, createButtons(suggest));
  return {
    element: section.element,
    dispose: list.dispose,
    update: ({ edit, selection }) => {
      const { drags, suggested } = edit!;
      const isSelected = selection.length > 0;
      list.update([...drags].sort((a, b) => a.frame - b.frame));
      section.setNote(drags.length ? String(drags.length) : "");
      none.setVisible(drags.length === 0 && isSelected);
      section.setVisible(drags.length > 0 || isSelected || suggested > 0);
      pin.setDisabledReason(isSelected ? null : "Select a point first");
      suggest.setVisible(suggested > 0);
      suggest.setText(suggested === 1 ? "Make the suggested drag" : `Make the ${suggested} suggested drags`);
    },
  };
}

/** Selected point and its drag at the edit frame. */
interface PointContext { point: SelectedVertex | null; drag: DragInfo | null; frame: number }

function createPointSection(app: App): PanelPart<ProjectState> {
  const context: PointContext = { point: null, drag: null, frame: 0 };
  const release = createButton({
    text: "Release", kind: "ghost", tip: "Delete this drag (Del)",
    onPress: () => context.drag && void app.request("marker.delete", { lane: "drags", ids: [context.drag.id] }),
  });
  release.element.classList.add("p-small");
  const position = createPositionFields(app, "Position", (value) => placePoint(app, context, value));
  const moved = createNumberField({
    name: "Moved by", unit: "m", min: 0, step: () => getScrubStep(app), text: (value) => formatNumber(value, 3),
    tip: "Distance to the position in the input",
    onChange: (value) => setDragLength(app, context, value),
  });
  const frame = createNumberField({
    name: "Frame", unit: "f", suffix: "", integer: true, min: 0, step: () => 0.25, text: String,
    onChange: async (value) => {
      if (context.drag) await app.request("marker.move", { lane: "drags", ids: [context.drag.id], frames: [value], final: true });
      await app.request("frame", { frame: value });
    },
  });
  const directions = createLetterToggles(
    "Constrained directions",
    { x: "Constrain x; off: free", y: "Constrain y; off: free", z: "Constrain z; off: free" },
    (directions) => commitDrag(app, context, directions, [0, 0, 0]),
  );
  const reach = h("span", { class: "p-read" });
  const reachRow = createRow("Reach", reach, "Frames that this drag changes");
  const body = h("div", null,
    position.element,
    createFieldRow("Moved by", moved).element,
    createFieldRow("Frame", frame).element,
    createRow("Constrain", directions.element, "Constrained directions; the others are free").element,
    reachRow.element,
  );
  const none = createEmptyHint("Click a point of the body, then drag it.");
  const section = createSection({ title: "Dragged point", actions: [release.element] }, none.element, body);
  return {
    element: section.element,
    update: (state) => {
      const { selection } = state;
      const [point = null] = selection;
      const drag = state.edit!.drags.find(({ node, frame: at }) => node === point?.node && at === state.frame) ?? null;
      Object.assign(context, { point, drag, frame: state.frame });
      none.setVisible(point === null);
      body.hidden = point === null;
      release.setVisible(drag !== null);
      if (point === null) return section.setNote("");
      if (selection.length > 1) section.setNote(`${selection.length} points`);
      else section.setNote(point.name, point.name.startsWith("vertex") ? "" : ` · vertex ${formatNumber(point.node)}`);
      const reason = getPlaceDisabledReason(state, point);
      position.update(point.position, reason);
      moved.set(drag?.moved ?? (point.position && point.given ? Math.hypot(...sub(point.position, point.given)) : null));
      moved.setDisabledReason(drag === null ? "Drag the point first" : reason);
      frame.setRange(0, state.frames - 1);
      frame.set(state.frame);
      frame.setSuffix(`${formatNumber(state.frame / state.fps, 2)} s`);
      directions.set(drag?.directions || "xyz");
      directions.setDisabledReason(drag === null ? "Drag the point first" : null);
      const frames = state.lanes.flatMap((lane) => lane.markers).find((marker) => marker.id === drag?.id)?.reach;
      reachRow.element.hidden = frames === undefined;
      if (frames) setText(reach, `frames ${frames[0]}–${frames[1]}`);
    },
  };
}

/** Reason why the point cannot be placed at this frame; null if it can. */
function getPlaceDisabledReason({ edit, frame, selection }: ProjectState, point: SelectedVertex): string | null {
  const [first, last] = edit!.editable;
  if (selection.length > 1) return "Select one point to type its position";
  if (point.fixed) return "This point is fixed";
  return frame < first || frame > last ? `Frames ${first} to ${last} can be changed` : null;
}

/** Place the point, with the constrained directions of its drag. */
function placePoint(app: App, context: PointContext, position: Vec3): Promise<unknown> {
  const { point, drag, frame } = context;
  if (drag && drag.directions !== "xyz") return commitDrag(app, context, drag.directions, sub(position, point!.position!));
  return app.request("place", { node: point!.node, frame, position });
}

/** Change the length of a drag, in the same direction. */
function setDragLength(app: App, context: PointContext, length: number): Promise<unknown> | void {
  const { drag, point } = context;
  if (!drag || drag.moved === 0 || !point?.position) {
    app.showToast({
      tone: "warn", title: "The drag has no direction yet",
      text: "Drag the point, or type its position, to give it a direction.",
    });
    return Promise.reject(new Error("no direction"));
  }
  const offset = sub(drag.position, drag.given);
  const size = Math.hypot(...offset) || 1;
  return placePoint(app, context, drag.given.map((x, k) => x + (offset[k]! / size) * length) as Vec3);
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
