/** The bar at the top: what is open, the modes, undo, help, export. */

import { attribute, h, write } from "../core/dom";
import { icon } from "../core/icons";
import { keyOf, possible, titled } from "../core/commands";
import { number } from "../core/format";
import { savingLabel } from "../core/saving";
import { askText } from "./dialog";
import { exporting } from "./exporting";
import { openMenu } from "./menu";
import { iconButton } from "./parts/button";
import { refuse, tip } from "./parts/common";
import type { Studio } from "../core/app";
import type { ModeName, Part, State } from "../core/types";

const MODES: readonly ModeName[] = ["edit", "keyframe", "steer", "enrich", "reroute"];

export function topbar(app: Studio): Part {
  const save = h(
    "button",
    { type: "button", class: "p-button p-primary export", onclick: () => app.run("export") },
    icon("export"),
    h("span", null, "Export"),
  );
  attribute(save, "aria-haspopup", "menu");
  attribute(save, "data-tip", "Export");
  attribute(save, "data-key", keyOf("export"));
  exporting(app, save);
  const right = h(
    "div",
    { class: "top-right" },
    ...history(app),
    h("span", { class: "top-line" }),
    iconButton({
      name: "Keyboard and mouse",
      icon: "keyboard",
      size: 32,
      key: keyOf("help") ?? "",
      onPress: () => app.run("help"),
    }).element,
    helpButton(app),
    save,
  );
  right.children[3]!.classList.add("top-keyboard");
  return {
    element: h("header", { class: "topbar" }, h("div", { class: "top-left" }, home(app), chip(app)), tabs(app), right),
  };
}

function home(app: Studio): HTMLElement {
  return h(
    "button",
    {
      type: "button",
      class: "home",
      "aria-label": "Back to the start page",
      "data-tip": "Back to the start page",
      onclick: () => app.run("close"),
    },
    h("img", { src: "/static/icon.svg", width: 24, height: 24, alt: "" }),
  );
}

function chip(app: Studio): HTMLElement {
  const name = h("b");
  const frames = h("span", { class: "chip-frames" });
  const dot = h("i", {
    class: "unsaved",
    hidden: true,
    role: "img",
  });
  const element = h(
    "button",
    {
      type: "button",
      class: "project-chip",
      "aria-haspopup": "menu",
      "aria-expanded": "false",
      onclick: () => openMenu(element, entries(), "Project"),
    },
    name,
    dot,
    frames,
    icon("chevron"),
  );
  const rename = async (): Promise<void> => {
    const next = app.project && (await askText("Rename the project", app.project.name, "Rename"));
    if (next) void app.ask("rename", { name: next });
  };
  const entries = (): Parameters<typeof openMenu>[1] => [
    { text: "Rename…", icon: "rename", do: () => void rename() },
    { text: "Save as a file", icon: "download", key: keyOf("save") ?? "", do: () => app.run("save") },
    { text: "Open a file…", icon: "folder", key: keyOf("open") ?? "", do: () => app.run("open") },
    null,
    { text: "Back to the start page", icon: "x", do: () => app.run("close") },
  ];
  app.onProject.on((project) => {
    write(name, project?.name ?? "");
    document.title = project ? `${project.name} · Cajole Studio` : "Cajole Studio";
  });
  app.onState.on((state) => {
    write(frames, length(state));
    const label = savingLabel(state);
    dot.hidden = label === null;
    dot.classList.toggle("failed", state.unsaved_reason !== null);
    attribute(dot, "aria-label", label ?? "");
    attribute(dot, "data-tip", label ?? "");
  });
  return element;
}

function length(state: State): string {
  const many = `${number(state.frames)} frames`;
  return state.steer?.loop ? `· loop of ${many}` : `· ${many}`;
}

function tabs(app: Studio): HTMLElement {
  const buttons = MODES.map((mode) => {
    const element = h(
      "button",
      {
        type: "button",
        role: "tab",
        class: "tab",
        "aria-selected": "false",
        tabIndex: -1,
        "data-tip": titled(mode),
        "data-key": keyOf(`mode.${mode}`),
        onclick: () => choose(mode),
      },
      icon(mode),
      h("span", null, titled(mode)),
    );
    return element;
  });
  const choose = (mode: ModeName): void => {
    if (possible(app, mode) === null) app.run(`mode.${mode}`);
  };
  const show = (): void =>
    MODES.forEach((mode, at) => {
      const chosen = app.state?.mode === mode;
      const element = buttons[at]!;
      attribute(element, "aria-selected", chosen);
      element.tabIndex = chosen ? 0 : -1;
      refuse(element, app.project && !chosen ? possible(app, mode) : null);
    });
  const list = h("div", { class: "tabs", role: "tablist", "aria-label": "Modes" }, buttons);
  list.addEventListener("keydown", (event) => {
    const way = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!way) return;
    event.preventDefault();
    const now = buttons.indexOf(document.activeElement as HTMLButtonElement);
    buttons[(now + way + buttons.length) % buttons.length]!.focus();
  });
  app.onProject.on(show);
  app.onState.on(show);
  return h("nav", { class: "top-modes", "aria-label": "Modes" }, list);
}

/** Undo and redo, named after what they would take back. */
function history(app: Studio): HTMLElement[] {
  const undo = iconButton({
    name: "Undo",
    icon: "undo",
    size: 32,
    key: keyOf("undo") ?? "",
    onPress: () => app.run("undo"),
  });
  const redo = iconButton({
    name: "Redo",
    icon: "redo",
    size: 32,
    key: keyOf("redo") ?? "",
    onPress: () => app.run("redo"),
  });
  app.onState.on((state) => {
    tip(undo.element, state.undo ? `Undo ${state.undo}` : "Undo");
    tip(redo.element, state.redo ? `Redo ${state.redo}` : "Redo");
    undo.refuse(state.undo ? null : "Nothing to undo");
    redo.refuse(state.redo ? null : "Nothing to redo");
  });
  return [undo.element, redo.element];
}

function helpButton(app: Studio): HTMLElement {
  const { element } = iconButton({
    name: "Help",
    icon: "help",
    size: 32,
    onPress: () =>
      openMenu(
        element,
        [
          { text: "Show the first steps", icon: "info", do: () => app.run("tour") },
          { text: "Keyboard and mouse", icon: "keyboard", key: keyOf("help") ?? "", do: () => app.run("help") },
          { text: "Find a command", icon: "search", key: keyOf("palette") ?? "", do: () => app.run("palette") },
          null,
          {
            text: app.ui.theme === "dark" ? "Light" : "Dark",
            icon: app.ui.theme === "dark" ? "sun" : "moon",
            do: () => app.run("theme"),
          },
        ],
        "Help",
      ),
  });
  attribute(element, "aria-haspopup", "menu");
  return element;
}
