/** The panel of Reroute: the second run and others to compare it with, goals, and how they are met. */

import "../style/reroute.css";
import { h, setText } from "../core/dom";
import { formatDigits, formatForce, formatSeconds } from "../core/format";
import { prefersReducedMotion } from "../core/theme";
import type { RerouteMethod, RerouteRun, RerouteState } from "../core/reroute-types";
import type { App } from "../core/types";
import { createButton } from "../ui/controls/button";
import { createSegmentedControl } from "../ui/controls/choice";
import { createSection } from "../ui/controls/section";
import { handOver, once, tell, type ModePanel } from "./mode-panel";
import { leadPart, METHODS, netPart, type ReroutePart } from "./reroute-dials";
import { goalPart, goalsPart } from "./reroute-goals";

export function reroutePanel(app: App): ModePanel {
  const goal = goalPart(app);
  const goals = goalsPart(app);
  const dials = [leadPart(app), netPart(app)];
  const result = resultPart(app);
  const action = actionPart(app);
  const asks = h("div", null, goal.element, goals.element, dials.map(({ element }) => element));
  return {
    element: h("div", null, result.element, asks),
    foot: action.element,
    update: (state) => {
      const part = state.reroute;
      if (!part) return;
      goal.update(state);
      goals.update(state);
      for (const each of [...dials, result, action]) each.update(part);
      // what is asked for now would only be done after the run
      asks.inert = part.running !== null;
      asks.classList.toggle("reroute-waits", part.running !== null);
    },
    dispose: () => goals.dispose(),
  };
}

const titleOf = (method: RerouteMethod): string => METHODS.find(({ value }) => value === method)?.text ?? method;

/** What came of it, beside what another method makes of the same goals. */
function resultPart(app: App): ReroutePart {
  const text = h("p", { class: "panel-text" });
  const facts = h("p", { class: "p-quiet" });
  const table = h("table", { class: "reroute-table" });
  const sight = createSegmentedControl({
    name: "The second run that is shown", value: "pattern" as RerouteMethod, choices: METHODS,
    onChange: once(app, "compare", "with"),
  });
  const compare = createButton({
    text: "Compare with least force", icon: "two", tip: "Lead the same points by both, and tell them apart",
    onPress: () => tell(app, "compare", { with: other(app.state?.reroute) }),
  });
  const plots = createButton({
    text: "Report", icon: "plot", tip: "Goal by goal, below the time line", onPress: () => app.setUi({ plots: true }),
  });
  const [edit, enrich] = [handOver(app, "edit"), handOver(app, "enrich")];
  const line = h("div", { class: "reroute-methods" }, sight.element);
  const first = h("div", { class: "p-buttons" }, compare.element);
  const rows = [[plots], [edit.part, enrich.part]].map((parts) =>
    h("div", { class: "p-buttons" }, parts.map(({ element }) => element)),
  );
  const whole = createSection({ title: "Second run" }, text, facts, table, line, first, rows);
  return {
    element: whole.element,
    update: (part) => {
      const { result, compared } = part;
      whole.setVisible(result !== null && part.making !== "pilot");
      if (result === null) return;
      const shown = compared.find(({ method }) => method === part.sight) ?? result;
      setText(text, result.stale ? "Changed since. Run again to see what it comes to." : shown.text);
      setText(facts, `effort ${formatDigits(shown.effort)} N² s · ${formatForce(shown.peak)} at most · took ${formatSeconds(shown.seconds, 1)}`);
      table.hidden = compared.length < 2;
      line.hidden = compared.length < 2;
      if (compared.length > 1) fillTable(table, compared);
      sight.set(part.sight);
      first.hidden = compared.length > 1;
      compare.setText(`Compare with ${titleOf(other(part)).toLowerCase()}`);
      for (const each of [edit, enrich]) each.update(part.running ? "Wait until it has run" : null);
    },
  };
}

/** What a second run is compared with: least force, and least force with the pattern. */
function other(part: RerouteState | undefined): RerouteMethod {
  return (part?.result?.method ?? part?.dials.method) === "least-force" ? "pattern" : "least-force";
}

function fillTable(table: HTMLElement, runs: readonly RerouteRun[]): void {
  const head = h("tr", null, h("th"), runs.map(({ method }) => h("th", { scope: "col" }, titleOf(method))));
  const line = (name: string, value: (run: RerouteRun) => string): HTMLElement =>
    h("tr", null, h("th", { scope: "row" }, name), runs.map((run) => h("td", null, value(run))));
  table.replaceChildren(
    h("thead", null, head),
    h(
      "tbody",
      null,
      line("Reached", ({ reached, count }) => `${reached} of ${count}`),
      line("Effort, N² s", ({ effort }) => formatDigits(effort)),
      line("Most force", ({ peak }) => formatForce(peak)),
      line("Off the pilot's shape", ({ shape }) => formatDigits(shape, 2)),
    ),
  );
}

/** The pilot first, then again and again. */
function actionPart(app: App): ReroutePart {
  let known: RerouteState | null = null;
  const go = createButton({
    text: "Run again", icon: "reroute", kind: "primary", main: true, key: "Enter",
    tip: "The same run, with small forces that lead points to their goals",
    onPress: () => {
      tell(app, known?.pilot_frames === null ? "pilot" : "reroute");
      if (!prefersReducedMotion()) app.setUi({ playing: true });
    },
  });
  const cancel = createButton({
    text: "Cancel", tip: "Keep what was there before", onPress: () => known?.running && tell(app, "cancel", { job: known.running }),
  });
  cancel.element.classList.add("p-main");
  const element = h("div", { class: "panel-action" }, go.element, cancel.element);
  return {
    element,
    update: (part) => {
      known = part;
      const running = part.running !== null;
      go.setBusy(running);
      go.setText(running ? (part.making === "pilot" ? "Running the pilot…" : "Running again…") : part.pilot_frames === null ? "Run the pilot" : "Run again");
      go.setDisabledReason(!running && part.pilot_frames !== null && part.goals.length === 0 ? "Drag a point to where it shall be first" : null);
      cancel.setVisible(running);
      element.toggleAttribute("data-running", running);
    },
  };
}
