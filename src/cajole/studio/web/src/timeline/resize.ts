/** The upper edge of the time line: pulls its height, by hand or by arrows. */

import { h } from "../core/dom";
import type { Component } from "../core/types";
import { clamp } from "./scale";

const STEP = 14; // px an arrow

/** `get`, `set`: the height [px]; null: as high as its lanes need. `least`: the smallest; at most half the window. */
export function resizer(get: () => number, set: (height: number | null) => void, least: () => number): Component {
  const element = h("div", {
    class: "timeline-resize",
    role: "separator",
    "aria-orientation": "horizontal",
    "aria-label": "Height of the time line",
    tabIndex: 0,
  });
  const put = (height: number): void => {
    set(clamp(height, least(), innerHeight / 2));
    element.setAttribute("aria-valuenow", String(Math.round(get())));
  };
  element.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    event.preventDefault();
    element.setPointerCapture(event.pointerId);
    const [start, before] = [event.clientY, get()];
    const move = (moved: PointerEvent): void => put(before + start - moved.clientY);
    element.addEventListener("pointermove", move);
    const end = (): void => element.removeEventListener("pointermove", move);
    element.addEventListener("lostpointercapture", end, { once: true });
  });
  element.addEventListener("dblclick", () => set(null));
  element.addEventListener("keydown", (event) => {
    const by = event.key === "ArrowUp" ? STEP : event.key === "ArrowDown" ? -STEP : 0;
    if (!by) return;
    event.preventDefault();
    event.stopPropagation();
    put(get() + by);
  });
  return { element };
}
