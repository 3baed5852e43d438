/** Left of the canvas: the unit of the ruler, and the lanes' names and counts. */

import { setAttribute, setChildren, h, setText } from "../core/dom";
import type { Lane, Component, UiState } from "../core/types";
import { openMenu } from "../ui/menu";
import { createKeyedList } from "../ui/controls/common";
import { select, selecting } from "./actions";
import { laneMenu } from "./menu";
import { keyOf, type Model } from "./model";
import { shapeIcon } from "./shapes";

const NEXT: Record<UiState["unit"], UiState["unit"]> = { frames: "seconds", seconds: "timecode", timecode: "frames" };

export interface Gutter extends Component { update(): void }

export function gutter(model: Model): Gutter {
  const { app } = model;
  const unit = h("button", {
    type: "button",
    class: "timeline-unit",
    "data-tip": "Frames, seconds or timecode",
    onclick: () => app.setUi({ unit: NEXT[app.ui.unit] }),
  });
  const list = h("div", { class: "timeline-names" });
  // The canvas has no scroll bar of its own: it follows the names.
  list.addEventListener("scroll", () => {
    model.scroll = list.scrollTop;
    model.redraw();
  });
  const put = createKeyedList<Lane, Name>(
    list,
    (lane) => lane.id,
    (lane) => name(model, lane.id),
    (part, lane) => part.update(lane),
  );
  return {
    element: h("div", { class: "timeline-gutter" }, unit, list),
    update: () => {
      setText(unit, app.ui.unit === "frames" && model.state?.mode === "steer" ? "one lap" : app.ui.unit);
      setAttribute(unit, "aria-label", `Unit of time: ${app.ui.unit}`);
      put(model.lanes);
      list.style.setProperty("--lane", `${model.laneHeight}px`);
      // read only where it matters: the browser lays everything out for it
      if (model.scroll > 0)
        model.scroll = Math.min(model.scroll, Math.max(list.scrollHeight - list.clientHeight, 0));
    },
  };
}

interface Name extends Component { element: HTMLElement; update(lane: Lane): void }

function name(model: Model, id: string): Name {
  const mark = h("span", { class: "timeline-mark" });
  const words = h("span", { class: "timeline-name" });
  const count = h("span", { class: "timeline-count" });
  const element = h("button", { type: "button", class: "timeline-lane" }, mark, words, count);
  element.addEventListener("click", (event) => {
    const keys = model.picks.filter((pick) => pick.lane.id === id).map(({ marker }) => keyOf(id, marker.id));
    select(model, keys, selecting(event));
  });
  element.addEventListener("contextmenu", (event) => {
    event.preventDefault();
    const entries = laneMenu(model, id);
    if (entries.length) openMenu({ x: event.clientX, y: event.clientY }, entries, "Lane");
  });
  let look = "";
  return {
    element,
    update: (lane) => {
      if (look !== lane.shape + lane.tone) {
        setChildren(mark, shapeIcon(lane.shape));
        mark.dataset["tone"] = lane.tone;
        look = lane.shape + lane.tone;
      }
      setText(words, lane.name);
      setText(count, lane.markers.length > 0 && lane.shape !== "curve" ? String(lane.markers.length) : "");
      setAttribute(
        element,
        "aria-label",
        lane.markers.length ? `${lane.name}, ${lane.markers.length}: select all` : lane.name,
      );
    },
  };
}
