/** Panel of Steer: control switch, controller weights, pushes, wind, comparison. */

import { getShortcut } from "../core/commands";
import { h, setChildren, setText } from "../core/dom";
import type { FlowState } from "../core/flow-types";
import { formatDigits, formatNumber } from "../core/format";
import { createIcon } from "../core/icons";
import { formatPush, getPushForce, onPushSettings, pushSettings, setPushSettings } from "../core/push-settings";
import type { App, SteerState } from "../core/types";
import { createButton } from "../ui/controls/button";
import { createSegmentedControl, createSwitch } from "../ui/controls/choice";
import { createRow } from "../ui/controls/common";
import { createLatestSender } from "../ui/controls/latest-sender";
import { createSection } from "../ui/controls/section";
import { createSlider } from "../ui/controls/slider";
import { createLinearScale, createLogScale, createLogScaleWithZero } from "../ui/controls/slider-scale";
import { createHandOverButton, createLiveSender, createSender, type ModePanel, send, updateItems } from "./mode-panel";

export function createSteerPanel(app: App): ModePanel {
  const headline = createControlSection(app);
  const parts = app.project?.field
    ? [
        createControllerSection(app, { final: 1, effort: 1e-4 }),
        createKicksSection(app),
        createPushSection(app),
        createFlowWindSection(app),
        createCompareSection(app),
        createFlowSection(app),
      ]
    : [
        createControllerSection(app, { final: 0, effort: 1e-2 }),
        createPushSection(app),
        createWindSection(app),
        createCompareSection(app),
        createModelSection(app),
      ];
  return {
    element: h(
      "div",
      null,
      headline.element,
      parts.map((part) => part.element),
    ),
    footer: null,
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

interface SteerSection {
  element: HTMLElement;
  update(steer: SteerState): void;
  dispose?(): void;
}

function createControlSection(app: App) {
  const title = h("h2");
  const description = h("p");
  const outcome = h("div", { class: "panel-outcome", role: "status", hidden: true });
  const control = createSwitch({
    name: "Control",
    value: true,
    large: true,
    key: "C",
    tip: "Switch control on or off",
    onChange: createSender(app, "control", "on"),
  });
  const element = h(
    "div",
    null,
    h("div", { class: "panel-headline" }, h("div", null, title, description), control.element),
    h("div", { class: "panel-outcome-box" }, outcome),
  );
  const showOutcome = (result: SteerState["outcome"]): void => {
    outcome.hidden = result === null;
    if (result === null) return;
    const signature = `${result.good} ${result.text}`;
    if (outcome.dataset["holds"] === signature) return;
    outcome.dataset["holds"] = signature;
    outcome.dataset["good"] = String(result.good);
    setChildren(outcome, createIcon(result.good === null ? "info" : result.good ? "check" : "error"), h("span", null, result.text));
  };
  const end = app.onPulse.on((pulse) => {
    if (pulse.outcome) showOutcome(pulse.outcome);
  });
  return {
    element,
    dispose: end,
    update: (steer: SteerState) => {
      setText(title, steer.control ? "Control is on" : "Control is off");
      setText(description, getControlTexts(steer)[steer.control ? 0 : 1]);
      control.set(steer.control);
      showOutcome(steer.outcome);
    },
  };
}

/** Texts for control on and off. */
const getControlTexts = ({ flow }: SteerState): [string, string] =>
  flow
    ? ["Control returns the particles to their paths.", "The particles drift with the flow."]
    : ["The body returns to its motion after a push.", "The body moves freely."];

function createControllerSection(app: App, defaults: { final: number; effort: number }): SteerSection {
  const parameters = [
    {
      name: "tracking",
      title: "Tracking",
      usual: 1,
      scale: createLogScaleWithZero(1e-3, 100),
      tip: "Weight of the tracking error at every frame",
    },
    {
      name: "final",
      title: "Final",
      usual: defaults.final,
      scale: createLogScaleWithZero(1e-3, 100),
      tip: "Weight of the error at the last frame",
    },
    {
      name: "effort",
      title: "Effort",
      usual: defaults.effort,
      scale: createLogScale(1e-6, 1e3),
      tip: "Weight of the control force: higher is softer, lower tracks more closely",
    },
  ] as const;
  const rows = parameters.map(({ name, title, usual: defaults, scale, tip }) => {
    const change = createLiveSender(app, "dials", name);
    return {
      name,
      line: title,
      part: createSlider({
        name: title,
        value: defaults,
        defaultValue: defaults,
        scale,
        text: formatWeight,
        tip,
        onInput: change,
        onChange: change,
      }),
    };
  });
  const section = createSection(
    { title: "Controller" },
    rows.map(({ line, part }) => createRow(line, part.element).element),
  );
  return {
    element: section.element,
    update: (steer) => {
      for (const { name, part } of rows) part.set(steer[name]);
      section.setNote(steer.retuning ? "retuning…" : "");
    },
  };
}

const formatWeight = (value: number): string =>
  value === 0 ? "0.00" : value < 0.095 ? formatDigits(value, 2) : formatNumber(value, value < 99.5 ? 2 : 0);

function createPushSection(app: App): SteerSection {
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
      { value: "push", text: "Hold", tip: "Push while the button is pressed" },
      { value: "impulse", text: "Impulse", tip: "One short impulse" },
    ],
    onChange: (value) => app.setUi({ tool: value as "push" | "impulse" }),
  });
  const repeatButton = createButton({ text: "Repeat last push", icon: "push", key: "R", onPress: () => send(app, "push.repeat") });
  repeatButton.element.classList.add("p-wide");
  const section = createSection(
    { title: "Push" },
    createRow("Strength", strength.element).element,
    createRow("Shape", shape.element).element,
    h("div", { class: "p-buttons" }, repeatButton.element),
  );
  const showTool = (): void => shape.set(app.ui.tool === "impulse" ? "impulse" : "push");
  const disposers = [
    app.onUi.on((change) => {
      if ("tool" in change) showTool();
    }),
    onPushSettings((now) => strength.set(unit * now.pushStrength)),
  ];
  showTool();
  return {
    element: section.element,
    update: (steer) => repeatButton.setDisabledReason(steer.pushes.length ? null : "Press and drag first"),
    dispose: () => disposers.forEach((end) => end()),
  };
}

function createWindSection(app: App): SteerSection {
  let wind = { strength: 0, pace: 1 };
  const change = createLatestSender((change: Partial<typeof wind>) => app.request("wind", (wind = { ...wind, ...change })));
  const setStrength = (percent: number): Promise<unknown> => change({ strength: percent / 100 });
  const strength = createSlider({
    name: "Strength of the wind",
    value: 0,
    defaultValue: 0,
    scale: createLinearScale(0, 200, 1),
    tone: "world",
    unit: "%",
    text: (value) => (value === 0 ? "off" : `${formatNumber(value)} %`),
    tip: "Strength of gusts in percent of the body weight",
    onInput: setStrength,
    onChange: setStrength,
  });
  const pace = createSlider({
    name: "Pace of the wind",
    value: 1,
    defaultValue: 1,
    scale: createLogScale(0.1, 10),
    tone: "world",
    text: (value) => `${formatDigits(value, 2)} /s`,
    inputText: String,
    tip: "Gusts per second",
    onInput: (value) => change({ pace: value }),
    onChange: (value) => change({ pace: value }),
  });
  const section = createSection(
    { title: "Wind" },
    createRow("Strength", strength.element).element,
    createRow("Pace", pace.element).element,
  );
  return {
    element: section.element,
    update: (steer) => {
      wind = { ...steer.wind };
      strength.set(100 * steer.wind.strength);
      pace.set(steer.wind.pace);
      pace.setDisabledReason(steer.wind.strength === 0 ? "There is no wind" : null);
    },
  };
}

const SPEED_CHOICES = [
  { value: 0.25, text: "¼" },
  { value: 0.5, text: "½" },
  { value: 1, text: "1" },
  { value: 2, text: "2" },
];

function createCompareSection(app: App): SteerSection {
  const ghost = createSegmentedControl({
    name: "Ghost",
    value: "reference" as SteerState["ghost"],
    onChange: createSender(app, "ghost", "of"),
    choices: [
      { value: "reference", text: "Reference", tip: "The reference motion" },
      { value: "uncontrolled", text: "No control", tip: "The same pushes and wind, without control" },
    ],
  });
  const speed = createSegmentedControl({
    name: "Speed",
    value: 1,
    choices: SPEED_CHOICES,
    onChange: (value) => app.request("run", { play: app.state?.steer?.running ?? true, speed: value }),
  });
  const section = createSection({ title: "Compare" }, createRow("Ghost", ghost.element).element, createRow("Speed", speed.element).element);
  return {
    element: section.element,
    update: (steer) => {
      ghost.set(steer.ghost);
      speed.set(steer.speed);
    },
  };
}

function createModelSection(app: App): SteerSection {
  const notes = h("ul", { class: "panel-notes" });
  const edit = createHandOverButton(app, "edit");
  const enrich = createHandOverButton(app, "enrich");
  const restart = createButton({
    text: "Restart",
    icon: "refresh",
    tip: "From the first frame, at rest",
    onPress: () => send(app, "restart"),
  });
  const section = createSection(
    { title: "Model" },
    notes,
    h("div", { class: "p-buttons" }, restart.element, edit.part.element, enrich.part.element),
  );
  return {
    element: section.element,
    update: (steer) => {
      section.setNote(steer.model);
      updateItems(notes, steer.notes, (text) => h("li", null, text));
    },
  };
}

const WIND_SEEDS = 10_000; // number of winds

/** Buttons of the kicks of the scene. */
function createKicksSection(app: App): SteerSection {
  const buttons = h("div", { class: "p-buttons" });
  const section = createSection({ title: "Kicks of the scene" }, buttons);
  let shown = "";
  const show = ({ kicks }: FlowState): void => {
    section.element.hidden = kicks.length === 0;
    const signature = JSON.stringify(kicks);
    if (signature === shown) return;
    shown = signature;
    setChildren(
      buttons,
      kicks.map(({ name, text }, i) => {
        const made = createButton({
          text: name,
          key: getShortcut(`kick.${i + 1}`),
          tip: text,
          onPress: () => app.runCommand(`kick.${i + 1}`),
        });
        return made.element;
      }),
    );
  };
  return { element: section.element, update: (steer) => steer.flow && show(steer.flow) };
}

/** Random wind in a flow. */
function createFlowWindSection(app: App): SteerSection {
  let now = { strength: 0, seed: 0 };
  const change = createLatestSender((change: Partial<typeof now>) => app.request("wind", (now = { ...now, ...change })));
  const setStrength = (strength: number): Promise<unknown> => change({ strength });
  const strength = createSlider({
    name: "Strength of the wind",
    value: 0,
    defaultValue: 0.01,
    scale: createLinearScale(0, 0.05, 0.001),
    tone: "world",
    unit: "m/s²",
    text: (value) => (value === 0 ? "off" : `${formatDigits(value, 2)} m/s²`),
    tip: "Root mean square acceleration of gusts in the flow",
    onInput: setStrength,
    onChange: setStrength,
  });
  const other = createButton({
    text: "Another wind",
    icon: "refresh",
    tip: "Gusts of the same strength with another random seed",
    onPress: () => void change({ seed: (now.seed + 1) % WIND_SEEDS }).catch(() => undefined),
  });
  other.element.classList.add("p-wide");
  const section = createSection(
    { title: "Wind" },
    createRow("Strength", strength.element).element,
    h("div", { class: "p-buttons" }, other.element),
  );
  return {
    element: section.element,
    update: (steer) => {
      if (!steer.flow) return;
      now = { strength: steer.wind.strength, seed: steer.flow.seed };
      strength.set(now.strength);
      other.setDisabledReason(now.strength === 0 ? "There is no wind" : null);
    },
  };
}

/** Smoke, model, and restart. */
function createFlowSection(app: App): SteerSection {
  const notes = h("ul", { class: "panel-notes" });
  const smoke = createSwitch({
    name: "Smoke",
    value: true,
    key: "S",
    tip: "Show smoke in the flow",
    onChange: createSender(app, "smoke", "on"),
  });
  const restart = createButton({
    text: "Start over",
    icon: "refresh",
    tip: "From the first frame, with new smoke",
    onPress: () => send(app, "restart"),
  });
  const section = createSection(
    { title: "Flow" },
    createRow("Smoke", smoke.element).element,
    notes,
    h("div", { class: "p-buttons" }, restart.element),
  );
  return {
    element: section.element,
    update: (steer: SteerState) => {
      section.setNote(steer.model);
      updateItems(notes, steer.notes, (text) => h("li", null, text));
      if (steer.flow) smoke.set(steer.flow.smoke);
    },
  };
}
