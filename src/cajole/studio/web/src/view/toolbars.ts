/** Toolbars: the tool column at the left, the view options at the right. */

import { findCommand, getShortcut } from "../core/commands";
import { setAttribute, h } from "../core/dom";
import { createIcon, type IconName } from "../core/icons";
import { getCurrentMode, getModes, type ModeDefinition, type ToolEntry } from "../core/modes";
import type { App, Component } from "../core/types";

function createToolButton(app: App, entry: NonNullable<ToolEntry>): HTMLButtonElement {
  const title = findCommand(entry.command)?.title ?? entry.command;
  return h("button", {
    type: "button", class: "view-button", "aria-label": title, "data-tip": title,
    "data-key": getShortcut(entry.command), "data-command": entry.command,
    onclick: () => app.runCommand(entry.command),
  }, createIcon(entry.icon));
}

/** Fill a toolbar with buttons; returns the function that updates their pressed state. */
function fillToolbar(app: App, entries: readonly ToolEntry[], element: HTMLElement): () => void {
  const buttons = entries.map((entry) => (entry === null ? null : createToolButton(app, entry)));
  element.replaceChildren(...buttons.map((button) => button ?? h("hr")));
  return () =>
    entries.forEach((entry, i) => {
      if (entry?.isPressed) setAttribute(buttons[i]!, "aria-pressed", String(entry.isPressed(app)));
    });
}

export function createToolColumn(app: App): Component {
  const element = h("div", {
    class: "view-tools", role: "toolbar", "aria-orientation": "vertical", "aria-label": "Tools",
  });
  let mode: ModeDefinition | null = null;
  let refresh = (): void => undefined;
  const update = (): void => {
    const now = getCurrentMode(app);
    if (now !== null && now !== mode) {
      mode = now;
      refresh = fillToolbar(app, now.tools, element);
      element.setAttribute("aria-label", `Tools of ${now.title}`);
    }
    element.hidden = now === null;
    refresh();
  };
  app.onState.on(update);
  app.onUi.on((change) => "tool" in change && update());
  for (const each of getModes()) each.onSettings?.(update);
  update();
  return { element };
}

/** isLinked: both views share one camera; toggle: switches that. */
export function createViewOptions(app: App, isLinked: () => boolean, toggle: () => void): Component {
  const element = h("div", { class: "view-options", role: "toolbar", "aria-label": "View" });
  const count = (views: 1 | 2, face: IconName, title: string): HTMLButtonElement =>
    h("button", {
      type: "button", class: "view-button view-count", "aria-label": title, "data-tip": title,
      "data-key": getShortcut("view.views"),
      onclick: () => app.setUi({ views }),
    }, createIcon(face));
  const [one, two] = [count(1, "one", "One view"), count(2, "two", "Two views")];
  const rest = h("div", { class: "view-group" });
  const refresh = fillToolbar(
    app,
    [
      { command: "view.ghost", icon: "ghost", isPressed: () => app.ui.ghost },
      { command: "view.trails", icon: "trail", isPressed: () => app.ui.trails },
      { command: "view.wireframe", icon: "wire", isPressed: () => app.ui.wireframe },
      { command: "view.all", icon: "frame" },
    ],
    rest,
  );
  const link = h("button", {
    type: "button",
    class: "view-button",
    onclick: () => {
      toggle();
      update();
    },
  });
  element.append(one, two, h("hr"), rest, link);
  const update = (): void => {
    const title = isLinked() ? "Both views share one camera" : "Each view has its own camera";
    one.setAttribute("aria-pressed", String(app.ui.views === 1));
    two.setAttribute("aria-pressed", String(app.ui.views === 2));
    link.hidden = app.ui.views === 1;
    link.replaceChildren(createIcon(isLinked() ? "link" : "unlink"));
    for (const [name, value] of Object.entries({ "aria-label": title, "data-tip": title }))
      link.setAttribute(name, value);
    refresh();
  };
  // the playhead changes sixty times per second: ignore it
  const shown = ["views", "ghost", "trails", "wireframe"] as const;
  app.onUi.on((change) => shown.some((name) => name in change) && update());
  update();
  return { element };
}
