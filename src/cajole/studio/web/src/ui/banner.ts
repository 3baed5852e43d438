/** Banner above the views: lost connection, read-only tab, or failed save, with a remedy. */

import { setChildren, h, setText } from "../core/dom";
import { createIcon } from "../core/icons";
import { formatOfflineStatus, getUnsavedReason } from "../core/save-status";
import type { StudioApp } from "../core/app";
import type { Component } from "../core/types";

const GRACE_PERIOD = 1000; // ms for which only the status dot shows a lost connection

export function createBanner(app: StudioApp): Component {
  const element = h("div", { class: "banner", role: "alert", hidden: true });
  const when = h("span", { class: "banner-text" });
  let lostAt = 0;
  let clock: ReturnType<typeof setInterval> | undefined;

  const updateCountdown = (): void => {
    const status = app.connection.status;
    const left = status.at === "lost" ? Math.max(0, Math.ceil((status.until - Date.now()) / 1000)) : 0;
    const saved = formatOfflineStatus(app.state);
    setText(when, left > 0 ? `${saved} Reconnecting in ${left} s.` : `${saved} Reconnecting.`);
    element.hidden = Date.now() - lostAt < GRACE_PERIOD;
  };
  const setContent = (title: string, text: HTMLElement | string, action?: string, onClick?: () => void): void =>
    setChildren(
      element,
      createIcon("warn"),
      h("b", null, title),
      typeof text === "string" ? h("span", { class: "banner-text" }, text) : text,
      action === undefined ? null : h("button", { type: "button", class: "p-button", onclick: onClick }, action),
    );
  const update = (): void => {
    const { connection, pilot } = app.ui;
    const lost = connection === "lost" || (connection === "connecting" && lostAt > 0);
    clearInterval(clock);
    if (lost) {
      lostAt ||= Date.now();
      setContent("Connection lost.", when, "Retry now", () => app.connection.retry());
      clock = setInterval(updateCountdown, 250);
      updateCountdown();
      return;
    }
    lostAt = 0;
    const reason = getUnsavedReason(app.state);
    element.hidden = (pilot && reason === null) || app.ui.page !== "project";
    if (!pilot) setContent("Open in another tab.", "This tab is read-only.", "Take over", () => void app.request("takeover"));
    else if (reason !== null) setContent("Not saved.", `${reason} Saving will be retried automatically.`);
  };
  let shownReason: string | null = null;
  app.onState.on((state) => {
    const reason = getUnsavedReason(state);
    if (reason !== shownReason) update();
    shownReason = reason;
  });
  app.onUi.on((change) => ("connection" in change || "pilot" in change || "page" in change) && update());
  return { element };
}
