/** Property panel: controls of the current mode, and the force meter below them. */

import "../style/panel.css";
import { setAttribute, setChildren, h } from "../core/dom";
import { getMode, type ModeName } from "../core/modes";
import type { App, Component, ProjectState } from "../core/types";
import { createForceMeter } from "../ui/controls/force-meter";
import type { ModePanel } from "./panel-parts";

/** Interval of meter updates [ms]; faster digits cannot be read. */
const MIN_UPDATE_INTERVAL = 120;

export function createPanel(app: App): Component {
  const scroll = h("div", { class: "panel-scroll" });
  const footer = h("div", { class: "panel-foot" });
  const meter = createForceMeter((frame) => void app.request("frame", { frame: frame }));
  const element = h("aside", { class: "panel", "aria-label": "Settings of this mode" }, scroll, footer, meter.element);
  let shown: { mode: ModeName; part: ModePanel } | null = null;

  const clear = (): void => {
    shown?.part.dispose?.();
    shown = null;
    setChildren(scroll);
    setChildren(footer);
  };
  const showMode = (mode: ModeName): void => {
    if (shown?.mode === mode) return;
    clear();
    shown = { mode, part: getMode(mode).createPanel(app) };
    scroll.append(shown.part.element);
    if (shown.part.footer) footer.append(shown.part.footer);
    scroll.scrollTop = 0;
  };
  const update = (state: ProjectState): void => {
    showMode(state.mode);
    shown?.part.update(state);
    meter.set(state.meter);
  };
  const updateEnabled = (): void => {
    const why = getOfflineReason(app);
    element.toggleAttribute("data-off", why !== null);
    for (const part of [scroll, footer]) {
      setAttribute(part, "data-tip", why);
      for (const child of part.children) (child as HTMLElement).inert = why !== null;
    }
  };
  const jobs = new Set<string>();
  let lastEffort = 0; // time of the last one shown [ms]
  app.onProject.on(clear);
  app.onState.on((state) => {
    update(state);
    updateEnabled();
  });
  app.onUi.on((change) => ("connection" in change || "pilot" in change) && updateEnabled());
  app.onMoved.on((moved) => moved.meter && meter.set(moved.meter));
  app.onJob.on(({ job, state }) => {
    if (state === "running") jobs.add(job);
    else jobs.delete(job);
    meter.setBusy(jobs.size > 0);
  });
  app.onPulse.on(({ effort }) => {
    const now = performance.now();
    if (now - lastEffort < MIN_UPDATE_INTERVAL) return;
    lastEffort = now;
    meter.setShare(effort);
  });
  updateEnabled();
  return { element };
}

/** Reason why the panel is disabled; null if it is enabled. */
function getOfflineReason(app: App): string | null {
  if (app.ui.connection !== "connected") return "The connection is lost. Controls are enabled again when it is back";
  return app.ui.pilot ? null : "This project is open in another tab. Take over to change it";
}
