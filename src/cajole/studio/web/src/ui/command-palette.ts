/** Command palette: search and run commands. */

import { setAttribute, setChildren, h } from "../core/dom";
import { createIcon } from "../core/icons";
import { getCommands, getShortcut, registerHandler, getDisabledReason } from "../core/commands";
import type { Command } from "../core/command-table";
import { openDialog } from "./dialog";
import type { StudioApp } from "../core/app";

/** Match score of words in a title, lower is better; null if a word is missing. */
export function scoreMatch(title: string, words: string): number | null {
  const text = title.toLowerCase();
  let sum = 0;
  for (const word of words.toLowerCase().split(/\s+/).filter(Boolean)) {
    const at = text.indexOf(word);
    if (at < 0) return null;
    sum += at === 0 || text[at - 1] === " " ? at : at + 50;
  }
  return sum;
}

/** Commands that match the words, best first. fits: filter by mode. */
export function searchCommands(words: string, fits: (command: Command) => boolean): Command[] {
  const scored = getCommands().filter((each) => !each.hidden && fits(each)).map((each) => ({
    each,
    value: scoreMatch(`${each.title} ${each.group}`, words),
  }));
  return scored
    .filter((pair) => pair.value !== null)
    .sort((a, b) => a.value! - b.value!)
    .map((pair) => pair.each);
}

export function installPalette(app: StudioApp): void {
  let open = false;
  registerHandler("palette", () => {
    if (open) return;
    open = true;
    openPalette(app, () => (open = false));
  });
}

function openPalette(app: StudioApp, onClose: () => void): void {
  let chosen = 0;
  let found: Command[] = [];
  const list = h("div", { class: "palette-list", role: "listbox", id: "palette-list", "aria-label": "Commands" });
  const field = h("input", {
    type: "text", role: "combobox", placeholder: "What would you like to do?", "aria-label": "Find a command",
    "aria-controls": "palette-list", "aria-expanded": "true", spellcheck: "false",
    oninput: () => ((chosen = 0), draw()),
  });
  const fits = (each: Command): boolean =>
    (app.state ? !each.modes || each.modes.includes(app.state.mode) : each.onStartPage === true) && each.id !== "palette";
  const draw = (): void => {
    found = searchCommands(field.value, fits);
    chosen = Math.max(0, Math.min(found.length - 1, chosen));
    setChildren(
      list,
      found.length > 0
        ? found.map((each, at) => createOption(app, each, at === chosen, () => choose(at)))
        : h("p", { class: "help-none" }, "No matching command."),
    );
    setAttribute(field, "aria-activedescendant", found[chosen] ? `command-${found[chosen].id}` : null);
    list.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" });
  };
  const choose = (at: number): void => {
    const command = found[at];
    if (!command || getDisabledReason(app, command) !== null) return;
    dialog.close();
    app.runCommand(command.id);
  };
  field.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) chosen = (chosen + step + found.length) % Math.max(1, found.length);
    else if (event.key === "Enter") choose(chosen);
    else return;
    event.preventDefault();
    draw();
  });
  draw();
  const dialog = openDialog(
    "Find a command",
    "palette",
    onClose,
    h("label", { class: "search large" }, createIcon("search"), field),
    list,
  );
  field.focus();
}

function createOption(app: StudioApp, each: Command, selected: boolean, choose: () => void): HTMLElement {
  const why = getDisabledReason(app, each);
  const key = getShortcut(each.id);
  return h(
    "div",
    {
      class: "palette-row", role: "option", id: `command-${each.id}`, "aria-selected": selected,
      "aria-disabled": why === null ? null : "true", onclick: choose,
    },
    each.icon ? createIcon(each.icon) : h("span", { class: "menu-blank" }),
    h("span", { class: "menu-text" }, each.title),
    h("span", { class: "menu-detail" }, why ?? each.group),
    key ? h("kbd", null, key) : null,
  );
}
