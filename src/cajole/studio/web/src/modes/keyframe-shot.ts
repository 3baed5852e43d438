/** The shot: how long, how fine, looped or not; what came of it, and where it can go. */

import { h, setText } from "../core/dom";
import { formatNumber, formatSeconds } from "../core/format";
import type { App, KeyframeState, Component } from "../core/types";
import { createSegmentedControl, createSwitch } from "../ui/controls/choice";
import { createRow } from "../ui/controls/common";
import { createNumberField, createFieldRow } from "../ui/controls/field";
import { createLinearScale } from "../ui/controls/slider-scale";
import { createSection } from "../ui/controls/section";
import { createSlider } from "../ui/controls/slider";
import { handOver, once } from "./mode-panel";

export interface ShotPart extends Component {
  update(part: KeyframeState, fps: number): void;
}

/** More modes than this make a motion slower to find, and hardly another. */
const MOST_MODES = 60;
/** A time step that was never natural nor set. */
const SOME_DT = 1 / 60;

export function shotPart(app: App): ShotPart {
  let natural: number | null = null;
  const detail = createSlider({
    name: "Detail",
    value: 10,
    defaultValue: 10,
    scale: createLinearScale(0, MOST_MODES, 1),
    text: (value) => formatNumber(value),
    tip: "Vibrations that the motion may use besides the poses of the keys",
    onChange: once(app, "dials", "detail"),
  });
  const frames = createNumberField({
    name: "Frames",
    integer: true,
    min: 2,
    step: () => 0.5,
    text: (value) => formatNumber(value),
    onChange: once(app, "dials", "frames"),
  });
  const timing = createSegmentedControl({
    name: "Time step",
    value: "natural",
    choices: [
      { value: "natural", text: "Natural", tip: "As the body would swing by itself" },
      { value: "set", text: "Set", tip: "So many seconds from frame to frame" },
    ],
    onChange: (value) => app.request("dials", { dt: value === "natural" ? null : (natural ?? SOME_DT) }),
  });
  const dt = createNumberField({
    name: "Frame time",
    unit: "s",
    min: 1e-5,
    max: 10,
    step: () => 1e-4,
    text: (value) => String(Number(value.toPrecision(4))),
    onChange: once(app, "dials", "dt"),
  });
  const loop = createSwitch({
    name: "Loop",
    value: false,
    tip: "The last frame flows into the first",
    onChange: once(app, "dials", "loop"),
  });
  const dtLine = createFieldRow("Frame time", dt);
  const ghost = createSegmentedControl({
    name: "Ghost",
    value: "rest" as KeyframeState["ghost"],
    choices: [
      { value: "rest", text: "Rest", tip: "The body as nothing moves it" },
      { value: "spline", text: "Spline", tip: "The curve through the same keys, which knows nothing of forces" },
    ],
    onChange: once(app, "compare", "with"),
  });
  const text = h("p", { class: "panel-text" });
  const figures = h("p", { class: "p-quiet" });
  const steer = handOver(app, "steer");
  const edit = handOver(app, "edit");
  const enrich = handOver(app, "enrich");
  const result = createSection(
    { title: "Result" },
    text,
    figures,
    createRow("Ghost", ghost.element, "What the motion is compared with").element,
    h("div", { class: "p-buttons" }, steer.part.element, edit.part.element, enrich.part.element),
  );
  const shot = createSection(
    { title: "Shot" },
    createRow("Detail", detail.element).element,
    createFieldRow("Frames", frames).element,
    createRow("Time step", timing.element).element,
    dtLine.element,
    createRow("Loop", loop.element).element,
  );
  return {
    element: h("div", null, result.element, shot.element),
    update: (part, fps) => {
      natural = part.natural_dt;
      detail.set(part.detail);
      const last = Math.max(1, ...part.keys.map((key) => key.frame));
      frames.setRange(last + 1, 100_000);
      frames.set(part.frames);
      frames.setSuffix(fps > 0 ? formatSeconds((part.frames - 1) / fps) : "");
      timing.set(part.dt === null ? "natural" : "set");
      dtLine.element.hidden = part.dt === null && natural === null;
      dt.setDisabledReason(part.dt === null ? "The natural time step; choose Set to change it" : null);
      dt.set(part.dt ?? natural);
      loop.set(part.loop);
      result.setVisible(part.result !== null);
      if (part.result === null) return;
      ghost.set(part.ghost);
      setText(text, part.result.text);
      setText(figures, `${part.result.iterations} steps · ${formatSeconds(part.result.seconds, 1)}`);
      const why = part.optimising ? "Wait until the motion is found, or stop it" : null;
      steer.update(why);
      edit.update(why);
      enrich.update(why);
    },
  };
}
