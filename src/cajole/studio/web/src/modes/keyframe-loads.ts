/** Loads that pose the body: pulls, pins and gravity, stacked; one of them under the strength slider. */

import { formatCount, formatLength, formatForce } from "../core/format";
import { onHover, emitHover } from "../core/hover";
import type { App, KeyframeState, LoadInfo, Component, PinInfo } from "../core/types";
import { createIconButton, type IconButton } from "../ui/controls/button";
import { createKeyedList, createRow } from "../ui/controls/common";
import { createEmptyHint, createList, createListRow, createMarkerIcon, type ListRow } from "../ui/controls/list";
import { createLogScale } from "../ui/controls/slider-scale";
import { createSection } from "../ui/controls/section";
import { createSlider } from "../ui/controls/slider";
import { tell } from "./mode-panel";
import { createLatestSender } from "../ui/controls/latest-sender";

export interface LoadsPart extends Component {
  update(part: KeyframeState): void;
  dispose(): void;
}

/** Pulls lie between these shares of the body's weight. */
const WEAKEST = 1e-3;
const STRONGEST = 100;

type Item =
  | { key: string; kind: "pull"; load: LoadInfo }
  | { key: string; kind: "pin"; pin: PinInfo }
  | { key: string; kind: "gravity"; load: LoadInfo | null; on: boolean };
type Loaded = ListRow & { item: Item; eye: IconButton | null };

export function loadsPart(app: App): LoadsPart {
  let chosen: number | null = null;
  let looked: number | null = null;
  let known: Item[] = [];
  const holder = createList("Loads");
  const none = createEmptyHint("Press on the body and pull.");
  const pull = createIconButton({
    name: "Pull: press on the body and drag",
    icon: "plus",
    key: "F",
    onPress: () => app.setUi({ tool: "pull" }),
  });
  const tune = createLatestSender((value: { load: number; strength: number }) => app.request("load", value));
  const say = (strength: number): Promise<unknown> | void =>
    chosen === null ? undefined : tune({ load: chosen, strength });
  const strength = createSlider({
    name: "Strength",
    value: 1,
    scale: createLogScale(1e-3, 100),
    unit: "N",
    text: formatForce,
    onInput: say,
    onChange: say,
  });
  const line = createRow("Strength", strength.element);
  const freeze = createIconButton({
    name: "Freeze: the next pull comes on top of these loads",
    icon: "lock",
    onPress: () => tell(app, "freeze"),
  });
  const reset = createIconButton({
    name: "Reset the pose: the body at rest, without loads",
    icon: "refresh",
    onPress: () => tell(app, "pose.reset"),
  });
  const whole = createSection(
    { title: "Loads", actions: [freeze.element, reset.element, pull.element] },
    holder,
    none.element,
    line.element,
  );

  const pick = (part: Loaded): void => {
    if (part.item.kind === "pull") chosen = part.item.load.id;
    if (part.item.kind === "pin") tell(app, "select", { nodes: part.item.pin.nodes });
    show();
  };
  const make = (item: Item): Loaded => {
    const eye =
      item.kind === "pin"
        ? null
        : createIconButton({ name: "Mute", icon: "eye", size: 24, onPress: () => mute(app, part.item) });
    const remove =
      item.kind === "gravity"
        ? null
        : createIconButton({ name: "Remove", icon: "x", size: 24, onPress: () => discard(app, part.item) });
    if (item.kind === "pull") remove?.element.classList.add("p-rarely");
    const made = createListRow({
      marker: createMarkerIcon(item.kind),
      onPick: () => pick(part),
      onHover: (over) => emitHover(over ? (nodesOf(part.item)[0] ?? null) : null, "panel"),
      actions: [remove?.element, eye?.element].filter((each) => each !== undefined),
    });
    const part: Loaded = { ...made, item, eye };
    return part;
  };
  const update = (part: Loaded, item: Item): void => {
    part.item = item;
    const muted = item.kind === "pull" ? item.load.muted : item.kind === "gravity" && !item.on;
    part.eye?.setIcon(muted ? "eye-off" : "eye", muted ? "Switch on" : "Mute");
    part.set({
      ...described(item),
      muted,
      selected: item.kind === "pull" && item.load.id === chosen,
      highlighted: looked !== null && nodesOf(item).includes(looked),
    });
  };
  const rows = createKeyedList<Item, Loaded>(holder, (item) => item.key, make, update);
  const show = (): void => {
    rows(known);
    const load = known.find((item) => item.kind === "pull" && item.load.id === chosen);
    line.element.hidden = load === undefined;
    if (load?.kind !== "pull") return;
    const weight = app.project?.weight || 1;
    strength.setScale(
      createLogScale(Math.min(WEAKEST * weight, load.load.strength || Infinity), Math.max(STRONGEST * weight, load.load.strength)),
    );
    strength.set(load.load.strength);
  };
  const end = onHover("panel", (node) => {
    looked = node;
    show();
  });
  return {
    element: whole.element,
    dispose: end,
    update: (part) => {
      known = items(part);
      const pulls = part.loads.filter((load) => load.kind === "pull");
      const newest = pulls.at(-1)?.id ?? null;
      if (!pulls.some((load) => load.id === chosen)) chosen = newest;
      show();
      const stacked = pulls.length + part.pins.length + Number(part.gravity);
      whole.setNote(stacked > 1 ? `${stacked}, stacked` : part.moved > 0 ? `farthest ${formatLength(part.moved)}` : "");
      none.setVisible(pulls.length === 0);
      freeze.setDisabledReason(pulls.some((load) => !load.frozen) ? null : "There is no new pull to freeze");
      reset.setDisabledReason(stacked === 0 && part.moved === 0 ? "The body is at rest" : null);
    },
  };
}

function items(part: KeyframeState): Item[] {
  const gravity = part.loads.find((load) => load.kind === "gravity") ?? null;
  return [
    ...part.loads
      .filter((load) => load.kind === "pull")
      .map((load): Item => ({ key: `pull ${load.id}`, kind: "pull", load })),
    ...part.pins.map((pin): Item => ({ key: `pin ${pin.name} ${pin.nodes[0] ?? ""}`, kind: "pin", pin })),
    { key: "gravity", kind: "gravity", load: gravity, on: part.gravity },
  ];
}

function nodesOf(item: Item): number[] {
  if (item.kind === "gravity") return []; // it acts everywhere
  return item.kind === "pin" ? item.pin.nodes : item.load.nodes;
}

function described(item: Item): { prefix?: string; name: string; value: string; tip: string } {
  if (item.kind === "pin")
    return {
      ...named("Pin", item.pin.name),
      value: formatCount(item.pin.nodes.length, "vertex", "vertices"),
      tip: "Held in place. Click to select",
    };
  if (item.kind === "gravity")
    return { name: "Gravity", value: "1.0 g", tip: item.on ? "The body's own weight" : "The body's own weight: off" };
  const { strength, frozen } = item.load;
  return {
    ...named("Pull", item.load.name),
    value: formatForce(strength),
    tip: frozen ? "Frozen: new pulls come on top. Click to tune it" : "Click to tune it",
  };
}

/** "Pull bloom", its first word standing out; a load with a name of its own keeps that. */
function named(kind: string, name: string): { prefix?: string; name: string } {
  return name.startsWith(`${kind} `) ? { prefix: kind, name: name.slice(kind.length + 1) } : { name };
}

function mute(app: App, item: Item): void {
  if (item.kind === "pull") tell(app, "load", { load: item.load.id, muted: !item.load.muted });
  if (item.kind === "gravity") tell(app, "gravity", { on: !item.on });
}

function discard(app: App, item: Item): void {
  if (item.kind === "pull") tell(app, "load", { load: item.load.id, remove: true });
  if (item.kind === "pin") tell(app, "pose.unpin", { nodes: item.pin.nodes });
}
