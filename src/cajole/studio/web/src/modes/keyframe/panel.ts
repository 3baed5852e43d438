/** Panel of Keyframe: loads that pose the body, keys, effort, shot options, result. */

import { h, setText } from "../../core/dom";
import { formatCount, formatExponent, formatForce, formatLength, formatNumber, formatPercent, formatSeconds } from "../../core/format";
import { emitHover, onHover } from "../../core/hover";
import { getMode } from "../../core/modes";
import type { App, KeyframeModeState, KeyInfo, LoadInfo, PinInfo, ProjectState } from "../../core/types";
import { createIconButton, type IconButton } from "../../ui/controls/button";
import { createKeyedList, createRow } from "../../ui/controls/common";
import { createDial } from "../../ui/controls/dial";
import { createFieldRow, createNumberField, createTextField } from "../../ui/controls/field";
import { createKeyCard, type KeyCard } from "../../ui/controls/key-card";
import { createLatestSender } from "../../ui/controls/latest-sender";
import { createEmptyHint, createList, createListRow, createMarkerIcon, type ListRow } from "../../ui/controls/list";
import { createSection } from "../../ui/controls/section";
import { createSlider } from "../../ui/controls/slider";
import { createLinearScale, createLogScale } from "../../ui/controls/slider-scale";
import {
  createChoiceRow, createHandOverButtons, createJobButton, createNumberRow, createPanelSection, createSliderRow,
  createSwitchRow, createText, type ModePanel, type PanelPart,
} from "../panel-parts";

const MAX_MODES = 60; // more slow down the optimization and hardly change the motion
const DEFAULT_DT = 1 / 60; // [s], without a natural time step
const PULL_RANGE = [1e-3, 100] as const; // [body weights]

export function createKeyframePanel(app: App): ModePanel {
  const loads = createLoadsSection(app);
  const keys = createKeysSection(app);
  const effort = createEffortSection(app);
  const action = createKeyframeAction(app);
  const parts = [loads, effort, createResultSection(app), createShotSection(app), action];
  return {
    element: h("div", null, loads.element, keys.element, parts.slice(1, 4).map(({ element }) => element)),
    footer: h("div", null, effort.compactRow, action.element),
    update: (state) => {
      if (!state.keyframe) return;
      keys.update(state);
      for (const part of parts) part.update(state.keyframe);
    },
    dispose: () => parts.forEach((part) => part.dispose?.()),
  };
}

function createKeyframeAction(app: App): PanelPart<KeyframeModeState> {
  return createJobButton(app, {
    icon: getMode("keyframe").icon, tip: "Find the motion through the keys with the least added force",
    end: { command: "stop", text: "Stop, keep best", tip: "Stop and keep the best motion so far" },
    onPress: () => void app.request("optimise"),
    getJob: ({ optimising }) => optimising,
    getText: ({ result }, isRunning) => (isRunning ? "Optimising…" : result && !result.stale ? "Optimise again" : "Optimise"),
    getDisabledReason: ({ keys }) => (keys.length === 0 ? "Capture a key first: pull the body into a pose, then press K" : null),
  });
}

/** Weight of the control force: a dial, and a slider for low windows. */
function createEffortSection(app: App): PanelPart<KeyframeModeState> & { compactRow: HTMLElement } {
  const defaultValue = 1e-4; // meets keys to a fraction of a percent
  const options = {
    name: "Effort", value: defaultValue, defaultValue, scale: createLogScale(1e-6, 1e-1), text: formatExponent,
    tip: "Weight of the added force against errors at keys. Drag up and down, or use the wheel",
    onChange: (effort: number) => app.request("dials", { effort }),
  };
  const dial = createDial({ ...options, ends: ["exact", "gentle"] });
  const slider = createSlider(options);
  const section = createSection({ title: "Effort" }, dial.element);
  section.element.classList.add("panel-tall");
  const compactRow = createRow("Effort", slider.element).element;
  compactRow.classList.add("panel-low");
  return {
    element: section.element,
    compactRow,
    update: (part) => {
      dial.set(part.effort);
      slider.set(part.effort);
      dial.setDescription(describeEffort(part));
    },
  };
}

/** Describe the effect of the effort in one sentence. */
function describeEffort({ result, optimising }: KeyframeModeState): string {
  const effect = "Lower: smaller errors at keys. Higher: smaller forces.";
  if (result === null) return optimising ? `Optimising the motion. ${effect}` : effect;
  if (result.stale) return optimising ? "Restarts with the new settings." : "The settings have changed. Optimise to update the result.";
  return `Keys are met within ${formatUpperBound(result.worst)} of body size. ${effect}`;
}

/** Format an upper bound in percent, rounded up. */
function formatUpperBound(share: number): string {
  const value = 100 * share;
  const digits = value < 0.1 ? 2 : value < 10 ? 1 : 0;
  const step = 10 ** -digits;
  return `${(Math.ceil(value / step - 1e-9) * step).toFixed(digits)} %`;
}

type KeyListCard = KeyCard & { key: KeyInfo };

function createKeysSection(app: App): PanelPart<ProjectState> {
  let selected: KeyInfo | null = null;
  let opened: string | null = null; // key whose details are shown
  const container = h("ul", { class: "p-cards", "aria-label": "Keys" });
  const none = createEmptyHint("Pull the body into a pose, then press K.");
  const capture = createIconButton({
    name: "Capture this pose as a key at the edit frame", icon: "plus", key: "K",
    onPress: () => void app.request("key.capture", { frame: app.state!.frame }),
  });
  const set = (values: object): Promise<unknown> => app.request("key.set", { key: selected!.id, ...values });
  const name = createTextField({ name: "Name of the key", onChange: (value) => set({ name: value }) });
  const remove = createIconButton({
    name: "Delete this key", icon: "trash", key: "Del",
    onPress: () => selected && void app.request("marker.delete", { lane: "keys", ids: [selected.id] }),
  });
  const frame = createNumberField({
    name: "Frame of the key", integer: true, min: 0, step: () => 0.25, text: (value) => formatNumber(value),
    onChange: async (value) => {
      await app.request("marker.move", { lane: "keys", ids: [selected!.id], frames: [value], final: true });
      await app.request("frame", { frame: value });
    },
  });
  const weight = createSliderRow<KeyInfo>({
    title: "Weight", defaultValue: 1, scale: createLogScale(0.01, 100),
    text: (value) => `× ${formatNumber(value, value < 9.95 ? 2 : 0)}`,
    tip: "Weight of the error at this key", isLive: false,
    isVisible: (key) => !key.hard,
    get: (key) => key.weight,
    onChange: (value) => set({ weight: value }),
  });
  const missed = h("span", { class: "p-read" });
  const missedRow = createRow("Error", missed, "Distance to the pose of the key after the optimization");
  const details = h("div", null,
    createRow("Name", [name.element, remove.element]).element,
    createFieldRow("Frame", frame).element,
    weight.element,
    missedRow.element,
  );
  const section = createSection({ title: "Keys", actions: [capture.element] }, container, none.element, details);
  const make = (key: KeyInfo): KeyListCard => {
    const card = createKeyCard({
      onPick: () => {
        opened = part.key.id;
        void app.request("frame", { frame: part.key.frame });
        void app.request("key.load", { key: part.key.id });
      },
      onToggleHard: () => void app.request("key.set", { key: part.key.id, hard: !part.key.hard }),
    });
    const part: KeyListCard = { ...card, key };
    return part;
  };
  const updateCards = createKeyedList<KeyInfo, KeyListCard>(container, (key) => key.id, make, (part, key) => {
    part.key = key;
    const error = key.missed === null ? "" : ` · error ${formatPercent(key.missed)}`;
    part.set({ ...key, selected: key.id === selected?.id, tip: `${key.name} · frame ${key.frame}${error}. Click to see its pose` });
  });
  return {
    element: section.element,
    update: ({ frame: now, keyframe }) => {
      const keys = [...keyframe!.keys].sort((a, b) => a.frame - b.frame);
      selected = keys.find((key) => key.current) ?? keys.find((key) => key.frame === now) ?? null;
      updateCards(keys);
      container.hidden = keys.length === 0;
      none.setVisible(keys.length === 0);
      section.setNote(keys.length ? String(keys.length) : "");
      details.hidden = selected === null || selected.id !== opened;
      if (selected === null) return;
      name.set(selected.name);
      frame.setRange(0, keyframe!.frames - 1);
      frame.set(selected.frame);
      weight.update(selected);
      missedRow.element.hidden = selected.missed === null;
      if (selected.missed !== null) setText(missed, `${formatPercent(selected.missed)} of body size`);
    },
  };
}

type LoadItem =
  | { key: string; kind: "pull"; load: LoadInfo }
  | { key: string; kind: "pin"; pin: PinInfo }
  | { key: string; kind: "gravity"; on: boolean };
type LoadRow = ListRow & { item: LoadItem; eye: IconButton | null };

function createLoadsSection(app: App): PanelPart<KeyframeModeState> {
  let selected: number | null = null;
  let hoveredNode: number | null = null;
  let items: LoadItem[] = [];
  const container = createList("Loads");
  const none = createEmptyHint("Press on the body and pull.");
  const pull = createIconButton({
    name: "Pull: press on the body and drag", icon: "plus", key: "F", onPress: () => app.setUi({ tool: "pull" }),
  });
  const sendStrength = createLatestSender((value: { load: number; strength: number }) => app.request("load", value));
  const weight = app.project?.weight || 1;
  const strength = createSliderRow<LoadInfo | null>({
    title: "Strength",
    scale: createLogScale(1e-3, 100),
    getScale: (load) => {
      const [least, most] = PULL_RANGE;
      return [createLogScale(Math.min(least * weight, load?.strength || Infinity), Math.max(most * weight, load?.strength ?? 0))];
    },
    unit: "N",
    text: formatForce,
    isVisible: (load) => load !== null,
    get: (load) => load?.strength ?? 1,
    onChange: (value) => (selected === null ? undefined : sendStrength({ load: selected, strength: value })),
  });
  const freeze = createIconButton({
    name: "Freeze: keep these loads during the next pull", icon: "lock", onPress: () => void app.request("freeze"),
  });
  const reset = createIconButton({
    name: "Reset the pose: the body at rest, without loads", icon: "refresh", onPress: () => void app.request("pose.reset"),
  });
  const actions = [freeze.element, reset.element, pull.element];
  const section = createSection({ title: "Loads", actions }, container, none.element, strength.element);

  const make = (item: LoadItem): LoadRow => {
    const toggle = (): void => toggleMuted(app, row.item);
    const eye = item.kind === "pin" ? null : createIconButton({ name: "Mute", icon: "eye", size: 24, onPress: toggle });
    const drop = (): void => removeLoad(app, row.item);
    const remove = item.kind === "gravity" ? null : createIconButton({ name: "Remove", icon: "x", size: 24, onPress: drop });
    if (item.kind === "pull") remove?.element.classList.add("p-rarely");
    const onPick = (): void => {
      if (row.item.kind === "pull") selected = row.item.load.id;
      if (row.item.kind === "pin") void app.request("select", { nodes: row.item.pin.nodes });
      show();
    };
    const onHover = (over: boolean): void => emitHover(over ? (getNodes(row.item)[0] ?? null) : null, "panel");
    const buttons = [remove?.element, eye?.element].filter((each) => each !== undefined);
    const row: LoadRow = { ...createListRow({ marker: createMarkerIcon(item.kind), onPick, onHover, actions: buttons }), item, eye };
    return row;
  };
  const updateRows = createKeyedList<LoadItem, LoadRow>(container, (item) => item.key, make, (row, item) => {
    row.item = item;
    const muted = item.kind === "pull" ? item.load.muted : item.kind === "gravity" && !item.on;
    row.eye?.setIcon(muted ? "eye-off" : "eye", muted ? "Switch on" : "Mute");
    row.set({
      ...describeLoad(item), muted, selected: item.kind === "pull" && item.load.id === selected,
      highlighted: hoveredNode !== null && getNodes(item).includes(hoveredNode),
    });
  });
  const show = (): void => {
    updateRows(items);
    strength.update(items.flatMap((item) => (item.kind === "pull" && item.load.id === selected ? item.load : []))[0] ?? null);
  };
  const dispose = onHover("panel", (node) => {
    hoveredNode = node;
    show();
  });
  return {
    element: section.element,
    dispose,
    update: (part) => {
      const pulls = part.loads.filter((load) => load.kind === "pull");
      items = [
        ...pulls.map((load): LoadItem => ({ key: `pull ${load.id}`, kind: "pull", load })),
        ...part.pins.map((pin): LoadItem => ({ key: `pin ${pin.name} ${pin.nodes[0] ?? ""}`, kind: "pin", pin })),
        { key: "gravity", kind: "gravity", on: part.gravity },
      ];
      if (!pulls.some((load) => load.id === selected)) selected = pulls.at(-1)?.id ?? null;
      show();
      const count = pulls.length + part.pins.length + Number(part.gravity);
      section.setNote(count > 1 ? `${count}, stacked` : part.moved > 0 ? `farthest ${formatLength(part.moved)}` : "");
      none.setVisible(pulls.length === 0);
      freeze.setDisabledReason(pulls.some((load) => !load.frozen) ? null : "There is no new pull to freeze");
      reset.setDisabledReason(count === 0 && part.moved === 0 ? "The body is at rest" : null);
    },
  };
}

/** Nodes of a load; none for gravity, which acts on all. */
function getNodes(item: LoadItem): number[] {
  return item.kind === "gravity" ? [] : item.kind === "pin" ? item.pin.nodes : item.load.nodes;
}

function describeLoad(item: LoadItem): { prefix?: string; name: string; value: string; tip: string } {
  // "Pull bloom": the first word is emphasized
  const split = (kind: string, name: string): { prefix?: string; name: string } =>
    name.startsWith(`${kind} `) ? { prefix: kind, name: name.slice(kind.length + 1) } : { name };
  switch (item.kind) {
    case "pin":
      return {
        ...split("Pin", item.pin.name), value: formatCount(item.pin.nodes.length, "vertex", "vertices"),
        tip: "Fixed in place. Click to select",
      };
    case "gravity":
      return { name: "Gravity", value: "1.0 g", tip: item.on ? "The body's own weight" : "The body's own weight: off" };
    case "pull": {
      const tip = item.load.frozen ? "Frozen: kept during new pulls. Click to edit" : "Click to edit";
      return { ...split("Pull", item.load.name), value: formatForce(item.load.strength), tip };
    }
  }
}

function toggleMuted(app: App, item: LoadItem): void {
  if (item.kind === "pull") void app.request("load", { load: item.load.id, muted: !item.load.muted });
  if (item.kind === "gravity") void app.request("gravity", { on: !item.on });
}

function removeLoad(app: App, item: LoadItem): void {
  if (item.kind === "pull") void app.request("load", { load: item.load.id, remove: true });
  if (item.kind === "pin") void app.request("pose.unpin", { nodes: item.pin.nodes });
}

function createResultSection(app: App): PanelPart<KeyframeModeState> {
  return createPanelSection<KeyframeModeState>(
    { title: "Result", isVisible: ({ result }) => result !== null },
    createText("panel-text", ({ result }) => result!.text),
    createText("p-quiet", ({ result }) => `${result!.iterations} iterations · ${formatSeconds(result!.seconds, 1)}`),
    createChoiceRow({
      title: "Ghost",
      get: ({ ghost }) => ghost,
      onChange: (choice) => app.request("compare", { with: choice }),
      choices: [
        { value: "rest", text: "Rest", tip: "The body at rest" },
        { value: "spline", text: "Spline", tip: "Spline through the same keys, without physics" },
      ],
    }),
    createHandOverButtons(app, ["steer", "edit", "enrich"], ({ optimising }) =>
      optimising ? "Wait until the optimization has ended, or stop it" : null,
    ),
  );
}

function createShotSection(app: App): PanelPart<KeyframeModeState> {
  return createPanelSection<KeyframeModeState>(
    { title: "Shot" },
    createSliderRow({
      title: "Detail", defaultValue: 10, scale: createLinearScale(0, MAX_MODES, 1),
      text: (value) => formatNumber(value),
      tip: "Number of vibration modes besides the poses of the keys", isLive: false,
      get: ({ detail }) => detail,
      onChange: (detail) => app.request("dials", { detail }),
    }),
    createNumberRow({
      title: "Frames", integer: true, min: 2, step: () => 0.5, text: (value) => formatNumber(value),
      getRange: ({ keys }) => [1 + Math.max(1, ...keys.map((key) => key.frame)), 100_000],
      getSuffix: ({ frames }) => (app.state?.fps ? formatSeconds((frames - 1) / app.state.fps) : ""),
      get: ({ frames }) => frames,
      onChange: (frames) => app.request("dials", { frames }),
    }),
    createChoiceRow({
      title: "Time step",
      get: ({ dt }) => (dt === null ? "natural" : "set"),
      onChange: (value) => app.request("dials", { dt: value === "natural" ? null : (app.state?.keyframe?.natural_dt ?? DEFAULT_DT) }),
      choices: [
        { value: "natural", text: "Natural", tip: "From the natural frequencies of the body" },
        { value: "set", text: "Set", tip: "Seconds per frame" },
      ],
    }),
    createNumberRow({
      title: "Frame time", unit: "s", min: 1e-5, max: 10, step: () => 1e-4, text: (value) => String(Number(value.toPrecision(4))),
      isVisible: ({ dt, natural_dt: natural }) => dt !== null || natural !== null,
      getDisabledReason: ({ dt }) => (dt === null ? "The natural time step; choose Set to change it" : null),
      get: ({ dt, natural_dt: natural }) => dt ?? natural,
      onChange: (dt) => app.request("dials", { dt }),
    }),
    createSwitchRow({ title: "Loop", tip: "The motion is periodic", get: ({ loop }) => loop, onChange: (loop) => app.request("dials", { loop }) }),
  );
}
