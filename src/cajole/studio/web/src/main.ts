/** Where the page begins: the parts are made, hear the app, and then the socket opens. */

import "./style/tokens.css";
import "./style/base.css";
import { Studio } from "./core/app";
import { bind } from "./core/binding";
import { hang } from "./core/hook";
import { playing } from "./core/playing";
import { h } from "./core/dom";
import { unsent } from "./core/unsent";
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
import { viewport } from "./view/viewport";

function main(): void {
  const app = new Studio();
  const reason = undrawable();
  if (reason !== null) return noWebGL(reason);
  hang(app);
  const begin = start(app);
  const corner = { element: h("div", { class: "corner" }, toasts(app).element, strip(app).element) };
  const time = timeline(app);
  window.cajole!.timeline = time.hook;
  const frame = shell(app, { view: viewport(app), timeline: time, plots: plots(app), panel: panel(app), corner });
  document.body.append(begin.element, frame.element);
  uploading(app, () => begin.verb);
  help(app);
  palette(app);
  tooltips();
  playing(app);
  unsent(app);
  bind(app);
  app.onUi.on((change) => change.connection === "refused" && restarted());
  void app.wire.connect();
}

main();
