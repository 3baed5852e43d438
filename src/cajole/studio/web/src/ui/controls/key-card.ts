/** Card of a key: thumbnail of its pose, frame, and soft or exact constraint. */

import { setAttribute, h, setText } from "../../core/dom";
import { createIcon } from "../../core/icons";
import type { Component } from "../../core/types";

interface KeyCardOptions { onPick: () => void; onToggleHard: () => void }
interface KeyCardState {
  name: string;
  frame: number;
  hard: boolean;
  selected: boolean;
  picture: string | null;
  tip: string;
}
export interface KeyCard extends Component { set(state: KeyCardState): void }

export function createKeyCard(options: KeyCardOptions): KeyCard {
  const picture = h("img", { alt: "", hidden: true, draggable: "false" });
  const blank = h("span", { class: "p-card-blank" }, createIcon("key"));
  const frame = h("span", { class: "p-card-frame" });
  const hold = h("button", { type: "button", class: "p-card-hold", onclick: options.onToggleHard });
  const face = h("button", { type: "button", class: "p-card-face", onclick: options.onPick }, picture, blank, frame);
  const element = h("li", { class: "p-card" }, face, hold);
  picture.addEventListener("error", () => {
    picture.hidden = true;
    blank.hidden = false;
  });
  return {
    element,
    set: (state) => {
      if (state.picture !== null && picture.getAttribute("src") !== state.picture) picture.src = state.picture;
      picture.hidden = state.picture === null;
      blank.hidden = state.picture !== null;
      setText(frame, String(state.frame));
      setText(hold, state.hard ? "exact" : "soft");
      hold.setAttribute("aria-pressed", String(state.hard));
      hold.setAttribute("aria-label", `${state.name}: ${state.hard ? "exact" : "soft"}`);
      setAttribute(hold, "data-tip", state.hard ? "Exact constraint. Click for soft" : "Soft constraint. Click for exact");
      face.setAttribute("aria-label", `Key ${state.name} at frame ${state.frame}`);
      setAttribute(face, "aria-current", state.selected ? "true" : null);
      setAttribute(face, "data-tip", state.tip);
      element.toggleAttribute("data-selected", state.selected);
    },
  };
}
