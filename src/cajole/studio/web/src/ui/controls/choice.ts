/** Segmented control, switch, and a group of toggle letters. */

import { setAttribute, h } from "../../core/dom";
import type { Component } from "../../core/types";
import { setDisabledReason, isDisabled } from "./common";
import { SyncedValue, type ChangeResult } from "./synced-value";

export interface Choice<T extends string | number> { value: T; text: string; tip?: string }
interface SegmentedOptions<T extends string | number> {
  name: string;
  choices: readonly Choice<T>[];
  value: T;
  onChange: (value: T) => ChangeResult;
}
export interface SegmentedControl<T> extends Component {
  set(value: T): void;
  setDisabledReason(reason: string | null): void;
}

export function createSegmentedControl<T extends string | number>(options: SegmentedOptions<T>): SegmentedControl<T> {
  const element = h("div", { class: "p-segment", role: "radiogroup", "aria-label": options.name });
  let value = options.value;
  const buttons = options.choices.map((choice) =>
    h("button", { type: "button", role: "radio", "data-tip": choice.tip, onclick: () => choose(choice.value) },
      choice.text,
    ),
  );
  const show = (next: T): void => {
    value = next;
    const any = options.choices.some((choice) => choice.value === next);
    buttons.forEach((button, index) => {
      const on = options.choices[index]!.value === next;
      setAttribute(button, "aria-checked", String(on));
      setAttribute(button, "tabindex", on || (!any && index === 0) ? 0 : -1);
    });
  };
  const synced = new SyncedValue(value, show);
  const choose = (next: T): void => {
    if (next === value || isDisabled(element)) return;
    synced.change(next, options.onChange);
  };
  element.append(...buttons);
  element.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    const index = options.choices.findIndex((choice) => choice.value === value);
    const next = (index + step + buttons.length) % buttons.length;
    choose(options.choices[next]!.value);
    if (!isDisabled(element)) buttons[next]!.focus();
  });
  show(value);
  return { element, set: (next) => synced.receive(next), setDisabledReason: (why) => setDisabledReason(element, why) };
}

interface SwitchOptions {
  name: string;
  value: boolean;
  onChange: (value: boolean) => ChangeResult;
  large?: boolean; // 52 x 30
  key?: string;
  tip?: string;
}
interface Switch extends Component {
  set(value: boolean): void;
  setDisabledReason(reason: string | null): void;
}

export function createSwitch(options: SwitchOptions): Switch {
  const element = h("button", {
    type: "button", role: "switch", class: `p-switch${options.large ? " p-switch-large" : ""}`,
    "aria-label": options.name, "data-tip": options.tip, "data-key": options.key,
  }, h("span"));
  setAttribute(element, "aria-keyshortcuts", options.key);
  let value = options.value;
  const show = (next: boolean): void => {
    value = next;
    element.setAttribute("aria-checked", String(next));
  };
  const synced = new SyncedValue(value, show);
  element.addEventListener("click", () => {
    if (isDisabled(element)) return;
    synced.change(!value, options.onChange);
  });
  show(value);
  return { element, set: (next) => synced.receive(next), setDisabledReason: (why) => setDisabledReason(element, why) };
}

/** Group of toggle buttons with one letter each, at least one of them on: x, y, z. */
export function createLetterToggles(
  name: string,
  tips: Record<string, string>,
  onChange: (value: string) => ChangeResult,
): SegmentedControl<string> {
  const element = h("div", { class: "p-segment p-letters", role: "group", "aria-label": name });
  let value = Object.keys(tips).join("");
  const buttons = Object.entries(tips).map(([letter, tip]) =>
    h("button", { type: "button", "data-tip": tip, "data-letter": letter, onclick: () => toggle(letter) },
      letter.toUpperCase(),
    ),
  );
  const show = (next: string): void => {
    value = next;
    for (const button of buttons) button.setAttribute("aria-pressed", String(next.includes(button.dataset["letter"]!)));
  };
  const synced = new SyncedValue(value, show);
  const toggle = (letter: string): void => {
    if (isDisabled(element)) return;
    const next = Object.keys(tips)
      .filter((each) => (each === letter) !== value.includes(each))
      .join("");
    if (next === "") return;
    synced.change(next, onChange);
  };
  element.append(...buttons);
  show(value);
  return { element, set: (next) => synced.receive(next), setDisabledReason: (why) => setDisabledReason(element, why) };
}
