/** Entry point of the standalone viewer of one motion. */

import "./style/tokens.css";
import "./style/base.css";
import "./style/view.css";
import "./style/viewer.css";
import { h } from "./core/dom";
import { applyTheme, getSystemTheme, onTheme } from "./core/theme";
import { getWebGLError } from "./ui/error-page";
import { createPlayerBar, installInput } from "./viewer/bar";
import { loadMotion, type Motion } from "./viewer/motion";
import { MotionView } from "./viewer/motion-view";
import { Player } from "./viewer/player";

/** Access for tests. */
interface ViewerHook {
  readonly player: Player;
  readonly motion: Motion;
  drawn(): number;
  positions(): Float32Array;
}
declare global {
  interface Window {
    cajoleViewer?: ViewerHook;
  }
}

/** Show a message instead of the motion. */
function showMessage(text: string): void {
  document.body.append(h("p", { class: "viewer-words", role: "alert" }, text));
}

async function main(): Promise<void> {
  applyTheme(getSystemTheme());
  matchMedia("(prefers-color-scheme: light)").addEventListener("change", () => applyTheme(getSystemTheme()));
  const reason = getWebGLError();
  if (reason !== null) return showMessage(`WebGL 2 is not available in this browser. ${reason}`);
  const motion = await loadMotion(document);
  const view = new MotionView(motion);
  const player = new Player(motion.header.frames, motion.header.fps, (time) => view.show(time));
  const { note } = motion.header;
  document.body.append(
    h("main", { class: "viewer" }, view.element, note ? h("p", { class: "viewer-note" }, note) : null),
    createPlayerBar(player, motion.header, () => view.frameAll("animated")),
  );
  installInput(view, player);
  onTheme.on(() => view.updateTheme());
  window.cajoleViewer = { player, motion, drawn: () => view.frameCount, positions: () => view.positions };
  player.start();
}

main().catch((failure: unknown) => showMessage(`This motion cannot be shown: ${String(failure)}`));
