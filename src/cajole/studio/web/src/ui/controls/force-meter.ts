/** Meter of the added force. */

import { setAttribute, h, setText } from "../../core/dom";
import { createIcon } from "../../core/icons";
import type { ForceMeter, Component } from "../../core/types";
import {
  computeBarFill, isNegligible, formatForceShare, describeMeter, describeForce, BODY_WEIGHT, getForceLevel,
  FORCE_LEVELS,
} from "./force-levels";

interface ForceMeterControl extends Component {
  set(meter: ForceMeter): void;
  /** Update the share only, during a simulation; the description stays. */
  setShare(share: number): void;
  setBusy(on: boolean): void;
}

export function createForceMeter(onPeak: (frame: number) => void): ForceMeterControl {
  const big = h("span", { class: "p-meter-number" });
  const of = h("span", { class: "p-meter-of" });
  const verdict = h("span");
  const feather = h("span", { class: "p-meter-word" }, createIcon("feather"), verdict);
  const fill = h("span", { class: "p-meter-fill" });
  const bar = h("span", { class: "p-meter-bar" },
    fill,
    [1, 2, 3].map((quarter) => h("i", { style: { left: `${25 * quarter}%` } })),
  );
  const words = FORCE_LEVELS.map((each) => h("span", null, each));
  const description = h("span", { class: "p-meter-sentence" });
  const element = h("button", { type: "button", class: "p-meter" },
    h("span", { class: "p-meter-head" }, big, of, feather),
    bar,
    h("span", { class: "p-meter-words" }, words),
    description,
  );
  let peak: number | null = null;
  let reference = BODY_WEIGHT;
  element.addEventListener("click", () => {
    if (peak !== null) onPeak(peak);
  });

  const setShare = (share: number): void => {
    const none = isNegligible(share);
    setText(big, formatForceShare(share));
    setText(of, none ? "nothing added" : reference);
    const found = none ? null : getForceLevel(share);
    setText(verdict, found ?? "");
    feather.hidden = none;
    fill.style.setProperty("--share", String(computeBarFill(share)));
    element.toggleAttribute("data-over", share > 1);
    words.forEach((each) => each.toggleAttribute("data-on", each.textContent === found));
    element.setAttribute(
      "aria-label",
      `Added force: ${describeForce(share, reference)}${peak === null ? "" : `. Go to its peak at frame ${peak}`}`,
    );
  };
  return {
    element,
    setShare,
    set: (meter) => {
      reference = meter.of ?? BODY_WEIGHT;
      peak = isNegligible(meter.peak) ? null : meter.frame;
      setAttribute(element, "aria-disabled", peak === null ? "true" : null);
      setAttribute(
        element,
        "data-tip",
        peak === null ? `Added force, as a share ${reference}` : `Go to the peak at frame ${peak}`,
      );
      setText(description, describeMeter(meter) ?? "");
      description.hidden = description.textContent === "";
      setShare(meter.share);
    },
    setBusy: (on) => element.toggleAttribute("data-busy", on),
  };
}
