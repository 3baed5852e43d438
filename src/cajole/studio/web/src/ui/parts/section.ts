/** A block of the panel under a heading; some can be folded away, and stay as they were left. */

import { h, setText, type Child } from "../../core/dom";
import { createIcon } from "../../core/icons";
import { saveSetting, loadSetting } from "../../core/storage";
import type { Component } from "../../core/types";

export interface SectionOptions {
  title: string;
  fold?: string; // a name under which the browser keeps whether it is open
  actions?: HTMLElement[];
}
export interface Section extends Component {
  /** Quiet words beside the heading; `more` only where there is room. */
  note(text: string, more?: string): void;
  show(on: boolean): void;
}

export function section(options: SectionOptions, ...children: Child[]): Section {
  const words = h("span");
  const rest = h("span", { class: "p-note-more" });
  const note = h("span", { class: "p-note" }, words, rest);
  const body = h("div", { class: "p-section-body" }, ...children);
  const heading = h("h2", { class: "p-heading" }, options.fold ? folding(options, body) : options.title);
  const element = h(
    "section",
    { class: "p-section", "aria-label": options.title },
    h(
      "header",
      { class: "p-section-head" },
      heading,
      note,
      h("span", { class: "p-section-actions" }, options.actions ?? []),
    ),
    body,
  );
  return {
    element,
    note: (text, more = "") => {
      setText(words, text);
      setText(rest, more);
    },
    show: (on) => void (element.hidden = !on),
  };
}

function folding(options: SectionOptions, body: HTMLElement): HTMLElement {
  const name = `fold.${options.fold}`;
  const button = h("button", { type: "button", class: "p-fold" }, options.title, createIcon("chevron"));
  const open = (on: boolean): void => {
    button.setAttribute("aria-expanded", String(on));
    body.hidden = !on;
  };
  button.addEventListener("click", () => {
    const on = Boolean(body.hidden);
    open(on);
    saveSetting(name, on);
  });
  open(loadSetting<unknown>(name, false) === true);
  return button;
}
