/** What the panels of the modes have in common. */

import { setChildren } from "../core/dom";
import type { App, ModeName, Component, ProjectState } from "../core/types";
import { createButton, type Button } from "../ui/controls/button";
import { createLatestSender } from "../ui/controls/latest-sender";

/** The panel of one mode: what scrolls, and what stands above the meter. */
export interface ModePanel extends Component {
  footer: HTMLElement | null;
  update(state: ProjectState): void;
}

/** One value of a message, told live: one under way at most, the newest next. */
export function createLiveSender(app: App, message: string, name: string): (value: number) => Promise<unknown> {
  return createLatestSender((value: number) => app.request(message, { [name]: value }));
}

/** One value of a message, told once. */
export function createSender<T>(app: App, message: string, name: string): (value: T) => Promise<unknown> {
  return (value) => app.request(message, { [name]: value });
}

/** Whatever is refused was shown as a toast already. */
export function send(app: App, message: string, values: object = {}): void {
  void app.request(message, values).catch(() => undefined);
}

/** Goes to a frame, as a press on the time line does. */
export function goToFrame(app: App, frame: number): void {
  send(app, "frame", { frame });
}

const HAND_OVER_TEXTS: Partial<Record<ModeName, string>> = { edit: "Edit it", keyframe: "Key it", steer: "Steer it", enrich: "Enrich it", reroute: "Reroute it" };

/** A button that gives the result of this mode to another one. */
export function createHandOverButton(app: App, mode: ModeName): { part: Button; setDisabledReason(ready: string | null): void } {
  const part = createButton({
    text: HAND_OVER_TEXTS[mode] ?? mode,
    icon: mode,
    tip: `Take this motion to ${mode[0]!.toUpperCase()}${mode.slice(1)}`,
    onPress: () => send(app, "mode", { mode, hand: true }),
  });
  return { part, setDisabledReason: (why) => part.setDisabledReason(why) };
}

/** Replaces what an element holds when it says something else than before. */
export function updateItems(element: HTMLElement, items: readonly string[], make: (text: string) => HTMLElement): void {
  const content = items.join("\n");
  if (element.dataset["holds"] === content) return;
  element.dataset["holds"] = content;
  setChildren(element, items.map(make));
}
