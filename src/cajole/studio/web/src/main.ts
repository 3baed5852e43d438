/** Entry point: create the components, then connect to the server. */

import "./style/tokens.css";
import "./style/base.css";
import { StudioApp } from "./core/app";
import { bindShortcuts } from "./core/shortcuts";
import { installTestHook } from "./core/test-hook";
import { startPlayback } from "./core/playback";
import { h } from "./core/dom";
import { offerLostDrags } from "./core/drag-recovery";
import { installHelp } from "./ui/help";
import { showWebGLErrorPage, showRestartedPage, getWebGLError } from "./ui/error-page";
import { installPalette } from "./ui/command-palette";
import { createShell } from "./ui/shell";
import { createStartPage } from "./ui/start-page";
import { createJobProgress } from "./ui/job-progress";
import { createToasts } from "./ui/toast";
import { installTooltips } from "./ui/tooltip";
import { installUpload } from "./ui/upload";
import { registerModes } from "./core/modes";
import { createPanel } from "./modes/panel";
import * as modes from "./modes/registry";
import { createPlotDrawer } from "./plots/plots";
import { createTimeline } from "./timeline/timeline";
import { Viewport } from "./view/viewport";

function main(): void {
  registerModes(Object.values(modes));
  const app = new StudioApp();
  const reason = getWebGLError();
  if (reason !== null) return showWebGLErrorPage(reason);
  installTestHook(app);
  const begin = createStartPage(app);
  const corner = { element: h("div", { class: "corner" }, createToasts(app).element, createJobProgress(app).element) };
  const time = createTimeline(app);
  window.cajole!.timeline = time.hook;
  const frame = createShell(app, {
    view: new Viewport(app), timeline: time, plots: createPlotDrawer(app), panel: createPanel(app), corner,
  });
  document.body.append(begin.element, frame.element);
  installUpload(app, () => begin.mode);
  installHelp(app);
  installPalette(app);
  installTooltips();
  startPlayback(app);
  offerLostDrags(app);
  bindShortcuts(app);
  app.onUi.on((change) => change.connection === "refused" && showRestartedPage());
  void app.connection.connect();
}

main();
