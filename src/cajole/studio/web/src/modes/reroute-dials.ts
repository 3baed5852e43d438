/** Rows of Reroute: each sets one number of the second run, or of the net, and all of them in one message. */

import { h } from "../core/dom";
import { formatDigits, formatLength, formatForce, formatNumber, formatSeconds } from "../core/format";
import type { RerouteDials, RerouteMethod, RerouteState } from "../core/reroute-types";
import type { App, Component } from "../core/types";
import { type Choice, createSegmentedControl, createSwitch } from "../ui/controls/choice";
import { createRow } from "../ui/controls/common";
import { createNumberField, createFieldRow } from "../ui/controls/field";
import { createLogScale, createLogScaleWithZero, type SliderScale } from "../ui/controls/slider-scale";
import { createSection } from "../ui/controls/section";
import { createSlider } from "../ui/controls/slider";
import { live, once } from "./mode-panel";

/** A part of the panel that goes by the state of this mode. */
export interface ReroutePart extends Component {
  update(part: RerouteState): void;
}

export const METHODS: readonly Choice<RerouteMethod>[] = [
  { value: "pattern", text: "Pattern", tip: "The pilot's own path, turned and scaled: it moves as before" },
  { value: "least-force", text: "Least force", tip: "Whatever path takes the least force" },
  { value: "paper", text: "Paper", tip: "Steps of scaled length in a cone, as in 2007; to compare with" },
];

type Numbers = Exclude<keyof RerouteDials, "method">;

interface LineOptions {
  name: Numbers;
  title: string;
  scale: SliderScale;
  text: (value: number) => string;
  tip: string;
  unit?: string;
  usual?: number;
}

/** A row with a slider for one number. */
function line(app: App, { name, title, scale, text, tip, unit, usual }: LineOptions) {
  const say = live(app, "route", name);
  const part = createSlider({
    name: title, value: scale.min, scale, text, tip, inputText: (value) => String(Number(value.toPrecision(4))),
    onInput: say, onChange: say, ...(unit ? { unit } : {}), ...(usual === undefined ? {} : { defaultValue: usual }),
  });
  return { element: createRow(title, part.element).element, part, update: (dials: RerouteDials) => part.set(dials[name] ?? scale.min) };
}

/** How the second run is led. */
export function leadPart(app: App): ReroutePart {
  const size = app.project?.size ?? 1;
  const methods = createSegmentedControl({
    name: "Method", value: "pattern" as RerouteMethod, choices: METHODS, onChange: once(app, "route", "method"),
  });
  const alpha = line(app, {
    name: "alpha", title: "Window", scale: createLogScale(20, 1000), usual: 150,
    text: (value) => `${formatNumber(value)} f`,
    tip: "Frames in which a goal one body size away is led. Longer is gentler",
  });
  const reach = line(app, {
    name: "reach", title: "Reach", scale: createLogScaleWithZero(0.01 * size, 2 * size), text: formatLength, unit: "m",
    tip: "How far along the net neighbours are led too. 0: the point alone, which makes a spike",
  });
  const within = line(app, {
    name: "within", title: "Near enough", scale: createLogScale(1e-4 * size, 0.1 * size), text: formatLength, unit: "m",
    tip: "The radius of the yellow balls: from here a goal counts as reached",
  });
  const limit = line(app, {
    name: "limit", title: "Most force", scale: createLogScale(1e-3, 100), text: formatForce, unit: "N",
    tip: "On any point, never exceeded. Too little misses goals, and the report says so",
  });
  const limits = createSwitch({
    name: "Limit the force", value: false, tip: "Off: as much as it takes",
    onChange: (on) => app.request("route", { limit: on ? (app.state?.reroute?.net.weight ?? 1) / 20 : null }),
  });
  const whole = createSection(
    { title: "How it is led" },
    h("div", { class: "reroute-methods" }, methods.element),
    alpha.element, reach.element, within.element,
    createRow("Limit force", limits.element).element,
    limit.element,
  );
  return {
    element: whole.element,
    update: ({ dials, net }) => {
      methods.set(dials.method);
      reach.part.setScale(createLogScaleWithZero(0.01 * size, 2 * size), net.usual_reach);
      limit.part.setScale(createLogScale(net.weight / 1000, 10 * net.weight));
      for (const each of [alpha, reach, within, limit]) each.update(dials);
      limits.set(dials.limit !== null);
      limit.element.hidden = dials.limit === null;
    },
  };
}

/** Springs and fall of a mesh that no scene and no motion says anything about. */
export function netPart(app: App): ReroutePart {
  const lines = [
    line(app, {
      name: "stiffness", title: "Stiffness", scale: createLogScale(1, 1e5), usual: 100, unit: "N/m",
      text: (value) => `${formatDigits(value, 2)} N/m`, tip: "Of every spring",
    }),
    line(app, {
      name: "mass", title: "Mass", scale: createLogScale(1e-3, 1e3), usual: 1, unit: "kg",
      text: (value) => `${formatDigits(value, 2)} kg`, tip: "Of the whole net",
    }),
    line(app, {
      name: "damping", title: "Damping", scale: createLogScaleWithZero(1e-3, 100), usual: 0.05, unit: "N s/m",
      text: (value) => `${formatDigits(value, 2)}`, tip: "Of every spring, N s/m",
    }),
  ];
  const frames = createNumberField({
    name: "Frames", min: 2, max: 2000, integer: true, step: () => 1, text: String,
    tip: "How long it falls", onChange: once(app, "route", "frames"),
  });
  const held = h("p", { class: "p-quiet" });
  const whole = createSection(
    { title: "Springs", foldKey: "reroute.springs" },
    lines.map(({ element }) => element),
    createFieldRow("Frames", frames).element,
    held,
  );
  return {
    element: whole.element,
    update: ({ dials, net, held: nodes }) => {
      whole.setVisible(net.own);
      for (const each of lines) each.update(dials);
      frames.set(dials.frames);
      frames.setSuffix(formatSeconds((dials.frames - 1) / (app.state?.fps ?? 60)));
      whole.setNote(`${formatNumber(net.springs)} springs`);
      held.textContent = nodes.length
        ? `${formatNumber(nodes.length)} points are held.`
        : "Nothing is held. Press P on a point to hold it.";
    },
  };
}
