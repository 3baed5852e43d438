/** Onboarding: three cards per mode; each closes when its step is done. */

import type { StudioApp } from "../core/app";
import { registerHandler } from "../core/commands";
import { h, setChildren } from "../core/dom";
import { loadSetting, saveSetting } from "../core/storage";
import type { Component, ModeName, ProjectState } from "../core/types";
import { onViewLayout } from "../core/view-points";
import { placeCard } from "./card-placement";
import { canPlayDemo, playDemo } from "./drag-demo";

const FLOW_STEPS: readonly OnboardingStep[] = [
  {
    title: "Push the flow",
    text: "Press anywhere in the box and drag. Control moves the red particles back to their yellow targets.",
    done: (now, then) => now.steer!.pushes.length > then.steer!.pushes.length,
  },
  {
    title: "Switch control off and push again",
    text: "Press C, then push: the particles drift with the flow.",
    done: (now, then) => !now.steer!.control && now.steer!.pushes.length > then.steer!.pushes.length,
  },
  {
    title: "Compare the two curves",
    text: "Clay is the largest particle error in cells, violet the control force. Press C to switch control on again.",
    done: (now) => now.steer!.control,
    last: true,
  },
];

interface OnboardingStep {
  title: string;
  text: string;
  done(now: ProjectState, then: ProjectState): boolean; // then: state when the card appeared
  last?: true;
}

const MODE_STEPS: Partial<Record<ModeName, readonly OnboardingStep[]>> = {
  edit: [
    {
      title: "Drag the blue arrow",
      text: "The point moves where you drag it. The frames before and after follow.",
      done: (now, then) => now.edit!.drags.length > then.edit!.drags.length,
    },
    {
      title: "Scrub the timeline",
      text: "Yellow is the input, clay is your edit.",
      done: (now, then) => now.frame !== then.frame,
    },
    {
      title: "Widen the reach",
      text: "Reach in time, at the right: a wider reach needs less force. The violet lane shows the added force.",
      done: (now, then) => now.edit!.h !== then.edit!.h,
      last: true,
    },
  ],
  keyframe: [
    {
      title: "Press on the body and pull",
      text: "The body deforms like the real material would.",
      done: (now) => now.keyframe!.loads.some((load) => load.kind === "pull"),
    },
    {
      title: "Capture this pose",
      text: "Press K: the pose becomes a key at the blue frame.",
      done: (now, then) => now.keyframe!.keys.length > then.keyframe!.keys.length,
    },
    {
      title: "Optimise",
      text: "Press Enter to find the motion through the keys with the least added force.",
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
      text: "Press C, then push: the body does not return.",
      done: (now, then) => !now.steer!.control && now.steer!.pushes.length > then.steer!.pushes.length,
    },
    {
      title: "Compare the two curves",
      text: "Clay is the tracking error, violet the control force. Press C to switch control on again.",
      done: (now) => now.steer!.control,
      last: true,
    },
  ],
  enrich: [
    {
      title: "Enrich",
      text: "Press Enter: the shell on the right tracks the yellow guide, and its material forms the folds.",
      done: (now) => now.enrich!.running !== null || now.enrich!.result !== null,
    },
    {
      title: "Choose another material",
      text: "At the right: stiff, thick materials form wide folds; soft, thin ones form many small folds.",
      done: (now, then) => now.enrich!.dials.material !== then.enrich!.dials.material,
    },
    {
      title: "Paint a region",
      text: "Select the brush (B) and drag over the guide. Small regions track the guide closely, large ones leave more freedom.",
      done: (now) => now.enrich!.regions.kind === "paint",
      last: true,
    },
  ],
  reroute: [
    {
      title: "Drag a point",
      text: "Go to a frame, click a point of the net and drag it to its goal.",
      done: (now, then) => now.reroute!.goals.length > then.reroute!.goals.length,
    },
    {
      title: "Run again",
      text: "Press Enter: the same run, with small forces that move the point to its goal. Green is the old path, red the new one.",
      done: (now) => now.reroute!.making === "run" || now.reroute!.result !== null,
    },
    {
      title: "Compare",
      text: "At the right: Pattern keeps the shape of the motion, Least force minimizes the forces.",
      done: (now) => now.reroute!.compared.length > 1,
      last: true,
    },
  ],
};

/** Steps of the current mode. */
const getSteps = (state: ProjectState): readonly OnboardingStep[] | undefined => (state.steer?.flow ? FLOW_STEPS : MODE_STEPS[state.mode]);

/** Show the cards of all modes again. */
export function resetOnboarding(): void {
  for (const mode of Object.keys(MODE_STEPS)) saveSetting(`coach.${mode}`, undefined);
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
    const steps = getSteps(state)!;
    const step = steps[index]!;
    then = state;
    element.hidden = false;
    requestAnimationFrame(placeElement); // with its new size
    const main = step.last
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
        step.last ? null : h("button", { type: "button", class: "p-button p-ghost", onclick: end }, "Skip tour"),
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
      if (MODE_STEPS[state.mode] && !loadSetting(`coach.${state.mode}`, false) && app.ui.pilot) begin(state);
      return;
    }
    const steps = getSteps(state)!;
    const step = steps[index]!;
    if (!step.done(state, then!)) return refresh(state);
    index += 1;
    if (index < steps.length) show(state);
    else end();
  };
  app.onState.on((state) => (handleState(state), placeElement()));
  onViewLayout.on(placeElement);
  app.onUi.on((change) => change.pilot && app.state && handleState(app.state));
  app.onProject.on((project) => project === null && ((mode = null), (element.hidden = true)));
  registerHandler("tour", () => app.state && MODE_STEPS[app.state.mode] && begin(app.state));
  return { element };
}

/** Button that demonstrates the first step of Edit and reverts it; null if it cannot. */
function createDemoButton(app: StudioApp, index: number): HTMLElement | null {
  if (index > 0 || !canPlayDemo(app)) return null;
  const button = h(
    "button",
    {
      type: "button",
      class: "p-button p-primary show-me",
      onclick: () => {
        button.disabled = true;
        void playDemo(app).finally(() => (button.disabled = false));
      },
    },
    "Show me",
  );
  return button;
}
