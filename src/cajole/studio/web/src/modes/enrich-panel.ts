/** The panel of Enrich: the shell, its regions, what it is made of, what acts on it, and what came of it. */

import "../style/enrich.css";
import { h, setText } from "../core/dom";
import type { EnrichState } from "../core/enrich-types";
import { formatNumber, formatPercent, formatSeconds } from "../core/format";
import { prefersReducedMotion } from "../core/theme";
import type { App } from "../core/types";
import { createSegmentedControl } from "../ui/controls/choice";
import { createRow } from "../ui/controls/common";
import { createSection } from "../ui/controls/section";
import { type Action, actionPart } from "./action";
import { aroundPart, contactPart, stepsPart } from "./enrich-around";
import { clothPart, finePart, shapePart } from "./enrich-cloth";
import type { EnrichPart } from "./enrich-dials";
import { regionsPart, shellPart } from "./enrich-regions";
import { handOver, once, tell, type ModePanel } from "./mode-panel";

export function enrichPanel(app: App): ModePanel {
  const regions = regionsPart(app);
  const asks = [
    clothPart(app),
    regions,
    shellPart(app),
    contactPart(app),
    finePart(app),
    shapePart(app),
    aroundPart(app),
    stepsPart(app),
  ];
  const result = resultPart(app);
  const action = enrichAction(app);
  const dials = h("div", null, asks.map(({ element }) => element));
  return {
    element: h("div", null, result.element, dials),
    foot: action.element,
    update: (state) => {
      const part = state.enrich;
      if (!part) return;
      for (const each of [...asks, result, action]) each.update(part);
      // what is asked for now would only be done after the run
      dials.inert = part.running !== null;
      dials.classList.toggle("enrich-waits", part.running !== null);
    },
    dispose: () => {
      regions.dispose();
      action.dispose();
    },
  };
}

function resultPart(app: App): EnrichPart {
  const text = h("p", { class: "panel-text" });
  const facts = h("p", { class: "p-quiet" });
  const report = h("pre", { class: "enrich-report", tabIndex: 0, "aria-label": "Report of the run" });
  const details = h("details", { class: "enrich-details" }, h("summary", null, "Report"), report);
  const edit = handOver(app, "edit");
  const sight = createSegmentedControl({
    name: "The shell that is shown",
    value: "led" as EnrichState["sight"],
    choices: [
      { value: "led", text: "Led", tip: "As its guide leads it" },
      { value: "free", text: "Let go", tip: "The same shell without its guide, to compare with. Simulated at first" },
    ],
    onChange: once(app, "compare", "with"),
  });
  const whole = createSection(
    { title: "Result" },
    text,
    facts,
    createRow("Shown", sight.element).element,
    details,
    h("div", { class: "p-buttons" }, edit.part.element),
  );
  return {
    element: whole.element,
    update: (part) => {
      const { result } = part;
      whole.setVisible(result !== null && part.running === null);
      if (result === null) return;
      sight.set(part.sight);
      setText(text, said(part, result));
      setText(facts, told(result));
      setText(report, result.report);
      details.hidden = result.seconds === null;
      whole.setNote(`${formatNumber(result.frames)} frames`);
      edit.update(null);
    },
  };
}

function said({ free }: EnrichState, result: NonNullable<EnrichState["result"]>): string {
  if (free !== null) return `Without its guide the shell strays by ${formatPercent(free)} of its size.`;
  return result.stale ? "Changed since. Enrich again to see what it comes to." : result.text;
}

function told(result: NonNullable<EnrichState["result"]>): string {
  const crossed = result.intersections;
  const parts = [
    result.seconds === null ? "Stopped early: force was not measured" : `took ${formatSeconds(result.seconds, 1)}`,
    crossed === null ? "" : crossed === 0 ? "no intersections" : `${formatNumber(crossed)} frames with intersections`,
  ];
  return parts.filter(Boolean).join(" · ");
}

function enrichAction(app: App): Action<EnrichState> {
  return actionPart(app, {
    verb: "Enrich",
    doing: "Enriching…",
    icon: "enrich",
    tip: "Let the shell follow its guide; its frames play as they come",
    stop: { text: "Stop, keep frames", tip: "End here with the frames that there are" },
    onPress: () => {
      tell(app, "enrich");
      if (!prefersReducedMotion()) app.setUi({ playing: true });
    },
    read: ({ running, result, regions }) => ({ job: running, again: result !== null, refused: regions.problem }),
  });
}
