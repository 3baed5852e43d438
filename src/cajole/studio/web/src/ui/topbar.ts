/** Top bar: project menu, mode tabs, undo and redo, help, export. */

import { setAttribute, h, setText } from "../core/dom";
import { createIcon } from "../core/icons";
import { getModeDisabledReason } from "../core/command-table";
import { getShortcut } from "../core/commands";
import { formatNumber } from "../core/format";
import { formatSaveStatus } from "../core/save-status";
import { promptText } from "./dialog";
import { installExport } from "./export-menu";
import { openMenu } from "./menu";
import { createIconButton } from "./controls/button";
import { createCommandButton } from "./controls/command-button";
import { setDisabledReason, setTooltip } from "./controls/common";
import type { StudioApp } from "../core/app";
import { getMode, getModes } from "../core/modes";
import type { Component, ProjectState } from "../core/types";

export function createTopBar(app: StudioApp): Component {
  const save = h("button", {
    type: "button", class: "p-button p-primary export", "aria-haspopup": "menu", "data-tip": "Export",
    "data-key": getShortcut("export"), onclick: () => app.runCommand("export"),
  }, createIcon("export"), h("span", null, "Export"));
  installExport(app, save);
  const keyboard = createCommandButton(app, "help", "Keyboard and mouse", "keyboard", 32);
  keyboard.element.classList.add("top-keyboard");
  const right = h("div", { class: "top-right" },
    ...createHistoryButtons(app),
    h("span", { class: "top-line" }),
    keyboard.element,
    createHelpButton(app),
    save,
  );
  return {
    element: h("header", { class: "topbar" },
      h("div", { class: "top-left" }, createHomeButton(app), createProjectChip(app)),
      createModeTabs(app),
      right,
    ),
  };
}

function createHomeButton(app: StudioApp): HTMLElement {
  return h("button", {
    type: "button", class: "home", "aria-label": "Back to the start page", "data-tip": "Back to the start page",
    onclick: () => app.runCommand("close"),
  }, h("img", { src: "/static/icon.svg", width: 24, height: 24, alt: "" }));
}

function createProjectChip(app: StudioApp): HTMLElement {
  const name = h("b");
  const frames = h("span", { class: "chip-frames" });
  const dot = h("i", { class: "unsaved", hidden: true, role: "img" });
  const element = h("button", {
    type: "button", class: "project-chip", "aria-haspopup": "menu", "aria-expanded": "false",
    onclick: () => openMenu(element, entries(), "Project"),
  }, name, dot, frames, createIcon("chevron"));
  const rename = async (): Promise<void> => {
    const next = app.project && (await promptText("Rename the project", app.project.name, "Rename"));
    if (next) void app.request("rename", { name: next });
  };
  const entries = (): Parameters<typeof openMenu>[1] => [
    { text: "Rename…", icon: "rename", onSelect: () => void rename() },
    { text: "Save as a file", icon: "download", key: getShortcut("save") ?? "", onSelect: () => app.runCommand("save") },
    { text: "Open a file…", icon: "folder", key: getShortcut("open") ?? "", onSelect: () => app.runCommand("open") },
    null,
    { text: "Back to the start page", icon: "x", onSelect: () => app.runCommand("close") },
  ];
  app.onProject.on((project) => {
    setText(name, project?.name ?? "");
    document.title = project ? `${project.name} · Cajole Studio` : "Cajole Studio";
  });
  app.onState.on((state) => {
    setText(frames, formatFrameCount(state));
    const label = formatSaveStatus(state);
    dot.hidden = label === null;
    dot.classList.toggle("failed", state.unsaved_reason !== null);
    setAttribute(dot, "aria-label", label ?? "");
    setAttribute(dot, "data-tip", label ?? "");
  });
  return element;
}

function formatFrameCount(state: ProjectState): string {
  const many = `${formatNumber(state.frames)} frames`;
  return getMode(state.mode).live?.isLoop(state) ? `· loop of ${many}` : `· ${many}`;
}

function createModeTabs(app: StudioApp): HTMLElement {
  const modes = getModes();
  const buttons = modes.map(({ name, title, icon }) => {
    const element = h("button", {
      type: "button", role: "tab", class: "tab", "aria-selected": "false", tabIndex: -1, "data-tip": title,
      "data-key": getShortcut(`mode.${name}`),
      onclick: () => choose(name),
    }, createIcon(icon), h("span", null, title));
    return element;
  });
  const choose = (name: string): void => {
    if (getModeDisabledReason(app, name) === null) app.runCommand(`mode.${name}`);
  };
  const show = (): void =>
    modes.forEach(({ name }, at) => {
      const chosen = app.state?.mode === name;
      const element = buttons[at]!;
      setAttribute(element, "aria-selected", chosen);
      element.tabIndex = chosen ? 0 : -1;
      setDisabledReason(element, app.project && !chosen ? getModeDisabledReason(app, name) : null);
    });
  const list = h("div", { class: "tabs", role: "tablist", "aria-label": "Modes" }, buttons);
  list.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const now = buttons.indexOf(document.activeElement as HTMLButtonElement);
    buttons[(now + step + buttons.length) % buttons.length]!.focus();
  });
  app.onProject.on(show);
  app.onState.on(show);
  return h("nav", { class: "top-modes", "aria-label": "Modes" }, list);
}

/** Undo and redo buttons with the name of the step in their tooltips. */
function createHistoryButtons(app: StudioApp): HTMLElement[] {
  const undo = createCommandButton(app, "undo", "Undo", "undo", 32);
  const redo = createCommandButton(app, "redo", "Redo", "redo", 32);
  app.onState.on((state) => {
    setTooltip(undo.element, state.undo ? `Undo ${state.undo}` : "Undo");
    setTooltip(redo.element, state.redo ? `Redo ${state.redo}` : "Redo");
    undo.setDisabledReason(state.undo ? null : "Nothing to undo");
    redo.setDisabledReason(state.redo ? null : "Nothing to redo");
  });
  return [undo.element, redo.element];
}

function createHelpButton(app: StudioApp): HTMLElement {
  const { element } = createIconButton({
    name: "Help",
    icon: "help",
    size: 32,
    onPress: () =>
      openMenu(
        element,
        [
          { text: "Show the first steps", icon: "info", onSelect: () => app.runCommand("tour") },
          { text: "Keyboard and mouse", icon: "keyboard", key: getShortcut("help") ?? "", onSelect: () => app.runCommand("help") },
          { text: "Find a command", icon: "search", key: getShortcut("palette") ?? "", onSelect: () => app.runCommand("palette") },
          null,
          {
            text: app.ui.theme === "dark" ? "Light" : "Dark", icon: app.ui.theme === "dark" ? "sun" : "moon",
            onSelect: () => app.runCommand("theme"),
          },
        ],
        "Help",
      ),
  });
  setAttribute(element, "aria-haspopup", "menu");
  return element;
}
