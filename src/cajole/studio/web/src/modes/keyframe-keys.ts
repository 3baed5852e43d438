/** Keys as cards, and what the chosen one is: its name, frame, how it is met, and how much it counts. */

import { h, setText } from "../core/dom";
import { formatNumber, formatPercent } from "../core/format";
import type { App, KeyframeState, KeyInfo, Component } from "../core/types";
import { createIconButton } from "../ui/controls/button";
import { createKeyedList, createRow } from "../ui/controls/common";
import { createNumberField, createFieldRow, createTextField } from "../ui/controls/field";
import { createKeyCard, type KeyCard } from "../ui/controls/key-card";
import { createEmptyHint } from "../ui/controls/list";
import { createLogScale } from "../ui/controls/slider-scale";
import { createSection } from "../ui/controls/section";
import { createSlider } from "../ui/controls/slider";
import { goTo, tell } from "./mode-panel";

export interface KeysPart extends Component {
  update(part: KeyframeState, frame: number): void;
}
type Carded = KeyCard & { key: KeyInfo };

export function keysPart(app: App): KeysPart {
  let chosen: KeyInfo | null = null;
  let opened: string | null = null; // the key whose card was pressed: what it is stands below
  const holder = h("ul", { class: "p-cards", "aria-label": "Keys" });
  const none = createEmptyHint("Pull the body into a pose, then press K.");
  const capture = createIconButton({
    name: "Capture this pose as a key at the edit frame",
    icon: "plus",
    key: "K",
    onPress: () => tell(app, "key.capture", { frame: app.state!.frame }),
  });
  const set = (values: object): Promise<unknown> => app.request("key.set", { key: chosen!.id, ...values });
  const name = createTextField({ name: "Name of the key", onChange: (value) => set({ name: value }) });
  const remove = createIconButton({
    name: "Delete this key",
    icon: "trash",
    key: "Del",
    onPress: () => chosen && tell(app, "marker.delete", { lane: "keys", ids: [chosen.id] }),
  });
  const frame = createNumberField({
    name: "Frame of the key",
    integer: true,
    min: 0,
    step: () => 0.25,
    text: (value) => formatNumber(value),
    onChange: async (value) => {
      await app.request("marker.move", { lane: "keys", ids: [chosen!.id], frames: [value], final: true });
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
    tip: "How much missing this key counts",
    onChange: (value) => set({ weight: value }),
  });
  const missed = h("span", { class: "p-read" });
  const weightLine = createRow("Weight", weight.element);
  const missedLine = createRow("Missed by", missed);
  const about = h(
    "div",
    null,
    createRow("Name", [name.element, remove.element]).element,
    createFieldRow("Frame", frame).element,
    weightLine.element,
    missedLine.element,
  );
  const whole = createSection({ title: "Keys", actions: [capture.element] }, holder, none.element, about);

  const make = (key: KeyInfo): Carded => {
    const made = createKeyCard({
      onPick: () => {
        opened = part.key.id;
        goTo(app, part.key.frame);
        tell(app, "key.load", { key: part.key.id });
      },
      onToggleHard: () => tell(app, "key.set", { key: part.key.id, hard: !part.key.hard }),
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
  const cards = createKeyedList<KeyInfo, Carded>(holder, (key) => key.id, make, update);
  return {
    element: whole.element,
    update: (part, now) => {
      const keys = [...part.keys].sort((a, b) => a.frame - b.frame);
      chosen = keys.find((key) => key.current) ?? keys.find((key) => key.frame === now) ?? null;
      cards(keys);
      holder.hidden = keys.length === 0;
      none.setVisible(keys.length === 0);
      whole.setNote(keys.length ? String(keys.length) : "");
      about.hidden = chosen === null || chosen.id !== opened;
      if (chosen === null) return;
      name.set(chosen.name);
      frame.setRange(0, part.frames - 1);
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
