/** Toasts: what happened, in the corner, for a while. */

import { h } from "../core/dom";
import { createIcon } from "../core/icons";
import type { StudioApp, Toast } from "../core/app";
import type { Component } from "../core/types";

const MOST = 3;
const STAY = { ok: 5000, warn: 10_000, err: Infinity }; // ms
const ICONS = { ok: "check", warn: "warn", err: "warn" } as const;

export function toasts(app: StudioApp): Component {
  const element = h("div", { class: "toasts" });
  app.onToast.on((toast) => {
    for (const old of [...element.children]) if ((old as HTMLElement).dataset["title"] === toast.title) old.remove();
    element.append(make(app, toast));
    while (element.children.length > MOST) element.firstElementChild!.remove();
  });
  return { element };
}

function make(app: StudioApp, toast: Toast): HTMLElement {
  const close = (): void => leave(card);
  const actions = [...(toast.actions ?? []), ...served(app, toast)];
  const words = h(
    "div",
    { class: "toast-words" },
    h("b", null, toast.title),
    toast.text ? h("p", null, toast.text) : null,
  );
  const buttons = actions.map((action) =>
    h("button", { type: "button", class: "link", onclick: () => (close(), action.onClick()) }, action.text),
  );
  const under = h("div", { class: "toast-actions" }, buttons, dismiss(toast, close));
  const card = h(
    "div",
    { class: `toast ${toast.tone}`, role: toast.tone === "err" ? "alert" : "status", data: { title: toast.title } },
    createIcon(ICONS[toast.tone]),
    words,
  );
  // one short action stands beside the words; what stays has its actions under them
  if (under.childElementCount > 0) (toast.tone === "ok" ? card : words).append(under);
  expire(card, STAY[toast.tone]);
  return card;
}

function dismiss(toast: Toast, close: () => void): HTMLElement | null {
  return toast.tone === "err" ? h("button", { type: "button", class: "link quiet", onclick: close }, "Dismiss") : null;
}

/** The action of a server's notice sends its message back. */
function served(app: StudioApp, toast: Toast): { text: string; onClick(): void }[] {
  if (!toast.action) return [];
  const { do: what, ...values } = toast.action.message as { do: string };
  return [{ text: toast.action.text, onClick: () => void app.request(what, values) }];
}

/** Goes after its time, which stands still while the pointer is on it. */
function expire(card: HTMLElement, stay: number): void {
  if (!Number.isFinite(stay)) return;
  let timer = setTimeout(() => leave(card), stay);
  card.addEventListener("pointerenter", () => clearTimeout(timer));
  card.addEventListener("pointerleave", () => (timer = setTimeout(() => leave(card), stay / 2)));
}

function leave(card: HTMLElement): void {
  card.classList.add("leaving");
  setTimeout(() => card.remove(), 120);
}
