/** Keys, from the window to the table of commands. */

import { bindings } from "./commands";
import { pressed } from "./keys";
import type { App } from "./types";

const FIELDS = "input, textarea, select, [contenteditable=''], [contenteditable='true']";
/** Controls that use arrows, Home, Enter, Space and Del themselves while they have the focus. */
const CONTROLS = ["slider", "spinbutton", "listbox", "option", "menu", "menuitem", "radio", "tab"]
  .map((role) => `[role=${role}]`)
  .join(", ");
const THEIRS = new Set([
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

/** Whether a key belongs to the element that has the focus and not to the table. */
function taken(target: EventTarget | null, key: string): boolean {
  if (!(target instanceof Element)) return false;
  if (target.closest(FIELDS))
    return key !== "Escape" && !key.startsWith("Ctrl+") ? true : /^Ctrl\+(z|y|Shift\+z)$/.test(key);
  if (!THEIRS.has(key)) return false;
  if (target.closest(CONTROLS)) return true;
  // a button that was reached by keys is pressed by keys; one that was clicked does not keep Space from playing
  return (
    target.matches("button:focus-visible, a:focus-visible, summary:focus-visible") && (key === "Enter" || key === " ")
  );
}

/** Runs commands by their keys. Parts that use a key themselves prevent its default first. */
export function bind(app: App): void {
  window.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.isComposing || document.querySelector("dialog:modal")) return;
    const key = pressed(event);
    if (taken(event.target, key)) return;
    const found = bindings(app, key);
    if (!found || (!found.start && !app.state)) return;
    event.preventDefault();
    app.run(found.name);
  });
}
