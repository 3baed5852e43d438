/** Property panel: controls of the current mode, and the force meter below them. */

import "../style/panel.css";
import { setAttribute, setChildren, h } from "../core/dom";
import { getMode, type ModeName } from "../core/modes";
import type { App, Component, ProjectState } from "../core/types";
import { createForceMeter } from "../ui/controls/force-meter";
import { goToFrame, type ModePanel } from "./panel-parts";

/** Interval of meter updates [ms]; faster digits cannot be read. */
const MIN_UPDATE_INTERVAL = 120;

export function createPanel(app: App): Component {
  const scroll = h("div", { class: "panel-scroll" });
  const footer = h("div", { class: "panel-foot" });
  const meter = createForceMeter((frame) => goToFrame(app, frame));
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
  const disposers = [
    app.onProject.on(clear),
    app.onState.on((state) => {
      update(state);
      updateEnabled();
    }),
    app.onUi.on((change) => {
      if ("connection" in change || "pilot" in change) updateEnabled();
    }),
    app.onMoved.on((moved) => {
      if (moved.meter) meter.set(moved.meter);
    }),
    app.onJob.on((job) => {
      if (job.state === "running") jobs.add(job.job);
      else jobs.delete(job.job);
      meter.setBusy(jobs.size > 0);
    }),
    subscribeEffort(app, (share) => meter.setShare(share)),
  ];
  if (app.state) update(app.state);
  updateEnabled();
  return {
    element,
    dispose: () => {
      for (const end of disposers) end();
      clear();
    },
  };
}

/** Reason why the panel is disabled; null if it is enabled. */
function getOfflineReason(app: App): string | null {
  if (app.ui.connection !== "connected") return "The connection is lost. Controls are enabled again when it is back";
  return app.ui.pilot ? null : "This project is open in another tab. Take over to change it";
}

/** Subscribe to the effort of a live simulation at a readable rate. */
function subscribeEffort(app: App, show: (share: number) => void): () => void {
  let last = 0;
  return app.onPulse.on((pulse) => {
    const now = performance.now();
    if (now - last < MIN_UPDATE_INTERVAL) return;
    last = now;
    show(pulse.effort);
  });
}
