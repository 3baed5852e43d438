/** A value that is a text until it is pressed, and then a field to type into: beside sliders and dials. */

import { h, setText } from "../../core/dom";
import type { Component } from "../../core/types";
import { Complaint, refused, toView } from "./common";
import { read } from "./expression";

export interface TypedOptions {
  name: string;
  unit: string; // that plain numbers are in
  low: number;
  high: number;
  text: (value: number) => string;
  plain: (value: number) => string; // what stands in the field
  onValue: (value: number) => void;
}
export interface Typed extends Component {
  complaint: HTMLElement;
  set(value: number): void;
}

export function typed(first: number, options: TypedOptions): Typed {
  let value = first;
  const face = h("button", {
    type: "button",
    class: "p-typed",
    "aria-label": `${options.name}: type a value`,
    "data-tip": "Click to type",
  });
  const input = h("input", {
    class: "p-typed-input",
    type: "text",
    "aria-label": options.name,
    hidden: true,
    autocomplete: "off",
    spellcheck: "false",
  });
  const complaint = new Complaint(input);
  const element = h("span", { class: "p-typed-box" }, face, input);

  const close = (): void => {
    complaint.say(null);
    const focused = document.activeElement === input;
    input.hidden = true;
    face.hidden = false;
    if (focused) face.focus();
  };
  const commit = (): void => {
    if (input.hidden) return;
    const { value: next, error } = read(input.value, options.unit);
    if (error !== undefined) return complaint.say(error);
    if (next < options.low || next > options.high)
      return complaint.say(`Between ${options.plain(options.low)} and ${options.plain(options.high)}.`);
    close();
    if (next !== value) options.onValue(next);
  };
  face.addEventListener("click", () => {
    if (refused(element)) return;
    input.value = options.plain(value);
    face.hidden = true;
    input.hidden = false;
    input.focus();
    input.select();
  });
  input.addEventListener("keydown", (event) => {
    event.stopPropagation();
    if (event.key === "Enter") {
      commit();
      if (input.hidden) toView(face);
    }
    if (event.key === "Escape") close();
  });
  input.addEventListener("blur", () => {
    commit();
    // What cannot be read is let go with the field: the last good value stays in force.
    if (!input.hidden) close();
  });
  return {
    element,
    complaint: complaint.element,
    set: (next) => {
      value = next;
      setText(face, options.text(next));
    },
  };
}
