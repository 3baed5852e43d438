/** Help dialog: keys and gestures of the command table. */

import { setChildren, h } from "../core/dom";
import { createIcon } from "../core/icons";
import { COMMAND_GROUPS, type CommandGroup, createGestureHelp, MODE_HELP_ROW } from "../core/command-table";
import { getCommands, registerHandler } from "../core/commands";
import { formatKey } from "../core/keys";
import { getModes, type ModeName } from "../core/modes";
import { createSegmentedControl } from "./controls/choice";
import { openDialog } from "./dialog";
import type { StudioApp } from "../core/app";

interface HelpLine { title: string; group: CommandGroup; keys: string[] }
const COLUMNS: readonly (readonly CommandGroup[])[] = [
  ["Look", "Play"],
  ["Direct", "Markers"],
  ["Modes", "Project"],
];

/** Lines of the dialog for a mode or "all"; commands of one helpRow share a line. */
export function getHelpLines(filter: ModeName, words: string): HelpLine[] {
  const fits = (modes?: readonly ModeName[]): boolean => filter === "all" || !modes || modes.includes(filter);
  const found = new Map<string, HelpLine>();
  for (const each of createGestureHelp()) {
    if (fits(each.modes))
      found.set(`${each.group} ${each.title}`, { title: each.title, group: each.group, keys: [...each.keys] });
  }
  for (const each of getCommands()) {
    if (!each.keys || each.hidden || !fits(each.modes)) continue;
    const title = each.helpRow ?? each.title;
    const line = found.get(`${each.group} ${title}`) ?? { title, group: each.group, keys: [] };
    const key = formatKey(each.keys[0]!);
    if (!line.keys.includes(key)) line.keys.push(key);
    found.set(`${each.group} ${title}`, line);
  }
  const find = words.trim().toLowerCase();
  return [...found.values()].filter((line) => `${line.title} ${line.keys.join(" ")}`.toLowerCase().includes(find));
}

export function installHelp(app: StudioApp): void {
  let open = false;
  registerHandler("help", () => {
    if (open) return;
    open = true;
    openHelp(app, () => (open = false));
  });
}

function openHelp(app: StudioApp, onClose: () => void): void {
  let filter: ModeName = app.state?.mode ?? "all";
  const search = h("input", {
    type: "search", placeholder: "Find a command", "aria-label": "Find a command", spellcheck: "false",
    oninput: () => draw(),
  });
  const body = h("div", { class: "help-body" });
  const draw = (): void => {
    const found = getHelpLines(filter, search.value);
    setChildren(
      body,
      found.length > 0
        ? COLUMNS.map((groups) => createColumn(groups, found))
        : h("p", { class: "help-none" }, "No matching command."),
    );
  };
  const modes = createSegmentedControl<ModeName>({
    name: "Mode", value: filter,
    onChange: (next) => ((filter = next), draw()),
    choices: [...getModes().map(({ name, title }) => ({ value: name, text: title })), { value: "all", text: "All" }],
  });
  const close = h("button", {
    type: "button", class: "p-icon p-icon-32", "aria-label": "Close", "data-tip": "Close", "data-key": "Esc",
    onclick: () => dialog.close(),
  }, createIcon("x"));
  const head = h("header", { class: "sheet-head" },
    createIcon("keyboard"),
    h("h2", { class: "sheet-title" }, "Keyboard and mouse"),
    modes.element,
    h("label", { class: "search" }, createIcon("search"), search),
    close,
  );
  draw();
  const dialog = openDialog("Keyboard and mouse", "help", onClose, head, body);
  search.focus();
}

function createColumn(groups: readonly CommandGroup[], found: readonly HelpLine[]): HTMLElement {
  const blocks = COMMAND_GROUPS.filter((group) => groups.includes(group)).map((group) => {
    const inGroup = found.filter((line) => line.group === group);
    return inGroup.length > 0 ? h("section", null, h("h3", null, group), h("dl", null, inGroup.map(createRow))) : null;
  });
  return h("div", { class: "help-column" }, blocks);
}

function createRow({ title, keys }: HelpLine): HTMLElement {
  const shownKeys = title === MODE_HELP_ROW ? [keys[0]!, "–", keys.at(-1)!] : keys;
  return h("div", { class: "help-row" },
    h("dt", null, title),
    h("dd", null, shownKeys.map((key) => (key === "–" ? "–" : h("kbd", null, key)))),
  );
}
