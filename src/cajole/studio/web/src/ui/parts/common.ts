/** What all controls of the panel share. */

import "../../style/parts.css";
import "../../style/controls.css";
import "../../style/choices.css";
import "../../style/lists.css";
import "../../style/dials.css";
import { setAttribute, h, setText, type Child } from "../../core/dom";

/** A label of the first column, and its control in the second; line: one below both. */
export interface Row {
  element: HTMLElement;
  label: HTMLElement;
}

export function row(text: string, control: Child, tip?: string): Row {
  const label = h("span", { class: "p-label", "data-tip": tip }, text);
  return { label, element: h("div", { class: "p-line" }, label, h("div", { class: "p-control" }, control)) };
}

/** Switch a control off and say why by its tooltip, or on again with its usual one. */
export function refuse(element: HTMLElement, why: string | null): void {
  if (element.dataset["usualTip"] === undefined) element.dataset["usualTip"] = element.dataset["tip"] ?? "";
  setAttribute(element, "aria-disabled", why === null ? null : "true");
  setAttribute(element, "data-tip", why ?? (element.dataset["usualTip"] || null));
}

/** Give a control another usual tooltip. */
export function tip(element: HTMLElement, text: string | null): void {
  setAttribute(element, "data-usual-tip", text ?? "");
  if (!refused(element)) setAttribute(element, "data-tip", text);
}

/** Enter in a field: it is done, and the next keys are meant for the view. */
export function toView(input: HTMLElement): void {
  input.blur();
  document.querySelector<HTMLElement>(".view-surface")?.focus({ preventScroll: true });
}

export const refused = (element: HTMLElement): boolean => element.getAttribute("aria-disabled") === "true";

/** The one line under a control that says what is wrong with what was typed. */
export class Complaint {
  readonly element = h("p", { class: "p-complaint", role: "alert", id: `complaint-${++complaints}` });

  constructor(private readonly input: HTMLElement) {
    this.say(null);
  }

  /** Whether something is wrong. */
  get said(): boolean {
    return !this.element.hidden;
  }

  say(text: string | null): void {
    this.element.hidden = text === null;
    setText(this.element, text ?? "");
    setAttribute(this.input, "aria-invalid", text === null ? null : "true");
    setAttribute(this.input, "aria-describedby", text === null ? null : this.element.id);
  }
}
let complaints = 0;

/** Keeps children of `holder` for items by key: made once, updated in place, in order, none moved in vain. */
export function keyed<T, P extends { element: HTMLElement }>(
  holder: HTMLElement,
  key: (item: T) => string,
  make: (item: T) => P,
  update: (part: P, item: T) => void,
): (items: readonly T[]) => void {
  const parts = new Map<string, P>();
  return (items) => {
    const wanted = new Set(items.map(key));
    for (const [name, part] of parts)
      if (!wanted.has(name)) {
        part.element.remove();
        parts.delete(name);
      }
    items.forEach((item, place) => {
      const name = key(item);
      const part = parts.get(name) ?? make(item);
      parts.set(name, part);
      update(part, item);
      if (holder.children[place] !== part.element) holder.insertBefore(part.element, holder.children[place] ?? null);
    });
  };
}
