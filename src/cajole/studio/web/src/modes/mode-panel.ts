/** What the panels of the modes have in common. */

import { setChildren } from "../core/dom";
import type { App, ModeName, Component, ProjectState } from "../core/types";
import { createButton, type Button } from "../ui/controls/button";
import { createLatestSender } from "../ui/controls/latest-sender";

/** The panel of one mode: what scrolls, and what stands above the meter. */
export interface ModePanel extends Component {
  foot: HTMLElement | null;
  update(state: ProjectState): void;
}

/** One value of a message, told live: one under way at most, the newest next. */
export function live(app: App, what: string, name: string): (value: number) => Promise<unknown> {
  return createLatestSender((value: number) => app.request(what, { [name]: value }));
}

/** One value of a message, told once. */
export function once<T>(app: App, what: string, name: string): (value: T) => Promise<unknown> {
  return (value) => app.request(what, { [name]: value });
}

/** Whatever is refused was shown as a toast already. */
export function tell(app: App, what: string, values: object = {}): void {
  void app.request(what, values).catch(() => undefined);
}

/** Goes to a frame, as a press on the time line does. */
export function goTo(app: App, frame: number): void {
  tell(app, "frame", { frame });
}

const VERBS: Partial<Record<ModeName, string>> = { edit: "Edit it", keyframe: "Key it", steer: "Steer it", enrich: "Enrich it", reroute: "Reroute it" };

/** A button that gives the result of this mode to another one. */
export function handOver(app: App, mode: ModeName): { part: Button; update(ready: string | null): void } {
  const part = createButton({
    text: VERBS[mode] ?? mode,
    icon: mode,
    tip: `Take this motion to ${mode[0]!.toUpperCase()}${mode.slice(1)}`,
    onPress: () => tell(app, "mode", { mode, hand: true }),
  });
  return { part, update: (why) => part.setDisabledReason(why) };
}

/** Replaces what an element holds when it says something else than before. */
export function refill(element: HTMLElement, items: readonly string[], make: (text: string) => HTMLElement): void {
  const mark = items.join("\n");
  if (element.dataset["holds"] === mark) return;
  element.dataset["holds"] = mark;
  setChildren(element, items.map(make));
}
