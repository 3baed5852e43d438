/** Buttons: with words, or with an icon alone. */

import { setAttribute, h, setText } from "../../core/dom";
import { createIcon, type IconName } from "../../core/icons";
import type { Component } from "../../core/types";
import { refuse, refused, tip } from "./common";

export interface ButtonOptions {
  text: string;
  onPress: () => void;
  icon?: IconName;
  kind?: "plain" | "primary" | "ghost" | "danger";
  main?: boolean; // the main action of a panel: 36 high, full width
  key?: string; // shown at its right
  tip?: string;
}
export interface Button extends Component {
  say(text: string): void;
  /** A ring left of the words; what is under way cannot be pressed again. */
  busy(on: boolean): void;
  refuse(why: string | null): void;
  show(on: boolean): void;
}

export function button(options: ButtonOptions): Button {
  const words = h("span", null, options.text);
  const ring = h("span", { class: "spinner", hidden: true });
  const face = options.icon ? createIcon(options.icon) : null;
  const element = h(
    "button",
    {
      type: "button",
      class: `p-button p-${options.kind ?? "plain"}${options.main ? " p-main" : ""}`,
      "data-tip": options.tip,
    },
    ring,
    face,
    words,
    options.key ? h("kbd", { "aria-hidden": "true" }, options.key) : null,
  );
  setAttribute(element, "aria-keyshortcuts", options.key);
  element.addEventListener("click", () => {
    if (!refused(element) && element.getAttribute("aria-busy") !== "true") options.onPress();
  });
  return {
    element,
    say: (text) => setText(words, text),
    busy: (on) => {
      setAttribute(element, "aria-busy", on ? "true" : null);
      ring.hidden = !on;
      face?.toggleAttribute("hidden", on);
    },
    refuse: (why) => refuse(element, why),
    show: (on) => void (element.hidden = !on),
  };
}

export interface IconButtonOptions {
  name: string; // for readers, and the tooltip
  icon: IconName;
  onPress: () => void;
  size?: 24 | 28 | 32;
  key?: string;
  tip?: string;
}
export interface IconButton extends Component {
  /** Another icon and name for another state. */
  face(icon: IconName, name: string): void;
  on(pressed: boolean): void;
  refuse(why: string | null): void;
  show(visible: boolean): void;
}

export function iconButton(options: IconButtonOptions): IconButton {
  const element = h(
    "button",
    {
      type: "button",
      class: `p-icon p-icon-${options.size ?? 28}`,
      "aria-label": options.name,
      "data-tip": options.tip ?? options.name,
      "data-key": options.key,
    },
    createIcon(options.icon),
  );
  let shown = options.icon;
  element.addEventListener("click", (event) => {
    event.stopPropagation();
    if (!refused(element)) options.onPress();
  });
  return {
    element,
    face: (next, name) => {
      if (next !== shown) element.replaceChildren(createIcon(next));
      shown = next;
      setAttribute(element, "aria-label", name);
      tip(element, name);
    },
    on: (pressed) => setAttribute(element, "aria-pressed", String(pressed)),
    refuse: (why) => refuse(element, why),
    show: (visible) => void (element.hidden = !visible),
  };
}
