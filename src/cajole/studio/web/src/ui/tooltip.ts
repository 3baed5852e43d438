/** Tooltips of everything that has data-tip, with data-key at their right. One layer for the whole page. */

import { setChildren, h } from "../core/dom";

const WAIT = 500; // ms over a control before its tooltip shows; at once while one was open
const LINGER = 300; // ms after one closed in which the next shows at once
const GAP = 8; // px

export function tooltips(): void {
  const layer = h("div", { class: "tooltip", role: "tooltip", id: "tooltip", hidden: true });
  document.body.append(layer);
  let owner: HTMLElement | null = null;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let closed = 0;

  const hide = (): void => {
    clearTimeout(timer);
    if (!layer.hidden) closed = Date.now();
    layer.hidden = true;
    owner?.removeAttribute("aria-describedby");
    owner = null;
  };
  const show = (element: HTMLElement): void => {
    const tip = element.dataset["tip"];
    if (!tip || !element.isConnected) return;
    const key = element.dataset["key"];
    setChildren(layer, h("span", null, tip), key ? h("kbd", null, key) : null);
    (element.closest("dialog") ?? document.body).append(layer);
    layer.hidden = false;
    if (!element.hasAttribute("aria-describedby")) element.setAttribute("aria-describedby", "tooltip");
    place(layer, element.getBoundingClientRect());
  };
  const want = (element: HTMLElement | null): void => {
    if (element === owner) return;
    hide();
    owner = element;
    if (element) timer = setTimeout(() => show(element), Date.now() - closed < LINGER ? 0 : WAIT);
  };
  const tipped = (target: EventTarget | null): HTMLElement | null =>
    target instanceof Element ? target.closest<HTMLElement>("[data-tip]") : null;

  document.addEventListener("pointerover", (event) => event.buttons === 0 && want(tipped(event.target)));
  document.addEventListener("pointerdown", hide, true);
  document.addEventListener("keydown", hide, true);
  document.addEventListener("wheel", hide, { capture: true, passive: true });
  document.addEventListener("focusin", (event) => {
    const element = tipped(event.target);
    if (element?.matches(":focus-visible")) want(element);
  });
  document.addEventListener("focusout", hide);
  document.documentElement.addEventListener("pointerleave", hide);
}

/** Below the control, or above it where there is no room, and never out of the window. */
function place(layer: HTMLElement, at: DOMRect): void {
  const { width, height } = layer.getBoundingClientRect();
  const below = at.bottom + GAP + height <= innerHeight;
  const left = Math.max(GAP, Math.min(innerWidth - width - GAP, at.left + at.width / 2 - width / 2));
  layer.style.left = `${Math.round(left)}px`;
  layer.style.top = `${Math.round(below ? at.bottom + GAP : Math.max(GAP, at.top - GAP - height))}px`;
}
