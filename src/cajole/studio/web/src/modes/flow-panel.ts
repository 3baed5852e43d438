/** The panel of Steer where a flow is steered: what is shared with bodies, the scene's kicks, the wind, and smoke. */

import { getShortcut } from "../core/commands";
import { setChildren, h } from "../core/dom";
import { formatDigits } from "../core/format";
import type { FlowState } from "../core/flow-types";
import type { App, SteerState } from "../core/types";
import { createButton } from "../ui/controls/button";
import { createSwitch } from "../ui/controls/choice";
import { createRow } from "../ui/controls/common";
import { createLatestSender } from "../ui/controls/latest-sender";
import { createLinearScale } from "../ui/controls/slider-scale";
import { createSection } from "../ui/controls/section";
import { createSlider } from "../ui/controls/slider";
import { once, refill, tell } from "./mode-panel";
import type { SteerPart } from "./steer-panel";

const SEEDS = 10_000; // winds that there are

/** The scene's own kicks, a button each; nothing where it has none. */
export function kicksPart(app: App): SteerPart {
  const buttons = h("div", { class: "p-buttons" });
  const whole = createSection({ title: "Kicks of the scene" }, buttons);
  let shown = "";
  const show = ({ kicks }: FlowState): void => {
    whole.element.hidden = kicks.length === 0;
    const mark = JSON.stringify(kicks);
    if (mark === shown) return;
    shown = mark;
    setChildren(
      buttons,
      kicks.map(({ name, text }, i) => {
        const made = createButton({ text: name, key: getShortcut(`kick.${i + 1}`), tip: text, onPress: () => app.runCommand(`kick.${i + 1}`) });
        return made.element;
      }),
    );
  };
  return { element: whole.element, update: (steer) => steer.flow && show(steer.flow) };
}

/** Noise that blows everywhere, and another one. */
export function noisePart(app: App): SteerPart {
  let now = { strength: 0, seed: 0 };
  const say = createLatestSender((change: Partial<typeof now>) => app.request("wind", (now = { ...now, ...change })));
  const blow = (strength: number): Promise<unknown> => say({ strength });
  const strength = createSlider({
    name: "Strength of the wind",
    value: 0,
    defaultValue: 0.01,
    scale: createLinearScale(0, 0.05, 0.001),
    tone: "world",
    unit: "m/s²",
    text: (value) => (value === 0 ? "off" : `${formatDigits(value, 2)} m/s²`),
    tip: "Gusts everywhere in the flow, root mean square",
    onInput: blow,
    onChange: blow,
  });
  const other = createButton({
    text: "Another wind",
    icon: "refresh",
    tip: "Gusts of the same strength that come and go otherwise",
    onPress: () => void say({ seed: (now.seed + 1) % SEEDS }).catch(() => undefined),
  });
  other.element.classList.add("p-wide");
  const whole = createSection(
    { title: "Wind" },
    createRow("Strength", strength.element).element,
    h("div", { class: "p-buttons" }, other.element),
  );
  return {
    element: whole.element,
    update: (steer) => {
      if (!steer.flow) return;
      now = { strength: steer.wind.strength, seed: steer.flow.seed };
      strength.set(now.strength);
      other.setDisabledReason(now.strength === 0 ? "There is no wind" : null);
    },
  };
}

/** Smoke, the model, and a fresh start. */
export function boxPart(app: App): SteerPart {
  const notes = h("ul", { class: "panel-notes" });
  const smoke = createSwitch({
    name: "Smoke",
    value: true,
    key: "S",
    tip: "Smoke that the flow takes along",
    onChange: once(app, "smoke", "on"),
  });
  const restart = createButton({
    text: "Start over",
    icon: "refresh",
    tip: "From the first frame, with fresh smoke",
    onPress: () => tell(app, "restart"),
  });
  const whole = createSection(
    { title: "Flow" },
    createRow("Smoke", smoke.element).element,
    notes,
    h("div", { class: "p-buttons" }, restart.element),
  );
  return {
    element: whole.element,
    update: (steer: SteerState) => {
      whole.setNote(steer.model);
      refill(notes, steer.notes, (text) => h("li", null, text));
      if (steer.flow) smoke.set(steer.flow.smoke);
    },
  };
}
