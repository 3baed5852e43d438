/** What acts on the shell of Enrich: weight, air, contact; and how time is cut into steps. */

import { h, setText } from "../core/dom";
import type { EnrichDials } from "../core/enrich-types";
import { formatDigits, formatNumber, formatSeconds } from "../core/format";
import type { App } from "../core/types";
import type { Choice } from "../ui/parts/choice";
import { row } from "../ui/parts/common";
import { field, fieldRow } from "../ui/parts/field";
import { linear, log, logZero } from "../ui/parts/scale";
import { section } from "../ui/parts/section";
import { dialLine, type EnrichPart, switchLine, wordChoice } from "./enrich-dials";
import { once } from "./mode-panel";

const speed = (value: number): string => `${formatDigits(value, 2)} m/s`;
const degrees = (value: number): string => `${formatNumber(value)}°`;

export function aroundPart(app: App): EnrichPart {
  const size = app.project?.size ?? 1;
  const lines = [
    dialLine(app, {
      name: "gravity", title: "Gravity", scale: linear(-1, 3, 0.05), usual: 1,
      text: (value) => `× ${formatNumber(value, 2)}`,
      tip: "How many times as heavy as on Earth",
    }),
    dialLine(app, {
      name: "wind", title: "Wind", scale: logZero(0.1, 50), text: speed, unit: "m/s", usual: 0,
      tip: "How fast the air goes",
    }),
    dialLine(app, {
      name: "heading", title: "Blows to", scale: linear(-180, 180, 5), text: degrees, unit: "°",
      tip: "0°: along x, 90°: along y",
    }),
    dialLine(app, {
      name: "rise", title: "Rises", scale: linear(-90, 90, 5), text: degrees, unit: "°", usual: 0,
      tip: "Upward above zero",
    }),
    dialLine(app, {
      name: "gusts", title: "Gusts", scale: logZero(0.1, 50), text: speed, unit: "m/s", usual: 0,
      tip: "How much the air's speed differs from place to place",
    }),
    dialLine(app, {
      name: "lumps", title: "Gust size", scale: log(0.02 * size, 2 * size), unit: "m",
      text: (value) => `${formatDigits(value, 2)} m`,
      tip: "Small ones flutter, large ones sway",
    }),
    dialLine(app, {
      name: "pressure", title: "Inflated", scale: linear(-50, 50, 0.5), unit: "Pa", usual: 0,
      text: (value) => `${formatNumber(value, 1)} Pa`,
      tip: "Air pressure along the normals: what is closed fills out",
    }),
  ];
  const tip = "Wind, air inside and shapes in time that the material brings along";
  const own = switchLine(app, "own", "Scene's air", "The scene's own air", tip);
  const whole = section(
    { title: "Weight and air", fold: "enrich.air" },
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
      whole.note(notes.filter(Boolean).join(" · "));
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
    name: "friction", title: "Friction", scale: linear(0, 1.5, 0.05), text: (value) => formatNumber(value, 2), usual: 0.3,
    tip: "Also between folds",
  });
  const whole = section({ title: "Collisions" }, kinds.element, friction.element, says);
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
    name: "substeps", title: "Steps a frame", scale: linear(1, 32, 1), text: (value) => formatNumber(value), usual: 8,
    tip: "More are livelier and slower; fewer damp the folds",
  });
  const frames = field({
    name: "Frames", low: 2, high: 20_000, whole: true, step: () => 1, text: String,
    tip: "Beyond its last frame the guide stands, and the shell swings on",
    onChange: once(app, "cloth", "frames"),
  });
  const seed = field({
    name: "Seed", low: 0, high: 2 ** 31 - 1, whole: true, step: () => 1, text: String,
    tip: "Of gusts and crinkles: another number, another take", onChange: once(app, "cloth", "seed"),
  });
  const tip = "What never moves in the guide stays where it is";
  const hold = switchLine(app, "hold", "Hold still", "Hold what stands still", tip);
  const whole = section(
    { title: "Steps", fold: "enrich.steps" },
    substeps.element,
    fieldRow("Frames", frames).element,
    row("Seed", seed.element).element,
    hold.element,
  );
  return {
    element: whole.element,
    update: ({ dials, shell }) => {
      const fps = app.state?.fps ?? 30;
      substeps.update(dials);
      frames.set(dials.frames);
      frames.after(formatSeconds((dials.frames - 1) / fps));
      seed.set(dials.seed);
      hold.update(dials);
      hold.show(shell.still > 0);
      whole.note(`${formatNumber((1000 / fps) / dials.substeps, 1)} ms each`);
    },
  };
}
