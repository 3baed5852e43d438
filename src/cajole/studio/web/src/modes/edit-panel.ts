/** The panel of Edit: the dragged point, all drags, and how the motion follows. */

import { h, setText } from "../core/dom";
import { formatCount, formatNumber } from "../core/format";
import { onHover, emitHover } from "../core/hover";
import type { App, DragInfo, EditState } from "../core/types";
import { createButton, createIconButton } from "../ui/controls/button";
import { createKeyedList, createRow } from "../ui/controls/common";
import { createSegmentedControl, createSwitch } from "../ui/controls/choice";
import { createDisc, createEmptyHint, createList, createListRow, createMarkerIcon, type ListRow } from "../ui/controls/list";
import { createLogScale } from "../ui/controls/slider-scale";
import { createSection } from "../ui/controls/section";
import { createSlider } from "../ui/controls/slider";
import { finePart } from "./edit-fine";
import { letGo, pointPart, visit, way } from "./edit-point";
import { handOver, live, once, tell, type ModePanel } from "./mode-panel";

export function editPanel(app: App): ModePanel {
  const point = pointPart(app);
  const drags = dragsPart(app);
  const motion = motionPart(app);
  const fine = finePart(app);
  const enrich = handOver(app, "enrich");
  const on = createSection({ title: "Go on" }, h("div", { class: "p-buttons" }, enrich.part.element));
  return {
    element: h("div", null, point.element, drags.element, motion.element, fine.element, on.element),
    foot: null,
    update: (state) => {
      if (!state.edit) return;
      point.update(state);
      drags.update(state.edit, state.frame, new Set(state.selection.map((each) => each.node)));
      motion.update(state.edit);
      fine.update(state.edit, state.frames);
    },
    dispose: () => drags.dispose(),
  };
}

type Dragged = ListRow & { drag: DragInfo };

function dragsPart(app: App) {
  const holder = createList("Drags");
  const none = createEmptyHint("Drag the selected point, or type its place.");
  const hold = createIconButton({
    name: "Hold the selected points where they are",
    icon: "plus",
    key: "P",
    onPress: () => tell(app, "pin", { nodes: app.state!.selection.map((each) => each.node), frame: app.state!.frame }),
  });
  const suggest = createButton({
    text: "Make the suggested drags",
    icon: "drag",
    tip: "What this scene was made to show",
    onPress: () => tell(app, "moves"),
  });
  const whole = createSection(
    { title: "Drags", actions: [hold.element] },
    holder,
    none.element,
    h("div", { class: "p-buttons" }, suggest.element),
  );
  let looked: number | null = null;
  let here: { frame: number; nodes: Set<number> } = { frame: 0, nodes: new Set() };
  const make = (drag: DragInfo): Dragged => {
    const remove = createIconButton({
      name: `Release ${drag.name}`,
      icon: "x",
      size: 24,
      onPress: () => letGo(app, part.drag),
    });
    const made = createListRow({
      marker: drag.pin ? createMarkerIcon("pin") : createDisc(),
      onPick: () => visit(app, part.drag),
      onHover: (over) => emitHover(over ? part.drag.node : null, "panel"),
      actions: [remove.element],
    });
    const part: Dragged = { ...made, drag };
    return part;
  };
  const update = (part: Dragged, drag: DragInfo): void => {
    part.drag = drag;
    part.set({
      name: drag.name,
      value: `f ${drag.frame}`,
      selected: drag.frame === here.frame && here.nodes.has(drag.node),
      highlighted: drag.node === looked,
      warn: drag.warn,
      tip: drag.pin
        ? "Held where it was"
        : `Moved by ${way(drag)}${drag.directions === "xyz" ? "" : `, held along ${drag.directions}`}`,
    });
  };
  // A drag and a pin of the same point have other markers.
  const rows = createKeyedList<DragInfo, Dragged>(holder, (drag) => `${drag.id}${drag.pin ? " pin" : ""}`, make, update);
  let known: DragInfo[] = [];
  const end = onHover("panel", (node) => {
    looked = node;
    rows(known);
  });
  return {
    element: whole.element,
    dispose: end,
    update: (edit: EditState, frame: number, nodes: Set<number>) => {
      here = { frame, nodes };
      known = [...edit.drags].sort((a, b) => a.frame - b.frame);
      rows(known);
      whole.setNote(known.length ? String(known.length) : "");
      none.setVisible(known.length === 0 && nodes.size > 0);
      whole.setVisible(known.length > 0 || nodes.size > 0 || edit.suggested > 0);
      hold.setDisabledReason(nodes.size ? null : "Select a point first");
      suggest.setVisible(edit.suggested > 0);
      suggest.setText(edit.suggested === 1 ? "Make the suggested drag" : `Make the ${edit.suggested} suggested drags`);
    },
  };
}

function motionPart(app: App) {
  const tune = live(app, "tune", "h");
  // A longer reach is a shorter time step of the energy: the body then counts as slower.
  const say = (value: number): Promise<unknown> => tune((app.state?.edit?.defaults.h ?? 1) / value);
  const ends = createSegmentedControl({
    name: "Ends",
    value: "fixed" as EditState["ends"],
    onChange: once(app, "tune", "ends"),
    choices: [
      { value: "fixed", text: "Fixed", tip: "The last frames stay as they came in" },
      { value: "free", text: "Free", tip: "The last frames go along" },
    ],
  });
  const reach = createSlider({
    name: "Reach in time",
    value: 1,
    defaultValue: 1,
    scale: createLogScale(1 / 30, 30),
    text: (value) => `× ${formatNumber(value, value < 9.95 ? 2 : 1)}`,
    inputText: (value) => value.toPrecision(3),
    tip: "Right: a drag takes more frames along, gently. Left: fewer, quickly",
    onInput: say,
    onChange: say,
  });
  const detail = createSlider({
    name: "Detail",
    value: 100,
    scale: createLogScale(1, 500, { whole: true }),
    text: (value) => formatNumber(value),
    tip: "Shapes that a change is made of: more are sharper, fewer rounder. Applied when let go",
    onChange: once(app, "reopen", "modes"),
  });
  const counted = h("span", { class: "p-quiet" });
  const contacts = createSwitch({
    name: "Keep contacts",
    value: true,
    tip: "What touches the ground goes on touching it",
    onChange: once(app, "reopen", "contacts"),
  });
  const whole = createSection(
    { title: "Motion" },
    createRow("Ends", ends.element).element,
    createRow("Reach in time", reach.element).element,
    createRow("Detail", detail.element).element,
    createRow("Keep contacts", [counted, contacts.element]).element,
  );
  return {
    element: whole.element,
    update: (edit: EditState) => {
      ends.set(edit.ends);
      reach.set(edit.defaults.h / edit.h);
      detail.setScale(createLogScale(1, Math.max(2, edit.most_modes), { whole: true }), edit.defaults.modes);
      detail.set(edit.modes);
      contacts.set(edit.contacts);
      contacts.setDisabledReason(edit.contacts_found === 0 ? "Nothing touches in this motion" : null);
      setText(
        counted,
        edit.contacts_found === 0
          ? "none"
          : edit.contacts
            ? `${formatNumber(edit.contacts_kept)} of ${formatNumber(edit.contacts_found)}`
            : formatCount(edit.contacts_found, "found", "found"),
      );
    },
  };
}
