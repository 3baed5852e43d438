/** Slider with an editable value: drag, arrow keys, double click for the default, or type. */

import { h } from "../../core/dom";
import type { Component, Tone } from "../../core/types";
import { setDisabledReason, isDisabled } from "./common";
import { stepValue, type SliderScale } from "./slider-scale";
import { SyncedValue, type ChangeResult } from "./synced-value";
import { createEditableValue } from "./editable-value";

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

/** Speed while Shift is held. */
const FINE_FACTOR = 0.1;

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
    get min() {
      return scale.min;
    },
    get max() {
      return scale.max;
    },
    text: options.text,
    inputText: options.inputText ?? ((number) => String(Number(number.toPrecision(4)))),
    onValue: (next) => change(next, true),
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
  /** Report a new value, and show it until it is answered. */
  const change = (next: number, final: boolean): void => {
    show(next);
    synced.lock();
    synced.release((final ? options.onChange : options.onInput)?.(next));
  };
  const reset = (): void => {
    if (defaultValue !== undefined && defaultValue !== value) change(defaultValue, true);
  };
  installSliderDrag(grip, {
    value: () => value,
    scale: () => scale,
    begin: () => synced.lock(),
    input: (next) => {
      if (next === value) return;
      if (options.onInput) change(next, false);
      else show(next);
    },
    end: (before) => {
      synced.release(value === before ? undefined : options.onChange(value));
    },
  });
  grip.addEventListener("dblclick", reset);
  grip.addEventListener("keydown", (event) => {
    const next = stepByKey(event, scale, value);
    if (next === null || isDisabled(grip)) return;
    event.preventDefault();
    event.stopPropagation();
    if (next !== value) change(next, true);
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

interface SliderDragHandlers {
  value(): number;
  scale(): SliderScale;
  begin(): void;
  input(value: number): void;
  end(before: number): void;
}

/** Drag the thumb, or jump to where the track is pressed. */
function installSliderDrag(grip: HTMLElement, handlers: SliderDragHandlers): void {
  grip.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || isDisabled(grip)) return;
    const before = handlers.value();
    const box = grip.querySelector(".p-track")!.getBoundingClientRect();
    const width = Math.max(1, box.width);
    const pressed = (event.clientX - box.left) / width;
    const thumb = handlers.scale().toFraction(before);
    let share = Math.abs(pressed - thumb) * width <= THUMB_RADIUS ? thumb : pressed;
    let last = event.clientX;
    grip.setPointerCapture(event.pointerId);
    grip.focus({ preventScroll: true });
    handlers.begin();
    grip.toggleAttribute("data-held", true);
    handlers.input(share === thumb ? before : handlers.scale().fromFraction(share));
    const end = new AbortController();
    const finish = (): void => {
      end.abort();
      grip.removeAttribute("data-held");
      handlers.end(before);
    };
    const on = { signal: end.signal };
    grip.addEventListener(
      "pointermove",
      (move) => {
        if (move.clientX === last) return;
        share += ((move.clientX - last) / width) * (move.shiftKey ? FINE_FACTOR : 1);
        last = move.clientX;
        handlers.input(handlers.scale().fromFraction(share));
      },
      on,
    );
    grip.addEventListener("lostpointercapture", finish, on);
    grip.addEventListener(
      "keydown",
      (key) => {
        if (key.key !== "Escape") return;
        key.stopPropagation();
        handlers.input(before);
        grip.releasePointerCapture(event.pointerId);
      },
      on,
    );
  });
}

/** Hit radius of the thumb [px]. */
const THUMB_RADIUS = 9;
