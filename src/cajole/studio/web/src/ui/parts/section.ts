/** A block of the panel under a heading; some can be folded away, and stay as they were left. */

import { h, write, type Child } from "../../core/dom";
import { icon } from "../../core/icons";
import { keep, recall } from "../../core/store";
import type { Part } from "../../core/types";

export interface SectionOptions {
  title: string;
  fold?: string; // a name under which the browser keeps whether it is open
  actions?: HTMLElement[];
}
export interface Section extends Part {
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
      write(words, text);
      write(rest, more);
    },
    show: (on) => void (element.hidden = !on),
  };
}

function folding(options: SectionOptions, body: HTMLElement): HTMLElement {
  const name = `fold.${options.fold}`;
  const button = h("button", { type: "button", class: "p-fold" }, options.title, icon("chevron"));
  const open = (on: boolean): void => {
    button.setAttribute("aria-expanded", String(on));
    body.hidden = !on;
  };
  button.addEventListener("click", () => {
    const on = Boolean(body.hidden);
    open(on);
    keep(name, on);
  });
  open(recall<unknown>(name, false) === true);
  return button;
}
