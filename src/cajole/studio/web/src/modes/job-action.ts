/** The main action of a panel: long work that can be ended with what there is. */

import { h } from "../core/dom";
import type { IconName } from "../core/icons";
import type { App, Component } from "../core/types";
import { createButton } from "../ui/controls/button";
import { send } from "./mode-panel";

/** What a mode's state says of its action. */
export interface JobStatus {
  job: string | null;
  hasResult: boolean; // there is a result that it would replace
  disabledReason: string | null; // why it cannot begin
}

export interface JobActionOptions<S> {
  text: string;
  busyText: string; // its words while it is under way
  icon: IconName;
  tip: string;
  stop: { text: string; tip: string };
  onPress: () => void;
  getStatus: (part: S) => JobStatus;
}

export interface JobAction<S> extends Component {
  update(part: S): void;
  dispose(): void;
}

export function createJobAction<S>(app: App, options: JobActionOptions<S>): JobAction<S> {
  let job: string | null = null; // the server tells of the job before the state that names it
  let running: string | null = null;
  let status: JobStatus | null = null;
  const { text: verb, icon, tip, onPress } = options;
  const go = createButton({ text: verb, icon, kind: "primary", main: true, key: "Enter", tip, onPress });
  const stop = createButton({ ...options.stop, onPress: () => running && send(app, "stop", { job: running }) });
  stop.element.classList.add("p-main");
  const element = h("div", { class: "panel-action" }, go.element, stop.element);
  const show = (next: JobStatus): void => {
    status = next;
    running = next.job ?? job;
    go.setBusy(running !== null);
    go.setText(running ? options.busyText : next.hasResult ? `${verb} again` : verb);
    go.setDisabledReason(running === null ? next.disabledReason : null);
    stop.setVisible(running !== null);
    element.toggleAttribute("data-running", running !== null);
  };
  const end = app.onJob.on((update) => {
    if (!update.stoppable && update.job !== job) return;
    job = update.state === "running" ? update.job : null;
    if (status) show(status);
  });
  return { element, update: (part) => show(options.getStatus(part)), dispose: end };
}
