/** What acts on the shell of Enrich: weight, air, contact; and how time is cut into steps. */

import { h, setText } from "../core/dom";
import type { EnrichDials } from "../core/enrich-types";
import { formatDigits, formatNumber, formatSeconds } from "../core/format";
import type { App } from "../core/types";
import type { Choice } from "../ui/controls/choice";
import { createRow } from "../ui/controls/common";
import { createNumberField, createFieldRow } from "../ui/controls/field";
import { createLinearScale, createLogScale, createLogScaleWithZero } from "../ui/controls/slider-scale";
import { createSection } from "../ui/controls/section";
import { dialLine, type EnrichPart, switchLine, wordChoice } from "./enrich-dials";
import { once } from "./mode-panel";

const speed = (value: number): string => `${formatDigits(value, 2)} m/s`;
const degrees = (value: number): string => `${formatNumber(value)}°`;

export function aroundPart(app: App): EnrichPart {
  const size = app.project?.size ?? 1;
  const lines = [
    dialLine(app, {
      name: "gravity", title: "Gravity", scale: createLinearScale(-1, 3, 0.05), usual: 1,
      text: (value) => `× ${formatNumber(value, 2)}`,
      tip: "How many times as heavy as on Earth",
    }),
    dialLine(app, {
      name: "wind", title: "Wind", scale: createLogScaleWithZero(0.1, 50), text: speed, unit: "m/s", usual: 0,
      tip: "How fast the air goes",
    }),
    dialLine(app, {
      name: "heading", title: "Blows to", scale: createLinearScale(-180, 180, 5), text: degrees, unit: "°",
      tip: "0°: along x, 90°: along y",
    }),
    dialLine(app, {
      name: "rise", title: "Rises", scale: createLinearScale(-90, 90, 5), text: degrees, unit: "°", usual: 0,
      tip: "Upward above zero",
    }),
    dialLine(app, {
      name: "gusts", title: "Gusts", scale: createLogScaleWithZero(0.1, 50), text: speed, unit: "m/s", usual: 0,
      tip: "How much the air's speed differs from place to place",
    }),
    dialLine(app, {
      name: "lumps", title: "Gust size", scale: createLogScale(0.02 * size, 2 * size), unit: "m",
      text: (value) => `${formatDigits(value, 2)} m`,
      tip: "Small ones flutter, large ones sway",
    }),
    dialLine(app, {
      name: "pressure", title: "Inflated", scale: createLinearScale(-50, 50, 0.5), unit: "Pa", usual: 0,
      text: (value) => `${formatNumber(value, 1)} Pa`,
      tip: "Air pressure along the normals: what is closed fills out",
    }),
  ];
  const tip = "Wind, air inside and shapes in time that the material brings along";
  const own = switchLine(app, "own", "Scene's air", "The scene's own air", tip);
  const whole = createSection(
    { title: "Weight and air", foldKey: "enrich.air" },
    lines.map(({ element }) => element),
    own.element,
  );
  return {
    element: whole.element,
    update: ({ dials, extras }) => {
      for (const line of lines) line.update(dials);
      const blows = dials.wind > 0;
      lines[2]!.show(blows);
      lines[3]!.show(blows);
      lines[5]!.show(dials.gusts > 0);
      own.update(dials);
      own.show(extras);
      const notes = [blows ? `wind ${speed(dials.wind)}` : "", extras && dials.own ? "scene's air" : ""];
      whole.setNote(notes.filter(Boolean).join(" · "));
    },
  };
}

const CONTACTS: readonly Choice<EnrichDials["collisions"]>[] = [
  { value: "none", text: "None", tip: "The shell may pass through itself" },
  { value: "fast", text: "Fast", tip: "Nothing passes through anything; regions are met as far as contacts let them" },
  { value: "exact", text: "Exact", tip: "Contacts and regions together, to rounding; some ten times as long" },
];

export function contactPart(app: App): EnrichPart {
  const kinds = wordChoice(app, "collisions", "Collisions", CONTACTS);
  const says = h("p", { class: "p-quiet" });
  const friction = dialLine(app, {
    name: "friction", title: "Friction", scale: createLinearScale(0, 1.5, 0.05), text: (value) => formatNumber(value, 2), usual: 0.3,
    tip: "Also between folds",
  });
  const whole = createSection({ title: "Collisions" }, kinds.element, friction.element, says);
  return {
    element: whole.element,
    update: ({ dials, collidable }) => {
      kinds.set(dials.collisions);
      friction.update(dials);
      friction.show(dials.collisions !== "none");
      const things = collidable ? "with itself and with what stands around" : "with itself";
      setText(says, dials.collisions === "none" ? "" : `Nothing passes through anything, ${things}.`);
      says.hidden = dials.collisions === "none";
    },
  };
}

export function stepsPart(app: App): EnrichPart {
  const substeps = dialLine(app, {
    name: "substeps", title: "Steps a frame", scale: createLinearScale(1, 32, 1), text: (value) => formatNumber(value), usual: 8,
    tip: "More are livelier and slower; fewer damp the folds",
  });
  const frames = createNumberField({
    name: "Frames", min: 2, max: 20_000, integer: true, step: () => 1, text: String,
    tip: "Beyond its last frame the guide stands, and the shell swings on",
    onChange: once(app, "cloth", "frames"),
  });
  const seed = createNumberField({
    name: "Seed", min: 0, max: 2 ** 31 - 1, integer: true, step: () => 1, text: String,
    tip: "Of gusts and crinkles: another number, another take", onChange: once(app, "cloth", "seed"),
  });
  const tip = "What never moves in the guide stays where it is";
  const hold = switchLine(app, "hold", "Hold still", "Hold what stands still", tip);
  const whole = createSection(
    { title: "Steps", foldKey: "enrich.steps" },
    substeps.element,
    createFieldRow("Frames", frames).element,
    createRow("Seed", seed.element).element,
    hold.element,
  );
  return {
    element: whole.element,
    update: ({ dials, shell }) => {
      const fps = app.state?.fps ?? 30;
      substeps.update(dials);
      frames.set(dials.frames);
      frames.setSuffix(formatSeconds((dials.frames - 1) / fps));
      seed.set(dials.seed);
      hold.update(dials);
      hold.show(shell.still > 0);
      whole.setNote(`${formatNumber((1000 / fps) / dials.substeps, 1)} ms each`);
    },
  };
}
