/** Popup menus, below a button or at the pointer. */

import { h } from "../core/dom";
import { createIcon, type IconName } from "../core/icons";

interface MenuItem {
  text: string;
  onSelect(): void;
  icon?: IconName;
  key?: string; // formatted
  detail?: string; // secondary text at the right
  disabledReason?: string | null; // null if enabled
  checked?: boolean;
}
/** null: a separator; a string: a heading. */
export type MenuEntry = MenuItem | string | null;

const WINDOW_MARGIN = 8; // px
let openedMenu: { close(restoreFocus?: boolean): void; at: unknown } | null = null;

/** Open a menu at an element or a point; a choice, Escape, a press elsewhere or a second call closes it. */
export function openMenu(
  at: HTMLElement | { x: number; y: number },
  entries: readonly MenuEntry[],
  name = "Menu",
): void {
  const isSame = openedMenu !== null && openedMenu.at === at;
  openedMenu?.close(false);
  if (isSame) return;
  const before = document.activeElement;
  const element = h("div", { class: "menu", role: "menu", "aria-label": name, tabIndex: -1 },
    entries.map((entry) => createMenuRow(entry, (item) => choose(item))),
  );
  const close = (restoreFocus = true): void => {
    element.remove();
    window.removeEventListener("pointerdown", handlePress, true);
    window.removeEventListener("blur", handleBlur);
    if (at instanceof HTMLElement) at.setAttribute("aria-expanded", "false");
    openedMenu = null;
    if (restoreFocus && before instanceof HTMLElement) before.focus({ preventScroll: true });
  };
  const choose = (item: MenuItem): void => {
    if (item.disabledReason) return;
    close();
    item.onSelect();
  };
  const handleBlur = (): void => close(false);
  const handlePress = (event: PointerEvent): void => {
    const target = event.target as Node;
    if (!element.contains(target) && !(at instanceof HTMLElement && at.contains(target))) close(false);
  };
  element.addEventListener("keydown", (event) => handleMenuKey(element, event, close));
  element.addEventListener("contextmenu", (event) => event.preventDefault());
  window.addEventListener("pointerdown", handlePress, true);
  window.addEventListener("blur", handleBlur);
  if (at instanceof HTMLElement) at.setAttribute("aria-expanded", "true");
  openedMenu = { close, at };
  (at instanceof HTMLElement ? (at.closest("dialog") ?? document.body) : document.body).append(element);
  placeMenu(element, at);
  getMenuItems(element)[0]?.focus({ preventScroll: true });
}

function createMenuRow(entry: MenuEntry, choose: (item: MenuItem) => void): HTMLElement {
  if (entry === null) return h("hr", { role: "separator" });
  if (typeof entry === "string") return h("div", { class: "menu-head", role: "presentation" }, entry);
  const role = entry.checked === undefined ? "menuitem" : "menuitemradio";
  const leading = entry.checked ? createIcon("check") : entry.icon ? createIcon(entry.icon) : h("span", { class: "menu-blank" });
  const element = h(
    "button",
    {
      type: "button", role, class: "menu-row", tabIndex: -1,
      onclick: () => choose(entry),
      "data-tip": entry.disabledReason, "aria-disabled": entry.disabledReason ? "true" : null,
      "aria-checked": entry.checked,
    },
    leading,
    h("span", { class: "menu-text" }, entry.text),
    entry.detail ? h("span", { class: "menu-detail" }, entry.detail) : null,
    entry.key ? h("kbd", null, entry.key) : null,
  );
  element.addEventListener("pointermove", () => element.focus({ preventScroll: true }));
  return element;
}

function getMenuItems(element: HTMLElement): HTMLElement[] {
  return [...element.querySelectorAll<HTMLElement>(".menu-row")];
}

function handleMenuKey(element: HTMLElement, event: KeyboardEvent, close: (restoreFocus?: boolean) => void): void {
  const all = getMenuItems(element);
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

function placeMenu(element: HTMLElement, at: HTMLElement | { x: number; y: number }): void {
  const { width, height } = element.getBoundingClientRect();
  const box = at instanceof HTMLElement ? at.getBoundingClientRect() : new DOMRect(at.x, at.y, 0, 0);
  const right = at instanceof HTMLElement && box.left + width > innerWidth - WINDOW_MARGIN ? box.right - width : box.left;
  const under = box.bottom + (at instanceof HTMLElement ? 6 : 0);
  const top = under + height > innerHeight - WINDOW_MARGIN ? Math.max(WINDOW_MARGIN, box.top - height - 6) : under;
  element.style.left = `${Math.round(Math.max(WINDOW_MARGIN, Math.min(innerWidth - width - WINDOW_MARGIN, right)))}px`;
  element.style.top = `${Math.round(top)}px`;
}
