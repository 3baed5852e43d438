/** Player bar, and pointer and keyboard input of the viewer. */

import { h, setText } from "../core/dom";
import { formatNumber, formatSeconds } from "../core/format";
import { createIconButton } from "../ui/controls/button";
import type { MotionHeader } from "./motion";
import type { MotionView } from "./motion-view";
import type { Player } from "./player";

export function createPlayerBar(player: Player, header: MotionHeader, frameAll: () => void): HTMLElement {
  const play = createIconButton({ name: "Play", icon: "play", size: 32, onPress: () => player.setPlaying(!player.playing) });
  const loop = createIconButton({ name: "Loop", icon: "loop", onPress: () => player.setLoop(!player.loop) });
  const fit = createIconButton({ name: "Frame all", icon: "fit", onPress: frameAll });
  const timeOutput = h("output", { class: "viewer-time" });
  const time = h("input", {
    class: "viewer-scrub", type: "range", min: 0, max: Math.max(1, player.frames - 1), step: 1, "aria-label": "Frame",
    disabled: player.frames < 2,
  });
  time.addEventListener("input", () => player.seek(Number(time.value)));
  player.onChange.on(() => {
    play.setIcon(player.playing ? "pause" : "play", player.playing ? "Pause" : "Play");
    loop.setPressed(player.loop);
    const frame = Math.min(Math.floor(player.time), player.frames - 1);
    time.value = String(frame);
    setText(timeOutput, formatTime(frame, header));
  });
  return h("div", { class: "viewer-bar", role: "toolbar", "aria-label": "Playing" },
    play.element, time, timeOutput, loop.element, fit.element);
}

/** "0.43 s · frame 12 / 120", in the frame numbers of the original animation. */
function formatTime(frame: number, { every, start_frame: first, fps, frames }: MotionHeader): string {
  const counted = (k: number): string => formatNumber(first + every * k);
  return `${formatSeconds(frame / fps)} · frame ${counted(frame)} / ${counted(frames - 1)}`;
}

const ZOOM_PER_PIXEL = 0.0015; // change of log distance per wheel pixel
const LINE_HEIGHT = 16; // px per line of a wheel event

/** Install pointer input on a view and keyboard input on a player. */
export function installInput(view: MotionView, player: Player): void {
  const { surface } = view;
  surface.addEventListener("pointerdown", (event) => surface.setPointerCapture(event.pointerId));
  surface.addEventListener("pointermove", (event) => {
    if (!surface.hasPointerCapture(event.pointerId)) return;
    const shifts = event.shiftKey || (event.buttons & 6) !== 0; // middle or right button
    if (shifts) view.pan(event.movementX, event.movementY);
    else view.orbit(event.movementX, event.movementY);
  });
  surface.addEventListener("contextmenu", (event) => event.preventDefault());
  surface.addEventListener("dblclick", () => view.frameAll("animated"));
  surface.addEventListener("wheel", (event) => handleWheel(event, view), { passive: false });
  document.addEventListener("keydown", (event) => handleKey(event, player));
}

/** Zoom, except in an embedded page without focus, where the wheel scrolls. */
function handleWheel(event: WheelEvent, view: MotionView): void {
  if (window !== window.top && !document.hasFocus()) return;
  event.preventDefault();
  view.zoom(Math.exp(ZOOM_PER_PIXEL * event.deltaY * (event.deltaMode === 1 ? LINE_HEIGHT : 1)));
}

function handleKey(event: KeyboardEvent, player: Player): void {
  if (event.target instanceof HTMLInputElement || event.target instanceof HTMLButtonElement) return;
  const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  if (by !== undefined) player.seek(Math.round(player.time) + by);
  else if (event.key === " ") player.setPlaying(!player.playing);
  else return;
  event.preventDefault();
}
