/** Shows a drag: a pointer takes the arrow, the body truly follows, and all of it is taken back. */

import { h } from "../core/dom";
import { createIcon } from "../core/icons";
import type { StudioApp } from "../core/app";
import type { Vec3 } from "../core/types";

const RISE = 0.12; // of the body's size
const LONG = 1400; // ms up and down again
const GESTURE = 2 ** 31 - 1; // the largest that the server takes: no hand on this page counts up to it

/** Whether there is a point in hand that could be dragged at this frame. */
export function performable(app: StudioApp): boolean {
  const { state, ui } = app;
  if (!state?.edit || !ui.pilot || ui.connection !== "connected") return false;
  const [first, last] = state.edit.editable;
  return first <= state.frame && state.frame <= last && state.selection.length > 0 && !state.selection[0]!.fixed;
}

/** Drags the selected point up and lets it go back; nothing of it is kept. */
export async function perform(app: StudioApp): Promise<void> {
  const node = app.state?.selection[0]?.node;
  if (node === undefined || !app.project) return;
  const pointer = h("div", { class: "ghost-pointer", "aria-hidden": "true" }, createIcon("select", 24));
  document.body.append(pointer);
  const size = app.project.size;
  try {
    await app.request("drag.begin", { gesture: GESTURE, nodes: [node], frame: app.state!.frame });
    await animate((share, count) => {
      const up: Vec3 = [0, 0, RISE * size * Math.sin(Math.PI * share)];
      app.stream("drag.move", { gesture: GESTURE, seq: count, delta: up });
      follow(pointer, node);
    });
  } catch {
    return; // the toast has told why
  } finally {
    pointer.remove();
    await app.request("drag.cancel", { gesture: GESTURE }, { quiet: true }).catch(() => undefined);
  }
}

/** The pointer rides on the point, wherever it is drawn. */
function follow(pointer: HTMLElement, node: number): void {
  const place = window.cajole?.view?.project(node);
  pointer.hidden = !place;
  if (place) pointer.style.transform = `translate(${place[0]}px, ${place[1]}px)`;
}

function animate(step: (share: number, count: number) => void): Promise<void> {
  return new Promise((resolve) => {
    let begun = 0;
    let count = 0;
    const tick = (now: number): void => {
      begun ||= now;
      const share = Math.min(1, (now - begun) / LONG);
      step(share, ++count);
      if (share < 1) requestAnimationFrame(tick);
      else resolve();
    };
    requestAnimationFrame(tick);
  });
}
