/** Buttons with a text, or with an icon only. */

import { setAttribute, h, setText } from "../../core/dom";
import { createIcon, type Icon } from "../../core/icons";
import type { Component } from "../../core/types";
import { setDisabledReason, isDisabled, setTooltip } from "./common";

interface ButtonOptions {
  text: string;
  onPress: () => void;
  icon?: Icon;
  kind?: "plain" | "primary" | "ghost";
  main?: boolean; // main action of a panel: 36 px high, full width
  key?: string; // shortcut, at the right
  tip?: string;
}
export interface Button extends Component {
  setText(text: string): void;
  /** Show a spinner and ignore presses. */
  setBusy(on: boolean): void;
  setDisabledReason(reason: string | null): void;
  setVisible(on: boolean): void;
}

export function createButton(options: ButtonOptions): Button {
  const words = h("span", null, options.text);
  const ring = h("span", { class: "spinner", hidden: true });
  const face = options.icon ? createIcon(options.icon) : null;
  const element = h("button", {
    type: "button",
    class: `p-button p-${options.kind ?? "plain"}${options.main ? " p-main" : ""}`,
    "data-tip": options.tip,
  }, ring, face, words, options.key ? h("kbd", { "aria-hidden": "true" }, options.key) : null);
  setAttribute(element, "aria-keyshortcuts", options.key);
  element.addEventListener("click", () => {
    if (!isDisabled(element) && element.getAttribute("aria-busy") !== "true") options.onPress();
  });
  return {
    element,
    setText: (text) => setText(words, text),
    setBusy: (on) => {
      setAttribute(element, "aria-busy", on ? "true" : null);
      ring.hidden = !on;
      face?.toggleAttribute("hidden", on);
    },
    setDisabledReason: (why) => setDisabledReason(element, why),
    setVisible: (on) => void (element.hidden = !on),
  };
}

interface IconButtonOptions {
  name: string; // for screen readers and the tooltip
  icon: Icon;
  onPress: () => void;
  size?: 24 | 28 | 32;
  key?: string;
  tip?: string;
}
export interface IconButton extends Component {
  /** Change icon and name. */
  setIcon(icon: Icon, name: string): void;
  setPressed(pressed: boolean): void;
  setDisabledReason(reason: string | null): void;
  setVisible(visible: boolean): void;
}

export function createIconButton(options: IconButtonOptions): IconButton {
  const element = h("button", {
    type: "button", class: `p-icon p-icon-${options.size ?? 28}`, "aria-label": options.name,
    "data-tip": options.tip ?? options.name, "data-key": options.key,
  }, createIcon(options.icon));
  let shown = options.icon;
  element.addEventListener("click", (event) => {
    event.stopPropagation();
    if (!isDisabled(element)) options.onPress();
  });
  return {
    element,
    setIcon: (next, name) => {
      if (next !== shown) element.replaceChildren(createIcon(next));
      shown = next;
      setAttribute(element, "aria-label", name);
      setTooltip(element, name);
    },
    setPressed: (pressed) => setAttribute(element, "aria-pressed", String(pressed)),
    setDisabledReason: (why) => setDisabledReason(element, why),
    setVisible: (visible) => void (element.hidden = !visible),
  };
}
