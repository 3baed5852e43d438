/** First steps: three cards a mode, each gone once its step is done. */

import { setChildren, h } from "../core/dom";
import { registerHandler } from "../core/commands";
import { saveSetting, loadSetting } from "../core/storage";
import { onViewLayout } from "../core/view-points";
import { FLOWING } from "./flow-steps";
import { settle } from "./settling";
import { perform, performable } from "./showing";
import type { StudioApp } from "../core/app";
import type { ModeName, Component, ProjectState } from "../core/types";

export interface Step {
  title: string;
  text: string;
  done(now: ProjectState, then: ProjectState): boolean; // then: the state in which the card appeared
  last?: true;
}

const STEPS: Partial<Record<ModeName, readonly Step[]>> = {
  edit: [
    {
      title: "Drag the blue arrow",
      text: "The point goes where you put it. The frames before and after follow.",
      done: (now, then) => now.edit!.drags.length > then.edit!.drags.length,
    },
    {
      title: "Scrub the time line",
      text: "Yellow came in, clay is yours.",
      done: (now, then) => now.frame !== then.frame,
    },
    {
      title: "Widen the reach",
      text: "Reach in time, at the right: the wider, the gentler. The violet lane is the force that it takes.",
      done: (now, then) => now.edit!.h !== then.edit!.h,
      last: true,
    },
  ],
  keyframe: [
    {
      title: "Press on the body and pull",
      text: "It bends as it would under your hand.",
      done: (now) => now.keyframe!.loads.some((load) => load.kind === "pull"),
    },
    {
      title: "Capture this pose",
      text: "Press K: the pose becomes a key at the blue frame.",
      done: (now, then) => now.keyframe!.keys.length > then.keyframe!.keys.length,
    },
    {
      title: "Optimise",
      text: "Press Enter: the body moves through its keys with the least force.",
      done: (now) => now.keyframe!.optimising !== null || now.keyframe!.result !== null,
      last: true,
    },
  ],
  steer: [
    {
      title: "Push the body",
      text: "Press on it and drag. The controller brings it back.",
      done: (now, then) => now.steer!.pushes.length > then.steer!.pushes.length,
    },
    {
      title: "Switch control off and push again",
      text: "Press C, then push: nothing brings it back.",
      done: (now, then) => !now.steer!.control && now.steer!.pushes.length > then.steer!.pushes.length,
    },
    {
      title: "Compare the two curves",
      text: "Clay is how far it strays, violet the force it takes. C switches control on again.",
      done: (now) => now.steer!.control,
      last: true,
    },
  ],
  enrich: [
    {
      title: "Enrich",
      text: "Press Enter: the shell on the right follows the yellow guide, and its material makes the folds.",
      done: (now) => now.enrich!.running !== null || now.enrich!.result !== null,
    },
    {
      title: "Choose another material",
      text: "At the right: stiffer and thicker makes wide folds, limp and thin many small ones.",
      done: (now, then) => now.enrich!.dials.material !== then.enrich!.dials.material,
    },
    {
      title: "Paint a region",
      text: "Take the brush (B) and drag over the guide. Small regions keep close to it, large ones leave more to the shell.",
      done: (now) => now.enrich!.regions.kind === "paint",
      last: true,
    },
  ],
  reroute: [
    {
      title: "Drag a point",
      text: "Go to a frame, click a point of the net and drag it: that is where it shall be.",
      done: (now, then) => now.reroute!.goals.length > then.reroute!.goals.length,
    },
    {
      title: "Run again",
      text: "Press Enter: it runs as before, with small forces that lead the point there. Green was, red is its path.",
      done: (now) => now.reroute!.making === "run" || now.reroute!.result !== null,
    },
    {
      title: "Compare",
      text: "At the right: Pattern moves as before, Least force is gentler and moves as it likes.",
      done: (now) => now.reroute!.compared.length > 1,
      last: true,
    },
  ],
};

/** The cards for what is open; none in a mode without. */
const stepsOf = (state: ProjectState): readonly Step[] | undefined => (state.steer?.flow ? FLOWING : STEPS[state.mode]);

/** The cards show again from now on. */
export function forgetSteps(): void {
  for (const mode of Object.keys(STEPS)) saveSetting(`coach.${mode}`, undefined);
}

export function coach(app: StudioApp): Component {
  const element = h("aside", { class: "coach", "aria-label": "First steps", hidden: true });
  let mode: ModeName | null = null;
  let at = 0;
  let then: ProjectState | null = null;

  const keepAway = (): void => settle(element);
  const end = (): void => {
    if (mode) saveSetting(`coach.${mode}`, true);
    mode = null;
    element.hidden = true;
  };
  const show = (state: ProjectState): void => {
    const steps = stepsOf(state)!;
    const step = steps[at]!;
    then = state;
    element.hidden = false;
    requestAnimationFrame(keepAway); // with its new size
    const main = step.last
      ? h("button", { type: "button", class: "p-button p-primary", onclick: end }, "Done")
      : showMe(app, at);
    setChildren(
      element,
      h(
        "div",
        { class: "coach-head" },
        h(
          "span",
          { class: "coach-dots", "aria-hidden": "true" },
          steps.map((_, dot) => h("i", { class: dot === at ? "on" : "" })),
        ),
        h("span", null, `${at + 1} of ${steps.length}`),
      ),
      h("h2", null, step.title),
      h("p", null, step.text),
      h(
        "div",
        { class: "coach-foot" },
        main,
        step.last ? null : h("button", { type: "button", class: "p-button p-ghost", onclick: end }, "Skip tour"),
      ),
    );
  };
  const begin = (state: ProjectState): void => {
    mode = state.mode;
    at = 0;
    show(state);
  };
  /** The first card gains or loses its button as there is a point in hand or not. */
  const refresh = (state: ProjectState): void => {
    const button = element.querySelector<HTMLButtonElement>(".show-me");
    if (at === 0 && !button?.disabled && performable(app) !== (button !== null)) show(state);
  };
  const hear = (state: ProjectState): void => {
    if (state.mode !== mode) {
      mode = null;
      element.hidden = true;
      if (STEPS[state.mode] && !loadSetting(`coach.${state.mode}`, false) && app.ui.pilot) begin(state);
      return;
    }
    const steps = stepsOf(state)!;
    const step = steps[at]!;
    if (!step.done(state, then!)) return refresh(state);
    at += 1;
    if (at < steps.length) show(state);
    else end();
  };
  app.onState.on((state) => (hear(state), keepAway()));
  onViewLayout.on(keepAway);
  app.onUi.on((change) => change.pilot && app.state && hear(app.state));
  app.onProject.on((project) => project === null && ((mode = null), (element.hidden = true)));
  registerHandler("tour", () => app.state && STEPS[app.state.mode] && begin(app.state));
  return { element };
}

/** A button that truly does the first step of Edit and takes it back; none where nothing can be shown. */
function showMe(app: StudioApp, at: number): HTMLElement | null {
  if (at > 0 || !performable(app)) return null;
  const button = h(
    "button",
    {
      type: "button",
      class: "p-button p-primary show-me",
      onclick: () => {
        button.disabled = true;
        void perform(app).finally(() => (button.disabled = false));
      },
    },
    "Show me",
  );
  return button;
}
