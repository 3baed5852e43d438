/** Sheets over the page, on the browser's own dialog: it keeps the focus inside and closes by Escape. */

import { h, type Child } from "../core/dom";

export interface Sheet {
  element: HTMLDialogElement;
  close(): void;
}

/** Opens a sheet; it is gone from the page once it closes. A press on the dark around it closes it too. */
export function openSheet(name: string, kind: string, onClose: () => void, ...children: Child[]): Sheet {
  const element = h("dialog", { class: `sheet ${kind}`, "aria-label": name }, children);
  element.addEventListener("close", () => {
    element.remove();
    onClose();
  });
  element.addEventListener(
    "pointerdown",
    (event) => event.target === element && outside(element, event) && element.close(),
  );
  document.body.append(element);
  element.showModal();
  return { element, close: () => element.close() };
}

function outside(element: HTMLElement, { clientX: x, clientY: y }: PointerEvent): boolean {
  const box = element.getBoundingClientRect();
  return x < box.left || x > box.right || y < box.top || y > box.bottom;
}

/** Asks for one line of text; null when it is called off. */
export function askText(name: string, value: string, action: string): Promise<string | null> {
  return new Promise((resolve) => {
    let answer: string | null = null;
    const field = h("input", {
      class: "sheet-field",
      type: "text",
      value,
      maxlength: 80,
      "aria-label": name,
      spellcheck: "false",
    });
    const keep = (event: Event): void => {
      event.preventDefault();
      answer = field.value.trim() || null;
      sheet.close();
    };
    const form = h(
      "form",
      { class: "ask", onsubmit: keep },
      h("h2", { class: "sheet-title" }, name),
      field,
      h(
        "div",
        { class: "ask-foot" },
        h("button", { type: "button", class: "p-button p-ghost", onclick: () => sheet.close() }, "Cancel"),
        h("button", { type: "submit", class: "p-button p-primary" }, action),
      ),
    );
    const sheet = openSheet(name, "small", () => resolve(answer), form);
    field.select();
  });
}
