/** Toolbars: the tool column at the left, the view options at the right. */

import { findCommand, getShortcut, formatModeName } from "../core/commands";
import { brush, onBrush } from "../core/brush";
import { setAttribute, h } from "../core/dom";
import { createIcon, type IconName } from "../core/icons";
import type { App, ModeName, Component, UiState } from "../core/types";

type ToolEntry = { command: string; icon: IconName; isPressed?(app: App): boolean } | null; // null: a separator

const createToolEntry = (name: UiState["tool"], icon: IconName): ToolEntry => ({
  command: `tool.${name}`,
  icon,
  isPressed: (app) => app.ui.tool === name,
});

// for modes that drag vertices
const POINT_TOOLS: ToolEntry[] = [
  createToolEntry("select", "select"),
  createToolEntry("move", "move"),
  createToolEntry("marquee", "marquee"),
  null,
  createToolEntry("pin", "pin"),
  createToolEntry("measure", "measure"),
];

const TOOL_COLUMNS: Record<ModeName, ToolEntry[]> = {
  edit: POINT_TOOLS,
  keyframe: [
    createToolEntry("select", "select"),
    createToolEntry("pull", "pull"),
    createToolEntry("pin", "pin"),
    { command: "gravity", icon: "gravity", isPressed: (app) => app.state?.keyframe?.gravity ?? false },
    null,
    { command: "key.capture", icon: "camera" },
  ],
  steer: [createToolEntry("select", "select"), createToolEntry("push", "push"), null, createToolEntry("impulse", "impulse")],
  enrich: [
    createToolEntry("select", "select"),
    createToolEntry("brush", "brush"),
    { command: "brush.erase", icon: "erase", isPressed: (app) => app.ui.tool === "brush" && brush.mode === "erase" },
    null,
    { command: "regions.shown", icon: "eye", isPressed: () => brush.shown },
  ],
  reroute: POINT_TOOLS,
};

function createToolButton(app: App, entry: NonNullable<ToolEntry>): HTMLButtonElement {
  const title = findCommand(entry.command)?.title ?? entry.command;
  return h(
    "button",
    {
      type: "button",
      class: "view-button",
      "aria-label": title,
      "data-tip": title,
      "data-key": getShortcut(entry.command),
      "data-command": entry.command,
      onclick: () => app.runCommand(entry.command),
    },
    createIcon(entry.icon),
  );
}

/** Fill a toolbar with buttons; returns the function that updates their pressed state. */
function fillToolbar(app: App, entries: ToolEntry[], element: HTMLElement): () => void {
  const buttons = entries.map((entry) => (entry === null ? null : createToolButton(app, entry)));
  element.replaceChildren(...buttons.map((button) => button ?? h("hr")));
  return () =>
    entries.forEach((entry, i) => {
      if (entry?.isPressed) setAttribute(buttons[i]!, "aria-pressed", String(entry.isPressed(app)));
    });
}

export function createToolColumn(app: App): Component {
  const element = h("div", {
    class: "view-tools",
    role: "toolbar",
    "aria-orientation": "vertical",
    "aria-label": "Tools",
  });
  let mode: ModeName | null = null;
  let refresh = (): void => undefined;
  const update = (): void => {
    const now = app.state?.mode ?? null;
    if (now !== null && now !== mode) {
      mode = now;
      refresh = fillToolbar(app, TOOL_COLUMNS[now], element);
      element.setAttribute("aria-label", `Tools of ${formatModeName(now)}`);
    }
    element.hidden = now === null;
    refresh();
  };
  const unsubscribe = [app.onState.on(update), app.onUi.on((change) => "tool" in change && update()), onBrush(update)];
  update();
  return { element, dispose: () => unsubscribe.forEach((end) => end()) };
}

/** isLinked: both views share one camera; toggle: switches that. */
export function createViewOptions(app: App, isLinked: () => boolean, toggle: () => void): Component {
  const element = h("div", { class: "view-options", role: "toolbar", "aria-label": "View" });
  const count = (views: 1 | 2, face: IconName, title: string): HTMLButtonElement =>
    h(
      "button",
      {
        type: "button",
        class: "view-button view-count",
        "aria-label": title,
        "data-tip": title,
        "data-key": getShortcut("view.views"),
        onclick: () => app.setUi({ views }),
      },
      createIcon(face),
    );
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
  const end = app.onUi.on((change) => shown.some((name) => name in change) && update());
  update();
  return { element, dispose: end };
}
