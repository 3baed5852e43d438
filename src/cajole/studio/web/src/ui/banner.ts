/** The banner at the head of the views: what keeps the hand from working, and the way out. */

import { setChildren, h, setText } from "../core/dom";
import { createIcon } from "../core/icons";
import { formatOfflineStatus, getUnsavedReason } from "../core/save-status";
import type { StudioApp } from "../core/app";
import type { Component } from "../core/types";

const PATIENCE = 1000; // ms for which a lost socket is only told by the status dot

export function banner(app: StudioApp): Component {
  const element = h("div", { class: "banner", role: "alert", hidden: true });
  const when = h("span", { class: "banner-text" });
  let lostAt = 0;
  let clock: ReturnType<typeof setInterval> | undefined;

  const tick = (): void => {
    const status = app.connection.status;
    const left = status.at === "lost" ? Math.max(0, Math.ceil((status.until - Date.now()) / 1000)) : 0;
    const kept = formatOfflineStatus(app.state);
    setText(when, left > 0 ? `${kept} Trying again in ${left} s.` : `${kept} Trying again.`);
    element.hidden = Date.now() - lostAt < PATIENCE;
  };
  const say = (title: string, text: HTMLElement | string, action?: string, does?: () => void): void =>
    setChildren(
      element,
      createIcon("warn"),
      h("b", null, title),
      typeof text === "string" ? h("span", { class: "banner-text" }, text) : text,
      action === undefined ? null : h("button", { type: "button", class: "p-button", onclick: does }, action),
    );
  const show = (): void => {
    const { connection, pilot } = app.ui;
    const lost = connection === "lost" || (connection === "connecting" && lostAt > 0);
    clearInterval(clock);
    if (lost) {
      lostAt ||= Date.now();
      say("Connection lost.", when, "Retry now", () => app.connection.retry());
      clock = setInterval(tick, 250);
      tick();
      return;
    }
    lostAt = 0;
    const reason = getUnsavedReason(app.state);
    element.hidden = (pilot && reason === null) || app.ui.page !== "project";
    if (!pilot) say("Open in another tab.", "This one only looks on.", "Take over", () => void app.request("takeover"));
    else if (reason !== null) say("Not saved.", `${reason} Saving is tried again by itself.`);
  };
  let told: string | null = null;
  app.onState.on((state) => {
    const reason = getUnsavedReason(state);
    if (reason !== told) show();
    told = reason;
  });
  app.onUi.on((change) => ("connection" in change || "pilot" in change || "page" in change) && show());
  return { element };
}
