/** Helpers shared by the panels of the modes. */

import { setChildren } from "../core/dom";
import type { App, ModeName, Component, ProjectState } from "../core/types";
import { createButton, type Button } from "../ui/controls/button";
import { createLatestSender } from "../ui/controls/latest-sender";

/** Panel of a mode: its scrolling element, and a fixed footer above the force meter. */
export interface ModePanel extends Component {
  footer: HTMLElement | null;
  update(state: ProjectState): void;
}

/** Sender of one field of a message during a drag: one request at a time, then the newest value. */
export function createLiveSender(app: App, message: string, name: string): (value: number) => Promise<unknown> {
  return createLatestSender((value: number) => app.request(message, { [name]: value }));
}

/** Sender of one field of a message. */
export function createSender<T>(app: App, message: string, name: string): (value: T) => Promise<unknown> {
  return (value) => app.request(message, { [name]: value });
}

/** Send a request and ignore its error, which a toast shows. */
export function send(app: App, message: string, values: object = {}): void {
  void app.request(message, values).catch(() => undefined);
}

/** Set the edit frame. */
export function goToFrame(app: App, frame: number): void {
  send(app, "frame", { frame });
}

const HAND_OVER_TEXTS: Partial<Record<ModeName, string>> = {
  edit: "Edit it",
  keyframe: "Key it",
  steer: "Steer it",
  enrich: "Enrich it",
  reroute: "Reroute it",
};

/** Button that opens the result of this mode in another mode. */
export function createHandOverButton(app: App, mode: ModeName): { part: Button; setDisabledReason(ready: string | null): void } {
  const part = createButton({
    text: HAND_OVER_TEXTS[mode] ?? mode,
    icon: mode,
    tip: `Open this motion in ${mode[0]!.toUpperCase()}${mode.slice(1)}`,
    onPress: () => send(app, "mode", { mode, hand: true }),
  });
  return { part, setDisabledReason: (why) => part.setDisabledReason(why) };
}

/** Replace the children of an element if the items have changed. */
export function updateItems(element: HTMLElement, items: readonly string[], make: (text: string) => HTMLElement): void {
  const content = items.join("\n");
  if (element.dataset["holds"] === content) return;
  element.dataset["holds"] = content;
  setChildren(element, items.map(make));
}
