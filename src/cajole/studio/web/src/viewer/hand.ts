/** The hand and the keys in the viewer. */

import type { Player } from "./player";
import type { View } from "./view";

const ZOOM = 0.0015; // of the distance, for a unit of the wheel
const LINE = 16; // px of a wheel that counts in lines

/** Leads the camera of a view and the time of a player. */
export function lead(view: View, player: Player): void {
  const { surface } = view;
  surface.addEventListener("pointerdown", (event) => surface.setPointerCapture(event.pointerId));
  surface.addEventListener("pointermove", (event) => {
    if (!surface.hasPointerCapture(event.pointerId)) return;
    const shifts = event.shiftKey || (event.buttons & 6) !== 0; // the middle or the right button
    if (shifts) view.shift(event.movementX, event.movementY);
    else view.turn(event.movementX, event.movementY);
  });
  surface.addEventListener("contextmenu", (event) => event.preventDefault());
  surface.addEventListener("dblclick", () => view.whole("animated"));
  surface.addEventListener("wheel", (event) => wheel(event, view), { passive: false });
  document.addEventListener("keydown", (event) => key(event, player));
}

/** In a notebook the wheel scrolls the page, until the view was clicked. */
function wheel(event: WheelEvent, view: View): void {
  if (window !== window.top && !document.hasFocus()) return;
  event.preventDefault();
  view.zoom(Math.exp(ZOOM * event.deltaY * (event.deltaMode === 1 ? LINE : 1)));
}

function key(event: KeyboardEvent, player: Player): void {
  if (event.target instanceof HTMLInputElement || event.target instanceof HTMLButtonElement) return;
  const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  if (by !== undefined) player.go(Math.round(player.time) + by);
  else if (event.key === " ") player.play(!player.playing);
  else return;
  event.preventDefault();
}
