/** Panel of Enrich: material, regions, shell, collisions, forces, time steps, result. */

import "../style/enrich.css";
import { h, setAttribute, setText } from "../core/dom";
import type { EnrichDials, EnrichState } from "../core/enrich-types";
import { formatDigits, formatNumber, formatPercent, formatSeconds } from "../core/format";
import { createIcon } from "../core/icons";
import { prefersReducedMotion } from "../core/theme";
import type { App, Component } from "../core/types";
import { type Choice, createSegmentedControl, createSwitch, type SegmentedControl } from "../ui/controls/choice";
import { createRow } from "../ui/controls/common";
import { createFieldRow, createNumberField } from "../ui/controls/field";
import { createSection } from "../ui/controls/section";
import { createSlider } from "../ui/controls/slider";
import {
  createLinearScale,
  createLogScale,
  createLogScaleWithZero,
  type SliderScale,
} from "../ui/controls/slider-scale";
import { openMenu } from "../ui/menu";
import { createRegionsSection, createShellSection } from "./enrich-regions";
import { createJobAction, type JobAction } from "./job-action";
import { createHandOverButton, createLiveSender, createSender, type ModePanel, send } from "./mode-panel";

/** Section updated from the state of this mode. */
export interface EnrichSection extends Component {
  update(part: EnrichState): void;
}

type ParametersOf<T> = { [K in keyof EnrichDials]: EnrichDials[K] extends T ? K : never }[keyof EnrichDials];
type ChoiceParameters = Exclude<ParametersOf<string>, "material">;

interface EnrichParameterOptions {
  name: ParametersOf<number>;
  title: string;
  scale: SliderScale;
  text: (value: number) => string;
  tip: string;
  unit?: string;
  factor?: number; // displayed units per server unit
  defaultValue?: number; // in server units
}

interface ParameterRow {
  element: HTMLElement;
  update(dials: EnrichDials): void;
  setVisible(on: boolean): void;
}

/** Row with a slider for a number. */
function createParameterRow(app: App, options: EnrichParameterOptions): ParameterRow {
  const { name, title, scale, text, tip, factor = 1 } = options;
  const send = createLiveSender(app, "cloth", name);
  const change = (value: number): Promise<unknown> => send(value / factor);
  const part = createSlider({
    name: title,
    value: scale.min,
    scale,
    text,
    tip,
    inputText: (value) => String(Number(value.toPrecision(4))),
    onInput: change,
    onChange: change,
    ...(options.unit ? { unit: options.unit } : {}),
    ...(options.defaultValue === undefined ? {} : { defaultValue: options.defaultValue * factor }),
  });
  const { element } = createRow(title, part.element);
  return {
    element,
    update: (dials) => part.set(dials[name] * factor),
    setVisible: (on) => void (element.hidden = !on),
  };
}

/** Row with a switch for a boolean. */
function createSwitchRow(app: App, name: ParametersOf<boolean>, title: string, label: string, tip: string): ParameterRow {
  const part = createSwitch({ name: label, value: false, tip, onChange: createSender(app, "cloth", name) });
  const { element } = createRow(title, part.element);
  return { element, update: (dials) => part.set(dials[name]), setVisible: (on) => void (element.hidden = !on) };
}

/** Segmented control for a choice. */
function createParameterChoice<K extends ChoiceParameters>(
  app: App,
  name: K,
  title: string,
  choices: readonly Choice<EnrichDials[K]>[],
): SegmentedControl<EnrichDials[K]> {
  return createSegmentedControl({ name: title, value: choices[0]!.value, choices, onChange: createSender(app, "cloth", name) });
}

export function createEnrichPanel(app: App): ModePanel {
  const regions = createRegionsSection(app);
  const inputs = [
    createMaterialSection(app),
    regions,
    createShellSection(app),
    createCollisionSection(app),
    createFineMaterialSection(app),
    createShapeSection(app),
    createForcesSection(app),
    createStepsSection(app),
  ];
  const result = createResultSection(app);
  const action = createEnrichAction(app);
  const inputElement = h("div", null, inputs.map(({ element }) => element));
  return {
    element: h("div", null, result.element, inputElement),
    footer: action.element,
    update: (state) => {
      const part = state.enrich;
      if (!part) return;
      for (const each of [...inputs, result, action]) each.update(part);
      // changes would only apply after the run
      inputElement.inert = part.running !== null;
      inputElement.classList.toggle("enrich-waits", part.running !== null);
    },
    dispose: () => {
      regions.dispose();
      action.dispose();
    },
  };
}

function createResultSection(app: App): EnrichSection {
  const text = h("p", { class: "panel-text" });
  const facts = h("p", { class: "p-quiet" });
  const report = h("pre", { class: "enrich-report", tabIndex: 0, "aria-label": "Report of the run" });
  const details = h("details", { class: "enrich-details" }, h("summary", null, "Report"), report);
  const edit = createHandOverButton(app, "edit");
  const sight = createSegmentedControl({
    name: "Shown shell",
    value: "led" as EnrichState["sight"],
    choices: [
      { value: "led", text: "Tracked", tip: "The shell that tracks its guide" },
      { value: "free", text: "Free", tip: "The same shell without tracking, for comparison. Simulated on first use" },
    ],
    onChange: createSender(app, "compare", "with"),
  });
  const section = createSection(
    { title: "Result" },
    text,
    facts,
    createRow("Shown", sight.element).element,
    details,
    h("div", { class: "p-buttons" }, edit.part.element),
  );
  return {
    element: section.element,
    update: (part) => {
      const { result } = part;
      section.setVisible(result !== null && part.running === null);
      if (result === null) return;
      sight.set(part.sight);
      setText(text, formatResult(part, result));
      setText(facts, formatRunFacts(result));
      setText(report, result.report);
      details.hidden = result.seconds === null;
      section.setNote(`${formatNumber(result.frames)} frames`);
      edit.setDisabledReason(null);
    },
  };
}

function formatResult({ free }: EnrichState, result: NonNullable<EnrichState["result"]>): string {
  if (free !== null) return `Without tracking the shell deviates by ${formatPercent(free)} of its size.`;
  return result.stale ? "The settings have changed. Enrich again to update the result." : result.text;
}

function formatRunFacts(result: NonNullable<EnrichState["result"]>): string {
  const crossed = result.intersections;
  const parts = [
    result.seconds === null ? "Stopped early: the force was not computed" : `took ${formatSeconds(result.seconds, 1)}`,
    crossed === null ? "" : crossed === 0 ? "no intersections" : `${formatNumber(crossed)} frames with intersections`,
  ];
  return parts.filter(Boolean).join(" · ");
}

function createEnrichAction(app: App): JobAction<EnrichState> {
  return createJobAction(app, {
    text: "Enrich",
    busyText: "Enriching…",
    icon: "enrich",
    tip: "Simulate the shell that tracks its guide; frames play as they are computed",
    stop: { text: "Stop, keep frames", tip: "Stop and keep the computed frames" },
    onPress: () => {
      send(app, "enrich");
      if (!prefersReducedMotion()) app.setUi({ playing: true });
    },
    getStatus: ({ running, result, regions }) => ({ job: running, hasResult: result !== null, disabledReason: regions.problem }),
  });
}

const formatSpeed = (value: number): string => `${formatDigits(value, 2)} m/s`;
const formatDegrees = (value: number): string => `${formatNumber(value)}°`;

function createForcesSection(app: App): EnrichSection {
  const size = app.project?.size ?? 1;
  const lines = [
    createParameterRow(app, {
      name: "gravity", title: "Gravity", scale: createLinearScale(-1, 3, 0.05), defaultValue: 1,
      text: (value) => `× ${formatNumber(value, 2)}`,
      tip: "Multiple of Earth gravity",
    }),
    createParameterRow(app, {
      name: "wind", title: "Wind", scale: createLogScaleWithZero(0.1, 50), text: formatSpeed, unit: "m/s", defaultValue: 0,
      tip: "Wind speed",
    }),
    createParameterRow(app, {
      name: "heading", title: "Direction", scale: createLinearScale(-180, 180, 5), text: formatDegrees, unit: "°",
      tip: "0°: along x, 90°: along y",
    }),
    createParameterRow(app, {
      name: "rise", title: "Elevation", scale: createLinearScale(-90, 90, 5), text: formatDegrees, unit: "°", defaultValue: 0,
      tip: "Vertical angle of the wind, positive is upward",
    }),
    createParameterRow(app, {
      name: "gusts", title: "Gusts", scale: createLogScaleWithZero(0.1, 50), text: formatSpeed, unit: "m/s", defaultValue: 0,
      tip: "Spatial variation of the wind speed",
    }),
    createParameterRow(app, {
      name: "lumps", title: "Gust size", scale: createLogScale(0.02 * size, 2 * size), unit: "m",
      text: (value) => `${formatDigits(value, 2)} m`,
      tip: "Size of gusts: small gusts cause flutter, large ones slow swaying",
    }),
    createParameterRow(app, {
      name: "pressure", title: "Pressure", scale: createLinearScale(-50, 50, 0.5), unit: "Pa", defaultValue: 0,
      text: (value) => `${formatNumber(value, 1)} Pa`,
      tip: "Pressure along the normals: inflates closed shells",
    }),
  ];
  const tip = "Wind, pressure and shapes over time of the material preset";
  const own = createSwitchRow(app, "own", "Scene's air", "The scene's own air", tip);
  const section = createSection(
    { title: "Weight and air", foldKey: "enrich.air" },
    lines.map(({ element }) => element),
    own.element,
  );
  return {
    element: section.element,
    update: ({ dials, extras }) => {
      for (const line of lines) line.update(dials);
      const hasWind = dials.wind > 0;
      lines[2]!.setVisible(hasWind);
      lines[3]!.setVisible(hasWind);
      lines[5]!.setVisible(dials.gusts > 0);
      own.update(dials);
      own.setVisible(extras);
      const notes = [hasWind ? `wind ${formatSpeed(dials.wind)}` : "", extras && dials.own ? "scene's air" : ""];
      section.setNote(notes.filter(Boolean).join(" · "));
    },
  };
}

const COLLISION_CHOICES: readonly Choice<EnrichDials["collisions"]>[] = [
  { value: "none", text: "None", tip: "No collision handling" },
  { value: "fast", text: "Fast", tip: "No intersections; tracking of regions yields to contacts" },
  { value: "exact", text: "Exact", tip: "Contacts and region constraints to machine precision; about ten times slower" },
];

function createCollisionSection(app: App): EnrichSection {
  const kinds = createParameterChoice(app, "collisions", "Collisions", COLLISION_CHOICES);
  const description = h("p", { class: "p-quiet" });
  const friction = createParameterRow(app, {
    name: "friction", title: "Friction", scale: createLinearScale(0, 1.5, 0.05), text: (value) => formatNumber(value, 2), defaultValue: 0.3,
    tip: "Coulomb friction coefficient, also of self-contact",
  });
  const section = createSection({ title: "Collisions" }, kinds.element, friction.element, description);
  return {
    element: section.element,
    update: ({ dials, collidable }) => {
      kinds.set(dials.collisions);
      friction.update(dials);
      friction.setVisible(dials.collisions !== "none");
      const things = collidable ? "with itself and with props" : "with itself";
      setText(description, dials.collisions === "none" ? "" : `Collisions ${things} are prevented.`);
      description.hidden = dials.collisions === "none";
    },
  };
}

function createStepsSection(app: App): EnrichSection {
  const substeps = createParameterRow(app, {
    name: "substeps", title: "Steps a frame", scale: createLinearScale(1, 32, 1), text: (value) => formatNumber(value), defaultValue: 8,
    tip: "Time steps per frame: more are slower and less damped",
  });
  const frames = createNumberField({
    name: "Frames", min: 2, max: 20_000, integer: true, step: () => 1, text: String,
    tip: "After its last frame the guide stays, and the shell continues to move",
    onChange: createSender(app, "cloth", "frames"),
  });
  const seed = createNumberField({
    name: "Seed", min: 0, max: 2 ** 31 - 1, integer: true, step: () => 1, text: String,
    tip: "Random seed of gusts and crinkles", onChange: createSender(app, "cloth", "seed"),
  });
  const tip = "Vertices that never move in the guide are fixed";
  const hold = createSwitchRow(app, "hold", "Hold still", "Fix static vertices", tip);
  const section = createSection(
    { title: "Steps", foldKey: "enrich.steps" },
    substeps.element,
    createFieldRow("Frames", frames).element,
    createRow("Seed", seed.element).element,
    hold.element,
  );
  return {
    element: section.element,
    update: ({ dials, shell }) => {
      const fps = app.state?.fps ?? 30;
      substeps.update(dials);
      frames.set(dials.frames);
      frames.setSuffix(formatSeconds((dials.frames - 1) / fps));
      seed.set(dials.seed);
      hold.update(dials);
      hold.setVisible(shell.still > 0);
      section.setNote(`${formatNumber((1000 / fps) / dials.substeps, 1)} ms each`);
    },
  };
}

const formatPressure = (value: number): string => {
  const [unit, size] = value >= 1e6 ? (["MPa", 1e6] as const) : value >= 1e3 ? (["kPa", 1e3] as const) : ["Pa", 1];
  return `${formatDigits(value / size, 2)} ${unit}`;
};
const formatMillimetres = (value: number): string => `${formatDigits(value, 2)} mm`;
const formatShort = (value: number): string => formatDigits(value, 2);

function createMaterialSection(app: App): EnrichSection {
  const chosen = createMaterialButton(app);
  const lines = [
    createParameterRow(app, {
      name: "young", title: "Stiffness", scale: createLogScale(1e2, 1e8), text: formatPressure, unit: "Pa",
      tip: "Young's modulus: stiffer sheets form few, wide folds",
    }),
    createParameterRow(app, {
      name: "thickness", title: "Thickness", scale: createLogScale(0.05, 50), text: formatMillimetres, unit: "mm", factor: 1000,
      tip: "Bending stiffness grows with the cube of the thickness",
    }),
  ];
  const section = createSection(
    { title: "Material" },
    createRow("Made of", chosen.element).element,
    lines.map(({ element }) => element),
  );
  return {
    element: section.element,
    update: (part) => {
      chosen.update(part);
      for (const line of lines) line.update(part.dials);
    },
  };
}

/** Further material parameters. */
function createFineMaterialSection(app: App): EnrichSection {
  const lines = [
    createParameterRow(app, {
      name: "density",
      title: "Density",
      scale: createLogScale(10, 5000),
      unit: "kg/m³",
      text: (value) => `${formatNumber(value)} kg/m³`,
      tip: "Heavier sheets sag more and swing longer",
    }),
    createParameterRow(app, {
      name: "bending",
      title: "Bending",
      scale: createLogScaleWithZero(0.01, 100),
      text: (value) => `× ${formatShort(value)}`,
      defaultValue: 1,
      tip: "Multiple of the bending stiffness of a homogeneous sheet",
    }),
    createParameterRow(app, {
      name: "mass",
      title: "Damping",
      scale: createLogScaleWithZero(0.01, 20),
      text: (value) => `${formatShort(value)} /s`,
      unit: "1/s",
      tip: "Mass-proportional damping of the motion relative to the guide",
    }),
    createParameterRow(app, {
      name: "ripple",
      title: "Ripples",
      scale: createLogScaleWithZero(1e-5, 0.5),
      text: (value) => `${formatShort(value)} s`,
      unit: "s",
      tip: "Bending damping: calms small folds",
    }),
    createParameterRow(app, {
      name: "membrane",
      title: "Shaking",
      scale: createLogScaleWithZero(1e-5, 0.5),
      text: (value) => `${formatShort(value)} s`,
      unit: "s",
      tip: "Membrane damping: calms stretching vibrations",
    }),
    createParameterRow(app, {
      name: "curvature",
      title: "Yield curvature",
      scale: createLogScaleWithZero(0.1, 1000),
      text: (value) => (value === 0 ? "never" : `> ${formatShort(value)} /m`),
      unit: "1/m",
      tip: "Sharper folds become permanent; at the left end none do",
    }),
    createParameterRow(app, {
      name: "hardening",
      title: "Hardening",
      scale: createLinearScale(-0.2, 0.2, 0.005),
      unit: "m",
      text: (value) => `${formatShort(value)} m`,
      tip: "Positive: permanent folds get stiffer; negative: softer",
      defaultValue: 0,
    }),
  ];
  const section = createSection({ title: "Fine material", foldKey: "enrich.fine" }, lines.map(({ element }) => element));
  return {
    element: section.element,
    update: ({ dials }) => {
      for (const line of lines) line.update(dials);
      lines.at(-1)!.setVisible(dials.curvature > 0);
      section.setNote(dials.curvature > 0 ? "folds stay" : "");
    },
  };
}

/** Button that opens the menu of materials. */
function createMaterialButton(app: App): EnrichSection {
  const words = h("span");
  const element = h(
    "button",
    { type: "button", class: "p-button enrich-material", "aria-label": "Material" },
    words,
    createIcon("chevron"),
  );
  setAttribute(element, "aria-haspopup", "menu");
  let current: EnrichState | null = null;
  element.addEventListener("click", () => {
    const entries = (current?.materials ?? []).map(({ name, text }) => ({
      text: capitalize(name),
      detail: text,
      checked: name === current!.dials.material,
      onSelect: () => send(app, "cloth", { material: name }),
    }));
    openMenu(element, entries, "Material");
  });
  return {
    element,
    update: (part) => {
      current = part;
      setText(words, capitalize(part.dials.material));
      setAttribute(element, "data-tip", part.materials.find(({ name }) => name === part.dials.material)?.text ?? null);
    },
  };
}

const capitalize = (name: string): string => name.charAt(0).toUpperCase() + name.slice(1);

const SHAPE_CHOICES: readonly Choice<EnrichDials["shape"]>[] = [
  { value: "flat", text: "Plain", tip: "Shape of the mesh" },
  { value: "accordion", text: "Zigzag", tip: "Accordion: sharp folds one after the other" },
  { value: "ridges", text: "Ridges", tip: "Ridges side by side, flat between them" },
  { value: "crinkle", text: "Crinkle", tip: "Random bumps, as in crumpled foil" },
];

/** Rest shape of the shell. */
function createShapeSection(app: App): EnrichSection {
  const shapes = createParameterChoice(app, "shape", "Undeformed", SHAPE_CHOICES);
  const axes = (["x", "y", "z"] as const).map((value) => ({ value, text: value.toUpperCase() }));
  const along = createParameterChoice(app, "along", "Along", axes);
  const centimetres = (value: number): string => `${formatShort(value)} cm`;
  const size = app.project?.size ?? 1;
  const depth = createParameterRow(app, {
    name: "amplitude", title: "Depth", scale: createLogScale(0.1 * size, 20 * size), factor: 100, unit: "cm", text: centimetres,
    tip: "Height of folds",
  });
  const width = createParameterRow(app, {
    name: "wavelength", title: "Width", scale: createLogScale(size, 60 * size), factor: 100, unit: "cm", text: centimetres,
    tip: "Distance of folds, at least two edges of the mesh",
  });
  const direction = createRow("Along", along.element);
  const section = createSection(
    { title: "Undeformed shape", foldKey: "enrich.shape" },
    shapes.element,
    depth.element,
    width.element,
    direction.element,
  );
  return {
    element: section.element,
    update: ({ dials }) => {
      shapes.set(dials.shape);
      along.set(dials.along);
      depth.update(dials);
      width.update(dials);
      const folded = dials.shape !== "flat" && dials.shape !== "own";
      depth.setVisible(folded);
      width.setVisible(folded);
      direction.element.hidden = !folded || dials.shape === "crinkle";
      const called = SHAPE_CHOICES.find(({ value }) => value === dials.shape)?.text.toLowerCase();
      section.setNote(called ?? "the scene's own");
    },
  };
}
