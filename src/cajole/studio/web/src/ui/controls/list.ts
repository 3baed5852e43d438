/** List rows, and the hint in an empty list. */

import { setAttribute, h, setText } from "../../core/dom";
import { createIcon, type IconName } from "../../core/icons";
import type { Component } from "../../core/types";

interface ListRowOptions {
  marker: Node;
  onPick: () => void;
  onHover?: (over: boolean) => void;
  actions?: HTMLElement[];
}
export interface ListRowState {
  name: string;
  prefix?: string; // emphasized first word
  value?: string;
  selected?: boolean;
  muted?: boolean;
  highlighted?: boolean; // hovered in the view
  warn?: string | null;
  tip?: string | null;
}
export interface ListRow extends Component { set(state: ListRowState): void }

export function createListRow(options: ListRowOptions): ListRow {
  const strong = h("b");
  const name = h("span", { class: "p-row-name" });
  const value = h("span", { class: "p-row-value" });
  const sign = h("span", { class: "p-row-warn", hidden: true }, createIcon("warn"));
  const main = h("button", { type: "button", class: "p-row-main", onclick: options.onPick },
    h("span", { class: "p-row-marker" }, options.marker),
    h("span", { class: "p-row-words" }, strong, name),
    sign,
    value,
  );
  const element = h("li", { class: "p-row" }, main, options.actions ?? []);
  if (options.onHover) addHoverListeners(element, options.onHover);
  return {
    element,
    set: (state) => {
      setText(strong, state.prefix ? `${state.prefix} ` : "");
      setText(name, state.name);
      setText(value, state.value ?? "");
      setAttribute(main, "aria-current", state.selected ? "true" : null);
      element.toggleAttribute("data-selected", state.selected ?? false);
      element.toggleAttribute("data-muted", state.muted ?? false);
      element.toggleAttribute("data-lit", state.highlighted ?? false);
      sign.hidden = !state.warn;
      setAttribute(main, "data-tip", state.warn ?? state.tip ?? null);
    },
  };
}

/** Call the listener on pointer and focus changes. */
function addHoverListeners(element: HTMLElement, listener: (over: boolean) => void): void {
  element.addEventListener("pointerenter", () => listener(true));
  element.addEventListener("pointerleave", () => listener(false));
  element.addEventListener("focusin", () => listener(true));
  element.addEventListener("focusout", () => listener(false));
}

/** Disc marker, as in the views. */
export const createDisc = (): HTMLElement => h("span", { class: "p-disc" });
export const createMarkerIcon = (name: IconName): Node => createIcon(name);

/** List with an accessible name. */
export const createList = (name: string): HTMLUListElement => h("ul", { class: "p-list", "aria-label": name });

interface EmptyHint extends Component { setVisible(on: boolean): void }

/** Hint in an empty list. */
export function createEmptyHint(text: string): EmptyHint {
  const element = h("p", { class: "p-empty" }, text);
  return { element, setVisible: (on) => void (element.hidden = !on) };
}
