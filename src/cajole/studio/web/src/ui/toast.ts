/** Toasts: temporary notifications. */

import { h } from "../core/dom";
import { createIcon } from "../core/icons";
import type { StudioApp } from "../core/app";
import type { Component, Toast } from "../core/types";

const MAX_TOASTS = 3;
const LIFETIME = { ok: 5000, warn: 10_000, err: Infinity }; // ms
const ICONS = { ok: "check", warn: "warn", err: "warn" } as const;

export function createToasts(app: StudioApp): Component {
  const element = h("div", { class: "toasts" });
  app.onToast.on((toast) => {
    for (const old of [...element.children]) if ((old as HTMLElement).dataset["title"] === toast.title) old.remove();
    element.append(createToast(toast));
    while (element.children.length > MAX_TOASTS) element.firstElementChild!.remove();
  });
  return { element };
}

function createToast(toast: Toast): HTMLElement {
  const close = (): void => removeToast(card);
  const words = h("div", { class: "toast-words" },
    h("b", null, toast.title),
    toast.text ? h("p", null, toast.text) : null,
  );
  const buttons = toast.actions?.map((action) =>
    h("button", { type: "button", class: "link", onclick: () => (close(), action.onClick()) }, action.text),
  );
  const under = h("div", { class: "toast-actions" }, buttons, createDismissButton(toast, close));
  const card = h(
    "div",
    { class: `toast ${toast.tone}`, role: toast.tone === "err" ? "alert" : "status", data: { title: toast.title } },
    createIcon(ICONS[toast.tone]),
    words,
  );
  // success toasts have their action beside the text, others below it
  if (under.childElementCount > 0) (toast.tone === "ok" ? card : words).append(under);
  scheduleRemoval(card, LIFETIME[toast.tone]);
  return card;
}

function createDismissButton(toast: Toast, close: () => void): HTMLElement | null {
  return toast.tone === "err" ? h("button", { type: "button", class: "link quiet", onclick: close }, "Dismiss") : null;
}

/** Remove a toast after its lifetime; paused while the pointer is over it. */
function scheduleRemoval(card: HTMLElement, lifetime: number): void {
  if (!Number.isFinite(lifetime)) return;
  let timer = setTimeout(() => removeToast(card), lifetime);
  card.addEventListener("pointerenter", () => clearTimeout(timer));
  card.addEventListener("pointerleave", () => (timer = setTimeout(() => removeToast(card), lifetime / 2)));
}

function removeToast(card: HTMLElement): void {
  card.classList.add("leaving");
  setTimeout(() => card.remove(), 120);
}
