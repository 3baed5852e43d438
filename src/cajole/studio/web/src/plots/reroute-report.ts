/** The report of a second run in the drawer: goal by goal, how near it came, why not nearer, how like the pilot. */

import "../style/reroute.css";
import { h, setText } from "../core/dom";
import { formatDigits, formatLength, formatNumber } from "../core/format";
import type { GoalInfo, RerouteState } from "../core/reroute-types";
import type { App } from "../core/types";

const HEADS = ["Goal", "Frame", "Reached", "Shape", "Steps", "Turning", "On arrival", "In the way"] as const;
const TIPS: Partial<Record<(typeof HEADS)[number], string>> = {
  Shape: "What no move, turn and scale takes away from the path: up to 0.1 reads as the same motion",
  Steps: "The spread of the ratios of step lengths: 0 is proportional",
  "On arrival": "How fast the point is there",
  Turning: "The correlation of turning angles: 1 turns as the pilot does",
};

export interface Report {
  element: HTMLElement;
  update(): void;
}

export function reportRow(app: App): Report {
  const value = h("span", { class: "plots-value" });
  const unit = h("span", { class: "plots-unit" });
  const body = h("div", { class: "reroute-goals", tabIndex: 0, role: "region", "aria-label": "Report, goal by goal" });
  const name = h("div", { class: "plots-name" }, h("div", { class: "plots-title" }, "Goals"), h("div", { class: "plots-line" }, value, unit));
  const element = h("div", { class: "reroute-report" }, name, body);
  let told = "";
  return {
    element,
    update: () => {
      const part = app.state?.reroute;
      if (!part) return;
      setText(value, part.result && !part.result.stale ? `${part.result.reached} of ${part.result.count}` : "–");
      setText(unit, "reached");
      const mark = JSON.stringify([part.result?.stale, part.sight, part.goals.map(({ id, name, frame, report }) => [id, name, frame, report])]);
      if (mark === told) return;
      told = mark;
      body.replaceChildren(tableOf(part));
    },
  };
}

function tableOf(part: RerouteState): HTMLElement {
  if (part.result === null || part.result.stale)
    return h("p", null, part.goals.length ? "Run again to see how near each goal is." : "Drag a point to give it a goal.");
  const head = h("tr", null, HEADS.map((text) => h("th", { scope: "col", "data-tip": TIPS[text] }, text)));
  return h("table", null, h("thead", null, head), h("tbody", null, part.goals.map(rowOf)));
}

function rowOf({ name, frame, report }: GoalInfo): HTMLElement {
  if (report === null) return h("tr", null, h("td", null, name), h("td", null, formatNumber(frame)), h("td", { colSpan: 6 }, "–"));
  const near = report.reached
    ? h("td", { class: "reached" }, `to ${formatLength(report.error)}`)
    : h("td", { class: "missed" }, `${formatLength(report.error)} off, nearest ${formatLength(report.closest)} at f ${report.closest_frame}`);
  return h(
    "tr",
    null,
    h("td", null, name),
    h("td", null, formatNumber(frame)),
    near,
    h("td", null, formatDigits(report.shape, 2)),
    h("td", null, formatDigits(report.stepping, 2)),
    h("td", null, report.turning === null ? "–" : formatNumber(report.turning, 2)),
    h("td", null, `${formatDigits(report.speed, 2)} m/s`),
    h("td", null, report.why || report.notes.join("; ") || "nothing"),
  );
}
