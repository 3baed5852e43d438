/** A page of its own for one finished motion, with nothing to fetch: turn it, play it, scrub through it. */

import "./style/tokens.css";
import "./style/base.css";
import "./style/view.css";
import "./style/viewer.css";
import { h } from "./core/dom";
import { onTheme, getSystemTheme, applyTheme } from "./core/theme";
import { bar } from "./viewer/bar";
import { lead } from "./viewer/hand";
import { type Motion, motionIn } from "./viewer/motion";
import { Player } from "./viewer/player";
import { View } from "./viewer/view";
import { getWebGLError } from "./ui/error-page";

/** What tests may look at. */
export interface ViewerHook {
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

/** Words in place of the motion. */
function say(text: string): void {
  document.body.append(h("p", { class: "viewer-words", role: "alert" }, text));
}

async function main(): Promise<void> {
  applyTheme(getSystemTheme());
  matchMedia("(prefers-color-scheme: light)").addEventListener("change", () => applyTheme(getSystemTheme()));
  const reason = getWebGLError();
  if (reason !== null) return say(`This browser does not draw in three dimensions. ${reason}`);
  const motion = await motionIn(document);
  const view = new View(motion);
  const player = new Player(motion.header.frames, motion.header.fps, (time) => view.show(time));
  const { note } = motion.header;
  document.body.append(
    h("main", { class: "viewer" }, view.element, note ? h("p", { class: "viewer-note" }, note) : null),
    bar(player, motion.header, () => view.whole("animated")),
  );
  lead(view, player);
  onTheme.on(() => view.theme());
  window.cajoleViewer = { player, motion, drawn: () => view.drawn, positions: () => view.positions };
  player.begin();
}

main().catch((failure: unknown) => say(`This motion cannot be shown: ${String(failure)}`));
