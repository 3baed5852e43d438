/** Onboarding: three cards per mode; each closes when its step is done. */

import type { StudioApp } from "../core/app";
import { registerHandler } from "../core/commands";
import { h, setChildren } from "../core/dom";
import { getCurrentMode, getMode, getModes, type ModeName } from "../core/modes";
import { loadSetting, saveSetting } from "../core/storage";
import type { Component, ProjectState } from "../core/types";
import { onViewLayout, getViewPoints, type WeightedPoint } from "../core/view-points";

/** Show the cards of all modes again. */
export function resetOnboarding(): void {
  for (const { name } of getModes()) saveSetting(`coach.${name}`, undefined);
}

export function createOnboarding(app: StudioApp): Component {
  const element = h("aside", { class: "coach", "aria-label": "First steps", hidden: true });
  let mode: ModeName | null = null;
  let index = 0;
  let then: ProjectState | null = null;

  const placeElement = (): void => placeCard(element);
  const end = (): void => {
    if (mode) saveSetting(`coach.${mode}`, true);
    mode = null;
    element.hidden = true;
  };
  const show = (state: ProjectState): void => {
    const steps = getMode(state.mode).getOnboarding(state);
    const step = steps[index]!;
    const isLast = index === steps.length - 1;
    then = state;
    element.hidden = false;
    requestAnimationFrame(placeElement); // with its new size
    const main = isLast
      ? h("button", { type: "button", class: "p-button p-primary", onclick: end }, "Done")
      : createDemoButton(app, index);
    setChildren(
      element,
      h("div", { class: "coach-head" },
        h("span", { class: "coach-dots", "aria-hidden": "true" },
          steps.map((_, dot) => h("i", { class: dot === index ? "on" : "" })),
        ),
        h("span", null, `${index + 1} of ${steps.length}`),
      ),
      h("h2", null, step.title),
      h("p", null, step.text),
      h("div", { class: "coach-foot" },
        main,
        isLast ? null : h("button", { type: "button", class: "p-button p-ghost", onclick: end }, "Skip tour"),
      ),
    );
  };
  const begin = (state: ProjectState): void => {
    mode = state.mode;
    index = 0;
    show(state);
  };
  /** Show or hide the demo button of the first card as a vertex is selected or not. */
  const refresh = (state: ProjectState): void => {
    const button = element.querySelector<HTMLButtonElement>(".show-me");
    if (index === 0 && !button?.disabled && canPlayDemo(app) !== (button !== null)) show(state);
  };
  const handleState = (state: ProjectState): void => {
    if (state.mode !== mode) {
      mode = null;
      element.hidden = true;
      if (!loadSetting(`coach.${state.mode}`, false) && app.ui.pilot) begin(state);
      return;
    }
    const steps = getMode(state.mode).getOnboarding(state);
    if (!steps[index]!.done(state, then!)) return refresh(state);
    index += 1;
    if (index < steps.length) show(state);
    else end();
  };
  app.onState.on((state) => (handleState(state), placeElement()));
  onViewLayout.on(placeElement);
  app.onUi.on((change) => change.pilot && app.state && handleState(app.state));
  app.onProject.on((project) => project === null && ((mode = null), (element.hidden = true)));
  registerHandler("tour", () => app.state && begin(app.state));
  return { element };
}

const canPlayDemo = (app: StudioApp): boolean => getCurrentMode(app)?.demo?.canPlay(app) ?? false;

/** Button that demonstrates the first step and reverts it; null if the mode cannot. */
function createDemoButton(app: StudioApp, index: number): HTMLElement | null {
  if (index > 0 || !canPlayDemo(app)) return null;
  const button = h("button", {
    type: "button",
    class: "p-button p-primary show-me",
    onclick: () => {
      button.disabled = true;
      void getCurrentMode(app)!.demo!.play(app).finally(() => (button.disabled = false));
    },
  }, "Show me");
  return button;
}

export interface Box {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
}

const MARGIN = 8; // px around a card
const OVERLAP_COST = 100; // cost of overlapping another overlay
const MIN_IMPROVEMENT = 0.02; // a card moves only if its cost drops by more

/** Cost of a card at a position: weights of the points below it, and overlaps with other overlays. */
export function computeCoverage(card: Box, points: readonly WeightedPoint[], obstacles: readonly Box[]): number {
  const [left, top] = [card.left - MARGIN, card.top - MARGIN];
  const [right, bottom] = [card.left + card.width + MARGIN, card.top + card.height + MARGIN];
  const coveredPoints = points.filter(({ x, y }) => x > left && x < right && y > top && y < bottom);
  const overlaps = (box: Box): boolean =>
    box.left < card.left + card.width &&
    box.left + box.width > card.left &&
    box.top < card.top + card.height &&
    box.top + box.height > card.top;
  return coveredPoints.reduce((sum, { weight }) => sum + weight, 0) + OVERLAP_COST * obstacles.filter(overlaps).length;
}

/** Position of least cost, the first of equal ones; the current one stays unless another is clearly better. */
export function choosePlacement(
  places: readonly Box[],
  current: Box | null,
  points: readonly WeightedPoint[],
  obstacles: readonly Box[],
): Box {
  const costs = places.map((place) => computeCoverage(place, points, obstacles));
  const best = costs.indexOf(Math.min(...costs));
  if (current !== null && computeCoverage(current, points, obstacles) <= costs[best]! + MIN_IMPROVEMENT) return current;
  return places[best]!;
}

const EDGE_MARGIN = 12; // px to the edge of a view, …
const TOOL_MARGIN = 68; // … beside the tool column, …
const [TOP_MARGIN, BOTTOM_MARGIN] = [52, 46]; // … below the labels and above the legend
const OBSTACLES =
  ".view-chip, .view-tools, .view-options, .view-legend, .view-pose button, .view-ball, .banner, .strip, .toast";

/** Place a card inside the element of the views; data-small: its compact form, if it covers something. */
export function placeCard(card: HTMLElement): void {
  const views = card.parentElement;
  if (card.hidden || !views) return;
  const { left, top } = views.getBoundingClientRect();
  const { offsetWidth: width, offsetHeight: height } = card;
  // offsetLeft, not the bounding box, which moves during the opening transition
  const here: Box = { left: left + card.offsetLeft, top: top + card.offsetTop, width, height };
  const before = card.style.left === "" ? null : here;
  card.removeAttribute("data-small");
  if (applyPlacement(card, views, before) === 0) return;
  card.dataset["small"] = "";
  applyPlacement(card, views, before);
}

/** Move a card to the best corner of a view; returns its cost. */
function applyPlacement(card: HTMLElement, views: HTMLElement, before: Box | null): number {
  const area = views.getBoundingClientRect();
  const size = { width: card.offsetWidth, height: card.offsetHeight };
  const places = getVisibleBoxes(views, ".view-pane").flatMap((pane, i) => getCorners(pane, size, i === 0));
  if (places.length === 0) return 0;
  // keep the old position only if the size is the same and it is still inside
  const fits = before?.width === size.width && before.height === size.height && isWithin(before, area);
  const now = fits ? before : null;
  const [points, obstacles] = [getViewPoints(), getVisibleBoxes(views, OBSTACLES)];
  const place = choosePlacement(places, now, points, obstacles);
  card.style.left = `${place.left - area.left}px`;
  card.style.top = `${place.top - area.top}px`;
  return computeCoverage(place, points, obstacles);
}

/** Candidate positions in the corners of a view. */
function getCorners(pane: Box, size: { width: number; height: number }, tools: boolean): Box[] {
  const across = [pane.left + (tools ? TOOL_MARGIN : EDGE_MARGIN), pane.left + pane.width - EDGE_MARGIN - size.width];
  const down = [pane.top + TOP_MARGIN, pane.top + pane.height - BOTTOM_MARGIN - size.height];
  return across.flatMap((left) => down.map((top) => ({ left, top, ...size })));
}

const isWithin = (box: Box, area: DOMRect): boolean =>
  box.left + box.width <= area.right && box.top + box.height <= area.bottom;

/** Bounding boxes of the visible elements of a selector. */
function getVisibleBoxes(views: HTMLElement, which: string): DOMRect[] {
  return [...views.querySelectorAll(which)]
    .map((each) => each.getBoundingClientRect())
    .filter(({ width }) => width > 0);
}
