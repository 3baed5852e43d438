/** Tooltips of all elements with data-tip; data-key is shown as a key. */

import { setChildren, h } from "../core/dom";

const SHOW_DELAY = 500; // ms before a tooltip shows
const LINGER = 300; // ms after one has closed in which the next shows at once
const GAP = 8; // px

export function installTooltips(): void {
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
    placeTooltip(layer, element.getBoundingClientRect());
  };
  const schedule = (element: HTMLElement | null): void => {
    if (element === owner) return;
    hide();
    owner = element;
    if (element) timer = setTimeout(() => show(element), Date.now() - closed < LINGER ? 0 : SHOW_DELAY);
  };
  const findTipped = (target: EventTarget | null): HTMLElement | null =>
    target instanceof Element ? target.closest<HTMLElement>("[data-tip]") : null;

  document.addEventListener("pointerover", (event) => event.buttons === 0 && schedule(findTipped(event.target)));
  document.addEventListener("pointerdown", hide, true);
  document.addEventListener("keydown", hide, true);
  document.addEventListener("wheel", hide, { capture: true, passive: true });
  document.addEventListener("focusin", (event) => {
    const element = findTipped(event.target);
    if (element?.matches(":focus-visible")) schedule(element);
  });
  document.addEventListener("focusout", hide);
  document.documentElement.addEventListener("pointerleave", hide);
}

/** Place below the control, or above it if there is no room, inside the window. */
function placeTooltip(layer: HTMLElement, at: DOMRect): void {
  const { width, height } = layer.getBoundingClientRect();
  const below = at.bottom + GAP + height <= innerHeight;
  const left = Math.max(GAP, Math.min(innerWidth - width - GAP, at.left + at.width / 2 - width / 2));
  layer.style.left = `${Math.round(left)}px`;
  layer.style.top = `${Math.round(below ? at.bottom + GAP : Math.max(GAP, at.top - GAP - height))}px`;
}
