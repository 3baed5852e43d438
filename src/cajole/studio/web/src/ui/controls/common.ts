/** Helpers shared by all controls of the panel. */

import "../../style/parts.css";
import "../../style/controls.css";
import "../../style/choices.css";
import "../../style/lists.css";
import "../../style/dials.css";
import { setAttribute, h, setText, type Child } from "../../core/dom";

/** Row with a label in the first column and a control in the second. */
export interface LabeledRow { element: HTMLElement; label: HTMLElement }

export function createRow(text: string, control: Child, tip?: string): LabeledRow {
  const label = h("span", { class: "p-label", "data-tip": tip }, text);
  return { label, element: h("div", { class: "p-line" }, label, h("div", { class: "p-control" }, control)) };
}

/** Disable a control with the reason as tooltip, or enable it (null) with its own tooltip. */
export function setDisabledReason(element: HTMLElement, why: string | null): void {
  if (element.dataset["usualTip"] === undefined) element.dataset["usualTip"] = element.dataset["tip"] ?? "";
  setAttribute(element, "aria-disabled", why === null ? null : "true");
  setAttribute(element, "data-tip", why ?? (element.dataset["usualTip"] || null));
}

/** Set the tooltip of an enabled control. */
export function setTooltip(element: HTMLElement, text: string | null): void {
  setAttribute(element, "data-usual-tip", text ?? "");
  if (!isDisabled(element)) setAttribute(element, "data-tip", text);
}

/** Move the focus from a field to the viewport, so that shortcuts work again. */
export function focusViewport(input: HTMLElement): void {
  input.blur();
  document.querySelector<HTMLElement>(".view-surface")?.focus({ preventScroll: true });
}

export const isDisabled = (element: HTMLElement): boolean => element.getAttribute("aria-disabled") === "true";

/** Validation message below an input. */
export class ValidationMessage {
  readonly element = h("p", { class: "p-complaint", role: "alert", id: `complaint-${++messageCount}` });

  constructor(private readonly input: HTMLElement) {
    this.setText(null);
  }


  get isVisible(): boolean {
    return !this.element.hidden;
  }

  setText(text: string | null): void {
    this.element.hidden = text === null;
    setText(this.element, text ?? "");
    setAttribute(this.input, "aria-invalid", text === null ? null : "true");
    setAttribute(this.input, "aria-describedby", text === null ? null : this.element.id);
  }
}
let messageCount = 0;

/** Keyed list reconciliation: the returned function creates, updates, orders and removes the children of `container`. */
export function createKeyedList<T, P extends { element: HTMLElement }>(
  container: HTMLElement,
  key: (item: T) => string,
  make: (item: T) => P,
  update: (part: P, item: T) => void,
): (items: readonly T[]) => void {
  const parts = new Map<string, P>();
  return (items) => {
    const keys = new Set(items.map(key));
    for (const [name, part] of parts)
      if (!keys.has(name)) {
        part.element.remove();
        parts.delete(name);
      }
    items.forEach((item, place) => {
      const name = key(item);
      const part = parts.get(name) ?? make(item);
      parts.set(name, part);
      update(part, item);
      if (container.children[place] !== part.element) container.insertBefore(part.element, container.children[place] ?? null);
    });
  };
}
