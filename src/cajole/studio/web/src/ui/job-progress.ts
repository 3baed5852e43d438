/** Progress of the running job, with its cost curve and buttons to stop or cancel it. */

import { setAttribute, setChildren, h, svg, setText } from "../core/dom";
import { createIcon } from "../core/icons";
import { getCurrentMode } from "../core/modes";
import type { IterateMessage, JobMessage, Component } from "../core/types";
import type { StudioApp } from "../core/app";

const SHOW_DELAY = 700; // ms: short jobs show no progress
const STALL_TIMEOUT = 10_000; // ms without progress
const WIDTH = 170; // px of the cost curve
const HEIGHT = 32;

export function createJobProgress(app: StudioApp): Component {
  const title = h("b");
  const share = h("span", { class: "strip-share" });
  const bar = h("div", { class: "strip-bar" }, h("i"));
  const text = h("p", { class: "strip-text" });
  const curve = svg("svg", {
    class: "strip-curve", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", "aria-hidden": "true",
  });
  const actions = h("div", { class: "strip-actions" });
  const element = h("section", { class: "strip", "aria-label": "Running job", hidden: true },
    h("div", { class: "strip-words" }, h("div", { class: "strip-head" }, title, share), bar, text),
    curve,
    actions,
  );
  const live = h("div", { class: "hidden-text", "aria-live": "polite" });
  let job: JobMessage | null = null;
  let costs: number[] = [];
  let timer: ReturnType<typeof setTimeout> | undefined;
  let stall: ReturnType<typeof setTimeout> | undefined;
  let announcedTenth = -1;

  const hide = (): void => {
    clearTimeout(timer);
    clearTimeout(stall);
    element.hidden = true;
    document.documentElement.style.removeProperty("--foot");
    job = null;
  };
  const show = (): void => {
    element.hidden = false;
    document.documentElement.style.setProperty("--foot", "72px");
  };
  const begin = (next: JobMessage): void => {
    costs = [];
    announcedTenth = -1;
    curve.replaceChildren();
    setChildren(actions, createJobButtons(app, next));
    clearTimeout(timer);
    timer = setTimeout(show, SHOW_DELAY);
  };
  const draw = (next: JobMessage): void => {
    element.classList.toggle("failed", next.state === "failed");
    element.classList.remove("stalled");
    setText(title, next.title);
    setText(share, next.fraction === null ? "" : `${Math.round(100 * next.fraction)} %`);
    setText(text, next.state === "failed" ? [next.reason, next.remedy].filter(Boolean).join(" ") : next.text);
    bar.classList.toggle("unknown", next.fraction === null);
    (bar.firstElementChild as HTMLElement).style.width = next.fraction === null ? "" : `${100 * next.fraction}%`;
    setAttribute(curve, "hidden", costs.length < 2);
    const tenth = Math.floor(10 * (next.fraction ?? 0));
    if (tenth !== announcedTenth) setText(live, `${next.title} ${next.fraction === null ? "" : `${10 * tenth} percent`}`);
    announcedTenth = tenth;
  };
  const restartStallTimer = (): void => {
    clearTimeout(stall);
    stall = setTimeout(() => {
      element.classList.add("stalled");
      setText(text, "No progress for 10 seconds.");
      const action = getCurrentMode(app)?.getStallAction?.(app);
      if (action) actions.prepend(h("button", { type: "button", class: "p-button", onclick: action.run }, action.text));
    }, STALL_TIMEOUT);
  };

  app.onJob.on((next) => {
    if (next.state === "running") {
      if (job?.job !== next.job) begin(next);
      job = next;
      draw(next);
      restartStallTimer();
    } else if (job?.job === next.job || next.state === "failed") {
      hide();
      if (next.state !== "failed") return;
      draw(next);
      setChildren(actions, createDismissButton(hide));
      show();
    }
  });
  app.onIterate.on((step) => {
    if (step.job !== job?.job) return;
    costs = [...costs, step.cost];
    curve.removeAttribute("hidden");
    setChildren(curve, drawCostCurve(costs));
    setText(text, formatIteration(step));
  });
  app.onUi.on((change) => change.connection && change.connection !== "connected" && hide());
  element.append(live);
  return { element };
}

function createJobButtons(app: StudioApp, job: JobMessage): HTMLElement[] {
  const cancel = h("button", {
    type: "button", class: "p-icon p-icon-28", "aria-label": "Cancel", "data-tip": "Cancel",
    onclick: () => void app.request("cancel", { job: job.job }),
  }, createIcon("x"));
  const stop = h("button", { type: "button", class: "p-button", onclick: () => void app.request("stop", { job: job.job }) },
    getCurrentMode(app)?.stopText ?? "Stop, keep best",
  );
  return job.stoppable ? [stop, cancel] : [cancel];
}

function createDismissButton(hide: () => void): HTMLElement {
  return h("button", { type: "button", class: "p-button", onclick: hide }, "Dismiss");
}

function formatIteration({ iteration, seconds }: IterateMessage): string {
  return `step ${iteration} · ${seconds.toFixed(1)} s`;
}

/** Cost per iteration on a logarithmic scale, with a dot at the newest. */
function drawCostCurve(costs: readonly number[]): SVGElement[] {
  const logs = costs.map((cost) => Math.log10(Math.max(cost, 1e-30)));
  const low = Math.min(...logs);
  const span = Math.max(...logs) - low || 1;
  const x = (at: number): number => 4 + ((WIDTH - 8) * at) / Math.max(8, costs.length - 1);
  const y = (log: number): number => HEIGHT - 4 - ((HEIGHT - 8) * (log - low)) / span;
  const points = logs.map((log, at) => `${x(at).toFixed(1)},${y(log).toFixed(1)}`).join(" ");
  const lines = [2, HEIGHT / 2, HEIGHT - 2].map((at) =>
    svg("line", { x1: 0, x2: WIDTH, y1: at, y2: at, class: "strip-rule" }),
  );
  return [
    ...lines,
    svg("polyline", { points, class: "strip-line" }),
    svg("circle", { cx: x(logs.length - 1), cy: y(logs.at(-1)!), r: 3, class: "strip-dot" }),
  ];
}
