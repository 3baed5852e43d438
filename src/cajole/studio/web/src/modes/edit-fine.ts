/** Fine tuning of an edit: its energy, damping, warp and window. */

import { formatDigits, formatNumber } from "../core/format";
import type { App, EditState, Component } from "../core/types";
import { createIconButton } from "../ui/controls/button";
import { createSegmentedControl } from "../ui/controls/choice";
import { createRow } from "../ui/controls/common";
import { createNumberField } from "../ui/controls/field";
import { createLogScale, createLogScaleWithZero } from "../ui/controls/slider-scale";
import { createSection } from "../ui/controls/section";
import { createSlider } from "../ui/controls/slider";
import { live, once, tell } from "./mode-panel";

export interface FinePart extends Component {
  update(edit: EditState, frames: number): void;
}

/** Damping [1/s] and [s] that bodies of hand size to house size have. */
const ALPHA = createLogScaleWithZero(0.01, 100);
const BETA = createLogScaleWithZero(1e-5, 1);

export function finePart(app: App): FinePart {
  const energy = createSegmentedControl({
    name: "Energy",
    value: "forces" as EditState["energy"],
    onChange: once(app, "tune", "energy"),
    choices: [
      { value: "forces", text: "Forces", tip: "The least force: the change swings as the body does" },
      { value: "smooth", text: "Smooth", tip: "The change comes and goes without swinging on" },
    ],
  });
  const smoothness = createSlider({
    name: "Smoothness",
    value: 1,
    defaultValue: 1,
    scale: createLogScale(0.01, 100),
    text: (value) => formatDigits(value),
    tip: "More reaches farther in time",
    onInput: live(app, "tune", "smoothness"),
    onChange: live(app, "tune", "smoothness"),
  });
  const alpha = damping(app, "alpha", "Damping α", ALPHA, "Swings die out, slow ones first [1/s]");
  const beta = damping(app, "beta", "Damping β", BETA, "Swings die out, quick ones first [s]");
  const warp = createSegmentedControl({
    name: "Warp",
    value: "composition" as EditState["warp"],
    onChange: once(app, "reopen", "warp"),
    choices: [
      { value: "composition", text: "Turn", tip: "Large changes turn with the body: composition" },
      { value: "additive", text: "Add", tip: "Changes are added to the input's own turns: additive" },
      { value: "none", text: "Off", tip: "The linear change as it is; large turns swell" },
    ],
  });
  const window = windowPart(app);
  const lines = [
    createRow("Energy", energy.element),
    createRow("Smoothness", smoothness.element),
    createRow("Damping α", alpha.element),
    createRow("Damping β", beta.element),
    createRow("Warp", warp.element),
    createRow("Frames", window.elements, "Outside of these frames nothing changes"),
  ];
  const whole = createSection(
    { title: "Fine tuning", foldKey: "edit" },
    lines.map((line) => line.element),
  );
  return {
    element: whole.element,
    update: (edit, frames) => {
      energy.set(edit.energy);
      lines[1]!.element.hidden = edit.energy !== "smooth";
      smoothness.set(edit.smoothness);
      alpha.setScale(ALPHA, edit.defaults.alpha);
      alpha.set(edit.alpha);
      beta.setScale(BETA, edit.defaults.beta);
      beta.set(edit.beta);
      warp.set(edit.warp);
      window.update(edit, frames);
    },
  };
}

function damping(app: App, name: "alpha" | "beta", title: string, scale: typeof ALPHA, tip: string) {
  const say = live(app, "tune", name);
  return createSlider({
    name: title,
    value: 0,
    defaultValue: 0,
    scale,
    text: (value) => (value === 0 ? "0" : formatDigits(value, 2)),
    tip,
    onInput: say,
    onChange: say,
  });
}

/** The fewest frames that a window can have: two at each end stay, one between them moves. */
const FEWEST = 5;

function windowPart(app: App) {
  let [first, last] = [0, 0];
  const say = (a: number, b: number): Promise<unknown> => app.request("tune", { window: [a, b] });
  const step = (): number => 0.25;
  const text = (value: number): string => formatNumber(value);
  const from = createNumberField({
    name: "First frame that may change",
    integer: true,
    step,
    text,
    onChange: (value) => say(value, last),
  });
  const to = createNumberField({
    name: "Last frame that may change",
    integer: true,
    step,
    text,
    onChange: (value) => say(first, value),
  });
  const all = createIconButton({
    name: "Let all frames change",
    icon: "fit",
    onPress: () => tell(app, "tune", { window: null }),
  });
  return {
    elements: [from.element, to.element, all.element],
    update: (edit: EditState, frames: number) => {
      [first, last] = edit.window ?? [0, frames - 1];
      from.setRange(0, last - FEWEST + 1);
      to.setRange(first + FEWEST - 1, frames - 1);
      from.set(first);
      to.set(last);
      all.setDisabledReason(edit.window === null ? "All frames may change already" : null);
    },
  };
}
