/** Status bar: key hints of the active tool, mesh size, timings, connection. */

import { setChildren, h, setText } from "../core/dom";
import { getShortcut } from "../core/commands";
import { formatMilliseconds, formatNumber } from "../core/format";
import type { StudioApp } from "../core/app";
import { getCurrentMode, getMode, type Hints, type ModeDefinition, type ModeName } from "../core/modes";
import type { Component, Project, ProjectState, UiState } from "../core/types";

const TOOL_HINTS: Partial<Record<UiState["tool"], Hints>> = {
  move: [["Drag", "a point or its arrows"], ["X", ""], ["Y", ""], ["Z", "lock axis"], ["0–9", "type a value"], ["Esc", "cancel"]],
  marquee: [["Drag", "around points"], ["⇧", "add"], ["Alt", "through the body"]],
  pin: [["Click", "pin a point"], ["Esc", "clear selection"]], measure: [["Drag", "from point to point"]],
};
const CAMERA_HINTS: Hints = [["Click", "select"], ["Drag", "orbit"], ["Right drag", "pan"], ["Wheel", "zoom"]];

/** Key hints of a tool in a mode. */
export const getHints = (tool: UiState["tool"], mode: ModeDefinition | null, project: Project | null): Hints =>
  mode?.getHints?.(tool, project) ?? TOOL_HINTS[tool] ?? CAMERA_HINTS;

const CONNECTION_TEXTS = { connecting: "Connecting", connected: "Connected", lost: "Reconnecting", refused: "Refused" } as const;

export function createStatusBar(app: StudioApp): Component {
  const hints = h("div", { class: "hints" });
  const facts = h("div", { class: "facts" });
  const vertices = h("span", { class: "fact-vertices" });
  const solve = h("span");
  const fps = h("span");
  const link = h("span", { class: "link-state", role: "status" }, h("i"), h("span"));
  facts.append(vertices, solve, fps, link);
  const element = h("footer", { class: "status" }, hints, facts);
  let gestureHints: Hints | null = null;

  const updateHints = (): void => showHints(hints, gestureHints ?? getHints(app.ui.tool, getCurrentMode(app), app.project));
  const updateConnection = (): void => {
    link.dataset["at"] = app.ui.connection;
    setText(link.lastElementChild!, CONNECTION_TEXTS[app.ui.connection]);
  };
  app.onHints.on((next) => ((gestureHints = next), updateHints()));
  app.onUi.on((change) => ("tool" in change && updateHints(), "connection" in change && updateConnection()));
  app.onProject.on((project) => setText(vertices, project ? `${formatNumber(project.vertices)} vertices` : ""));
  app.onState.on((state) => {
    if (state.mode !== shownFor) updateHints();
    resetSolveInfo(solve, state);
  });
  app.onMoved.on(({ ms }) => ms > 0 && setText(solve, `solve ${formatMilliseconds(ms)}`));
  app.onPulse.on(({ ms }) => setText(solve, `step ${formatMilliseconds(ms)}`));
  app.onIterate.on((step) =>
    setText(solve, `iteration ${formatMilliseconds((1000 * step.seconds) / Math.max(1, step.iteration))}`),
  );
  watchFrameRate(app, (value) => setText(fps, value >= 1 ? `${formatNumber(value)} fps` : ""));
  updateHints();
  updateConnection();
  return { element };
}

let shownFor: ModeName | null = null;

/** Clear the timing of the previous mode. */
function resetSolveInfo(solve: HTMLElement, state: ProjectState): void {
  if (state.mode !== shownFor) setText(solve, getMode(state.mode).formatModelSize?.(state) ?? "");
  shownFor = state.mode;
}

function showHints(holder: HTMLElement, hints: Hints): void {
  setChildren(
    holder,
    hints.map(([key, text]) =>
      h("span", { class: text ? "hint" : "hint joined" }, h("kbd", null, getShortcut(key) ?? key), text),
    ),
  );
}

/** Show the frame rate twice per second during playback. */
function watchFrameRate(app: StudioApp, show: (fps: number) => void): void {
  let timer: ReturnType<typeof setInterval> | undefined;
  const update = (): void => show(window.cajole?.view?.fps ?? 0);
  app.onUi.on((change) => {
    if (!("playing" in change)) return;
    clearInterval(timer);
    if (change.playing) timer = setInterval(update, 500);
    else update();
  });
}
