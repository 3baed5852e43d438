/** Keys as cards, and what the chosen one is: its name, frame, how it is met, and how much it counts. */

import { h, setText } from "../core/dom";
import { formatNumber, formatPercent } from "../core/format";
import type { App, KeyframeState, KeyInfo, Component } from "../core/types";
import { iconButton } from "../ui/parts/button";
import { keyed, row } from "../ui/parts/common";
import { field, fieldRow, textField } from "../ui/parts/field";
import { keyCard, type KeyCard } from "../ui/parts/keycard";
import { empty } from "../ui/parts/list";
import { log } from "../ui/parts/scale";
import { section } from "../ui/parts/section";
import { slider } from "../ui/parts/slider";
import { goTo, tell } from "./mode-panel";

export interface KeysPart extends Component {
  update(part: KeyframeState, frame: number): void;
}
type Carded = KeyCard & { key: KeyInfo };

export function keysPart(app: App): KeysPart {
  let chosen: KeyInfo | null = null;
  let opened: string | null = null; // the key whose card was pressed: what it is stands below
  const holder = h("ul", { class: "p-cards", "aria-label": "Keys" });
  const none = empty("Pull the body into a pose, then press K.");
  const capture = iconButton({
    name: "Capture this pose as a key at the edit frame",
    icon: "plus",
    key: "K",
    onPress: () => tell(app, "key.capture", { frame: app.state!.frame }),
  });
  const set = (values: object): Promise<unknown> => app.request("key.set", { key: chosen!.id, ...values });
  const name = textField({ name: "Name of the key", onChange: (value) => set({ name: value }) });
  const remove = iconButton({
    name: "Delete this key",
    icon: "trash",
    key: "Del",
    onPress: () => chosen && tell(app, "marker.delete", { lane: "keys", ids: [chosen.id] }),
  });
  const frame = field({
    name: "Frame of the key",
    whole: true,
    low: 0,
    step: () => 0.25,
    text: (value) => formatNumber(value),
    onChange: async (value) => {
      await app.request("marker.move", { lane: "keys", ids: [chosen!.id], frames: [value], final: true });
      await app.request("frame", { frame: value });
    },
  });
  const weight = slider({
    name: "Weight",
    value: 1,
    usual: 1,
    scale: log(0.01, 100),
    text: (value) => `× ${formatNumber(value, value < 9.95 ? 2 : 0)}`,
    plain: String,
    tip: "How much missing this key counts",
    onChange: (value) => set({ weight: value }),
  });
  const missed = h("span", { class: "p-read" });
  const weightLine = row("Weight", weight.element);
  const missedLine = row("Missed by", missed);
  const about = h(
    "div",
    null,
    row("Name", [name.element, remove.element]).element,
    fieldRow("Frame", frame).element,
    weightLine.element,
    missedLine.element,
  );
  const whole = section({ title: "Keys", actions: [capture.element] }, holder, none.element, about);

  const make = (key: KeyInfo): Carded => {
    const made = keyCard({
      onPick: () => {
        opened = part.key.id;
        goTo(app, part.key.frame);
        tell(app, "key.load", { key: part.key.id });
      },
      onHold: () => tell(app, "key.set", { key: part.key.id, hard: !part.key.hard }),
    });
    const part: Carded = { ...made, key };
    return part;
  };
  const update = (part: Carded, key: KeyInfo): void => {
    part.key = key;
    part.set({
      name: key.name,
      frame: key.frame,
      hard: key.hard,
      picture: key.picture,
      selected: key.id === chosen?.id,
      tip: tipOf(key),
    });
  };
  const cards = keyed<KeyInfo, Carded>(holder, (key) => key.id, make, update);
  return {
    element: whole.element,
    update: (part, now) => {
      const keys = [...part.keys].sort((a, b) => a.frame - b.frame);
      chosen = keys.find((key) => key.current) ?? keys.find((key) => key.frame === now) ?? null;
      cards(keys);
      holder.hidden = keys.length === 0;
      none.show(keys.length === 0);
      whole.note(keys.length ? String(keys.length) : "");
      about.hidden = chosen === null || chosen.id !== opened;
      if (chosen === null) return;
      name.set(chosen.name);
      frame.range(0, part.frames - 1);
      frame.set(chosen.frame);
      weightLine.element.hidden = chosen.hard;
      weight.set(chosen.weight);
      missedLine.element.hidden = chosen.missed === null;
      if (chosen.missed !== null) setText(missed, `${formatPercent(chosen.missed)} of body size`);
    },
  };
}

function tipOf(key: KeyInfo): string {
  const met = key.missed === null ? "" : ` · missed by ${formatPercent(key.missed)}`;
  return `${key.name} · frame ${key.frame}${met}. Click to see its pose`;
}
