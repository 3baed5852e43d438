/** Report of a second run per goal: error, cause, and similarity to the pilot. */

import "./reroute.css";
import { h, setText } from "../../core/dom";
import { formatDigits, formatLength, formatNumber } from "../../core/format";
import type { GoalInfo, RerouteModeState } from "../../core/types";
import type { App } from "../../core/types";

const COLUMNS = ["Goal", "Frame", "Reached", "Shape", "Steps", "Turning", "Speed", "Cause"] as const;
const TIPS: Partial<Record<(typeof COLUMNS)[number], string>> = {
  Shape: "Distance of the path to the pilot's after a similarity transform: up to 0.1 looks like the same motion",
  Steps: "Spread of the ratios of step lengths: 0 is proportional", Speed: "Speed of the point at its goal",
  Turning: "Correlation of turning angles: 1 is the same as the pilot",
};

interface GoalReportTable { element: HTMLElement; update(): void }

export function createGoalReport(app: App): GoalReportTable {
  const value = h("span", { class: "plots-value" });
  const unit = h("span", { class: "plots-unit" });
  const body = h("div", { class: "reroute-goals", tabIndex: 0, role: "region", "aria-label": "Report per goal" });
  const name = h("div", { class: "plots-name" },
    h("div", { class: "plots-title" }, "Goals"),
    h("div", { class: "plots-line" }, value, unit),
  );
  const element = h("div", { class: "reroute-report" }, name, body);
  let shown = "";
  return {
    element,
    update: () => {
      const reroute = app.state?.reroute;
      if (!reroute) return;
      setText(value, reroute.result && !reroute.result.stale ? `${reroute.result.reached} of ${reroute.result.count}` : "–");
      setText(unit, "reached");
      const signature = JSON.stringify([
        reroute.result?.stale,
        reroute.sight,
        reroute.goals.map(({ id, name, frame, report }) => [id, name, frame, report]),
      ]);
      if (signature === shown) return;
      shown = signature;
      body.replaceChildren(createTable(reroute));
    },
  };
}

function createTable(reroute: RerouteModeState): HTMLElement {
  if (reroute.result === null || reroute.result.stale)
    return h("p", null, reroute.goals.length ? "Run again to see how near each goal is." : "Drag a point to give it a goal.");
  const head = h("tr", null, COLUMNS.map((text) => h("th", { scope: "col", "data-tip": TIPS[text] }, text)));
  return h("table", null, h("thead", null, head), h("tbody", null, reroute.goals.map(createTableRow)));
}

function createTableRow({ name, frame, report }: GoalInfo): HTMLElement {
  if (report === null) return h("tr", null, h("td", null, name), h("td", null, formatNumber(frame)), h("td", { colSpan: 6 }, "–"));
  const near = report.reached
    ? h("td", { class: "reached" }, `to ${formatLength(report.error)}`)
    : h("td", { class: "missed" },
        `${formatLength(report.error)} off, nearest ${formatLength(report.closest)} at f ${report.closest_frame}`,
      );
  return h("tr", null,
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
