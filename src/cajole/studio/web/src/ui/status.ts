/** The status bar: what the hand can do now, and how things stand. */

import { setChildren, h, setText } from "../core/dom";
import { getShortcut } from "../core/commands";
import { formatMilliseconds, formatNumber } from "../core/format";
import type { StudioApp } from "../core/app";
import type { ModeName, Component, ProjectState, UiState } from "../core/types";

export type Hints = readonly (readonly [string, string])[];

const BY_TOOL: Partial<Record<UiState["tool"], Hints>> = {
  move: [
    ["Drag", "a point or its arrows"],
    ["X", ""],
    ["Y", ""],
    ["Z", "lock axis"],
    ["0–9", "type a value"],
    ["Esc", "cancel"],
  ],
  marquee: [
    ["Drag", "around points"],
    ["⇧", "add"],
    ["Alt", "through the body"],
  ],
  pin: [
    ["Click", "hold a point where it is"],
    ["Esc", "clear selection"],
  ],
  measure: [["Drag", "from point to point"]],
  pull: [
    ["Drag", "pull"],
    ["⇧ Drag", "add to stack"],
    ["P", "pin"],
    ["K", "capture key"],
    ["⏎", "optimise"],
  ],
  push: [
    ["Drag", "on the body to push"],
    ["C", "control on or off"],
    ["R", "repeat push"],
    ["Space", "play or pause"],
  ],
  brush: [
    ["Drag", "paint a region"],
    ["Alt click", "pick one"],
    ["R", "new region"],
    ["E", "erase"],
    ["⏎", "enrich"],
  ],
  impulse: [
    ["Drag", "and let go to kick"],
    ["C", "control on or off"],
    ["R", "repeat push"],
    ["Space", "play or pause"],
  ],
};
const LOOKING: Hints = [
  ["Click", "select"],
  ["Drag", "orbit"],
  ["Right drag", "pan"],
  ["Wheel", "zoom"],
];

const ENRICHING: Hints = [
  ["B", "brush for regions"],
  ["⏎", "enrich"],
  ["Drag", "orbit"],
  ["Wheel", "zoom"],
];

const REROUTING: Hints = [
  ["Drag", "a point to where it shall be"],
  ["⏎", "run again"],
  ["Space", "play or pause"],
  ["Wheel", "zoom"],
];

const FLOWING: Hints = [
  ["Drag", "in the box to push the flow"],
  ["C", "control on or off"],
  ["R", "repeat push"],
  ["S", "smoke"],
  ["Space", "play or pause"],
];

/** What the hand can do with a tool, in a mode. */
export function hintsOf(tool: UiState["tool"], mode?: ModeName, flow = false): Hints {
  if (flow && (tool === "push" || tool === "impulse")) return FLOWING;
  if (mode === "reroute" && (tool === "move" || tool === "select")) return REROUTING;
  return BY_TOOL[tool] ?? (mode === "enrich" ? ENRICHING : LOOKING);
}

const WORDS = { connecting: "Connecting", connected: "Connected", lost: "Reconnecting", refused: "Refused" } as const;

export function status(app: StudioApp): Component {
  const hints = h("div", { class: "hints" });
  const facts = h("div", { class: "facts" });
  const vertices = h("span", { class: "fact-vertices" });
  const solve = h("span");
  const fps = h("span");
  const link = h("span", { class: "link-state", role: "status" }, h("i"), h("span"));
  facts.append(vertices, solve, fps, link);
  const element = h("footer", { class: "status" }, hints, facts);
  let special: Hints | null = null;

  const hint = (): void => show(hints, special ?? hintsOf(app.ui.tool, app.state?.mode, app.project?.field != null));
  const connection = (): void => {
    link.dataset["at"] = app.ui.connection;
    setText(link.lastElementChild!, WORDS[app.ui.connection]);
  };
  app.onHints.on((next) => ((special = next), hint()));
  app.onUi.on((change) => ("tool" in change && hint(), "connection" in change && connection()));
  app.onProject.on((project) => setText(vertices, project ? `${formatNumber(project.vertices)} vertices` : ""));
  app.onState.on((state) => {
    if (state.mode !== shownFor) hint();
    measure(solve, state);
  });
  app.onMoved.on(({ ms }) => ms > 0 && setText(solve, `solve ${formatMilliseconds(ms)}`));
  app.onPulse.on(({ ms }) => setText(solve, `step ${formatMilliseconds(ms)}`));
  app.onIterate.on((step) =>
    setText(solve, `iteration ${formatMilliseconds((1000 * step.seconds) / Math.max(1, step.iteration))}`),
  );
  rate(app, (value) => setText(fps, value >= 1 ? `${formatNumber(value)} fps` : ""));
  hint();
  connection();
  return { element };
}

let shownFor: ModeName | null = null;

/** A mode's number says nothing in another. */
function measure(solve: HTMLElement, { mode, keyframe }: ProjectState): void {
  if (mode !== shownFor) setText(solve, keyframe ? `${formatNumber(keyframe.detail)} modes` : "");
  shownFor = mode;
}

function show(holder: HTMLElement, hints: Hints): void {
  setChildren(
    holder,
    hints.map(([key, text]) =>
      h("span", { class: text ? "hint" : "hint joined" }, h("kbd", null, getShortcut(key) ?? key), text),
    ),
  );
}

/** Frames drawn a second, told twice a second while something moves and not at all while nothing does. */
function rate(app: StudioApp, tell: (fps: number) => void): void {
  let timer: ReturnType<typeof setInterval> | undefined;
  const look = (): void => tell(window.cajole?.view?.fps ?? 0);
  app.onUi.on((change) => {
    if (!("playing" in change)) return;
    clearInterval(timer);
    if (change.playing) timer = setInterval(look, 500);
    else look();
  });
}
