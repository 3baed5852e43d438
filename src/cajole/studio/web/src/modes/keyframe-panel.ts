/** The panel of Keyframe: loads that pose the body, keys, effort, and the shot that comes of them. */

import { h } from "../core/dom";
import { formatExponent } from "../core/format";
import type { App, KeyframeState } from "../core/types";
import { createRow } from "../ui/controls/common";
import { createDial } from "../ui/controls/dial";
import { createLogScale } from "../ui/controls/slider-scale";
import { createSection } from "../ui/controls/section";
import { createSlider } from "../ui/controls/slider";
import { type Action, actionPart } from "./action";
import { keysPart } from "./keyframe-keys";
import { loadsPart } from "./keyframe-loads";
import { shotPart } from "./keyframe-shot";
import { once, tell, type ModePanel } from "./mode-panel";

/** Effort, from keys met to the last digit to keys as hints; the usual one meets them to a fraction of a percent. */
const EFFORT = createLogScale(1e-6, 1e-1);
const DEFAULT_EFFORT = 1e-4;

export function keyframePanel(app: App): ModePanel {
  const loads = loadsPart(app);
  const keys = keysPart(app);
  const effort = effortPart(app);
  const shot = shotPart(app);
  const action = keyframeAction(app);
  return {
    element: h("div", null, loads.element, keys.element, effort.element, shot.element),
    foot: h("div", null, effort.low, action.element),
    update: (state) => {
      const part = state.keyframe;
      if (!part) return;
      loads.update(part);
      keys.update(part, state.frame);
      effort.update(part);
      shot.update(part, state.fps);
      action.update(part);
    },
    dispose: () => {
      loads.dispose();
      action.dispose();
    },
  };
}

function effortPart(app: App) {
  const options = {
    name: "Effort",
    scale: EFFORT,
    value: DEFAULT_EFFORT,
    defaultValue: DEFAULT_EFFORT,
    text: formatExponent,
    onChange: once<number>(app, "dials", "effort"),
    tip: "What added force costs against missing a key. Drag up and down, or turn the wheel",
  };
  const turned = createDial({ ...options, ends: ["exact", "gentle"] });
  const low = createSlider({ ...options, inputText: String });
  const whole = createSection({ title: "Effort" }, turned.element);
  whole.element.classList.add("panel-tall");
  const line = createRow("Effort", low.element).element;
  line.classList.add("panel-low");
  return {
    element: whole.element,
    low: line,
    update: (part: KeyframeState) => {
      turned.set(part.effort);
      low.set(part.effort);
      turned.setDescription(consequence(part));
    },
  };
}

/** What the present effort came to, in one sentence. */
function consequence(part: KeyframeState): string {
  const turn = "Turn left for closer keys, right for softer forces.";
  if (part.result === null) return part.optimising ? `Finding the motion. ${turn}` : turn;
  if (part.result.stale)
    return part.optimising ? "Will restart with what was changed." : "Changed since. Optimise to see what it comes to.";
  return `Keys hit within ${within(part.result.worst)} of body size. ${turn}`;
}

/** A share of the body's size, rounded up: "within" must stay true. */
function within(share: number): string {
  const value = 100 * share;
  const digits = value < 0.1 ? 2 : value < 10 ? 1 : 0;
  const step = 10 ** -digits;
  return `${(Math.ceil(value / step - 1e-9) * step).toFixed(digits)} %`;
}

function keyframeAction(app: App): Action<KeyframeState> {
  return actionPart(app, {
    verb: "Optimise",
    doing: "Optimising…",
    icon: "keyframe",
    tip: "Find the motion through the keys with the least added force",
    stop: { text: "Stop, keep best", tip: "End here with the best motion so far" },
    onPress: () => tell(app, "optimise"),
    read: ({ optimising, result, keys }) => ({
      job: optimising,
      again: result !== null && !result.stale,
      refused: keys.length === 0 ? "Capture a key first: pull the body into a pose, then press K" : null,
    }),
  });
}
