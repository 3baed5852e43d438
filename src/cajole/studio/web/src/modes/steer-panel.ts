/** The panel of Steer: control on or off, what it aims at, what disturbs it, and what it is compared with. */

import { setChildren, h, setText } from "../core/dom";
import { formatDigits, formatNumber } from "../core/format";
import { createIcon } from "../core/icons";
import { setPushSettings, getPushForce, onPushSettings, formatPush, pushSettings } from "../core/push-settings";
import type { App, SteerState } from "../core/types";
import { createButton } from "../ui/controls/button";
import { createSegmentedControl, createSwitch } from "../ui/controls/choice";
import { createRow } from "../ui/controls/common";
import { createLatestSender } from "../ui/controls/latest-sender";
import { createLinearScale, createLogScale, createLogScaleWithZero } from "../ui/controls/slider-scale";
import { createSection } from "../ui/controls/section";
import { createSlider } from "../ui/controls/slider";
import { boxPart, kicksPart, noisePart } from "./flow-panel";
import { handOver, live, once, refill, tell, type ModePanel } from "./mode-panel";

export function steerPanel(app: App): ModePanel {
  const headline = headlinePart(app);
  const parts = app.project?.field
    ? [controllerPart(app, { final: 1, effort: 1e-4 }), kicksPart(app), pushPart(app), noisePart(app), comparePart(app), boxPart(app)]
    : [controllerPart(app, { final: 0, effort: 1e-2 }), pushPart(app), windPart(app), comparePart(app), aboutPart(app)];
  return {
    element: h(
      "div",
      null,
      headline.element,
      parts.map((part) => part.element),
    ),
    foot: null,
    update: (state) => {
      if (!state.steer) return;
      headline.update(state.steer);
      for (const part of parts) part.update(state.steer);
    },
    dispose: () => {
      for (const part of parts) part.dispose?.();
      headline.dispose();
    },
  };
}

export interface SteerPart {
  element: HTMLElement;
  update(steer: SteerState): void;
  dispose?(): void;
}

function headlinePart(app: App) {
  const title = h("h2");
  const says = h("p");
  const outcome = h("div", { class: "panel-outcome", role: "status", hidden: true });
  const control = createSwitch({
    name: "Control",
    value: true,
    large: true,
    key: "C",
    tip: "Switch control on or off",
    onChange: once(app, "control", "on"),
  });
  const element = h(
    "div",
    null,
    h("div", { class: "panel-headline" }, h("div", null, title, says), control.element),
    h("div", { class: "panel-outcome-box" }, outcome),
  );
  const judge = (found: SteerState["outcome"]): void => {
    outcome.hidden = found === null;
    if (found === null) return;
    const mark = `${found.good} ${found.text}`;
    if (outcome.dataset["holds"] === mark) return;
    outcome.dataset["holds"] = mark;
    outcome.dataset["good"] = String(found.good);
    setChildren(outcome, createIcon(found.good === null ? "info" : found.good ? "check" : "error"), h("span", null, found.text));
  };
  const end = app.onPulse.on((pulse) => {
    if (pulse.outcome) judge(pulse.outcome);
  });
  return {
    element,
    dispose: end,
    update: (steer: SteerState) => {
      setText(title, steer.control ? "Control is on" : "Control is off");
      setText(says, wordsOf(steer)[steer.control ? 0 : 1]);
      control.set(steer.control);
      judge(steer.outcome);
    },
  };
}

/** What control does, and what happens without it. */
const wordsOf = ({ flow }: SteerState): [string, string] =>
  flow
    ? ["The particles are led back to their paths.", "The particles go where the flow takes them."]
    : ["The body is brought back after a push.", "The body swings as it will."];

function controllerPart(app: App, usual: { final: number; effort: number }): SteerPart {
  const dials = [
    {
      name: "tracking",
      title: "Tracking",
      usual: 1,
      scale: createLogScaleWithZero(1e-3, 100),
      tip: "How much it counts to be on the way at every moment",
    },
    {
      name: "final",
      title: "Final",
      usual: usual.final,
      scale: createLogScaleWithZero(1e-3, 100),
      tip: "How much it counts to be right at the end",
    },
    {
      name: "effort",
      title: "Effort",
      usual: usual.effort,
      scale: createLogScale(1e-6, 1e3),
      tip: "What added force costs: right is gentler, left is closer",
    },
  ] as const;
  const made = dials.map(({ name, title, usual, scale, tip }) => {
    const say = live(app, "dials", name);
    return {
      name,
      line: title,
      part: createSlider({ name: title, value: usual, defaultValue: usual, scale, text: dialText, tip, onInput: say, onChange: say }),
    };
  });
  const whole = createSection(
    { title: "Controller" },
    made.map(({ line, part }) => createRow(line, part.element).element),
  );
  return {
    element: whole.element,
    update: (steer) => {
      for (const { name, part } of made) part.set(steer[name]);
      whole.setNote(steer.retuning ? "retuning…" : "");
    },
  };
}

const dialText = (value: number): string =>
  value === 0 ? "0.00" : value < 0.095 ? formatDigits(value, 2) : formatNumber(value, value < 99.5 ? 2 : 0);

function pushPart(app: App): SteerPart {
  const unit = app.project ? getPushForce(app.project, 1) : 1;
  const set = (force: number): void => setPushSettings({ pushStrength: force / unit });
  const strength = createSlider({
    name: "Strength of a push",
    value: unit * pushSettings.pushStrength,
    defaultValue: unit,
    scale: createLogScale(0.01 * unit, 100 * unit),
    tone: "world",
    unit: app.project?.field ? "m/s²" : "N",
    text: (value) => formatPush(app.project, value),
    inputText: (value) => String(Number(value.toPrecision(3))),
    tip: `Force of a push as long as a quarter of the ${app.project?.field ? "box" : "body"}`,
    onInput: set,
    onChange: set,
  });
  const shape = createSegmentedControl({
    name: "Shape of a push",
    value: "push",
    choices: [
      { value: "push", text: "Hold", tip: "Pushes as long as the button is down" },
      { value: "impulse", text: "Impulse", tip: "One short knock" },
    ],
    onChange: (value) => app.setUi({ tool: value as "push" | "impulse" }),
  });
  const again = createButton({ text: "Repeat last push", icon: "push", key: "R", onPress: () => tell(app, "push.repeat") });
  again.element.classList.add("p-wide");
  const whole = createSection(
    { title: "Push" },
    createRow("Strength", strength.element).element,
    createRow("Shape", shape.element).element,
    h("div", { class: "p-buttons" }, again.element),
  );
  const showTool = (): void => shape.set(app.ui.tool === "impulse" ? "impulse" : "push");
  const ends = [
    app.onUi.on((change) => {
      if ("tool" in change) showTool();
    }),
    onPushSettings((now) => strength.set(unit * now.pushStrength)),
  ];
  showTool();
  return {
    element: whole.element,
    update: (steer) => again.setDisabledReason(steer.pushes.length ? null : "Press and drag first"),
    dispose: () => ends.forEach((end) => end()),
  };
}

function windPart(app: App): SteerPart {
  let wind = { strength: 0, pace: 1 };
  const say = createLatestSender((change: Partial<typeof wind>) => app.request("wind", (wind = { ...wind, ...change })));
  const blow = (percent: number): Promise<unknown> => say({ strength: percent / 100 });
  const strength = createSlider({
    name: "Strength of the wind",
    value: 0,
    defaultValue: 0,
    scale: createLinearScale(0, 200, 1),
    tone: "world",
    unit: "%",
    text: (value) => (value === 0 ? "off" : `${formatNumber(value)} %`),
    tip: "Gusts, in percent of the body's weight",
    onInput: blow,
    onChange: blow,
  });
  const pace = createSlider({
    name: "Pace of the wind",
    value: 1,
    defaultValue: 1,
    scale: createLogScale(0.1, 10),
    tone: "world",
    text: (value) => `${formatDigits(value, 2)} /s`,
    inputText: String,
    tip: "Gusts a second",
    onInput: (value) => say({ pace: value }),
    onChange: (value) => say({ pace: value }),
  });
  const whole = createSection(
    { title: "Wind" },
    createRow("Strength", strength.element).element,
    createRow("Pace", pace.element).element,
  );
  return {
    element: whole.element,
    update: (steer) => {
      wind = { ...steer.wind };
      strength.set(100 * steer.wind.strength);
      pace.set(steer.wind.pace);
      pace.setDisabledReason(steer.wind.strength === 0 ? "There is no wind" : null);
    },
  };
}

const SPEEDS = [
  { value: 0.25, text: "¼" },
  { value: 0.5, text: "½" },
  { value: 1, text: "1" },
  { value: 2, text: "2" },
];

function comparePart(app: App): SteerPart {
  const ghost = createSegmentedControl({
    name: "Ghost",
    value: "reference" as SteerState["ghost"],
    onChange: once(app, "ghost", "of"),
    choices: [
      { value: "reference", text: "Reference", tip: "Where it should be" },
      { value: "uncontrolled", text: "No control", tip: "The same pushes and wind, without control" },
    ],
  });
  const speed = createSegmentedControl({
    name: "Speed",
    value: 1,
    choices: SPEEDS,
    onChange: (value) => app.request("run", { play: app.state?.steer?.running ?? true, speed: value }),
  });
  const whole = createSection({ title: "Compare" }, createRow("Ghost", ghost.element).element, createRow("Speed", speed.element).element);
  return {
    element: whole.element,
    update: (steer) => {
      ghost.set(steer.ghost);
      speed.set(steer.speed);
    },
  };
}

function aboutPart(app: App): SteerPart {
  const notes = h("ul", { class: "panel-notes" });
  const edit = handOver(app, "edit");
  const enrich = handOver(app, "enrich");
  const restart = createButton({
    text: "Restart",
    icon: "refresh",
    tip: "From the first frame, at rest",
    onPress: () => tell(app, "restart"),
  });
  const whole = createSection(
    { title: "Model" },
    notes,
    h("div", { class: "p-buttons" }, restart.element, edit.part.element, enrich.part.element),
  );
  return {
    element: whole.element,
    update: (steer) => {
      whole.setNote(steer.model);
      refill(notes, steer.notes, (text) => h("li", null, text));
    },
  };
}
