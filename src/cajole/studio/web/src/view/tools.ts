/** The column of tools at the left, and the view's options at the right. */

import { findCommand, getShortcut, formatModeName } from "../core/commands";
import { brush, onBrush } from "../core/brush";
import { setAttribute, h } from "../core/dom";
import { createIcon, type IconName } from "../core/icons";
import type { App, ModeName, Component, UiState } from "../core/types";

type Entry = { command: string; icon: IconName; on?(app: App): boolean } | null; // null: a rule between groups

const tool = (name: UiState["tool"], icon: IconName): Entry => ({
  command: `tool.${name}`,
  icon,
  on: (app) => app.ui.tool === name,
});

// for verbs that move points of a motion
const POINTS: Entry[] = [
  tool("select", "select"),
  tool("move", "move"),
  tool("marquee", "marquee"),
  null,
  tool("pin", "pin"),
  tool("measure", "measure"),
];

const COLUMNS: Record<ModeName, Entry[]> = {
  edit: POINTS,
  keyframe: [
    tool("select", "select"),
    tool("pull", "pull"),
    tool("pin", "pin"),
    { command: "gravity", icon: "gravity", on: (app) => app.state?.keyframe?.gravity ?? false },
    null,
    { command: "key.capture", icon: "camera" },
  ],
  steer: [tool("select", "select"), tool("push", "push"), null, tool("impulse", "impulse")],
  enrich: [
    tool("select", "select"),
    tool("brush", "brush"),
    { command: "brush.erase", icon: "erase", on: (app) => app.ui.tool === "brush" && brush.mode === "erase" },
    null,
    { command: "regions.shown", icon: "eye", on: () => brush.shown },
  ],
  reroute: POINTS,
};

function press(app: App, entry: NonNullable<Entry>): HTMLButtonElement {
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

/** Buttons of some entries, with the pressed ones kept up to date by `refresh`. */
function bar(app: App, entries: Entry[], element: HTMLElement): () => void {
  const buttons = entries.map((entry) => (entry === null ? null : press(app, entry)));
  element.replaceChildren(...buttons.map((button) => button ?? h("hr")));
  return () =>
    entries.forEach((entry, i) => {
      if (entry?.on) setAttribute(buttons[i]!, "aria-pressed", String(entry.on(app)));
    });
}

export function toolColumn(app: App): Component {
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
      refresh = bar(app, COLUMNS[now], element);
      element.setAttribute("aria-label", `Tools of ${formatModeName(now)}`);
    }
    element.hidden = now === null;
    refresh();
  };
  const ends = [app.onState.on(update), app.onUi.on((change) => "tool" in change && update()), onBrush(update)];
  update();
  return { element, dispose: () => ends.forEach((end) => end()) };
}

/** linked: whether both views share one camera; toggle: breaks or mends that. */
export function viewOptions(app: App, linked: () => boolean, toggle: () => void): Component {
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
  const refresh = bar(
    app,
    [
      { command: "view.ghost", icon: "ghost", on: () => app.ui.ghost },
      { command: "view.trails", icon: "trail", on: () => app.ui.trails },
      { command: "view.wireframe", icon: "wire", on: () => app.ui.wireframe },
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
    const title = linked() ? "Both views share one camera" : "Each view has its own camera";
    one.setAttribute("aria-pressed", String(app.ui.views === 1));
    two.setAttribute("aria-pressed", String(app.ui.views === 2));
    link.hidden = app.ui.views === 1;
    link.replaceChildren(createIcon(linked() ? "link" : "unlink"));
    for (const [name, value] of Object.entries({ "aria-label": title, "data-tip": title }))
      link.setAttribute(name, value);
    refresh();
  };
  // the playhead is among what changes, sixty times a second
  const shown = ["views", "ghost", "trails", "wireframe"] as const;
  const end = app.onUi.on((change) => shown.some((name) => name in change) && update());
  update();
  return { element, dispose: end };
}
