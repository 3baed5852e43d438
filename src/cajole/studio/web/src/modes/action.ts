/** The main action of a panel: long work that can be ended with what there is. */

import { h } from "../core/dom";
import type { IconName } from "../core/icons";
import type { App, Component } from "../core/types";
import { createButton } from "../ui/controls/button";
import { tell } from "./mode-panel";

/** What a mode's state says of its action. */
export interface Doing {
  job: string | null;
  again: boolean; // there is a result that it would replace
  refused: string | null; // why it cannot begin
}

export interface ActionOptions<S> {
  verb: string;
  doing: string; // its words while it is under way
  icon: IconName;
  tip: string;
  stop: { text: string; tip: string };
  onPress: () => void;
  read: (part: S) => Doing;
}

export interface Action<S> extends Component {
  update(part: S): void;
  dispose(): void;
}

export function actionPart<S>(app: App, options: ActionOptions<S>): Action<S> {
  let job: string | null = null; // the server tells of the job before the state that names it
  let running: string | null = null;
  let known: Doing | null = null;
  const { verb, icon, tip, onPress } = options;
  const go = createButton({ text: verb, icon, kind: "primary", main: true, key: "Enter", tip, onPress });
  const stop = createButton({ ...options.stop, onPress: () => running && tell(app, "stop", { job: running }) });
  stop.element.classList.add("p-main");
  const element = h("div", { class: "panel-action" }, go.element, stop.element);
  const show = (now: Doing): void => {
    known = now;
    running = now.job ?? job;
    go.setBusy(running !== null);
    go.setText(running ? options.doing : now.again ? `${verb} again` : verb);
    go.setDisabledReason(running === null ? now.refused : null);
    stop.setVisible(running !== null);
    element.toggleAttribute("data-running", running !== null);
  };
  const end = app.onJob.on((heard) => {
    if (!heard.stoppable && heard.job !== job) return;
    job = heard.state === "running" ? heard.job : null;
    if (known) show(known);
  });
  return { element, update: (part) => show(options.read(part)), dispose: end };
}
