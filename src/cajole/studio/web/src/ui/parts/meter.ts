/** The gentleness meter: how much force was added, always in sight. */

import { setAttribute, h, setText } from "../../core/dom";
import { createIcon } from "../../core/icons";
import type { ForceMeter, Component } from "../../core/types";
import { filled, nothing, percent, sentence, spoken, WEIGHT, word, WORDS } from "./gentleness";

export interface MeterPart extends Component {
  set(meter: ForceMeter): void;
  /** A share by itself, while something goes on; the sentence stays. */
  live(share: number): void;
  busy(on: boolean): void;
}

export function meterPart(onPeak: (frame: number) => void): MeterPart {
  const big = h("span", { class: "p-meter-number" });
  const of = h("span", { class: "p-meter-of" });
  const verdict = h("span");
  const feather = h("span", { class: "p-meter-word" }, createIcon("feather"), verdict);
  const fill = h("span", { class: "p-meter-fill" });
  const bar = h(
    "span",
    { class: "p-meter-bar" },
    fill,
    [1, 2, 3].map((quarter) => h("i", { style: { left: `${25 * quarter}%` } })),
  );
  const words = WORDS.map((each) => h("span", null, each));
  const says = h("span", { class: "p-meter-sentence" });
  const element = h(
    "button",
    { type: "button", class: "p-meter" },
    h("span", { class: "p-meter-head" }, big, of, feather),
    bar,
    h("span", { class: "p-meter-words" }, words),
    says,
  );
  let peak: number | null = null;
  let whole = WEIGHT;
  element.addEventListener("click", () => {
    if (peak !== null) onPeak(peak);
  });

  const live = (share: number): void => {
    const none = nothing(share);
    setText(big, percent(share));
    setText(of, none ? "nothing added" : whole);
    const found = none ? null : word(share);
    setText(verdict, found ?? "");
    feather.hidden = none;
    fill.style.setProperty("--share", String(filled(share)));
    element.toggleAttribute("data-over", share > 1);
    words.forEach((each) => each.toggleAttribute("data-on", each.textContent === found));
    element.setAttribute(
      "aria-label",
      `Added force: ${spoken(share, whole)}${peak === null ? "" : `. Go to its peak at frame ${peak}`}`,
    );
  };
  return {
    element,
    live,
    set: (meter) => {
      whole = meter.of ?? WEIGHT;
      peak = nothing(meter.peak) ? null : meter.frame;
      setAttribute(element, "aria-disabled", peak === null ? "true" : null);
      setAttribute(
        element,
        "data-tip",
        peak === null ? `Force that was added, as a share ${whole}` : `Go to the peak at frame ${peak}`,
      );
      setText(says, sentence(meter) ?? "");
      says.hidden = says.textContent === "";
      live(meter.share);
    },
    busy: (on) => element.toggleAttribute("data-busy", on),
  };
}
