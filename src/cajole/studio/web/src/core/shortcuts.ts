/** Keyboard shortcuts: keydown events of the window run commands of the table. */

import { findCommandByKey } from "./commands";
import { readKey } from "./keys";
import type { App } from "./types";

const TEXT_FIELDS = "input, textarea, select, [contenteditable=''], [contenteditable='true']";
/** Controls that handle CONTROL_KEYS themselves while they have the focus. */
const CONTROLS = ["slider", "spinbutton", "listbox", "option", "menu", "menuitem", "radio", "tab"]
  .map((role) => `[role=${role}]`)
  .join(", ");
const CONTROL_KEYS = new Set([
  "ArrowLeft",
  "ArrowRight",
  "ArrowUp",
  "ArrowDown",
  "Home",
  "Enter",
  " ",
  "Delete",
  "Backspace",
]);

/** True if the focused element handles the key itself. */
function isHandledByFocus(target: EventTarget | null, key: string): boolean {
  if (!(target instanceof Element)) return false;
  if (target.closest(TEXT_FIELDS))
    return key !== "Escape" && !key.startsWith("Ctrl+") ? true : /^Ctrl\+(z|y|Shift\+z)$/.test(key);
  if (!CONTROL_KEYS.has(key)) return false;
  if (target.closest(CONTROLS)) return true;
  // a button focused by keyboard takes Enter and Space; one focused by a click leaves Space to playback
  return (
    target.matches("button:focus-visible, a:focus-visible, summary:focus-visible") && (key === "Enter" || key === " ")
  );
}

/** Run commands on their shortcuts, unless a component has prevented the default of the event. */
export function bindShortcuts(app: App): void {
  window.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.isComposing || document.querySelector("dialog:modal")) return;
    const key = readKey(event);
    if (isHandledByFocus(event.target, key)) return;
    const found = findCommandByKey(app, key);
    if (!found || (!found.onStartPage && !app.state)) return;
    event.preventDefault();
    app.runCommand(found.id);
  });
}
