/** Modal dialogs on the <dialog> element, which traps the focus and closes on Escape. */

import { h, type Child } from "../core/dom";

interface Dialog { element: HTMLDialogElement; close(): void }

/** Open a dialog; a press on the backdrop closes it, and it is removed when closed. */
export function openDialog(name: string, kind: string, onClose: () => void, ...children: Child[]): Dialog {
  const element = h("dialog", { class: `sheet ${kind}`, "aria-label": name }, children);
  element.addEventListener("close", () => {
    element.remove();
    onClose();
  });
  element.addEventListener(
    "pointerdown",
    (event) => event.target === element && isOutside(element, event) && element.close(),
  );
  document.body.append(element);
  element.showModal();
  return { element, close: () => element.close() };
}

function isOutside(element: HTMLElement, { clientX: x, clientY: y }: PointerEvent): boolean {
  const box = element.getBoundingClientRect();
  return x < box.left || x > box.right || y < box.top || y > box.bottom;
}

/** Ask for a line of text; null if cancelled. */
export function promptText(name: string, value: string, action: string): Promise<string | null> {
  return new Promise((resolve) => {
    let answer: string | null = null;
    const field = h("input", {
      class: "sheet-field", type: "text", value, maxlength: 80, "aria-label": name, spellcheck: "false",
    });
    const submit = (event: Event): void => {
      event.preventDefault();
      answer = field.value.trim() || null;
      dialog.close();
    };
    const form = h("form", { class: "ask", onsubmit: submit },
      h("h2", { class: "sheet-title" }, name),
      field,
      h("div", { class: "ask-foot" },
        h("button", { type: "button", class: "p-button p-ghost", onclick: () => dialog.close() }, "Cancel"),
        h("button", { type: "submit", class: "p-button p-primary" }, action),
      ),
    );
    const dialog = openDialog(name, "small", () => resolve(answer), form);
    field.select();
  });
}
