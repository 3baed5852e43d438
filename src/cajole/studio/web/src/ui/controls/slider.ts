/** Slider with an editable value: drag, arrow keys, double click for the default, or type. */

import { h } from "../../core/dom";
import type { Component, Tone } from "../../core/types";
import { setDisabledReason, isDisabled } from "./common";
import { stepValue, type SliderScale } from "./slider-scale";
import { SyncedValue, type ChangeResult } from "./synced-value";
import { createEditableValue } from "./editable-value";
import { trackPointer } from "./pointer-drag";

export interface SliderOptions {
  name: string;
  scale: SliderScale;
  value: number;
  defaultValue?: number; // shown as a tick, restored by a double click
  tone?: Tone;
  unit?: string; // of typed numbers
  text: (value: number) => string;
  inputText?: (value: number) => string; // of the input; by default four significant digits
  /** Called during a drag; omit where a change is slow. */
  onInput?: (value: number) => ChangeResult;
  /** Called on release. */
  onChange: (value: number) => ChangeResult;
  tip?: string;
}
interface Slider extends Component {
  /** Set the server's value; deferred during a drag. */
  set(value: number): void;
  setScale(next: SliderScale, defaultValue?: number): void;
  setDisabledReason(reason: string | null): void;
}

const FINE_FACTOR = 0.1; // speed while Shift is held
const THUMB_RADIUS = 9; // hit radius of the thumb [px]

export function createSlider(options: SliderOptions): Slider {
  let scale = options.scale;
  let defaultValue = options.defaultValue;
  let value = options.value;
  const tick = h("span", { class: "p-tick" });
  const track = h("span", { class: "p-track" }, h("span", { class: "p-fill" }), tick, h("span", { class: "p-thumb" }));
  const grip = h(
    "div",
    { class: "p-grip", role: "slider", tabIndex: 0, "aria-label": options.name, "data-tip": options.tip },
    track,
  );
  const face = createEditableValue(value, {
    name: options.name,
    unit: options.unit ?? "",
    getRange: () => [scale.min, scale.max],
    text: options.text,
    inputText: options.inputText ?? ((number) => String(Number(number.toPrecision(4)))),
    onValue: (next) => change(next),
  });
  const element = h("div", { class: "p-slider" }, grip, face.element, face.message);
  element.style.setProperty("--tone", `var(--${options.tone ?? "asked"})`);

  const show = (next: number): void => {
    value = next;
    face.set(next);
    grip.style.setProperty("--share", String(scale.toFraction(next)));
    grip.setAttribute("aria-valuenow", String(next));
    grip.setAttribute("aria-valuetext", options.text(next));
  };
  const synced = new SyncedValue(value, show);
  const updateRange = (): void => {
    grip.setAttribute("aria-valuemin", String(scale.min));
    grip.setAttribute("aria-valuemax", String(scale.max));
    tick.hidden = defaultValue === undefined;
    if (defaultValue !== undefined) tick.style.setProperty("--share", String(scale.toFraction(defaultValue)));
    show(value);
  };
  const change = (next: number): void => {
    if (next !== value) synced.change(next, options.onChange);
  };
  const input = (next: number): void => {
    if (next === value) return;
    if (options.onInput) synced.change(next, options.onInput);
    else show(next);
  };
  // drag the thumb, or jump to where the track is pressed
  grip.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || isDisabled(grip)) return;
    const before = value;
    const box = track.getBoundingClientRect();
    const width = Math.max(1, box.width);
    const pressed = (event.clientX - box.left) / width;
    const thumb = scale.toFraction(before);
    let share = Math.abs(pressed - thumb) * width <= THUMB_RADIUS ? thumb : pressed;
    let last = event.clientX;
    grip.focus({ preventScroll: true });
    synced.lock();
    grip.toggleAttribute("data-held", true);
    trackPointer(grip, event, {
      move: ({ clientX, shiftKey }) => {
        if (clientX === last) return;
        share += ((clientX - last) / width) * (shiftKey ? FINE_FACTOR : 1);
        last = clientX;
        input(scale.fromFraction(share));
      },
      end: () => {
        grip.removeAttribute("data-held");
        synced.release(value === before ? undefined : options.onChange(value));
      },
      cancel: () => input(before),
    });
    if (share !== thumb) input(scale.fromFraction(share));
  });
  grip.addEventListener("dblclick", () => defaultValue !== undefined && change(defaultValue));
  grip.addEventListener("keydown", (event) => {
    const next = stepByKey(event, scale, value);
    if (next === null || isDisabled(grip)) return;
    event.preventDefault();
    event.stopPropagation();
    change(next);
  });
  updateRange();
  return {
    element,
    set: (next) => synced.receive(next),
    setScale: (next, start) => {
      if (next.min === scale.min && next.max === scale.max && start === defaultValue) return;
      [scale, defaultValue] = [next, start];
      updateRange();
    },
    setDisabledReason: (why) => {
      setDisabledReason(grip, why);
      setDisabledReason(face.element, why);
      grip.tabIndex = why === null ? 0 : -1;
    },
  };
}

/** New value after a key on a slider or dial, null for other keys. */
export function stepByKey(event: KeyboardEvent, scale: SliderScale, value: number): number | null {
  if (event.ctrlKey || event.metaKey || event.altKey) return null;
  const fine = event.shiftKey ? 0.2 : 1;
  switch (event.key) {
    case "ArrowRight":
    case "ArrowUp":
      return stepValue(scale, value, fine);
    case "ArrowLeft":
    case "ArrowDown":
      return stepValue(scale, value, -fine);
    case "PageUp":
      return stepValue(scale, value, 10);
    case "PageDown":
      return stepValue(scale, value, -10);
    case "Home":
      return scale.fromFraction(0);
    case "End":
      return scale.fromFraction(1);
    default:
      return null;
  }
}
