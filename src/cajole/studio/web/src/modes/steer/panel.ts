/** Panel of Steer: control switch, controller weights, pushes, wind, comparison. */

import { getShortcut } from "../../core/commands";
import { h, setAttribute, setText } from "../../core/dom";
import { formatDigits, formatNumber } from "../../core/format";
import { createIcon } from "../../core/icons";
import { formatPush, getPushForce, onPushSettings, pushSettings, setPushSettings } from "../../core/push-settings";
import type { App, SteerModeState } from "../../core/types";
import { createButton } from "../../ui/controls/button";
import { createSwitch } from "../../ui/controls/choice";
import { createLatestSender } from "../../ui/controls/latest-sender";
import { createLinearScale, createLogScale, createLogScaleWithZero } from "../../ui/controls/slider-scale";
import {
  createButtons, createChoiceRow, createHandOverButtons, createPanelSection, createSliderRow, createSwitchRow,
  type ModePanel, type PanelPart, updateItems,
} from "../panel-parts";

const WIND_SEEDS = 10_000; // number of winds of a flow

export function createSteerPanel(app: App): ModePanel {
  const isFlow = Boolean(app.project?.field);
  const parts = [
    createControlHeader(app),
    createControllerSection(app, isFlow ? { final: 1, effort: 1e-4 } : { final: 0, effort: 1e-2 }),
    ...(isFlow ? [createKicksSection(app)] : []),
    createPushSection(app),
    isFlow ? createFlowWindSection(app) : createWindSection(app),
    createCompareSection(app),
    isFlow ? createFlowSection(app) : createModelSection(app),
  ];
  return {
    element: h("div", null, parts.map(({ element }) => element)),
    footer: null,
    update: ({ steer }) => {
      if (steer) for (const part of parts) part.update(steer);
    },
    dispose: () => parts.forEach((part) => part.dispose?.()),
  };
}

/** Heading with the control switch, and the outcome of the run. */
function createControlHeader(app: App): PanelPart<SteerModeState> {
  const title = h("h2");
  const description = h("p");
  const outcome = h("div", { class: "panel-outcome", role: "status", hidden: true });
  const control = createSwitch({
    name: "Control", value: true, large: true, key: "C", tip: "Switch control on or off", onChange: (on) => app.request("control", { on }),
  });
  const showOutcome = (result: SteerModeState["outcome"]): void => {
    outcome.hidden = result === null;
    setAttribute(outcome, "data-good", result && String(result.good));
    if (result === null) return;
    const icon = result.good === null ? "info" : result.good ? "check" : "error";
    updateItems(outcome, [icon, result.text] as const, (item, i) => (i === 0 ? createIcon(icon) : h("span", null, item)));
  };
  return {
    element: h("div", null,
      h("div", { class: "panel-headline" }, h("div", null, title, description), control.element),
      h("div", { class: "panel-outcome-box" }, outcome),
    ),
    dispose: app.onPulse.on(({ outcome }) => outcome && showOutcome(outcome)),
    update: (steer) => {
      setText(title, steer.control ? "Control is on" : "Control is off");
      setText(description, describeControl(steer));
      control.set(steer.control);
      showOutcome(steer.outcome);
    },
  };
}

function describeControl({ control, flow }: SteerModeState): string {
  if (flow) return control ? "Control returns the particles to their paths." : "The particles drift with the flow.";
  return control ? "The body returns to its motion after a push." : "The body moves freely.";
}

function createControllerSection(app: App, defaults: { final: number; effort: number }): PanelPart<SteerModeState> {
  const effect = "Weight of the control force: higher is softer, lower tracks more closely";
  const rows = [
    ["tracking", "Tracking", 1, createLogScaleWithZero(1e-3, 100), "Weight of the tracking error at every frame"],
    ["final", "Final", defaults.final, createLogScaleWithZero(1e-3, 100), "Weight of the error at the last frame"],
    ["effort", "Effort", defaults.effort, createLogScale(1e-6, 1e3), effect],
  ] as const;
  return createPanelSection<SteerModeState>(
    { title: "Controller", getNote: ({ retuning }) => (retuning ? "retuning…" : "") },
    ...rows.map(([name, title, defaultValue, scale, tip]) =>
      createSliderRow<SteerModeState>({
        title, defaultValue, scale, tip, text: formatWeight, get: (steer) => steer[name], onChange: createLatestSender((value: number) => app.request("dials", { [name]: value })),
      }),
    ),
  );
}

const formatWeight = (value: number): string =>
  value === 0 ? "0.00" : value < 0.095 ? formatDigits(value, 2) : formatNumber(value, value < 99.5 ? 2 : 0);

function createPushSection(app: App): PanelPart<SteerModeState> {
  const { project } = app;
  const unit = project ? getPushForce(project, 1) : 1;
  const repeat = createButton({ text: "Repeat last push", icon: "push", key: "R", onPress: () => void app.request("push.repeat") });
  repeat.element.classList.add("p-wide");
  const strength = createSliderRow<void>({
    title: "Strength", name: "Strength of a push", defaultValue: unit,
    scale: createLogScale(0.01 * unit, 100 * unit), tone: "world", unit: project?.field ? "m/s²" : "N",
    text: (value) => formatPush(project, value),
    tip: `Force of a push as long as a quarter of the ${project?.field ? "box" : "body"}`,
    get: () => unit * pushSettings.pushStrength,
    onChange: (force) => setPushSettings({ pushStrength: force / unit }),
  });
  const shape = createChoiceRow<void, "push" | "impulse">({
    title: "Shape", name: "Shape of a push",
    choices: [
      { value: "push", text: "Hold", tip: "Push while the button is pressed" },
      { value: "impulse", text: "Impulse", tip: "One short impulse" },
    ],
    get: () => (app.ui.tool === "impulse" ? "impulse" : "push"),
    onChange: (tool) => app.setUi({ tool }),
  });
  const section = createPanelSection<SteerModeState>({ title: "Push" }, strength.element, shape.element, createButtons(repeat));
  const disposers = [
    app.onUi.on((change) => "tool" in change && shape.update()),
    onPushSettings(() => strength.update()),
  ];
  strength.update();
  shape.update();
  return {
    element: section.element,
    update: ({ pushes }) => repeat.setDisabledReason(pushes.length ? null : "Press and drag first"),
    dispose: () => disposers.forEach((end) => end()),
  };
}

/** Gusts on a body. */
function createWindSection(app: App): PanelPart<SteerModeState> {
  let wind = { strength: 0, pace: 1 };
  const change = createLatestSender((change: Partial<typeof wind>) => app.request("wind", (wind = { ...wind, ...change })));
  const section = createPanelSection<SteerModeState>(
    { title: "Wind" },
    createSliderRow({
      title: "Strength", name: "Strength of the wind", defaultValue: 0, scale: createLinearScale(0, 200, 1),
      tone: "world", unit: "%",
      text: (value) => (value === 0 ? "off" : `${formatNumber(value)} %`),
      tip: "Strength of gusts in percent of the body weight",
      get: ({ wind }) => 100 * wind.strength,
      onChange: (percent) => change({ strength: percent / 100 }),
    }),
    createSliderRow({
      title: "Pace", name: "Pace of the wind", defaultValue: 1, scale: createLogScale(0.1, 10), tone: "world",
      text: (value) => `${formatDigits(value, 2)} /s`,
      tip: "Gusts per second",
      get: ({ wind }) => wind.pace,
      getDisabledReason: ({ wind }) => (wind.strength === 0 ? "There is no wind" : null),
      onChange: (pace) => change({ pace }),
    }),
  );
  return {
    element: section.element,
    update: (steer) => {
      wind = { ...steer.wind };
      section.update(steer);
    },
  };
}

/** Random wind in a flow. */
function createFlowWindSection(app: App): PanelPart<SteerModeState> {
  let wind = { strength: 0, seed: 0 };
  const change = createLatestSender((change: Partial<typeof wind>) => app.request("wind", (wind = { ...wind, ...change })));
  const other = createButton({
    text: "Another wind", icon: "refresh", tip: "Gusts of the same strength with another random seed",
    onPress: () => void change({ seed: (wind.seed + 1) % WIND_SEEDS }).catch(() => undefined),
  });
  other.element.classList.add("p-wide");
  return createPanelSection<SteerModeState>(
    { title: "Wind" },
    createSliderRow({
      title: "Strength", name: "Strength of the wind", defaultValue: 0.01, scale: createLinearScale(0, 0.05, 0.001),
      tone: "world", unit: "m/s²",
      text: (value) => (value === 0 ? "off" : `${formatDigits(value, 2)} m/s²`),
      tip: "Root mean square acceleration of gusts in the flow",
      get: ({ wind }) => wind.strength,
      onChange: (strength) => change({ strength }),
    }),
    {
      element: createButtons(other),
      update: (steer) => {
        wind = { strength: steer.wind.strength, seed: steer.flow?.seed ?? 0 };
        other.setDisabledReason(wind.strength === 0 ? "There is no wind" : null);
      },
    },
  );
}

function createCompareSection(app: App): PanelPart<SteerModeState> {
  return createPanelSection<SteerModeState>(
    { title: "Compare" },
    createChoiceRow({
      title: "Ghost",
      get: ({ ghost }) => ghost,
      onChange: (of) => app.request("ghost", { of }),
      choices: [
        { value: "reference", text: "Reference", tip: "The reference motion" },
        { value: "uncontrolled", text: "No control", tip: "The same pushes and wind, without control" },
      ],
    }),
    createChoiceRow({
      title: "Speed",
      get: ({ speed }) => speed,
      onChange: (speed) => app.request("run", { play: app.state?.steer?.running ?? true, speed }),
      choices: [{ value: 0.25, text: "¼" }, { value: 0.5, text: "½" }, { value: 1, text: "1" }, { value: 2, text: "2" }],
    }),
  );
}

/** Notes about the model, one per line. */
function createNotes(): PanelPart<SteerModeState> {
  const element = h("ul", { class: "panel-notes" });
  return { element, update: ({ notes }) => updateItems(element, notes, (text) => h("li", null, text)) };
}

function createModelSection(app: App): PanelPart<SteerModeState> {
  const restart = createButton({
    text: "Restart", icon: "refresh", tip: "From the first frame, at rest", onPress: () => void app.request("restart"),
  });
  const buttons = createHandOverButtons<SteerModeState>(app, ["edit", "enrich"], () => null, restart);
  return createPanelSection<SteerModeState>({ title: "Model", getNote: ({ model }) => model }, createNotes(), buttons);
}

/** Smoke, model, and restart. */
function createFlowSection(app: App): PanelPart<SteerModeState> {
  const restart = createButton({
    text: "Restart", icon: "refresh", tip: "From the first frame, with new smoke", onPress: () => void app.request("restart"),
  });
  return createPanelSection<SteerModeState>(
    { title: "Flow", getNote: ({ model }) => model },
    createSwitchRow({
      title: "Smoke", key: "S", tip: "Show smoke in the flow", get: ({ flow }) => flow?.smoke ?? false, onChange: (on) => app.request("smoke", { on }),
    }),
    createNotes(),
    createButtons(restart),
  );
}

/** Buttons of the kicks of the scene. */
function createKicksSection(app: App): PanelPart<SteerModeState> {
  const buttons = h("div", { class: "p-buttons" });
  const getKicks = ({ flow }: SteerModeState) => flow?.kicks ?? [];
  return createPanelSection<SteerModeState>(
    { title: "Kicks of the scene", isVisible: (steer) => getKicks(steer).length > 0 },
    {
      element: buttons,
      update: (steer) =>
        updateItems(buttons, getKicks(steer), ({ name, text }, i) => {
          const command = `kick.${i + 1}`;
          return createButton({ text: name, key: getShortcut(command), tip: text, onPress: () => app.runCommand(command) }).element;
        }),
    },
  );
}
