/** Entry point: create the components, then connect to the server. */

import "./style/tokens.css";
import "./style/base.css";
import { StudioApp } from "./core/app";
import { bindShortcuts } from "./core/shortcuts";
import { installTestHook } from "./core/test-hook";
import { startPlayback } from "./core/playback";
import { h } from "./core/dom";
import { offerLostDrags } from "./core/drag-recovery";
import { help } from "./ui/help";
import { noWebGL, restarted, undrawable } from "./ui/notice";
import { palette } from "./ui/palette";
import { shell } from "./ui/shell";
import { start } from "./ui/start";
import { strip } from "./ui/strip";
import { toasts } from "./ui/toast";
import { tooltips } from "./ui/tooltip";
import { uploading } from "./ui/uploading";
import { panel } from "./modes/panel";
import { plots } from "./plots/plots";
import { timeline } from "./timeline/timeline";
import { createViewport } from "./view/viewport";

function main(): void {
  const app = new StudioApp();
  const reason = undrawable();
  if (reason !== null) return noWebGL(reason);
  installTestHook(app);
  const begin = start(app);
  const corner = { element: h("div", { class: "corner" }, toasts(app).element, strip(app).element) };
  const time = timeline(app);
  window.cajole!.timeline = time.hook;
  const frame = shell(app, { view: createViewport(app), timeline: time, plots: plots(app), panel: panel(app), corner });
  document.body.append(begin.element, frame.element);
  uploading(app, () => begin.verb);
  help(app);
  palette(app);
  tooltips();
  startPlayback(app);
  offerLostDrags(app);
  bindShortcuts(app);
  app.onUi.on((change) => change.connection === "refused" && restarted());
  void app.connection.connect();
}

main();
