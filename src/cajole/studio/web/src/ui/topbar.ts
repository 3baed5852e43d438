/** The bar at the top: what is open, the modes, undo, help, export. */

import { setAttribute, h, setText } from "../core/dom";
import { createIcon } from "../core/icons";
import { getShortcut, getModeDisabledReason, formatModeName } from "../core/commands";
import { formatNumber } from "../core/format";
import { formatSaveStatus } from "../core/save-status";
import { askText } from "./dialog";
import { exporting } from "./exporting";
import { openMenu } from "./menu";
import { iconButton } from "./parts/button";
import { refuse, tip } from "./parts/common";
import type { StudioApp } from "../core/app";
import type { ModeName, Component, ProjectState } from "../core/types";

const MODES: readonly ModeName[] = ["edit", "keyframe", "steer", "enrich", "reroute"];

export function topbar(app: StudioApp): Component {
  const save = h(
    "button",
    { type: "button", class: "p-button p-primary export", onclick: () => app.runCommand("export") },
    createIcon("export"),
    h("span", null, "Export"),
  );
  setAttribute(save, "aria-haspopup", "menu");
  setAttribute(save, "data-tip", "Export");
  setAttribute(save, "data-key", getShortcut("export"));
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
      key: getShortcut("help") ?? "",
      onPress: () => app.runCommand("help"),
    }).element,
    helpButton(app),
    save,
  );
  right.children[3]!.classList.add("top-keyboard");
  return {
    element: h("header", { class: "topbar" }, h("div", { class: "top-left" }, home(app), chip(app)), tabs(app), right),
  };
}

function home(app: StudioApp): HTMLElement {
  return h(
    "button",
    {
      type: "button",
      class: "home",
      "aria-label": "Back to the start page",
      "data-tip": "Back to the start page",
      onclick: () => app.runCommand("close"),
    },
    h("img", { src: "/static/icon.svg", width: 24, height: 24, alt: "" }),
  );
}

function chip(app: StudioApp): HTMLElement {
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
    createIcon("chevron"),
  );
  const rename = async (): Promise<void> => {
    const next = app.project && (await askText("Rename the project", app.project.name, "Rename"));
    if (next) void app.request("rename", { name: next });
  };
  const entries = (): Parameters<typeof openMenu>[1] => [
    { text: "Rename…", icon: "rename", do: () => void rename() },
    { text: "Save as a file", icon: "download", key: getShortcut("save") ?? "", do: () => app.runCommand("save") },
    { text: "Open a file…", icon: "folder", key: getShortcut("open") ?? "", do: () => app.runCommand("open") },
    null,
    { text: "Back to the start page", icon: "x", do: () => app.runCommand("close") },
  ];
  app.onProject.on((project) => {
    setText(name, project?.name ?? "");
    document.title = project ? `${project.name} · Cajole Studio` : "Cajole Studio";
  });
  app.onState.on((state) => {
    setText(frames, length(state));
    const label = formatSaveStatus(state);
    dot.hidden = label === null;
    dot.classList.toggle("failed", state.unsaved_reason !== null);
    setAttribute(dot, "aria-label", label ?? "");
    setAttribute(dot, "data-tip", label ?? "");
  });
  return element;
}

function length(state: ProjectState): string {
  const many = `${formatNumber(state.frames)} frames`;
  return state.steer?.loop ? `· loop of ${many}` : `· ${many}`;
}

function tabs(app: StudioApp): HTMLElement {
  const buttons = MODES.map((mode) => {
    const element = h(
      "button",
      {
        type: "button",
        role: "tab",
        class: "tab",
        "aria-selected": "false",
        tabIndex: -1,
        "data-tip": formatModeName(mode),
        "data-key": getShortcut(`mode.${mode}`),
        onclick: () => choose(mode),
      },
      createIcon(mode),
      h("span", null, formatModeName(mode)),
    );
    return element;
  });
  const choose = (mode: ModeName): void => {
    if (getModeDisabledReason(app, mode) === null) app.runCommand(`mode.${mode}`);
  };
  const show = (): void =>
    MODES.forEach((mode, at) => {
      const chosen = app.state?.mode === mode;
      const element = buttons[at]!;
      setAttribute(element, "aria-selected", chosen);
      element.tabIndex = chosen ? 0 : -1;
      refuse(element, app.project && !chosen ? getModeDisabledReason(app, mode) : null);
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
function history(app: StudioApp): HTMLElement[] {
  const undo = iconButton({
    name: "Undo",
    icon: "undo",
    size: 32,
    key: getShortcut("undo") ?? "",
    onPress: () => app.runCommand("undo"),
  });
  const redo = iconButton({
    name: "Redo",
    icon: "redo",
    size: 32,
    key: getShortcut("redo") ?? "",
    onPress: () => app.runCommand("redo"),
  });
  app.onState.on((state) => {
    tip(undo.element, state.undo ? `Undo ${state.undo}` : "Undo");
    tip(redo.element, state.redo ? `Redo ${state.redo}` : "Redo");
    undo.refuse(state.undo ? null : "Nothing to undo");
    redo.refuse(state.redo ? null : "Nothing to redo");
  });
  return [undo.element, redo.element];
}

function helpButton(app: StudioApp): HTMLElement {
  const { element } = iconButton({
    name: "Help",
    icon: "help",
    size: 32,
    onPress: () =>
      openMenu(
        element,
        [
          { text: "Show the first steps", icon: "info", do: () => app.runCommand("tour") },
          { text: "Keyboard and mouse", icon: "keyboard", key: getShortcut("help") ?? "", do: () => app.runCommand("help") },
          { text: "Find a command", icon: "search", key: getShortcut("palette") ?? "", do: () => app.runCommand("palette") },
          null,
          {
            text: app.ui.theme === "dark" ? "Light" : "Dark",
            icon: app.ui.theme === "dark" ? "sun" : "moon",
            do: () => app.runCommand("theme"),
          },
        ],
        "Help",
      ),
  });
  setAttribute(element, "aria-haspopup", "menu");
  return element;
}
