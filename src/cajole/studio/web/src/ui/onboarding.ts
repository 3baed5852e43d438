/** Onboarding: three cards per mode; each closes when its step is done. */

import type { StudioApp } from "../core/app";
import { registerHandler } from "../core/commands";
import { h, setChildren } from "../core/dom";
import { getCurrentMode, getMode, getModes, type ModeName } from "../core/modes";
import { loadSetting, saveSetting } from "../core/storage";
import type { Component, ProjectState } from "../core/types";
import { onViewLayout } from "../core/view-points";
import { placeCard } from "./card-placement";

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
      h(
        "div",
        { class: "coach-head" },
        h(
          "span",
          { class: "coach-dots", "aria-hidden": "true" },
          steps.map((_, dot) => h("i", { class: dot === index ? "on" : "" })),
        ),
        h("span", null, `${index + 1} of ${steps.length}`),
      ),
      h("h2", null, step.title),
      h("p", null, step.text),
      h(
        "div",
        { class: "coach-foot" },
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
  const button = h(
    "button",
    {
      type: "button",
      class: "p-button p-primary show-me",
      onclick: () => {
        button.disabled = true;
        void getCurrentMode(app)!.demo!.play(app).finally(() => (button.disabled = false));
      },
    },
    "Show me",
  );
  return button;
}
