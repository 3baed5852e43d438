/** Section of the panel with a heading; it may be collapsible, and its state is stored. */

import { h, setText, type Child } from "../../core/dom";
import { createIcon } from "../../core/icons";
import { saveSetting, loadSetting } from "../../core/storage";
import type { Component } from "../../core/types";

interface SectionOptions {
  title: string;
  foldKey?: string; // storage key of the collapsed state
  actions?: HTMLElement[];
}
interface Section extends Component {
  /** Set the note beside the heading; `more` is hidden if there is no room. */
  setNote(text: string, more?: string): void;
  setVisible(on: boolean): void;
}

export function createSection(options: SectionOptions, ...children: Child[]): Section {
  const words = h("span");
  const rest = h("span", { class: "p-note-more" });
  const note = h("span", { class: "p-note" }, words, rest);
  const body = h("div", { class: "p-section-body" }, ...children);
  const heading = h("h2", { class: "p-heading" }, options.foldKey ? createFoldButton(options, body) : options.title);
  const element = h("section", { class: "p-section", "aria-label": options.title },
    h("header", { class: "p-section-head" },
      heading,
      note,
      h("span", { class: "p-section-actions" }, options.actions ?? []),
    ),
    body,
  );
  return {
    element,
    setNote: (text, more = "") => {
      setText(words, text);
      setText(rest, more);
    },
    setVisible: (on) => void (element.hidden = !on),
  };
}

function createFoldButton(options: SectionOptions, body: HTMLElement): HTMLElement {
  const name = `fold.${options.foldKey}`;
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
