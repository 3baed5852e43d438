/** Gutter left of the canvas: unit of the ruler, names and counts of the lanes. */

import { setAttribute, setChildren, h, setText } from "../core/dom";
import type { Lane, Component, UiState } from "../core/types";
import { openMenu } from "../ui/menu";
import { createKeyedList } from "../ui/controls/common";
import { selectMarkers, getSelectMode } from "./marker-actions";
import { buildLaneMenu } from "./context-menus";
import { getMarkerKey, type TimelineModel } from "./timeline-model";
import { createShapeIcon } from "./canvas-style";

const NEXT_UNIT: Record<UiState["unit"], UiState["unit"]> = { frames: "seconds", seconds: "timecode", timecode: "frames" };

interface Gutter extends Component { update(): void }

export function createGutter(model: TimelineModel): Gutter {
  const { app } = model;
  const unit = h("button", {
    type: "button", class: "timeline-unit", "data-tip": "Frames, seconds or timecode",
    onclick: () => app.setUi({ unit: NEXT_UNIT[app.ui.unit] }),
  });
  const list = h("div", { class: "timeline-names" });
  // the canvas follows the scroll position of the names
  list.addEventListener("scroll", () => {
    model.scroll = list.scrollTop;
    model.redraw();
  });
  const updateLabels = createKeyedList<Lane, LaneLabel>(
    list,
    (lane) => lane.id,
    (lane) => createLaneLabel(model, lane.id),
    (part, lane) => part.update(lane),
  );
  return {
    element: h("div", { class: "timeline-gutter" }, unit, list),
    update: () => {
      setText(unit, app.ui.unit === "frames" && model.mode?.live ? "one lap" : app.ui.unit);
      setAttribute(unit, "aria-label", `Unit of time: ${app.ui.unit}`);
      updateLabels(model.lanes);
      list.style.setProperty("--lane", `${model.laneHeight}px`);
      // reading scrollHeight forces a layout
      if (model.scroll > 0)
        model.scroll = Math.min(model.scroll, Math.max(list.scrollHeight - list.clientHeight, 0));
    },
  };
}

interface LaneLabel extends Component { element: HTMLElement; update(lane: Lane): void }

function createLaneLabel(model: TimelineModel, id: string): LaneLabel {
  const shape = h("span", { class: "timeline-mark" });
  const words = h("span", { class: "timeline-name" });
  const count = h("span", { class: "timeline-count" });
  const element = h("button", { type: "button", class: "timeline-lane" }, shape, words, count);
  element.addEventListener("click", (event) => {
    const keys = model.markers.filter((pick) => pick.lane.id === id).map(({ marker }) => getMarkerKey(id, marker.id));
    selectMarkers(model, keys, getSelectMode(event));
  });
  element.addEventListener("contextmenu", (event) => {
    event.preventDefault();
    const entries = buildLaneMenu(model, id);
    if (entries.length) openMenu({ x: event.clientX, y: event.clientY }, entries, "Lane");
  });
  let shownStyle = "";
  return {
    element,
    update: (lane) => {
      if (shownStyle !== lane.shape + lane.tone) {
        setChildren(shape, createShapeIcon(lane.shape));
        shape.dataset["tone"] = lane.tone;
        shownStyle = lane.shape + lane.tone;
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
