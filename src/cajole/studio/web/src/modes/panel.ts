/** The panel at the right: the controls of the present mode, and the gentleness meter at its foot in every mode. */

import "../style/panel.css";
import { setAttribute, setChildren, h } from "../core/dom";
import type { App, ModeName, Component, ProjectState } from "../core/types";
import { createForceMeter } from "../ui/controls/force-meter";
import { editPanel } from "./edit-panel";
import { enrichPanel } from "./enrich-panel";
import { keyframePanel } from "./keyframe-panel";
import { goTo, type ModePanel } from "./mode-panel";
import { reroutePanel } from "./reroute-panel";
import { steerPanel } from "./steer-panel";

const PANELS: Partial<Record<ModeName, (app: App) => ModePanel>> = {
  edit: editPanel,
  keyframe: keyframePanel,
  steer: steerPanel,
  enrich: enrichPanel,
  reroute: reroutePanel,
};
/** Digits that change faster than this [ms] cannot be read. */
const READABLE = 120;

export function panel(app: App): Component {
  const scroll = h("div", { class: "panel-scroll" });
  const foot = h("div", { class: "panel-foot" });
  const meter = createForceMeter((frame) => goTo(app, frame));
  const element = h("aside", { class: "panel", "aria-label": "Settings of this mode" }, scroll, foot, meter.element);
  let shown: { mode: ModeName; part: ModePanel } | null = null;

  const clear = (): void => {
    shown?.part.dispose?.();
    shown = null;
    setChildren(scroll);
    setChildren(foot);
  };
  const turn = (mode: ModeName): void => {
    if (shown?.mode === mode) return;
    clear();
    const make = PANELS[mode];
    if (make === undefined) return;
    shown = { mode, part: make(app) };
    scroll.append(shown.part.element);
    if (shown.part.foot) foot.append(shown.part.foot);
    scroll.scrollTop = 0;
  };
  const update = (state: ProjectState): void => {
    turn(state.mode);
    shown?.part.update(state);
    meter.set(state.meter);
  };
  const allow = (): void => {
    const why = offline(app);
    element.toggleAttribute("data-off", why !== null);
    for (const part of [scroll, foot]) {
      setAttribute(part, "data-tip", why);
      for (const child of part.children) (child as HTMLElement).inert = why !== null;
    }
  };
  const jobs = new Set<string>();
  const ends = [
    app.onProject.on(clear),
    app.onState.on((state) => {
      update(state);
      allow();
    }),
    app.onUi.on((change) => {
      if ("connection" in change || "pilot" in change) allow();
    }),
    app.onMoved.on((moved) => {
      if (moved.meter) meter.set(moved.meter);
    }),
    app.onJob.on((job) => {
      if (job.state === "running") jobs.add(job.job);
      else jobs.delete(job.job);
      meter.setBusy(jobs.size > 0);
    }),
    pulsing(app, (share) => meter.setShare(share)),
  ];
  if (app.state) update(app.state);
  allow();
  return {
    element,
    dispose: () => {
      for (const end of ends) end();
      clear();
    },
  };
}

/** Why nothing can be asked now, null when all can. */
function offline(app: App): string | null {
  if (app.ui.connection !== "connected") return "The connection is lost. It works again once the studio answers";
  return app.ui.pilot ? null : "This project is open in another tab. Take over to change it";
}

/** The effort of a live body, as often as it can be read. */
function pulsing(app: App, show: (share: number) => void): () => void {
  let last = 0;
  return app.onPulse.on((pulse) => {
    const now = performance.now();
    if (now - last < READABLE) return;
    last = now;
    show(pulse.effort);
  });
}
