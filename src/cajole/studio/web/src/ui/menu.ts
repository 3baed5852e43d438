/** Menus: under a button or where the pointer is. */

import { h } from "../core/dom";
import { createIcon, type IconName } from "../core/icons";

export interface MenuItem {
  text: string;
  do(): void;
  icon?: IconName;
  key?: string; // as shown
  detail?: string; // quiet words at the right
  why?: string | null; // why it cannot be chosen
  checked?: boolean;
  danger?: boolean;
}
/** null draws a line, a string a heading. */
export type MenuEntry = MenuItem | string | null;

const EDGE = 8; // px from the window's edge
let present: { close(back?: boolean): void; at: unknown } | null = null;

/** Opens a menu under an element or at a point; choosing, Escape, a press elsewhere or opening it again closes it. */
export function openMenu(
  at: HTMLElement | { x: number; y: number },
  entries: readonly MenuEntry[],
  name = "Menu",
): void {
  const again = present !== null && present.at === at;
  present?.close(false);
  if (again) return;
  const before = document.activeElement;
  const element = h(
    "div",
    { class: "menu", role: "menu", "aria-label": name, tabIndex: -1 },
    entries.map((entry) => row(entry, (item) => choose(item))),
  );
  const close = (back = true): void => {
    element.remove();
    window.removeEventListener("pointerdown", outside, true);
    window.removeEventListener("blur", gone);
    if (at instanceof HTMLElement) at.setAttribute("aria-expanded", "false");
    present = null;
    if (back && before instanceof HTMLElement) before.focus({ preventScroll: true });
  };
  const choose = (item: MenuItem): void => {
    if (item.why) return;
    close();
    item.do();
  };
  const gone = (): void => close(false);
  const outside = (event: PointerEvent): void => {
    const target = event.target as Node;
    if (!element.contains(target) && !(at instanceof HTMLElement && at.contains(target))) close(false);
  };
  element.addEventListener("keydown", (event) => travel(element, event, close));
  element.addEventListener("contextmenu", (event) => event.preventDefault());
  window.addEventListener("pointerdown", outside, true);
  window.addEventListener("blur", gone);
  if (at instanceof HTMLElement) at.setAttribute("aria-expanded", "true");
  present = { close, at };
  (at instanceof HTMLElement ? (at.closest("dialog") ?? document.body) : document.body).append(element);
  place(element, at);
  items(element)[0]?.focus({ preventScroll: true });
}

function row(entry: MenuEntry, choose: (item: MenuItem) => void): HTMLElement {
  if (entry === null) return h("hr", { role: "separator" });
  if (typeof entry === "string") return h("div", { class: "menu-head", role: "presentation" }, entry);
  const role = entry.checked === undefined ? "menuitem" : "menuitemradio";
  const mark = entry.checked ? createIcon("check") : entry.icon ? createIcon(entry.icon) : h("span", { class: "menu-blank" });
  const element = h(
    "button",
    {
      type: "button",
      role,
      class: entry.danger ? "menu-row danger" : "menu-row",
      tabIndex: -1,
      onclick: () => choose(entry),
      "data-tip": entry.why,
      "aria-disabled": entry.why ? "true" : null,
      "aria-checked": entry.checked,
    },
    mark,
    h("span", { class: "menu-text" }, entry.text),
    entry.detail ? h("span", { class: "menu-detail" }, entry.detail) : null,
    entry.key ? h("kbd", null, entry.key) : null,
  );
  element.addEventListener("pointermove", () => element.focus({ preventScroll: true }));
  return element;
}

function items(element: HTMLElement): HTMLElement[] {
  return [...element.querySelectorAll<HTMLElement>(".menu-row")];
}

function travel(element: HTMLElement, event: KeyboardEvent, close: (back?: boolean) => void): void {
  const all = items(element);
  const now = all.indexOf(document.activeElement as HTMLElement);
  const next = { ArrowDown: now + 1, ArrowUp: now - 1, Home: 0, End: all.length - 1 }[event.key];
  event.stopPropagation();
  if (next !== undefined) {
    event.preventDefault();
    all[(next + all.length) % all.length]?.focus();
  } else if (event.key === "Escape" || event.key === "Tab") {
    event.preventDefault();
    close();
  }
}

function place(element: HTMLElement, at: HTMLElement | { x: number; y: number }): void {
  const { width, height } = element.getBoundingClientRect();
  const box = at instanceof HTMLElement ? at.getBoundingClientRect() : new DOMRect(at.x, at.y, 0, 0);
  const right = at instanceof HTMLElement && box.left + width > innerWidth - EDGE ? box.right - width : box.left;
  const under = box.bottom + (at instanceof HTMLElement ? 6 : 0);
  const top = under + height > innerHeight - EDGE ? Math.max(EDGE, box.top - height - 6) : under;
  element.style.left = `${Math.round(Math.max(EDGE, Math.min(innerWidth - width - EDGE, right)))}px`;
  element.style.top = `${Math.round(top)}px`;
}
