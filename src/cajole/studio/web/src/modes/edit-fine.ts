/** Fine tuning of an edit: its energy, damping, warp and window. */

import { formatDigits, formatNumber } from "../core/format";
import type { App, EditState, Component } from "../core/types";
import { iconButton } from "../ui/parts/button";
import { segment } from "../ui/parts/choice";
import { row } from "../ui/parts/common";
import { field } from "../ui/parts/field";
import { log, logZero } from "../ui/parts/scale";
import { section } from "../ui/parts/section";
import { slider } from "../ui/parts/slider";
import { live, once, tell } from "./mode-panel";

export interface FinePart extends Component {
  update(edit: EditState, frames: number): void;
}

/** Damping [1/s] and [s] that bodies of hand size to house size have. */
const ALPHA = logZero(0.01, 100);
const BETA = logZero(1e-5, 1);

export function finePart(app: App): FinePart {
  const energy = segment({
    name: "Energy",
    value: "forces" as EditState["energy"],
    onChange: once(app, "tune", "energy"),
    choices: [
      { value: "forces", text: "Forces", tip: "The least force: the change swings as the body does" },
      { value: "smooth", text: "Smooth", tip: "The change comes and goes without swinging on" },
    ],
  });
  const smoothness = slider({
    name: "Smoothness",
    value: 1,
    usual: 1,
    scale: log(0.01, 100),
    text: (value) => formatDigits(value),
    tip: "More reaches farther in time",
    onInput: live(app, "tune", "smoothness"),
    onChange: live(app, "tune", "smoothness"),
  });
  const alpha = damping(app, "alpha", "Damping α", ALPHA, "Swings die out, slow ones first [1/s]");
  const beta = damping(app, "beta", "Damping β", BETA, "Swings die out, quick ones first [s]");
  const warp = segment({
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
    row("Energy", energy.element),
    row("Smoothness", smoothness.element),
    row("Damping α", alpha.element),
    row("Damping β", beta.element),
    row("Warp", warp.element),
    row("Frames", window.elements, "Outside of these frames nothing changes"),
  ];
  const whole = section(
    { title: "Fine tuning", fold: "edit" },
    lines.map((line) => line.element),
  );
  return {
    element: whole.element,
    update: (edit, frames) => {
      energy.set(edit.energy);
      lines[1]!.element.hidden = edit.energy !== "smooth";
      smoothness.set(edit.smoothness);
      alpha.scale(ALPHA, edit.defaults.alpha);
      alpha.set(edit.alpha);
      beta.scale(BETA, edit.defaults.beta);
      beta.set(edit.beta);
      warp.set(edit.warp);
      window.update(edit, frames);
    },
  };
}

function damping(app: App, name: "alpha" | "beta", title: string, scale: typeof ALPHA, tip: string) {
  const say = live(app, "tune", name);
  return slider({
    name: title,
    value: 0,
    usual: 0,
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
  const from = field({
    name: "First frame that may change",
    whole: true,
    step,
    text,
    onChange: (value) => say(value, last),
  });
  const to = field({
    name: "Last frame that may change",
    whole: true,
    step,
    text,
    onChange: (value) => say(first, value),
  });
  const all = iconButton({
    name: "Let all frames change",
    icon: "fit",
    onPress: () => tell(app, "tune", { window: null }),
  });
  return {
    elements: [from.element, to.element, all.element],
    update: (edit: EditState, frames: number) => {
      [first, last] = edit.window ?? [0, frames - 1];
      from.range(0, last - FEWEST + 1);
      to.range(first + FEWEST - 1, frames - 1);
      from.set(first);
      to.set(last);
      all.refuse(edit.window === null ? "All frames may change already" : null);
    },
  };
}
