/** The sheet of keys and gestures, made from the table of commands. */

import { setChildren, h } from "../core/dom";
import { createIcon } from "../core/icons";
import { COMMANDS, GESTURE_HELP, COMMAND_GROUPS, registerHandler, type CommandGroup } from "../core/commands";
import { formatKey } from "../core/keys";
import { segment } from "./parts/choice";
import { openSheet } from "./dialog";
import type { StudioApp } from "../core/app";
import type { ModeName } from "../core/types";

export interface Line {
  title: string;
  group: CommandGroup;
  keys: string[];
}
type Filter = ModeName | "all";
const COLUMNS: readonly (readonly CommandGroup[])[] = [
  ["Look", "Play"],
  ["Direct", "Markers"],
  ["Modes", "Project"],
];

/** Lines of the sheet for a mode: commands of one row together, gestures with the rest of their group. */
export function lines(filter: Filter, words: string): Line[] {
  const fits = (modes?: readonly ModeName[]): boolean => filter === "all" || !modes || modes.includes(filter);
  const made = new Map<string, Line>();
  for (const each of GESTURE_HELP) {
    if (fits(each.modes))
      made.set(`${each.group} ${each.title}`, { title: each.title, group: each.group, keys: [...each.keys] });
  }
  for (const each of COMMANDS) {
    if (!each.keys || each.hidden || !fits(each.modes)) continue;
    const title = each.helpRow ?? each.title;
    const line = made.get(`${each.group} ${title}`) ?? { title, group: each.group, keys: [] };
    const key = formatKey(each.keys[0]!);
    if (!line.keys.includes(key)) line.keys.push(key);
    made.set(`${each.group} ${title}`, line);
  }
  const find = words.trim().toLowerCase();
  return [...made.values()].filter((line) => `${line.title} ${line.keys.join(" ")}`.toLowerCase().includes(find));
}

export function help(app: StudioApp): void {
  let open = false;
  registerHandler("help", () => {
    if (open) return;
    open = true;
    show(app, () => (open = false));
  });
}

function show(app: StudioApp, onClose: () => void): void {
  let filter: Filter = app.state?.mode ?? "all";
  const search = h("input", {
    type: "search",
    placeholder: "Find a command",
    "aria-label": "Find a command",
    spellcheck: "false",
    oninput: () => draw(),
  });
  const body = h("div", { class: "help-body" });
  const draw = (): void => {
    const found = lines(filter, search.value);
    setChildren(
      body,
      found.length > 0
        ? COLUMNS.map((groups) => column(groups, found))
        : h("p", { class: "help-none" }, "No command is called that."),
    );
  };
  const modes = segment<Filter>({
    name: "Mode",
    value: filter,
    onChange: (next) => ((filter = next), draw()),
    choices: [
      { value: "edit", text: "Edit" },
      { value: "keyframe", text: "Keyframe" },
      { value: "steer", text: "Steer" },
      { value: "enrich", text: "Enrich" },
      { value: "reroute", text: "Reroute" },
      { value: "all", text: "All" },
    ],
  });
  const close = h(
    "button",
    {
      type: "button",
      class: "p-icon p-icon-32",
      "aria-label": "Close",
      "data-tip": "Close",
      "data-key": "Esc",
      onclick: () => sheet.close(),
    },
    createIcon("x"),
  );
  const head = h(
    "header",
    { class: "sheet-head" },
    createIcon("keyboard"),
    h("h2", { class: "sheet-title" }, "Keyboard and mouse"),
    modes.element,
    h("label", { class: "search" }, createIcon("search"), search),
    close,
  );
  draw();
  const sheet = openSheet("Keyboard and mouse", "help", onClose, head, body);
  search.focus();
}

function column(groups: readonly CommandGroup[], found: readonly Line[]): HTMLElement {
  const blocks = COMMAND_GROUPS.filter((group) => groups.includes(group)).map((group) => {
    const mine = found.filter((line) => line.group === group);
    return mine.length > 0 ? h("section", null, h("h3", null, group), h("dl", null, mine.map(row))) : null;
  });
  return h("div", { class: "help-column" }, blocks);
}

function row({ title, keys }: Line): HTMLElement {
  const digits = title === "Edit … Reroute";
  const shownKeys = digits ? [keys[0]!, "–", keys.at(-1)!] : keys;
  return h(
    "div",
    { class: "help-row" },
    h("dt", null, title),
    h(
      "dd",
      null,
      shownKeys.map((key) => (key === "–" ? "–" : h("kbd", null, key))),
    ),
  );
}
