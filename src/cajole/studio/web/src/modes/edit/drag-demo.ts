/** Demonstration of a drag: an animated pointer moves the selected vertex, then the drag is cancelled. */

import { h } from "../../core/dom";
import { createIcon } from "../../core/icons";
import type { StudioApp } from "../../core/app";
import type { Vec3 } from "../../core/types";

const DEMO_HEIGHT = 0.12; // fraction of the body size
const DEMO_TIME = 1400; // ms
const DEMO_GESTURE = 2 ** 31 - 1; // largest id that the server accepts: no other gesture reaches it

/** True if the selected vertex can be dragged at this frame. */
export function canPlayDemo(app: StudioApp): boolean {
  const { state, ui } = app;
  if (!state?.edit || !ui.pilot || ui.connection !== "connected") return false;
  const [first, last] = state.edit.editable;
  return first <= state.frame && state.frame <= last && state.selection.length > 0 && !state.selection[0]!.fixed;
}

/** Drag the selected vertex up and down, then cancel. */
export async function playDemo(app: StudioApp): Promise<void> {
  const node = app.state?.selection[0]?.node;
  if (node === undefined || !app.project) return;
  const pointer = h("div", { class: "ghost-pointer", "aria-hidden": "true" }, createIcon("select", 24));
  document.body.append(pointer);
  const size = app.project.size;
  try {
    await app.request("drag.begin", { gesture: DEMO_GESTURE, nodes: [node], frame: app.state!.frame });
    await animate((share, count) => {
      const up: Vec3 = [0, 0, DEMO_HEIGHT * size * Math.sin(Math.PI * share)];
      app.stream("drag.move", { gesture: DEMO_GESTURE, seq: count, delta: up });
      movePointer(pointer, node);
    });
  } catch {
    return; // a toast shows the reason
  } finally {
    pointer.remove();
    await app.request("drag.cancel", { gesture: DEMO_GESTURE }, { quiet: true }).catch(() => undefined);
  }
}

/** Move the pointer image to the rendered vertex. */
function movePointer(pointer: HTMLElement, node: number): void {
  const place = window.cajole?.view?.project(node);
  pointer.hidden = !place;
  if (place) pointer.style.transform = `translate(${place[0]}px, ${place[1]}px)`;
}

function animate(step: (share: number, count: number) => void): Promise<void> {
  return new Promise((resolve) => {
    let started = 0;
    let count = 0;
    const tick = (now: number): void => {
      started ||= now;
      const share = Math.min(1, (now - started) / DEMO_TIME);
      step(share, ++count);
      if (share < 1) requestAnimationFrame(tick);
      else resolve();
    };
    requestAnimationFrame(tick);
  });
}
