/** Visually hidden list of the markers for keyboard and screen readers. */

import { h, setText } from "../core/dom";
import type { Component } from "../core/types";
import { createKeyedList } from "../ui/controls/common";
import { goToMarker, deleteMarkers, selectMarkers } from "./marker-actions";
import { describeMarker } from "./marker-tooltip";
import { getMarkerKey, type TimelineModel, type MarkerRef } from "./timeline-model";

interface MarkerList extends Component { element: HTMLElement; update(): void }

let listCount = 0;

export function createMarkerList(model: TimelineModel, rename: (ref: MarkerRef) => void): MarkerList {
  const prefix = `marker-${++listCount}`;
  const element = h("div", {
    class: "hidden-text", role: "listbox", "aria-label": "Markers", "aria-multiselectable": "true", tabIndex: 0,
  });
  const names = new Map<string, string>();
  const getId = (key: string): string => names.get(key) ?? names.set(key, `${prefix}-${names.size}`).get(key)!;
  const getKey = ({ lane, marker }: MarkerRef): string => getMarkerKey(lane.id, marker.id);
  const getOrderedMarkers = (): MarkerRef[] =>
    model.lanes.flatMap((lane) =>
      [...lane.markers].sort((a, b) => a.frame - b.frame).map((marker) => ({ lane, marker })),
    );
  const option = (ref: MarkerRef): { element: HTMLElement } => ({
    element: h("div", { role: "option", id: getId(getKey(ref)) }),
  });
  const updateOption = ({ element: each }: { element: HTMLElement }, { lane, marker }: MarkerRef): void => {
    setText(each, `${lane.name}: ${describeMarker(marker, model.fps)}${marker.warn ? `. ${marker.warn}` : ""}`);
    each.setAttribute("aria-selected", String(model.isSelected(lane, marker)));
  };
  const updateOptions = createKeyedList<MarkerRef, { element: HTMLElement }>(element, getKey, option, updateOption);

  const focus = (ref: MarkerRef | undefined): void => {
    model.focus = ref ? getKey(ref) : null;
    if (ref) element.setAttribute("aria-activedescendant", getId(getKey(ref)));
    else element.removeAttribute("aria-activedescendant");
    model.redraw();
  };
  element.addEventListener("focus", () => focus(model.findMarker(model.focus) ?? model.selectedMarkers[0] ?? getOrderedMarkers()[0]));
  element.addEventListener("blur", () => focus(undefined));
  element.addEventListener("keydown", (event) => {
    const all = getOrderedMarkers();
    const at = all.findIndex((ref) => getKey(ref) === model.focus);
    const targets: Record<string, number> = {
      ArrowDown: at + 1, ArrowRight: at + 1, ArrowUp: at - 1, ArrowLeft: at - 1, Home: 0, End: all.length - 1,
    };
    const ref = all[at];
    if (event.key in targets) focus(all[Math.min(Math.max(targets[event.key], 0), all.length - 1)]);
    else if (!ref) return;
    else if (event.key === "Enter") goToMarker(model, ref);
    else if (event.key === " ") selectMarkers(model, [getKey(ref)], "toggle");
    else if (event.key === "Delete" || event.key === "Backspace") deleteMarkers(model, [ref]);
    else if (event.key === "F2" && ref.marker.movable) rename(ref);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  return { element, update: () => updateOptions(getOrderedMarkers()) };
}
