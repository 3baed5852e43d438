/** The banner at the head of the views: what keeps the hand from working, and the way out. */

import { fill, h, write } from "../core/dom";
import { icon } from "../core/icons";
import { lostLabel, unsavedReason } from "../core/saving";
import type { Studio } from "../core/app";
import type { Part } from "../core/types";

const PATIENCE = 1000; // ms for which a lost socket is only told by the status dot

export function banner(app: Studio): Part {
  const element = h("div", { class: "banner", role: "alert", hidden: true });
  const when = h("span", { class: "banner-text" });
  let lostAt = 0;
  let clock: ReturnType<typeof setInterval> | undefined;

  const tick = (): void => {
    const status = app.wire.status;
    const left = status.at === "lost" ? Math.max(0, Math.ceil((status.until - Date.now()) / 1000)) : 0;
    const kept = lostLabel(app.state);
    write(when, left > 0 ? `${kept} Trying again in ${left} s.` : `${kept} Trying again.`);
    element.hidden = Date.now() - lostAt < PATIENCE;
  };
  const say = (title: string, text: HTMLElement | string, action?: string, does?: () => void): void =>
    fill(
      element,
      icon("warn"),
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
      say("Connection lost.", when, "Retry now", () => app.wire.retry());
      clock = setInterval(tick, 250);
      tick();
      return;
    }
    lostAt = 0;
    const reason = unsavedReason(app.state);
    element.hidden = (pilot && reason === null) || app.ui.page !== "project";
    if (!pilot) say("Open in another tab.", "This one only looks on.", "Take over", () => void app.ask("takeover"));
    else if (reason !== null) say("Not saved.", `${reason} Saving is tried again by itself.`);
  };
  let told: string | null = null;
  app.onState.on((state) => {
    const reason = unsavedReason(state);
    if (reason !== told) show();
    told = reason;
  });
  app.onUi.on((change) => ("connection" in change || "pilot" in change || "page" in change) && show());
  return { element };
}
