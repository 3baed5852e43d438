/** The markers once more, as a list that keyboards and readers can use; it is not seen. */

import { h, setText } from "../core/dom";
import type { Component } from "../core/types";
import { createKeyedList } from "../ui/controls/common";
import { goTo, release, select } from "./actions";
import { describe } from "./floating";
import { keyOf, type Model, type Pick } from "./model";

export interface Mirror extends Component { element: HTMLElement; update(): void }

let mirrors = 0;

export function mirror(model: Model, rename: (pick: Pick) => void): Mirror {
  const prefix = `marker-${++mirrors}`;
  const element = h("div", {
    class: "hidden-text",
    role: "listbox",
    "aria-label": "Markers",
    "aria-multiselectable": "true",
    tabIndex: 0,
  });
  const names = new Map<string, string>();
  const idOf = (key: string): string => names.get(key) ?? names.set(key, `${prefix}-${names.size}`).get(key)!;
  const keyOfPick = ({ lane, marker }: Pick): string => keyOf(lane.id, marker.id);
  const ordered = (): Pick[] =>
    model.lanes.flatMap((lane) =>
      [...lane.markers].sort((a, b) => a.frame - b.frame).map((marker) => ({ lane, marker })),
    );
  const option = (pick: Pick): { element: HTMLElement } => ({
    element: h("div", { role: "option", id: idOf(keyOfPick(pick)) }),
  });
  const tell = ({ element: each }: { element: HTMLElement }, { lane, marker }: Pick): void => {
    setText(each, `${lane.name}: ${describe(marker, model.fps)}${marker.warn ? `. ${marker.warn}` : ""}`);
    each.setAttribute("aria-selected", String(model.isSelected(lane, marker)));
  };
  const put = createKeyedList<Pick, { element: HTMLElement }>(element, keyOfPick, option, tell);

  const focus = (pick: Pick | undefined): void => {
    model.focus = pick ? keyOfPick(pick) : null;
    if (pick) element.setAttribute("aria-activedescendant", idOf(keyOfPick(pick)));
    else element.removeAttribute("aria-activedescendant");
    model.redraw();
  };
  element.addEventListener("focus", () => focus(model.pick(model.focus) ?? model.selected[0] ?? ordered()[0]));
  element.addEventListener("blur", () => focus(undefined));
  element.addEventListener("keydown", (event) => {
    const all = ordered();
    const at = all.findIndex((pick) => keyOfPick(pick) === model.focus);
    const ways: Record<string, number> = {
      ArrowDown: at + 1,
      ArrowRight: at + 1,
      ArrowUp: at - 1,
      ArrowLeft: at - 1,
      Home: 0,
      End: all.length - 1,
    };
    const pick = all[at];
    if (event.key in ways) focus(all[Math.min(Math.max(ways[event.key], 0), all.length - 1)]);
    else if (!pick) return;
    else if (event.key === "Enter") goTo(model, pick);
    else if (event.key === " ") select(model, [keyOfPick(pick)], "toggle");
    else if (event.key === "Delete" || event.key === "Backspace") release(model, [pick]);
    else if (event.key === "F2" && pick.marker.movable) rename(pick);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  return { element, update: () => put(ordered()) };
}
