/** Number field with axis letter or unit, and text field. */

import { setAttribute, h, setText } from "../../core/dom";
import type { Component } from "../../core/types";
import { ValidationMessage, setDisabledReason, isDisabled, type LabeledRow, createRow, focusViewport } from "./common";
import { evaluate } from "./expression";
import { trackPointer } from "./pointer-drag";
import { SyncedValue, type ChangeResult } from "./synced-value";

export interface NumberFieldOptions {
  name: string;
  axis?: "x" | "y" | "z"; // letter before the number
  unit?: string; // of numbers without a unit
  suffix?: string; // text at the right, by default the unit
  min?: number;
  max?: number;
  integer?: boolean;
  step: () => number; // change per pixel of scrubbing, or per arrow key
  text: (value: number) => string;
  onChange: (value: number) => ChangeResult;
  tip?: string;
}
export interface NumberField extends Component {
  /** Set the server's value, null for none; deferred while the field is being edited. */
  set(value: number | null): void;
  setSuffix(text: string): void;
  setRange(min: number, max: number): void;
  setDisabledReason(reason: string | null): void;
  /** Let a label change the number by horizontal dragging. */
  addScrubHandle(label: HTMLElement): void;
}

/** Row with a number field whose label is a scrub handle. */
export function createFieldRow(text: string, part: NumberField): LabeledRow {
  const line = createRow(text, part.element);
  part.addScrubHandle(line.label);
  return line;
}

export function createNumberField(options: NumberFieldOptions): NumberField {
  let { min = -Infinity, max = Infinity } = options;
  let value: number | null = null;
  let edited = false; // the text was typed and not yet committed
  const input = h("input", {
    type: "text", "aria-label": options.name, autocomplete: "off", spellcheck: "false", "data-tip": options.tip,
  });
  const suffix = h("span", { class: "p-after" }, options.suffix ?? options.unit ?? "");
  const letter = options.axis
    ? h("span", { class: `p-axis p-axis-${options.axis}`, "aria-hidden": "true" }, options.axis.toUpperCase())
    : null;
  const message = new ValidationMessage(input);
  const box = h("div", { class: "p-field" }, letter, input, suffix);
  const element = h("div", { class: "p-field-box" }, box, message.element);

  const print = (): void => {
    edited = false;
    const text = value === null ? "" : options.text(value);
    if (input.value !== text) input.value = text;
  };
  const synced = new SyncedValue<number | null>(null, (next) => {
    value = next;
    if (!edited) print();
  });
  const clampValue = (next: number): number => {
    const inside = Math.min(max, Math.max(min, next));
    return options.integer ? Math.round(inside) : inside;
  };
  const validate = (next: number): string | null => {
    if (options.integer && !Number.isInteger(next)) return "Enter a whole number.";
    if (next >= min && next <= max) return null;
    if (max === Infinity) return `At least ${options.text(min)}.`;
    return min === -Infinity
      ? `At most ${options.text(max)}.`
      : `Between ${options.text(min)} and ${options.text(max)}.`;
  };
  const change = (next: number): void => {
    value = next;
    synced.lock();
    synced.release(options.onChange(next));
  };
  const commit = (): void => {
    if (!edited) return;
    const { value: next, error } = evaluate(input.value, options.unit);
    const why = error ?? validate(next!);
    message.setText(why);
    if (why !== null) return;
    edited = false;
    if (next !== value) change(next!);
    print();
  };
  const nudge = (steps: number): void => {
    if (value === null) return;
    const next = clampValue(value + steps * options.step());
    if (next !== value) change(next);
    print();
  };
  input.addEventListener("input", () => {
    edited = true;
    message.setText(null);
  });
  input.addEventListener("focus", () => input.select());
  input.addEventListener("blur", () => {
    commit();
    // show the last valid value again
    message.setText(null);
    print();
  });
  input.addEventListener("keydown", (event) => {
    event.stopPropagation();
    if (event.key === "Enter") {
      commit();
      if (!message.isVisible) focusViewport(input);
    } else if (event.key === "Escape") {
      print();
      input.blur();
    } else if (event.key === "ArrowUp" || event.key === "ArrowDown") {
      event.preventDefault();
      nudge((event.key === "ArrowUp" ? 1 : -1) * getSpeed(event));
    }
  });
  const addScrubHandle = (label: HTMLElement): void => {
    label.classList.add("p-scrub");
    label.addEventListener("pointerdown", (event) => {
      if (event.button !== 0 || value === null || isDisabled(box)) return;
      event.preventDefault();
      synced.lock();
      const before = value;
      let [exact, last] = [before, event.clientX];
      trackPointer(label, event, {
        move: (moved) => {
          if (moved.clientX === last) return;
          exact += (moved.clientX - last) * options.step() * getSpeed(moved);
          last = moved.clientX;
          value = clampValue(exact);
          print();
        },
        end: () => synced.release(value === before ? undefined : options.onChange(value!)),
      });
    });
  };
  if (letter) addScrubHandle(letter);
  return {
    element,
    set: (next) => synced.receive(next),
    setSuffix: (text) => setText(suffix, text),
    setRange: (least, most) => void ([min, max] = [least, most]),
    setDisabledReason: (why) => {
      setDisabledReason(box, why);
      input.readOnly = why !== null;
      setAttribute(input, "aria-disabled", why === null ? null : "true");
    },
    addScrubHandle,
  };
}

const getSpeed = (event: { shiftKey: boolean; ctrlKey: boolean; metaKey: boolean }): number =>
  event.shiftKey ? 0.1 : event.ctrlKey || event.metaKey ? 10 : 1;

interface TextFieldOptions { name: string; onChange: (value: string) => ChangeResult; maxLength?: number }
interface TextField extends Component { set(value: string): void }

/** Text field; an empty text is discarded. */
export function createTextField(options: TextFieldOptions): TextField {
  let value = "";
  let edited = false;
  const input = h("input", {
    type: "text", "aria-label": options.name, maxlength: options.maxLength ?? 60, autocomplete: "off",
    spellcheck: "false",
  });
  const synced = new SyncedValue("", (next) => {
    value = next;
    if (!edited && input.value !== next) input.value = next;
  });
  const commit = (): void => {
    const next = input.value.trim();
    if (!edited || next === "" || next === value) return;
    value = next;
    synced.lock();
    synced.release(options.onChange(next));
  };
  input.addEventListener("input", () => void (edited = true));
  input.addEventListener("blur", () => {
    commit();
    edited = false;
    input.value = value;
  });
  input.addEventListener("keydown", (event) => {
    event.stopPropagation();
    if (event.key === "Escape") {
      edited = false;
      input.blur();
    } else if (event.key === "Enter") focusViewport(input);
  });
  return { element: h("div", { class: "p-field" }, input), set: (next) => synced.receive(next) };
}
