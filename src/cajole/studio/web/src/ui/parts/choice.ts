/** Choices: a segment of a few words, and a switch. */

import { setAttribute, h } from "../../core/dom";
import type { Component } from "../../core/types";
import { refuse, refused } from "./common";
import { Shown, type Told } from "./shown";

export interface Choice<T extends string | number> {
  value: T;
  text: string;
  tip?: string;
}
export interface SegmentOptions<T extends string | number> {
  name: string;
  choices: readonly Choice<T>[];
  value: T;
  onChange: (value: T) => Told;
}
export interface Segment<T> extends Component {
  set(value: T): void;
  refuse(why: string | null): void;
}

export function segment<T extends string | number>(options: SegmentOptions<T>): Segment<T> {
  const element = h("div", { class: "p-segment", role: "radiogroup", "aria-label": options.name });
  let value = options.value;
  const buttons = options.choices.map((choice) =>
    h(
      "button",
      { type: "button", role: "radio", "data-tip": choice.tip, onclick: () => choose(choice.value) },
      choice.text,
    ),
  );
  const show = (next: T): void => {
    value = next;
    const any = options.choices.some((choice) => choice.value === next);
    buttons.forEach((button, place) => {
      const on = options.choices[place]!.value === next;
      setAttribute(button, "aria-checked", String(on));
      setAttribute(button, "tabindex", on || (!any && place === 0) ? 0 : -1);
    });
  };
  const shown = new Shown(value, show);
  const choose = (next: T): void => {
    if (next === value || refused(element)) return;
    show(next);
    shown.hold();
    shown.release(options.onChange(next));
  };
  element.append(...buttons);
  element.addEventListener("keydown", (event) => {
    const way = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (way === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    const place = options.choices.findIndex((choice) => choice.value === value);
    const next = (place + way + buttons.length) % buttons.length;
    choose(options.choices[next]!.value);
    if (!refused(element)) buttons[next]!.focus();
  });
  show(value);
  return { element, set: (next) => shown.hear(next), refuse: (why) => refuse(element, why) };
}

export interface SwitchOptions {
  name: string;
  value: boolean;
  onChange: (value: boolean) => Told;
  large?: boolean; // 52 x 30
  key?: string;
  tip?: string;
}
export interface Switch extends Component {
  set(value: boolean): void;
  refuse(why: string | null): void;
}

export function switcher(options: SwitchOptions): Switch {
  const element = h(
    "button",
    {
      type: "button",
      role: "switch",
      class: `p-switch${options.large ? " p-switch-large" : ""}`,
      "aria-label": options.name,
      "data-tip": options.tip,
      "data-key": options.key,
    },
    h("span"),
  );
  setAttribute(element, "aria-keyshortcuts", options.key);
  let value = options.value;
  const show = (next: boolean): void => {
    value = next;
    element.setAttribute("aria-checked", String(next));
  };
  const shown = new Shown(value, show);
  element.addEventListener("click", () => {
    if (refused(element)) return;
    const next = !value;
    show(next);
    shown.hold();
    shown.release(options.onChange(next));
  });
  show(value);
  return { element, set: (next) => shown.hear(next), refuse: (why) => refuse(element, why) };
}

/** Letters that can be on together, at least one of them: x, y, z. */
export function letters(
  name: string,
  tips: Record<string, string>,
  onChange: (value: string) => Told,
): Segment<string> {
  const element = h("div", { class: "p-segment p-letters", role: "group", "aria-label": name });
  let value = Object.keys(tips).join("");
  const buttons = Object.entries(tips).map(([letter, tip]) =>
    h(
      "button",
      { type: "button", "data-tip": tip, "data-letter": letter, onclick: () => toggle(letter) },
      letter.toUpperCase(),
    ),
  );
  const show = (next: string): void => {
    value = next;
    for (const button of buttons) button.setAttribute("aria-pressed", String(next.includes(button.dataset["letter"]!)));
  };
  const shown = new Shown(value, show);
  const toggle = (letter: string): void => {
    if (refused(element)) return;
    const next = Object.keys(tips)
      .filter((each) => (each === letter) !== value.includes(each))
      .join("");
    if (next === "") return;
    show(next);
    shown.hold();
    shown.release(onChange(next));
  };
  element.append(...buttons);
  show(value);
  return { element, set: (next) => shown.hear(next), refuse: (why) => refuse(element, why) };
}
