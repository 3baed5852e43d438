/** What the shell of Enrich is made of: a material to begin with, its numbers, and the shape that it has by itself. */

import { setAttribute, h, setText } from "../core/dom";
import type { EnrichDials, EnrichState } from "../core/enrich-types";
import { formatDigits, formatNumber } from "../core/format";
import { createIcon } from "../core/icons";
import type { App } from "../core/types";
import { openMenu } from "../ui/menu";
import type { Choice } from "../ui/controls/choice";
import { createRow } from "../ui/controls/common";
import { createLinearScale, createLogScale, createLogScaleWithZero } from "../ui/controls/slider-scale";
import { createSection } from "../ui/controls/section";
import { dialLine, type EnrichPart, wordChoice } from "./enrich-dials";
import { tell } from "./mode-panel";

const pascals = (value: number): string => {
  const [unit, size] = value >= 1e6 ? (["MPa", 1e6] as const) : value >= 1e3 ? (["kPa", 1e3] as const) : ["Pa", 1];
  return `${formatDigits(value / size, 2)} ${unit}`;
};
const millimetres = (value: number): string => `${formatDigits(value, 2)} mm`;
const plain = (value: number): string => formatDigits(value, 2);

export function clothPart(app: App): EnrichPart {
  const chosen = materialButton(app);
  const lines = [
    dialLine(app, {
      name: "young", title: "Stiffness", scale: createLogScale(1e2, 1e8), text: pascals, unit: "Pa",
      tip: "Against stretching: stiffer sheets make few, wide folds",
    }),
    dialLine(app, {
      name: "thickness", title: "Thickness", scale: createLogScale(0.05, 50), text: millimetres, unit: "mm", factor: 1000,
      tip: "Thicker sheets mind being bent much more than being stretched",
    }),
  ];
  const whole = createSection(
    { title: "Material" },
    createRow("Made of", chosen.element).element,
    lines.map(({ element }) => element),
  );
  return {
    element: whole.element,
    update: (part) => {
      chosen.update(part);
      for (const line of lines) line.update(part.dials);
    },
  };
}

/** The rest of the material's numbers. */
export function finePart(app: App): EnrichPart {
  const lines = [
    dialLine(app, {
      name: "density", title: "Density", scale: createLogScale(10, 5000), unit: "kg/m³",
      text: (value) => `${formatNumber(value)} kg/m³`,
      tip: "Heavier sheets hang deeper and swing longer",
    }),
    dialLine(app, {
      name: "bending", title: "Bending", scale: createLogScaleWithZero(0.01, 100), text: (value) => `× ${plain(value)}`, usual: 1,
      tip: "How many times as stiff against bending as a plain sheet",
    }),
    dialLine(app, {
      name: "mass", title: "Damping", scale: createLogScaleWithZero(0.01, 20), text: (value) => `${plain(value)} /s`, unit: "1/s",
      tip: "How soon the whole shell comes to rest with its guide",
    }),
    dialLine(app, {
      name: "ripple", title: "Ripples", scale: createLogScaleWithZero(1e-5, 0.5), text: (value) => `${plain(value)} s`, unit: "s",
      tip: "How soon small folds stop trembling",
    }),
    dialLine(app, {
      name: "membrane", title: "Shaking", scale: createLogScaleWithZero(1e-5, 0.5), text: (value) => `${plain(value)} s`, unit: "s",
      tip: "How soon fast stretching dies away",
    }),
    dialLine(app, {
      name: "curvature", title: "Folds stay", scale: createLogScaleWithZero(0.1, 1000),
      text: (value) => (value === 0 ? "never" : `> ${plain(value)} /m`), unit: "1/m",
      tip: "Folds sharper than this stay; at the left end none do",
    }),
    dialLine(app, {
      name: "hardening", title: "Hardening", scale: createLinearScale(-0.2, 0.2, 0.005), unit: "m",
      text: (value) => `${plain(value)} m`,
      tip: "Right: folds that stay get stiffer; left: softer", usual: 0,
    }),
  ];
  const whole = createSection({ title: "Fine material", foldKey: "enrich.fine" }, lines.map(({ element }) => element));
  return {
    element: whole.element,
    update: ({ dials }) => {
      for (const line of lines) line.update(dials);
      lines.at(-1)!.show(dials.curvature > 0);
      whole.setNote(dials.curvature > 0 ? "folds stay" : "");
    },
  };
}

/** A button that shows the present material and opens the others. */
function materialButton(app: App): EnrichPart {
  const words = h("span");
  const element = h(
    "button",
    { type: "button", class: "p-button enrich-material", "aria-label": "Material" },
    words,
    createIcon("chevron"),
  );
  setAttribute(element, "aria-haspopup", "menu");
  let known: EnrichState | null = null;
  element.addEventListener("click", () => {
    const entries = (known?.materials ?? []).map(({ name, text }) => ({
      text: titled(name),
      detail: text,
      checked: name === known!.dials.material,
      onSelect: () => tell(app, "cloth", { material: name }),
    }));
    openMenu(element, entries, "Material");
  });
  return {
    element,
    update: (part) => {
      known = part;
      setText(words, titled(part.dials.material));
      setAttribute(element, "data-tip", part.materials.find(({ name }) => name === part.dials.material)?.text ?? null);
    },
  };
}

const titled = (name: string): string => name.charAt(0).toUpperCase() + name.slice(1);

const SHAPES: readonly Choice<EnrichDials["shape"]>[] = [
  { value: "flat", text: "Plain", tip: "As the mesh is" },
  { value: "accordion", text: "Zigzag", tip: "Accordion: sharp folds one after the other" },
  { value: "ridges", text: "Ridges", tip: "Ridges side by side, flat between them" },
  { value: "crinkle", text: "Crinkle", tip: "Lumps, as of crumpled cellophane" },
];

/** The shape that the shell springs back to. */
export function shapePart(app: App): EnrichPart {
  const shapes = wordChoice(app, "shape", "Undeformed", SHAPES);
  const axes = (["x", "y", "z"] as const).map((value) => ({ value, text: value.toUpperCase() }));
  const along = wordChoice(app, "along", "Along", axes);
  const centimetres = (value: number): string => `${plain(value)} cm`;
  const size = app.project?.size ?? 1;
  const depth = dialLine(app, {
    name: "amplitude", title: "Depth", scale: createLogScale(0.1 * size, 20 * size), factor: 100, unit: "cm", text: centimetres,
    tip: "How high folds stand",
  });
  const width = dialLine(app, {
    name: "wavelength", title: "Width", scale: createLogScale(size, 60 * size), factor: 100, unit: "cm", text: centimetres,
    tip: "From fold to fold; no narrower than two edges of the mesh",
  });
  const direction = createRow("Along", along.element);
  const whole = createSection(
    { title: "Undeformed shape", foldKey: "enrich.shape" },
    shapes.element,
    depth.element,
    width.element,
    direction.element,
  );
  return {
    element: whole.element,
    update: ({ dials }) => {
      shapes.set(dials.shape);
      along.set(dials.along);
      depth.update(dials);
      width.update(dials);
      const folded = dials.shape !== "flat" && dials.shape !== "own";
      depth.show(folded);
      width.show(folded);
      direction.element.hidden = !folded || dials.shape === "crinkle";
      const called = SHAPES.find(({ value }) => value === dials.shape)?.text.toLowerCase();
      whole.setNote(called ?? "the scene's own");
    },
  };
}
