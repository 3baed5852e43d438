/** Fields: a number with an axis letter or a unit, and a line of text. */

import { setAttribute, h, setText } from "../../core/dom";
import type { Component } from "../../core/types";
import { Complaint, refuse, refused, type Row, row, toView } from "./common";
import { read } from "./expression";
import { Shown, type Told } from "./shown";

export interface FieldOptions {
  name: string;
  axis?: "x" | "y" | "z"; // its letter stands before the number
  unit?: string; // that plain numbers are in
  after?: string; // stands at the right, the unit when left out
  low?: number;
  high?: number;
  whole?: boolean;
  /** What a pixel of scrubbing, or an arrow key, is worth. */
  step: () => number;
  text: (value: number) => string;
  /** While the label is scrubbed; leave out where a change takes long. */
  onInput?: (value: number) => Told;
  onChange: (value: number) => Told;
  tip?: string;
}
export interface Field extends Component {
  /** The server's word, null when there is none; waits while the field is typed into. */
  set(value: number | null): void;
  after(text: string): void;
  range(low: number, high: number): void;
  refuse(why: string | null): void;
  /** Let a label be dragged sideways to change the number. */
  scrub(label: HTMLElement): void;
}

/** A row with a field, whose label is dragged sideways to change the number. */
export function fieldRow(text: string, part: Field): Row {
  const line = row(text, part.element);
  part.scrub(line.label);
  return line;
}

export function field(options: FieldOptions): Field {
  let { low = -Infinity, high = Infinity } = options;
  let value: number | null = null;
  let touched = false; // what stands in the field was typed and not yet taken
  const input = h("input", {
    type: "text",
    "aria-label": options.name,
    autocomplete: "off",
    spellcheck: "false",
    "data-tip": options.tip,
  });
  const after = h("span", { class: "p-after" }, options.after ?? options.unit ?? "");
  const letter = options.axis
    ? h("span", { class: `p-axis p-axis-${options.axis}`, "aria-hidden": "true" }, options.axis.toUpperCase())
    : null;
  const complaint = new Complaint(input);
  const box = h("div", { class: "p-field" }, letter, input, after);
  const element = h("div", { class: "p-field-box" }, box, complaint.element);

  const print = (): void => {
    touched = false;
    const text = value === null ? "" : options.text(value);
    if (input.value !== text) input.value = text;
  };
  const shown = new Shown<number | null>(null, (next) => {
    value = next;
    if (!touched) print();
  });
  const bounded = (next: number): number => {
    const inside = Math.min(high, Math.max(low, next));
    return options.whole ? Math.round(inside) : inside;
  };
  const wrong = (next: number): string | null => {
    if (options.whole && !Number.isInteger(next)) return "A whole number is wanted here.";
    if (next >= low && next <= high) return null;
    if (high === Infinity) return `At least ${options.text(low)}.`;
    return low === -Infinity
      ? `At most ${options.text(high)}.`
      : `Between ${options.text(low)} and ${options.text(high)}.`;
  };
  const tell = (next: number, say: ((value: number) => Told) | undefined): void => {
    value = next;
    shown.hold();
    shown.release(say?.(next));
  };
  const commit = (): void => {
    if (!touched) return;
    const { value: next, error } = read(input.value, options.unit);
    const why = error ?? wrong(next!);
    complaint.say(why);
    if (why !== null) return;
    touched = false;
    if (next !== value) tell(next!, options.onChange);
    print();
  };
  const nudge = (steps: number): void => {
    if (value === null) return;
    const next = bounded(value + steps * options.step());
    if (next !== value) tell(next, options.onChange);
    print();
  };
  input.addEventListener("input", () => {
    touched = true;
    complaint.say(null);
  });
  input.addEventListener("focus", () => input.select());
  input.addEventListener("blur", () => {
    commit();
    // The last good value stays in force, and in sight.
    complaint.say(null);
    print();
  });
  input.addEventListener("keydown", (event) => {
    event.stopPropagation();
    if (event.key === "Enter") {
      commit();
      if (!complaint.said) toView(input);
    } else if (event.key === "Escape") {
      print();
      input.blur();
    } else if (event.key === "ArrowUp" || event.key === "ArrowDown") {
      event.preventDefault();
      nudge((event.key === "ArrowUp" ? 1 : -1) * pace(event) * ARROW);
    }
  });
  const scrub = (label: HTMLElement): void =>
    scrubbing(label, {
      ready: () => value !== null && !refused(box),
      begin: () => {
        shown.hold();
        return value!;
      },
      input: (next) => {
        value = bounded(next);
        print();
        if (options.onInput) tell(value, options.onInput);
      },
      done: (before) => shown.release(value === before ? undefined : options.onChange(value!)),
      step: options.step,
    });
  if (letter) scrub(letter);
  return {
    element,
    set: (next) => shown.hear(next),
    after: (text) => setText(after, text),
    range: (least, most) => void ([low, high] = [least, most]),
    refuse: (why) => {
      refuse(box, why);
      input.readOnly = why !== null;
      setAttribute(input, "aria-disabled", why === null ? null : "true");
    },
    scrub,
  };
}

/** An arrow key is worth this many pixels of scrubbing. */
const ARROW = 1;
const pace = (event: { shiftKey: boolean; ctrlKey: boolean; metaKey: boolean }): number =>
  event.shiftKey ? 0.1 : event.ctrlKey || event.metaKey ? 10 : 1;

interface Scrubbed {
  ready(): boolean;
  begin(): number;
  input(value: number): void;
  done(before: number): void;
  step(): number;
}

function scrubbing(label: HTMLElement, hand: Scrubbed): void {
  label.classList.add("p-scrub");
  label.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || !hand.ready()) return;
    event.preventDefault();
    label.setPointerCapture(event.pointerId);
    const before = hand.begin();
    let [value, last] = [before, event.clientX];
    const end = new AbortController();
    label.addEventListener(
      "pointermove",
      (move) => {
        if (move.clientX === last) return;
        value += (move.clientX - last) * hand.step() * pace(move);
        last = move.clientX;
        hand.input(value);
      },
      { signal: end.signal },
    );
    label.addEventListener(
      "lostpointercapture",
      () => {
        end.abort();
        hand.done(before);
      },
      { signal: end.signal },
    );
  });
}

export interface TextOptions {
  name: string;
  onChange: (value: string) => Told;
  most?: number;
}
export interface TextField extends Component {
  set(value: string): void;
}

/** A line of text; an empty one is not taken. */
export function textField(options: TextOptions): TextField {
  let value = "";
  let touched = false;
  const input = h("input", {
    type: "text",
    "aria-label": options.name,
    maxlength: options.most ?? 60,
    autocomplete: "off",
    spellcheck: "false",
  });
  const shown = new Shown("", (next) => {
    value = next;
    if (!touched && input.value !== next) input.value = next;
  });
  const commit = (): void => {
    const next = input.value.trim();
    if (!touched || next === "" || next === value) return;
    value = next;
    shown.hold();
    shown.release(options.onChange(next));
  };
  input.addEventListener("input", () => void (touched = true));
  input.addEventListener("blur", () => {
    commit();
    touched = false;
    input.value = value;
  });
  input.addEventListener("keydown", (event) => {
    event.stopPropagation();
    if (event.key === "Escape") {
      touched = false;
      input.blur();
    } else if (event.key === "Enter") toView(input);
  });
  return { element: h("div", { class: "p-field" }, input), set: (next) => shown.hear(next) };
}
