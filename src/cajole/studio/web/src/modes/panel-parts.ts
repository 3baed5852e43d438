/** Parts of the panels: rows bound to one value of the state, sections, lists of targets, and the button of a job. */

import { h, setAttribute, setChildren, setText, type Child } from "../core/dom";
import { formatNumber } from "../core/format";
import { emitHover, onHover } from "../core/hover";
import type { Icon } from "../core/icons";
import { getMode, type ModeName } from "../core/modes";
import type { App, Component, PositionTarget, ProjectState, Vec3 } from "../core/types";
import { createButton, createIconButton, type Button } from "../ui/controls/button";
import { type Choice, createSegmentedControl, createSwitch } from "../ui/controls/choice";
import { createKeyedList, createRow } from "../ui/controls/common";
import { createNumberField, type NumberField, type NumberFieldOptions } from "../ui/controls/field";
import { createList, createListRow, type ListRow, type ListRowState } from "../ui/controls/list";
import { createSection } from "../ui/controls/section";
import { createSlider, type SliderOptions } from "../ui/controls/slider";
import type { SliderScale } from "../ui/controls/slider-scale";
import type { ChangeResult } from "../ui/controls/synced-value";

/** Panel of a mode: its scrolling element, and a fixed footer above the force meter. */
export interface ModePanel extends Component { footer: HTMLElement | null; update(state: ProjectState): void }

/** Part of a panel that shows a state, or a part of it. */
export interface PanelPart<S> extends Component { update(state: S): void }

/** Change per pixel of scrubbing a position, as a fraction of the body size. */
const SCRUB_STEP = 1 / 500;

interface RowOptions<S, T> {
  title: string; // label of the row; "" for a control without a label
  name?: string; // of the control, for screen readers; by default the title
  tip?: string;
  get(state: S): T;
  onChange(value: T): ChangeResult;
  isVisible?(state: S): boolean;
  getDisabledReason?(state: S): string | null;
  before?: Child; // in the same row, before the control
  after?: Child;
}
interface Control<T> extends Component { set(value: T): void; setDisabledReason(reason: string | null): void }

/** Row with a control that shows one value of the state. */
function bindRow<S, T>(options: RowOptions<S, T>, control: Control<T>, beforeSet?: (state: S) => void): PanelPart<S> {
  const { title, get, isVisible, getDisabledReason, before, after } = options;
  const element = title === "" ? control.element : createRow(title, [before, control.element, after]).element;
  return {
    element,
    update: (state) => {
      if (isVisible) element.hidden = !isVisible(state);
      if (getDisabledReason) control.setDisabledReason(getDisabledReason(state));
      beforeSet?.(state);
      control.set(get(state));
    },
  };
}

interface SliderRowOptions<S> extends RowOptions<S, number>, Omit<SliderOptions, "name" | "value" | "onChange" | "onInput" | "tip"> {
  isLive?: boolean; // false: the change is sent on release only
  getScale?(state: S): [SliderScale, number?]; // and its default
}

export function createSliderRow<S>(options: SliderRowOptions<S>): PanelPart<S> {
  const { title, name = title, onChange, isLive = true, getScale, scale } = options;
  const control = createSlider({ ...options, name, value: scale.min, ...(isLive && { onInput: onChange }) });
  return bindRow(options, control, (state) => getScale && control.setScale(...getScale(state)));
}

export function createSwitchRow<S>(options: RowOptions<S, boolean> & { key?: string }): PanelPart<S> {
  return bindRow(options, createSwitch({ ...options, name: options.name ?? options.title, value: true }));
}

export function createChoiceRow<S, T extends string | number>(options: RowOptions<S, T> & { choices: readonly Choice<T>[] }): PanelPart<S> {
  return bindRow(options, createSegmentedControl({ ...options, name: options.name ?? options.title, value: options.choices[0]!.value }));
}

interface NumberRowOptions<S> extends Omit<RowOptions<S, number | null>, "onChange">, Omit<NumberFieldOptions, "name" | "tip"> {
  getRange?(state: S): [number, number];
  getSuffix?(state: S): string;
}

/** Row with a number field whose label is a scrub handle. */
export function createNumberRow<S>(options: NumberRowOptions<S>): PanelPart<S> {
  const { title, name = title, getRange, getSuffix } = options;
  const control = createNumberField({ ...options, name });
  const row = bindRow(options as RowOptions<S, number | null>, control, (state) => {
    if (getRange) control.setRange(...getRange(state));
    if (getSuffix) control.setSuffix(getSuffix(state));
  });
  control.addScrubHandle(row.element.querySelector<HTMLElement>(".p-label")!);
  return row;
}

/** Text that follows the state; hidden while it is empty. */
export function createText<S>(className: string, get: (state: S) => string): PanelPart<S> {
  const element = h("p", { class: className });
  return {
    element,
    update: (state) => {
      setText(element, get(state));
      element.hidden = element.textContent === "";
    },
  };
}

/** Row of buttons. */
export const createButtons = (...buttons: Component[]): HTMLElement => h("div", { class: "p-buttons" }, buttons.map(({ element }) => element));

interface PanelSectionOptions<S> {
  title: string;
  foldKey?: string; // storage key of the collapsed state
  actions?: HTMLElement[];
  getNote?(state: S): string;
  isVisible?(state: S): boolean;
}

/** Section of parts that show the same state; plain elements do not change. */
export function createPanelSection<S>(options: PanelSectionOptions<S>, ...parts: (PanelPart<S> | HTMLElement)[]): PanelPart<S> {
  const section = createSection(options, parts.map((part) => (part instanceof HTMLElement ? part : part.element)));
  const updated = parts.filter((part): part is PanelPart<S> => !(part instanceof HTMLElement));
  return {
    element: section.element,
    update: (state) => {
      const isVisible = options.isVisible?.(state) ?? true;
      section.setVisible(isVisible);
      if (!isVisible) return;
      if (options.getNote) section.setNote(options.getNote(state));
      for (const part of updated) part.update(state);
    },
    dispose: () => updated.forEach((part) => part.dispose?.()),
  };
}

/** Buttons that open the result of this mode in other modes. getReason: why they are disabled, null if they are not. */
export function createHandOverButtons<S>(
  app: App,
  modes: readonly ModeName[],
  getReason: (state: S) => string | null = () => null,
  ...before: Component[]
): PanelPart<S> {
  const buttons = modes.map((name): Button => {
    const { title, icon, handOverText } = getMode(name);
    const onPress = (): void => void app.request("mode", { mode: name, hand: true });
    return createButton({ text: handOverText, icon, tip: `Open this motion in ${title}`, onPress });
  });
  return {
    element: createButtons(...before, ...buttons),
    update: (state) => buttons.forEach((button) => button.setDisabledReason(getReason(state))),
  };
}

interface JobButtonOptions<S> {
  icon: Icon;
  tip: string;
  end: { command: "stop" | "cancel"; text: string; tip: string };
  onPress: () => void;
  getJob(state: S): string | null; // the running one
  getText(state: S, isRunning: boolean): string; // of the main button
  getDisabledReason(state: S): string | null;
}

/** Main button of a panel that starts a job, with a button that ends it early. */
export function createJobButton<S>(app: App, options: JobButtonOptions<S>): PanelPart<S> {
  const { icon, tip, end, onPress } = options;
  let announced: string | null = null; // the message of a job arrives before the state that names it
  let running: string | null = null;
  let last: S | null = null;
  const start = createButton({ text: "", icon, kind: "primary", main: true, key: "Enter", tip, onPress });
  const stop = createButton({ text: end.text, tip: end.tip, onPress: () => running && void app.request(end.command, { job: running }) });
  stop.element.classList.add("p-main");
  const element = h("div", { class: "panel-action" }, start.element, stop.element);
  const update = (state: S): void => {
    last = state;
    running = options.getJob(state) ?? announced;
    start.setBusy(running !== null);
    start.setText(options.getText(state, running !== null));
    start.setDisabledReason(running === null ? options.getDisabledReason(state) : null);
    stop.setVisible(running !== null);
    element.toggleAttribute("data-running", running !== null);
  };
  const dispose = app.onJob.on((job) => {
    if (!job.stoppable && job.job !== announced) return;
    announced = job.state === "running" ? job.job : null;
    if (last !== null) update(last);
  });
  return { element, update, dispose };
}

interface TargetListOptions<T> {
  name: string;
  lane: string; // of their markers
  removeText: string;
  createMarker(target: T): Node;
  getKey?(target: T): string;
  describe(target: T): ListRowState;
}

/** List of target positions: a press seeks to one and selects its vertex. */
export function createTargetList<T extends PositionTarget>(app: App, options: TargetListOptions<T>) {
  const { name, lane, removeText, createMarker, getKey = (target) => target.id, describe } = options;
  const element = createList(name);
  let targets: readonly T[] = [];
  let hoveredNode: number | null = null;
  const make = (target: T): ListRow & { target: T } => {
    const remove = createIconButton({
      name: `${removeText} ${target.name}`, icon: "x", size: 24,
      onPress: () => void app.request("marker.delete", { lane, ids: [row.target.id] }),
    });
    const onPick = (): void => {
      void app.request("frame", { frame: row.target.frame });
      void app.request("select", { nodes: [row.target.node] });
    };
    const onHover = (over: boolean): void => emitHover(over ? row.target.node : null, "panel");
    const row = { ...createListRow({ marker: createMarker(target), onPick, onHover, actions: [remove.element] }), target };
    return row;
  };
  const updateRows = createKeyedList<T, ReturnType<typeof make>>(element, getKey, make, (row, target) => {
    row.target = target;
    const { frame = -1, selection = [] } = app.state ?? {};
    row.set({
      selected: target.frame === frame && selection.some(({ node }) => node === target.node),
      highlighted: target.node === hoveredNode, warn: target.warn, ...describe(target),
    });
  });
  const dispose = onHover("panel", (node) => {
    hoveredNode = node;
    updateRows(targets);
  });
  return { element, dispose, update: (next: readonly T[]) => updateRows((targets = next)) };
}

/** Three fields of a position, with a heading. onChange: called with the whole position. */
export function createPositionFields(app: App, title: string, onChange: (position: Vec3) => ChangeResult) {
  let position: Vec3 | null = null;
  const fields = (["x", "y", "z"] as const).map((axis, k) =>
    createNumberField({
      name: `Position ${axis.toUpperCase()}`, axis, unit: "m", suffix: "", step: () => getScrubStep(app), text: (value) => formatNumber(value, 3),
      onChange: (value) => (position ? onChange(position.with(k, value) as Vec3) : undefined),
    }),
  );
  return {
    element: h("div", null, h("div", { class: "p-label p-block-label" }, title), h("div", { class: "p-three" }, fields.map(({ element }) => element))),
    update: (next: Vec3 | null, disabledReason: string | null) => {
      position = next;
      fields.forEach((field: NumberField, k) => {
        field.set(next?.[k] ?? null);
        field.setDisabledReason(disabledReason);
      });
    },
  };
}

export const getScrubStep = (app: App): number => SCRUB_STEP * (app.project?.size ?? 1);

/** Disable inputs while a job uses them. */
export function setWaiting(element: HTMLElement, isWaiting: boolean): void {
  element.inert = isWaiting;
  element.classList.toggle("panel-waits", isWaiting);
}

/** Replace the children of an element if the items have changed. */
export function updateItems<T>(element: HTMLElement, items: readonly T[], make: (item: T, index: number) => Element): void {
  const content = JSON.stringify(items);
  if (element.dataset["holds"] === content) return;
  setAttribute(element, "data-holds", content);
  setChildren(element, items.map(make));
}
