/** The bar below the motion: play, scrub, loop, and the whole in view. */

import { h, setText } from "../core/dom";
import { formatNumber, formatSeconds } from "../core/format";
import { createIconButton } from "../ui/controls/button";
import type { Header } from "./motion";
import type { Player } from "./player";

export function bar(player: Player, header: Header, whole: () => void): HTMLElement {
  const play = createIconButton({ name: "Play", icon: "play", size: 32, onPress: () => player.play(!player.playing) });
  const loop = createIconButton({ name: "Loop", icon: "loop", onPress: () => player.repeat(!player.loop) });
  const fit = createIconButton({ name: "Show the whole", icon: "fit", onPress: whole });
  const told = h("output", { class: "viewer-time" });
  const time = h("input", {
    class: "viewer-scrub", type: "range", min: 0, max: Math.max(1, player.frames - 1), step: 1, "aria-label": "Frame",
    disabled: player.frames < 2,
  });
  time.addEventListener("input", () => player.go(Number(time.value)));
  player.onChange.on(() => {
    play.setIcon(player.playing ? "pause" : "play", player.playing ? "Pause" : "Play");
    loop.setPressed(player.loop);
    const frame = Math.min(Math.floor(player.time), player.frames - 1);
    time.value = String(frame);
    setText(told, timeText(frame, header));
  });
  return h("div", { class: "viewer-bar", role: "toolbar", "aria-label": "Playing" },
    play.element, time, told, loop.element, fit.element);
}

/** "0.43 s · frame 12 / 120", as the program that wrote it counts them. */
function timeText(frame: number, { every, start_frame: first, fps, frames }: Header): string {
  const counted = (k: number): string => formatNumber(first + every * k);
  return `${formatSeconds(frame / fps)} · frame ${counted(frame)} / ${counted(frames - 1)}`;
}
