/** Panel of Enrich: material, regions, shell, collisions, forces, time steps, result. */

import "./enrich.css";
import { h, setAttribute, setText } from "../../core/dom";
import { formatDigits, formatNumber, formatPercent, formatSeconds } from "../../core/format";
import { createIcon } from "../../core/icons";
import { getMode } from "../../core/modes";
import { prefersReducedMotion } from "../../core/theme";
import type { App } from "../../core/types";
import type { Choice } from "../../ui/controls/choice";
import { createRow } from "../../ui/controls/common";
import { createLatestSender } from "../../ui/controls/latest-sender";
import { createLinearScale, createLogScale, createLogScaleWithZero, type SliderScale } from "../../ui/controls/slider-scale";
import { openMenu } from "../../ui/menu";
import {
  createChoiceRow, createHandOverButtons, createJobButton, createNumberRow, createPanelSection, createSliderRow,
  createSwitchRow, createText, type ModePanel, type PanelPart, setWaiting,
} from "../panel-parts";
import { createRegionsSection, createShellSection } from "./regions";
import type { EnrichDials, EnrichModeState } from "../../core/types";

type EnrichPart = PanelPart<EnrichModeState>;
type NumberParameter = { [K in keyof EnrichDials]: EnrichDials[K] extends number ? K : never }[keyof EnrichDials];

export function createEnrichPanel(app: App): ModePanel {
  const inputs = [
    createMaterialSection(app),
    createRegionsSection(app),
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
  const parts = [...inputs, result, action];
  return {
    element: h("div", null, result.element, inputElement),
    footer: action.element,
    update: ({ enrich }) => {
      if (!enrich) return;
      for (const part of parts) part.update(enrich);
      setWaiting(inputElement, enrich.running !== null); // changes would only apply after the run
    },
    dispose: () => parts.forEach((part) => part.dispose?.()),
  };
}

function createEnrichAction(app: App): EnrichPart {
  return createJobButton<EnrichModeState>(app, {
    icon: getMode("enrich").icon,
    tip: "Simulate the shell that tracks its guide; frames play as they are computed",
    end: { command: "stop", text: "Stop, keep frames", tip: "Stop and keep the computed frames" },
    onPress: () => {
      void app.request("enrich");
      if (!prefersReducedMotion()) app.setUi({ playing: true });
    },
    getJob: ({ running }) => running,
    getText: ({ result }, isRunning) => (isRunning ? "Enriching…" : result ? "Enrich again" : "Enrich"),
    getDisabledReason: ({ regions }) => regions.problem,
  });
}

function createResultSection(app: App): EnrichPart {
  const report = h("pre", { class: "enrich-report", tabIndex: 0, "aria-label": "Report of the run" });
  const details = h("details", { class: "enrich-details" }, h("summary", null, "Report"), report);
  return createPanelSection<EnrichModeState>(
    {
      title: "Result",
      isVisible: ({ result, running }) => result !== null && running === null,
      getNote: ({ result }) => `${formatNumber(result!.frames)} frames`,
    },
    createText("panel-text", ({ free, result }) => {
      if (free !== null) return `Without tracking the shell deviates by ${formatPercent(free)} of its size.`;
      return result!.stale ? "The settings have changed. Enrich again to update the result." : result!.text;
    }),
    createText("p-quiet", ({ result }) => {
      const { seconds, intersections: count } = result!;
      const time = seconds === null ? "Stopped early: the force was not computed" : `took ${formatSeconds(seconds, 1)}`;
      const crossings = count === null ? "" : count === 0 ? "no intersections" : `${formatNumber(count)} frames with intersections`;
      return [time, crossings].filter(Boolean).join(" · ");
    }),
    createChoiceRow({
      title: "Shown", name: "Shown shell",
      get: ({ sight }) => sight,
      onChange: (choice) => app.request("compare", { with: choice }),
      choices: [
        { value: "led", text: "Tracked", tip: "The shell that tracks its guide" },
        { value: "free", text: "Free", tip: "The same shell without tracking, for comparison. Simulated on first use" },
      ],
    }),
    {
      element: details,
      update: ({ result }) => {
        setText(report, result!.report);
        details.hidden = result!.seconds === null;
      },
    },
    createHandOverButtons(app, ["edit"]),
  );
}

interface ParameterOptions {
  name: NumberParameter;
  title: string;
  scale: SliderScale;
  text: (value: number) => string;
  tip: string;
  unit?: string;
  factor?: number; // displayed units per server unit
  defaultValue?: number; // in displayed units
  isVisible?(state: EnrichModeState): boolean;
}

/** Row with a slider for a number. */
function createParameterRow(app: App, { name, factor = 1, ...options }: ParameterOptions): EnrichPart {
  const change = createLatestSender((value: number) => app.request("cloth", { [name]: value }));
  return createSliderRow({ ...options, get: ({ dials }) => dials[name] * factor, onChange: (value) => change(value / factor) });
}

/** Row with a switch. */
function createToggleRow(app: App, key: "own" | "hold", title: string, name: string, tip: string, isVisible: (state: EnrichModeState) => boolean): EnrichPart {
  return createSwitchRow({ title, name, tip, isVisible, get: ({ dials }) => dials[key], onChange: (value) => app.request("cloth", { [key]: value }) });
}

const formatSpeed = (value: number): string => `${formatDigits(value, 2)} m/s`;
const formatDegrees = (value: number): string => `${formatNumber(value)}°`;
const formatShort = (value: number): string => formatDigits(value, 2);
const formatPressure = (value: number): string => {
  const [unit, size] = value >= 1e6 ? (["MPa", 1e6] as const) : value >= 1e3 ? (["kPa", 1e3] as const) : ["Pa", 1];
  return `${formatShort(value / size)} ${unit}`;
};

function createForcesSection(app: App): EnrichPart {
  const size = app.project?.size ?? 1;
  const hasWind = ({ dials }: EnrichModeState): boolean => dials.wind > 0;
  return createPanelSection<EnrichModeState>(
    {
      title: "Weight and air",
      foldKey: "enrich.air",
      getNote: ({ dials, extras }) =>
        [dials.wind > 0 ? `wind ${formatSpeed(dials.wind)}` : "", extras && dials.own ? "scene's air" : ""].filter(Boolean).join(" · "),
    },
    createParameterRow(app, {
      name: "gravity", title: "Gravity", scale: createLinearScale(-1, 3, 0.05), defaultValue: 1,
      text: (value) => `× ${formatNumber(value, 2)}`, tip: "Multiple of Earth gravity",
    }),
    createParameterRow(app, {
      name: "wind", title: "Wind", scale: createLogScaleWithZero(0.1, 50), text: formatSpeed, unit: "m/s", defaultValue: 0,
      tip: "Wind speed",
    }),
    createParameterRow(app, {
      name: "heading", title: "Direction", scale: createLinearScale(-180, 180, 5), text: formatDegrees, unit: "°",
      tip: "0°: along x, 90°: along y", isVisible: hasWind,
    }),
    createParameterRow(app, {
      name: "rise", title: "Elevation", scale: createLinearScale(-90, 90, 5), text: formatDegrees, unit: "°", defaultValue: 0,
      tip: "Vertical angle of the wind, positive is upward", isVisible: hasWind,
    }),
    createParameterRow(app, {
      name: "gusts", title: "Gusts", scale: createLogScaleWithZero(0.1, 50), text: formatSpeed, unit: "m/s", defaultValue: 0,
      tip: "Spatial variation of the wind speed",
    }),
    createParameterRow(app, {
      name: "lumps", title: "Gust size", scale: createLogScale(0.02 * size, 2 * size), unit: "m",
      text: (value) => `${formatShort(value)} m`, tip: "Size of gusts: small gusts cause flutter, large ones slow swaying",
      isVisible: ({ dials }) => dials.gusts > 0,
    }),
    createParameterRow(app, {
      name: "pressure", title: "Pressure", scale: createLinearScale(-50, 50, 0.5), unit: "Pa", defaultValue: 0,
      text: (value) => `${formatNumber(value, 1)} Pa`, tip: "Pressure along the normals: inflates closed shells",
    }),
    createToggleRow(
      app, "own", "Scene's air", "The scene's own air", "Wind, pressure and shapes over time of the material preset", ({ extras }) => extras,
    ),
  );
}

function createCollisionSection(app: App): EnrichPart {
  const isOn = ({ dials }: EnrichModeState): boolean => dials.collisions !== "none";
  return createPanelSection<EnrichModeState>(
    { title: "Collisions" },
    createChoiceRow({
      title: "", name: "Collisions",
      get: ({ dials }) => dials.collisions,
      onChange: (collisions) => app.request("cloth", { collisions }),
      choices: [
        { value: "none", text: "None", tip: "No collision handling" },
        { value: "fast", text: "Fast", tip: "No intersections; tracking of regions yields to contacts" },
        { value: "exact", text: "Exact", tip: "Contacts and region constraints to machine precision; about ten times slower" },
      ],
    }),
    createParameterRow(app, {
      name: "friction", title: "Friction", scale: createLinearScale(0, 1.5, 0.05), text: (value) => formatNumber(value, 2), defaultValue: 0.3,
      tip: "Coulomb friction coefficient, also of self-contact", isVisible: isOn,
    }),
    createText("p-quiet", (state) => {
      const others = state.collidable ? " and with props" : "";
      return isOn(state) ? `Collisions with itself${others} are prevented.` : "";
    }),
  );
}

function createStepsSection(app: App): EnrichPart {
  const getFps = (): number => app.state?.fps ?? 30;
  return createPanelSection<EnrichModeState>(
    { title: "Steps", foldKey: "enrich.steps", getNote: ({ dials }) => `${formatNumber(1000 / getFps() / dials.substeps, 1)} ms each` },
    createParameterRow(app, {
      name: "substeps", title: "Steps per frame", scale: createLinearScale(1, 32, 1), text: (value) => formatNumber(value), defaultValue: 8,
      tip: "Time steps per frame: more are slower and less damped",
    }),
    createNumberRow({
      title: "Frames", min: 2, max: 20_000, integer: true, step: () => 1, text: String,
      tip: "After its last frame the guide stays, and the shell continues to move",
      get: ({ dials }) => dials.frames,
      getSuffix: ({ dials }) => formatSeconds((dials.frames - 1) / getFps()),
      onChange: (frames) => app.request("cloth", { frames }),
    }),
    createNumberRow({
      title: "Seed", min: 0, max: 2 ** 31 - 1, integer: true, step: () => 1, text: String,
      tip: "Random seed of gusts and crinkles",
      get: ({ dials }) => dials.seed,
      onChange: (seed) => app.request("cloth", { seed }),
    }),
    createToggleRow(
      app, "hold", "Fix static", "Fix static vertices", "Vertices that never move in the guide are fixed", ({ shell }) => shell.still > 0,
    ),
  );
}

function createMaterialSection(app: App): EnrichPart {
  return createPanelSection<EnrichModeState>(
    { title: "Material" },
    createMaterialRow(app),
    createParameterRow(app, {
      name: "young", title: "Stiffness", scale: createLogScale(1e2, 1e8), text: formatPressure, unit: "Pa",
      tip: "Young's modulus: stiffer sheets form few, wide folds",
    }),
    createParameterRow(app, {
      name: "thickness", title: "Thickness", scale: createLogScale(0.05, 50), text: (value) => `${formatShort(value)} mm`, unit: "mm", factor: 1000,
      tip: "Bending stiffness grows with the cube of the thickness",
    }),
  );
}

/** Row with the button that opens the menu of materials. */
function createMaterialRow(app: App): EnrichPart {
  const words = h("span");
  const attributes = { type: "button", class: "p-button enrich-material", "aria-label": "Material", "aria-haspopup": "menu" };
  const element = h("button", { ...attributes, onclick: () => open() }, words, createIcon("chevron"));
  const open = (): void => {
    const { materials = [], dials } = app.state?.enrich ?? {};
    const entries = materials.map(({ name, text }) => ({
      text: capitalize(name), detail: text, checked: name === dials?.material,
      onSelect: () => void app.request("cloth", { material: name }),
    }));
    openMenu(element, entries, "Material");
  };
  return {
    element: createRow("Preset", element).element,
    update: ({ dials: { material }, materials }) => {
      setText(words, capitalize(material));
      setAttribute(element, "data-tip", materials.find(({ name }) => name === material)?.text ?? null);
    },
  };
}

const capitalize = (name: string): string => name.charAt(0).toUpperCase() + name.slice(1);

/** Further material parameters. */
function createFineMaterialSection(app: App): EnrichPart {
  const formatTime = (value: number): string => `${formatShort(value)} s`;
  return createPanelSection<EnrichModeState>(
    { title: "Fine material", foldKey: "enrich.fine", getNote: ({ dials }) => (dials.curvature > 0 ? "permanent folds" : "") },
    createParameterRow(app, {
      name: "density", title: "Density", scale: createLogScale(10, 5000), unit: "kg/m³",
      text: (value) => `${formatNumber(value)} kg/m³`, tip: "Heavier sheets sag more and swing longer",
    }),
    createParameterRow(app, {
      name: "bending", title: "Bending", scale: createLogScaleWithZero(0.01, 100), text: (value) => `× ${formatShort(value)}`, defaultValue: 1,
      tip: "Multiple of the bending stiffness of a homogeneous sheet",
    }),
    createParameterRow(app, {
      name: "mass", title: "Damping", scale: createLogScaleWithZero(0.01, 20), text: (value) => `${formatShort(value)} /s`, unit: "1/s",
      tip: "Mass-proportional damping of the motion relative to the guide",
    }),
    createParameterRow(app, {
      name: "ripple", title: "Bend damping", scale: createLogScaleWithZero(1e-5, 0.5), text: formatTime, unit: "s",
      tip: "Stiffness-proportional damping of bending: reduces oscillation of small folds",
    }),
    createParameterRow(app, {
      name: "membrane", title: "Stretch damping", scale: createLogScaleWithZero(1e-5, 0.5), text: formatTime, unit: "s",
      tip: "Stiffness-proportional damping of the membrane: reduces stretching vibrations",
    }),
    createParameterRow(app, {
      name: "curvature", title: "Yield curvature", scale: createLogScaleWithZero(0.1, 1000), unit: "1/m",
      text: (value) => (value === 0 ? "never" : `> ${formatShort(value)} /m`),
      tip: "Sharper folds become permanent; at the left end none do",
    }),
    createParameterRow(app, {
      name: "hardening", title: "Hardening", scale: createLinearScale(-0.2, 0.2, 0.005), unit: "m", defaultValue: 0,
      text: (value) => `${formatShort(value)} m`, tip: "Positive: permanent folds get stiffer; negative: softer",
      isVisible: ({ dials }) => dials.curvature > 0,
    }),
  );
}

const SHAPE_CHOICES: readonly Choice<EnrichDials["shape"]>[] = [
  { value: "flat", text: "Plain", tip: "Shape of the mesh" },
  { value: "accordion", text: "Zigzag", tip: "Accordion: sharp folds one after the other" },
  { value: "ridges", text: "Ridges", tip: "Ridges side by side, flat between them" },
  { value: "crinkle", text: "Crinkle", tip: "Random bumps, as in crumpled foil" },
];

/** Rest shape of the shell. */
function createShapeSection(app: App): EnrichPart {
  const size = app.project?.size ?? 1;
  const isFolded = ({ dials: { shape } }: EnrichModeState): boolean => shape !== "flat" && shape !== "own";
  const length = { factor: 100, unit: "cm", text: (value: number) => `${formatShort(value)} cm`, isVisible: isFolded };
  return createPanelSection<EnrichModeState>(
    {
      title: "Undeformed shape", foldKey: "enrich.shape",
      getNote: ({ dials }) => SHAPE_CHOICES.find(({ value }) => value === dials.shape)?.text.toLowerCase() ?? "the scene's own",
    },
    createChoiceRow({
      title: "", name: "Undeformed", choices: SHAPE_CHOICES, get: ({ dials }) => dials.shape, onChange: (shape) => app.request("cloth", { shape }),
    }),
    createParameterRow(app, { name: "amplitude", title: "Depth", scale: createLogScale(0.1 * size, 20 * size), tip: "Height of folds", ...length }),
    createParameterRow(app, {
      name: "wavelength", title: "Width", scale: createLogScale(size, 60 * size), tip: "Distance of folds, at least two edges of the mesh", ...length,
    }),
    createChoiceRow({
      title: "Along",
      choices: (["x", "y", "z"] as const).map((value) => ({ value, text: value.toUpperCase() })),
      isVisible: (state) => isFolded(state) && state.dials.shape !== "crinkle",
      get: ({ dials }) => dials.along,
      onChange: (along) => app.request("cloth", { along }),
    }),
  );
}
