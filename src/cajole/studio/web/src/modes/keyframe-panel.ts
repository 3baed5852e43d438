/** Panel of Keyframe: loads that pose the body, keys, effort, shot options, result. */

import { h, setText } from "../core/dom";
import {
  formatCount,
  formatExponent,
  formatForce,
  formatLength,
  formatNumber,
  formatPercent,
  formatSeconds,
} from "../core/format";
import { emitHover, onHover } from "../core/hover";
import type { App, Component, KeyframeState, KeyInfo, LoadInfo, PinInfo } from "../core/types";
import { createIconButton, type IconButton } from "../ui/controls/button";
import { createSegmentedControl, createSwitch } from "../ui/controls/choice";
import { createKeyedList, createRow } from "../ui/controls/common";
import { createDial } from "../ui/controls/dial";
import { createFieldRow, createNumberField, createTextField } from "../ui/controls/field";
import { createKeyCard, type KeyCard } from "../ui/controls/key-card";
import { createLatestSender } from "../ui/controls/latest-sender";
import { createEmptyHint, createList, createListRow, createMarkerIcon, type ListRow } from "../ui/controls/list";
import { createSection } from "../ui/controls/section";
import { createSlider } from "../ui/controls/slider";
import { createLinearScale, createLogScale } from "../ui/controls/slider-scale";
import { createJobAction, type JobAction } from "./job-action";
import { createHandOverButton, createSender, goToFrame, type ModePanel, send } from "./mode-panel";

/** Weight of the control force against errors at keys; the default meets keys to a fraction of a percent. */
const EFFORT_SCALE = createLogScale(1e-6, 1e-1);
const DEFAULT_EFFORT = 1e-4;

export function createKeyframePanel(app: App): ModePanel {
  const loads = createLoadsSection(app);
  const keys = createKeysSection(app);
  const effort = createEffortSection(app);
  const shot = createShotSection(app);
  const action = createKeyframeAction(app);
  return {
    element: h("div", null, loads.element, keys.element, effort.element, shot.element),
    footer: h("div", null, effort.compactRow, action.element),
    update: (state) => {
      const part = state.keyframe;
      if (!part) return;
      loads.update(part);
      keys.update(part, state.frame);
      effort.update(part);
      shot.update(part, state.fps);
      action.update(part);
    },
    dispose: () => {
      loads.dispose();
      action.dispose();
    },
  };
}

function createEffortSection(app: App) {
  const options = {
    name: "Effort",
    scale: EFFORT_SCALE,
    value: DEFAULT_EFFORT,
    defaultValue: DEFAULT_EFFORT,
    text: formatExponent,
    onChange: createSender<number>(app, "dials", "effort"),
    tip: "Weight of the added force against errors at keys. Drag up and down, or use the wheel",
  };
  const dial = createDial({ ...options, ends: ["exact", "gentle"] });
  const compactSlider = createSlider({ ...options, inputText: String });
  const section = createSection({ title: "Effort" }, dial.element);
  section.element.classList.add("panel-tall");
  const line = createRow("Effort", compactSlider.element).element;
  line.classList.add("panel-low");
  return {
    element: section.element,
    compactRow: line,
    update: (part: KeyframeState) => {
      dial.set(part.effort);
      compactSlider.set(part.effort);
      dial.setDescription(describeEffort(part));
    },
  };
}

/** Describe the effect of the effort in one sentence. */
function describeEffort(part: KeyframeState): string {
  const turn = "Lower: smaller errors at keys. Higher: smaller forces.";
  if (part.result === null) return part.optimising ? `Finding the motion. ${turn}` : turn;
  if (part.result.stale)
    return part.optimising ? "Restarts with the new settings." : "The settings have changed. Optimise to update the result.";
  return `Keys are met within ${formatUpperBound(part.result.worst)} of body size. ${turn}`;
}

/** Format an upper bound in percent, rounded up. */
function formatUpperBound(share: number): string {
  const value = 100 * share;
  const digits = value < 0.1 ? 2 : value < 10 ? 1 : 0;
  const step = 10 ** -digits;
  return `${(Math.ceil(value / step - 1e-9) * step).toFixed(digits)} %`;
}

function createKeyframeAction(app: App): JobAction<KeyframeState> {
  return createJobAction(app, {
    text: "Optimise",
    busyText: "Optimising…",
    icon: "keyframe",
    tip: "Find the motion through the keys with the least added force",
    stop: { text: "Stop, keep best", tip: "Stop and keep the best motion so far" },
    onPress: () => send(app, "optimise"),
    getStatus: ({ optimising, result, keys }) => ({
      job: optimising,
      hasResult: result !== null && !result.stale,
      disabledReason: keys.length === 0 ? "Capture a key first: pull the body into a pose, then press K" : null,
    }),
  });
}

interface KeysSection extends Component {
  update(part: KeyframeState, frame: number): void;
}
type KeyListCard = KeyCard & { key: KeyInfo };

function createKeysSection(app: App): KeysSection {
  let selected: KeyInfo | null = null;
  let opened: string | null = null; // key whose details are shown
  const container = h("ul", { class: "p-cards", "aria-label": "Keys" });
  const none = createEmptyHint("Pull the body into a pose, then press K.");
  const capture = createIconButton({
    name: "Capture this pose as a key at the edit frame",
    icon: "plus",
    key: "K",
    onPress: () => send(app, "key.capture", { frame: app.state!.frame }),
  });
  const set = (values: object): Promise<unknown> => app.request("key.set", { key: selected!.id, ...values });
  const name = createTextField({ name: "Name of the key", onChange: (value) => set({ name: value }) });
  const remove = createIconButton({
    name: "Delete this key",
    icon: "trash",
    key: "Del",
    onPress: () => selected && send(app, "marker.delete", { lane: "keys", ids: [selected.id] }),
  });
  const frame = createNumberField({
    name: "Frame of the key",
    integer: true,
    min: 0,
    step: () => 0.25,
    text: (value) => formatNumber(value),
    onChange: async (value) => {
      await app.request("marker.move", { lane: "keys", ids: [selected!.id], frames: [value], final: true });
      await app.request("frame", { frame: value });
    },
  });
  const weight = createSlider({
    name: "Weight",
    value: 1,
    defaultValue: 1,
    scale: createLogScale(0.01, 100),
    text: (value) => `× ${formatNumber(value, value < 9.95 ? 2 : 0)}`,
    inputText: String,
    tip: "Weight of the error at this key",
    onChange: (value) => set({ weight: value }),
  });
  const missed = h("span", { class: "p-read" });
  const weightLine = createRow("Weight", weight.element);
  const missedLine = createRow("Missed by", missed);
  const details = h(
    "div",
    null,
    createRow("Name", [name.element, remove.element]).element,
    createFieldRow("Frame", frame).element,
    weightLine.element,
    missedLine.element,
  );
  const section = createSection({ title: "Keys", actions: [capture.element] }, container, none.element, details);

  const make = (key: KeyInfo): KeyListCard => {
    const made = createKeyCard({
      onPick: () => {
        opened = part.key.id;
        goToFrame(app, part.key.frame);
        send(app, "key.load", { key: part.key.id });
      },
      onToggleHard: () => send(app, "key.set", { key: part.key.id, hard: !part.key.hard }),
    });
    const part: KeyListCard = { ...made, key };
    return part;
  };
  const update = (part: KeyListCard, key: KeyInfo): void => {
    part.key = key;
    part.set({
      name: key.name,
      frame: key.frame,
      hard: key.hard,
      picture: key.picture,
      selected: key.id === selected?.id,
      tip: formatKeyTooltip(key),
    });
  };
  const updateCards = createKeyedList<KeyInfo, KeyListCard>(container, (key) => key.id, make, update);
  return {
    element: section.element,
    update: (part, now) => {
      const keys = [...part.keys].sort((a, b) => a.frame - b.frame);
      selected = keys.find((key) => key.current) ?? keys.find((key) => key.frame === now) ?? null;
      updateCards(keys);
      container.hidden = keys.length === 0;
      none.setVisible(keys.length === 0);
      section.setNote(keys.length ? String(keys.length) : "");
      details.hidden = selected === null || selected.id !== opened;
      if (selected === null) return;
      name.set(selected.name);
      frame.setRange(0, part.frames - 1);
      frame.set(selected.frame);
      weightLine.element.hidden = selected.hard;
      weight.set(selected.weight);
      missedLine.element.hidden = selected.missed === null;
      if (selected.missed !== null) setText(missed, `${formatPercent(selected.missed)} of body size`);
    },
  };
}

function formatKeyTooltip(key: KeyInfo): string {
  const met = key.missed === null ? "" : ` · missed by ${formatPercent(key.missed)}`;
  return `${key.name} · frame ${key.frame}${met}. Click to see its pose`;
}

interface LoadsSection extends Component {
  update(part: KeyframeState): void;
  dispose(): void;
}

/** Range of pulls, in body weights. */
const MIN_PULL = 1e-3;
const MAX_PULL = 100;

type LoadItem =
  | { key: string; kind: "pull"; load: LoadInfo }
  | { key: string; kind: "pin"; pin: PinInfo }
  | { key: string; kind: "gravity"; load: LoadInfo | null; on: boolean };
type LoadRow = ListRow & { item: LoadItem; eye: IconButton | null };

function createLoadsSection(app: App): LoadsSection {
  let selected: number | null = null;
  let hoveredNode: number | null = null;
  let items: LoadItem[] = [];
  const container = createList("Loads");
  const none = createEmptyHint("Press on the body and pull.");
  const pull = createIconButton({
    name: "Pull: press on the body and drag",
    icon: "plus",
    key: "F",
    onPress: () => app.setUi({ tool: "pull" }),
  });
  const sendStrength = createLatestSender((value: { load: number; strength: number }) => app.request("load", value));
  const setStrength = (strength: number): Promise<unknown> | void =>
    selected === null ? undefined : sendStrength({ load: selected, strength });
  const strength = createSlider({
    name: "Strength",
    value: 1,
    scale: createLogScale(1e-3, 100),
    unit: "N",
    text: formatForce,
    onInput: setStrength,
    onChange: setStrength,
  });
  const line = createRow("Strength", strength.element);
  const freeze = createIconButton({
    name: "Freeze: keep these loads during the next pull",
    icon: "lock",
    onPress: () => send(app, "freeze"),
  });
  const reset = createIconButton({
    name: "Reset the pose: the body at rest, without loads",
    icon: "refresh",
    onPress: () => send(app, "pose.reset"),
  });
  const section = createSection(
    { title: "Loads", actions: [freeze.element, reset.element, pull.element] },
    container,
    none.element,
    line.element,
  );

  const pick = (part: LoadRow): void => {
    if (part.item.kind === "pull") selected = part.item.load.id;
    if (part.item.kind === "pin") send(app, "select", { nodes: part.item.pin.nodes });
    show();
  };
  const make = (item: LoadItem): LoadRow => {
    const eye =
      item.kind === "pin"
        ? null
        : createIconButton({ name: "Mute", icon: "eye", size: 24, onPress: () => toggleMuted(app, part.item) });
    const remove =
      item.kind === "gravity"
        ? null
        : createIconButton({ name: "Remove", icon: "x", size: 24, onPress: () => removeLoad(app, part.item) });
    if (item.kind === "pull") remove?.element.classList.add("p-rarely");
    const made = createListRow({
      marker: createMarkerIcon(item.kind),
      onPick: () => pick(part),
      onHover: (over) => emitHover(over ? (getNodes(part.item)[0] ?? null) : null, "panel"),
      actions: [remove?.element, eye?.element].filter((each) => each !== undefined),
    });
    const part: LoadRow = { ...made, item, eye };
    return part;
  };
  const update = (part: LoadRow, item: LoadItem): void => {
    part.item = item;
    const muted = item.kind === "pull" ? item.load.muted : item.kind === "gravity" && !item.on;
    part.eye?.setIcon(muted ? "eye-off" : "eye", muted ? "Switch on" : "Mute");
    part.set({
      ...describeLoad(item),
      muted,
      selected: item.kind === "pull" && item.load.id === selected,
      highlighted: hoveredNode !== null && getNodes(item).includes(hoveredNode),
    });
  };
  const updateRows = createKeyedList<LoadItem, LoadRow>(container, (item) => item.key, make, update);
  const show = (): void => {
    updateRows(items);
    const load = items.find((item) => item.kind === "pull" && item.load.id === selected);
    line.element.hidden = load === undefined;
    if (load?.kind !== "pull") return;
    const weight = app.project?.weight || 1;
    strength.setScale(
      createLogScale(Math.min(MIN_PULL * weight, load.load.strength || Infinity), Math.max(MAX_PULL * weight, load.load.strength)),
    );
    strength.set(load.load.strength);
  };
  const end = onHover("panel", (node) => {
    hoveredNode = node;
    show();
  });
  return {
    element: section.element,
    dispose: end,
    update: (part) => {
      items = getLoadItems(part);
      const pulls = part.loads.filter((load) => load.kind === "pull");
      const newest = pulls.at(-1)?.id ?? null;
      if (!pulls.some((load) => load.id === selected)) selected = newest;
      show();
      const stacked = pulls.length + part.pins.length + Number(part.gravity);
      section.setNote(stacked > 1 ? `${stacked}, stacked` : part.moved > 0 ? `farthest ${formatLength(part.moved)}` : "");
      none.setVisible(pulls.length === 0);
      freeze.setDisabledReason(pulls.some((load) => !load.frozen) ? null : "There is no new pull to freeze");
      reset.setDisabledReason(stacked === 0 && part.moved === 0 ? "The body is at rest" : null);
    },
  };
}

function getLoadItems(part: KeyframeState): LoadItem[] {
  const gravity = part.loads.find((load) => load.kind === "gravity") ?? null;
  return [
    ...part.loads
      .filter((load) => load.kind === "pull")
      .map((load): LoadItem => ({ key: `pull ${load.id}`, kind: "pull", load })),
    ...part.pins.map((pin): LoadItem => ({ key: `pin ${pin.name} ${pin.nodes[0] ?? ""}`, kind: "pin", pin })),
    { key: "gravity", kind: "gravity", load: gravity, on: part.gravity },
  ];
}

function getNodes(item: LoadItem): number[] {
  if (item.kind === "gravity") return []; // acts on all nodes
  return item.kind === "pin" ? item.pin.nodes : item.load.nodes;
}

function describeLoad(item: LoadItem): { prefix?: string; name: string; value: string; tip: string } {
  if (item.kind === "pin")
    return {
      ...splitName("Pin", item.pin.name),
      value: formatCount(item.pin.nodes.length, "vertex", "vertices"),
      tip: "Held in place. Click to select",
    };
  if (item.kind === "gravity")
    return { name: "Gravity", value: "1.0 g", tip: item.on ? "The body's own weight" : "The body's own weight: off" };
  const { strength, frozen } = item.load;
  return {
    ...splitName("Pull", item.load.name),
    value: formatForce(strength),
    tip: frozen ? "Frozen: kept during new pulls. Click to edit" : "Click to edit",
  };
}

/** Split "Pull bloom" into prefix and name; other names are kept. */
function splitName(kind: string, name: string): { prefix?: string; name: string } {
  return name.startsWith(`${kind} `) ? { prefix: kind, name: name.slice(kind.length + 1) } : { name };
}

function toggleMuted(app: App, item: LoadItem): void {
  if (item.kind === "pull") send(app, "load", { load: item.load.id, muted: !item.load.muted });
  if (item.kind === "gravity") send(app, "gravity", { on: !item.on });
}

function removeLoad(app: App, item: LoadItem): void {
  if (item.kind === "pull") send(app, "load", { load: item.load.id, remove: true });
  if (item.kind === "pin") send(app, "pose.unpin", { nodes: item.pin.nodes });
}

interface ShotSection extends Component {
  update(part: KeyframeState, fps: number): void;
}

/** More modes slow down the optimization and hardly change the motion. */
const MAX_MODES = 60;
/** Time step [s] without a natural one. */
const DEFAULT_DT = 1 / 60;

function createShotSection(app: App): ShotSection {
  let natural: number | null = null;
  const detail = createSlider({
    name: "Detail",
    value: 10,
    defaultValue: 10,
    scale: createLinearScale(0, MAX_MODES, 1),
    text: (value) => formatNumber(value),
    tip: "Number of vibration modes besides the poses of the keys",
    onChange: createSender(app, "dials", "detail"),
  });
  const frames = createNumberField({
    name: "Frames",
    integer: true,
    min: 2,
    step: () => 0.5,
    text: (value) => formatNumber(value),
    onChange: createSender(app, "dials", "frames"),
  });
  const timing = createSegmentedControl({
    name: "Time step",
    value: "natural",
    choices: [
      { value: "natural", text: "Natural", tip: "From the natural frequencies of the body" },
      { value: "set", text: "Set", tip: "Seconds per frame" },
    ],
    onChange: (value) => app.request("dials", { dt: value === "natural" ? null : (natural ?? DEFAULT_DT) }),
  });
  const dt = createNumberField({
    name: "Frame time",
    unit: "s",
    min: 1e-5,
    max: 10,
    step: () => 1e-4,
    text: (value) => String(Number(value.toPrecision(4))),
    onChange: createSender(app, "dials", "dt"),
  });
  const loop = createSwitch({
    name: "Loop",
    value: false,
    tip: "The motion is periodic",
    onChange: createSender(app, "dials", "loop"),
  });
  const dtLine = createFieldRow("Frame time", dt);
  const ghost = createSegmentedControl({
    name: "Ghost",
    value: "rest" as KeyframeState["ghost"],
    choices: [
      { value: "rest", text: "Rest", tip: "The body at rest" },
      { value: "spline", text: "Spline", tip: "Spline through the same keys, without physics" },
    ],
    onChange: createSender(app, "compare", "with"),
  });
  const text = h("p", { class: "panel-text" });
  const figures = h("p", { class: "p-quiet" });
  const steer = createHandOverButton(app, "steer");
  const edit = createHandOverButton(app, "edit");
  const enrich = createHandOverButton(app, "enrich");
  const result = createSection(
    { title: "Result" },
    text,
    figures,
    createRow("Ghost", ghost.element, "Motion shown for comparison").element,
    h("div", { class: "p-buttons" }, steer.part.element, edit.part.element, enrich.part.element),
  );
  const shot = createSection(
    { title: "Shot" },
    createRow("Detail", detail.element).element,
    createFieldRow("Frames", frames).element,
    createRow("Time step", timing.element).element,
    dtLine.element,
    createRow("Loop", loop.element).element,
  );
  return {
    element: h("div", null, result.element, shot.element),
    update: (part, fps) => {
      natural = part.natural_dt;
      detail.set(part.detail);
      const last = Math.max(1, ...part.keys.map((key) => key.frame));
      frames.setRange(last + 1, 100_000);
      frames.set(part.frames);
      frames.setSuffix(fps > 0 ? formatSeconds((part.frames - 1) / fps) : "");
      timing.set(part.dt === null ? "natural" : "set");
      dtLine.element.hidden = part.dt === null && natural === null;
      dt.setDisabledReason(part.dt === null ? "The natural time step; choose Set to change it" : null);
      dt.set(part.dt ?? natural);
      loop.set(part.loop);
      result.setVisible(part.result !== null);
      if (part.result === null) return;
      ghost.set(part.ghost);
      setText(text, part.result.text);
      setText(figures, `${part.result.iterations} steps · ${formatSeconds(part.result.seconds, 1)}`);
      const why = part.optimising ? "Wait until the motion is found, or stop it" : null;
      steer.setDisabledReason(why);
      edit.setDisabledReason(why);
      enrich.setDisabledReason(why);
    },
  };
}
