/** Main button of a panel that starts a job, with a button that stops it early. */

import { h } from "../core/dom";
import type { IconName } from "../core/icons";
import type { App, Component } from "../core/types";
import { createButton } from "../ui/controls/button";
import { send } from "./mode-panel";

/** Status of the job from the state of a mode. */
interface JobStatus {
  job: string | null;
  hasResult: boolean; // a new job replaces it
  disabledReason: string | null; // null if enabled
}

interface JobActionOptions<S> {
  text: string;
  busyText: string; // text while the job runs
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
  let job: string | null = null; // the job message arrives before the state that names it
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
