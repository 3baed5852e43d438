/** Layout of the page while a project is open, with a resizable panel. */

import "../style/shell.css";
import "../style/overlays.css";
import { h } from "../core/dom";
import { saveSetting, loadSetting } from "../core/storage";
import { createBanner } from "./banner";
import { createOnboarding } from "./onboarding";
import { createStatusBar } from "./status-bar";
import { createTopBar } from "./topbar";
import type { StudioApp } from "../core/app";
import type { Component } from "../core/types";

interface ShellParts {
  view: Component;
  timeline: Component;
  plots: Component;
  panel: Component;
  corner: Component;
}
const MIN_PANEL_WIDTH = 240;
const MAX_PANEL_WIDTH = 460;

export function createShell(app: StudioApp, parts: ShellParts): Component {
  const views = h("main", { class: "shell-views", "aria-label": "Views" },
    parts.view.element,
    createBanner(app).element,
    createOnboarding(app).element,
  );
  const panel = h("aside", { class: "shell-panel", "aria-label": "Properties" }, createSplitter(), parts.panel.element);
  const element = h("div", { class: "shell" },
    createTopBar(app).element,
    views,
    panel,
    h("div", { class: "shell-plots" }, parts.plots.element),
    h("div", { class: "shell-timeline" }, parts.timeline.element),
    createStatusBar(app).element,
    h("p", { class: "too-small", role: "note" }, "This window is smaller than 1024 × 640 pixels; some controls do not fit."),
  );
  const update = (): void => {
    element.hidden = app.ui.page !== "project";
    (element.hidden ? document.body : views).append(parts.corner.element);
    element.dataset["panel"] = app.ui.panel ? "open" : "closed";
    element.dataset["plots"] = app.ui.plots ? "open" : "closed";
  };
  app.onUi.on((change) => ("page" in change || "panel" in change || "plots" in change) && update());
  app.onState.on((state) => (element.dataset["mode"] = state.mode));
  setPanelWidth(loadSetting<number | null>("panel.width", null));
  update();
  return { element };
}

function setPanelWidth(width: number | null): void {
  const root = document.documentElement.style;
  if (width === null) root.removeProperty("--panel");
  else root.setProperty("--panel", `${Math.max(MIN_PANEL_WIDTH, Math.min(MAX_PANEL_WIDTH, Math.round(width)))}px`);
}

/** Edge of the panel: drag or arrow keys resize it, a double click restores the default. */
function createSplitter(): HTMLElement {
  const element = h("div", {
    class: "splitter", role: "separator", "aria-orientation": "vertical", "aria-label": "Width of the panel",
    tabIndex: 0,
  });
  const width = (): number => element.parentElement!.getBoundingClientRect().width;
  const set = (next: number | null): void => {
    setPanelWidth(next);
    saveSetting("panel.width", next ?? undefined);
  };
  element.addEventListener("pointerdown", (event) => {
    event.preventDefault();
    element.setPointerCapture(event.pointerId);
  });
  element.addEventListener(
    "pointermove",
    (event) => element.hasPointerCapture(event.pointerId) && set(innerWidth - event.clientX),
  );
  element.addEventListener("dblclick", () => set(null));
  element.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: 16, ArrowRight: -16 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    set(width() + step);
  });
  return element;
}
