/** Value shown as text that becomes an input when clicked, beside sliders and dials. */

import { h, setText } from "../../core/dom";
import type { Component } from "../../core/types";
import { ValidationMessage, isDisabled, focusViewport } from "./common";
import { evaluate } from "./expression";

interface EditableValueOptions {
  name: string;
  unit: string; // of numbers without a unit
  getRange(): [number, number];
  text: (value: number) => string;
  inputText: (value: number) => string; // text of the input
  onValue: (value: number) => void;
}
interface EditableValue extends Component { message: HTMLElement; set(value: number): void }

export function createEditableValue(first: number, options: EditableValueOptions): EditableValue {
  let value = first;
  const face = h("button", {
    type: "button", class: "p-typed", "aria-label": `${options.name}: type a value`, "data-tip": "Click to type",
  });
  const input = h("input", {
    class: "p-typed-input", type: "text", "aria-label": options.name, hidden: true, autocomplete: "off",
    spellcheck: "false",
  });
  const message = new ValidationMessage(input);
  const element = h("span", { class: "p-typed-box" }, face, input);

  const close = (): void => {
    message.setText(null);
    const focused = document.activeElement === input;
    input.hidden = true;
    face.hidden = false;
    if (focused) face.focus();
  };
  const commit = (): void => {
    if (input.hidden) return;
    const { value: next, error } = evaluate(input.value, options.unit);
    if (error !== undefined) return message.setText(error);
    const [min, max] = options.getRange();
    if (next < min || next > max) return message.setText(`Between ${options.inputText(min)} and ${options.inputText(max)}.`);
    close();
    if (next !== value) options.onValue(next);
  };
  face.addEventListener("click", () => {
    if (isDisabled(element)) return;
    input.value = options.inputText(value);
    face.hidden = true;
    input.hidden = false;
    input.focus();
    input.select();
  });
  input.addEventListener("keydown", (event) => {
    event.stopPropagation();
    if (event.key === "Enter") {
      commit();
      if (input.hidden) focusViewport(face);
    }
    if (event.key === "Escape") close();
  });
  input.addEventListener("blur", () => {
    commit();
    // discard an invalid text; the last valid value stays
    if (!input.hidden) close();
  });
  return {
    element,
    message: message.element,
    set: (next) => {
      value = next;
      setText(face, options.text(next));
    },
  };
}
