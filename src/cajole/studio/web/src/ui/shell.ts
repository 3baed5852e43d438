/** The frame of the page while something is open: where each part stands, and the split beside the panel. */

import "../style/shell.css";
import "../style/overlays.css";
import { h } from "../core/dom";
import { saveSetting, loadSetting } from "../core/storage";
import { banner } from "./banner";
import { coach } from "./coach";
import { status } from "./status";
import { topbar } from "./topbar";
import type { StudioApp } from "../core/app";
import type { Component } from "../core/types";

export interface Parts {
  view: Component;
  timeline: Component;
  plots: Component;
  panel: Component;
  corner: Component;
}
const NARROW = 240;
const WIDE = 460;

export function shell(app: StudioApp, parts: Parts): Component {
  const views = h(
    "main",
    { class: "shell-views", "aria-label": "Views" },
    parts.view.element,
    banner(app).element,
    coach(app).element,
  );
  const panel = h("aside", { class: "shell-panel", "aria-label": "Properties" }, splitter(), parts.panel.element);
  const element = h(
    "div",
    { class: "shell" },
    topbar(app).element,
    views,
    panel,
    h("div", { class: "shell-plots" }, parts.plots.element),
    h("div", { class: "shell-timeline" }, parts.timeline.element),
    status(app).element,
    h("p", { class: "too-small", role: "note" }, "This window is smaller than 1024 × 640; not everything fits."),
  );
  const look = (): void => {
    element.hidden = app.ui.page !== "project";
    (element.hidden ? document.body : views).append(parts.corner.element);
    element.dataset["panel"] = app.ui.panel ? "open" : "closed";
    element.dataset["plots"] = app.ui.plots ? "open" : "closed";
  };
  app.onUi.on((change) => ("page" in change || "panel" in change || "plots" in change) && look());
  app.onState.on((state) => (element.dataset["mode"] = state.mode));
  widen(loadSetting<number | null>("panel.width", null));
  look();
  return { element };
}

function widen(width: number | null): void {
  const root = document.documentElement.style;
  if (width === null) root.removeProperty("--panel");
  else root.setProperty("--panel", `${Math.max(NARROW, Math.min(WIDE, Math.round(width)))}px`);
}

/** The edge of the panel: drag or arrows change its width, a double click gives the usual one back. */
function splitter(): HTMLElement {
  const element = h("div", {
    class: "splitter",
    role: "separator",
    "aria-orientation": "vertical",
    "aria-label": "Width of the panel",
    tabIndex: 0,
  });
  const width = (): number => element.parentElement!.getBoundingClientRect().width;
  const set = (next: number | null): void => {
    widen(next);
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
    const way = { ArrowLeft: 16, ArrowRight: -16 }[event.key];
    if (way === undefined) return;
    event.preventDefault();
    set(width() + way);
  });
  return element;
}
