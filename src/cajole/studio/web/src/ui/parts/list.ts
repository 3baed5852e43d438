/** Rows of lists: drags, loads, pins, pushes; and what stands where a list is empty. */

import { setAttribute, h, setText } from "../../core/dom";
import { createIcon, type IconName } from "../../core/icons";
import type { Component } from "../../core/types";

export interface ListRowOptions {
  marker: Node;
  onPick: () => void;
  onHover?: (over: boolean) => void;
  actions?: HTMLElement[];
}
export interface ListRowState {
  name: string;
  strong?: string; // a first word that stands out
  value?: string;
  selected?: boolean;
  muted?: boolean;
  lit?: boolean; // the pointer is over it elsewhere
  warn?: string | null;
  tip?: string | null;
}
export interface ListRow extends Component {
  set(state: ListRowState): void;
}

export function listRow(options: ListRowOptions): ListRow {
  const strong = h("b");
  const name = h("span", { class: "p-row-name" });
  const value = h("span", { class: "p-row-value" });
  const sign = h("span", { class: "p-row-warn", hidden: true }, createIcon("warn"));
  const main = h(
    "button",
    { type: "button", class: "p-row-main", onclick: options.onPick },
    h("span", { class: "p-row-marker" }, options.marker),
    h("span", { class: "p-row-words" }, strong, name),
    sign,
    value,
  );
  const element = h("li", { class: "p-row" }, main, options.actions ?? []);
  if (options.onHover) hovering(element, options.onHover);
  return {
    element,
    set: (state) => {
      setText(strong, state.strong ? `${state.strong} ` : "");
      setText(name, state.name);
      setText(value, state.value ?? "");
      setAttribute(main, "aria-current", state.selected ? "true" : null);
      element.toggleAttribute("data-selected", state.selected ?? false);
      element.toggleAttribute("data-muted", state.muted ?? false);
      element.toggleAttribute("data-lit", state.lit ?? false);
      sign.hidden = !state.warn;
      setAttribute(main, "data-tip", state.warn ?? state.tip ?? null);
    },
  };
}

/** Pointer and focus say alike what is looked at. */
function hovering(element: HTMLElement, say: (over: boolean) => void): void {
  element.addEventListener("pointerenter", () => say(true));
  element.addEventListener("pointerleave", () => say(false));
  element.addEventListener("focusin", () => say(true));
  element.addEventListener("focusout", () => say(false));
}

/** A disc, as drags have in every view. */
export const disc = (): HTMLElement => h("span", { class: "p-disc" });
export const mark = (name: IconName): Node => createIcon(name);

/** A list with its name for readers. */
export const list = (name: string): HTMLUListElement => h("ul", { class: "p-list", "aria-label": name });

export interface Empty extends Component {
  show(on: boolean): void;
}

/** What to do first, where there is nothing yet. */
export function empty(text: string): Empty {
  const element = h("p", { class: "p-empty" }, text);
  return { element, show: (on) => void (element.hidden = !on) };
}
