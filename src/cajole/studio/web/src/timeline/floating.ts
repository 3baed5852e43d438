/** What floats over the canvas: the tooltip of a marker, and the field in which it is renamed. */

import { setChildren, h } from "../core/dom";
import { formatSeconds } from "../core/format";
import type { Marker } from "../core/types";
import { rows, type Grip } from "./arrange";
import { keyOf, type Model, type Pick } from "./model";
import { xOf } from "./scale";

const WAIT = 500; // ms before the first tooltip
const WARM = 300; // ms after one was shown in which the next comes at once

/** What a marker's tooltip says: "head · frame 96 · 1.60 s · 0.42 m". */
export function describe(marker: Marker, fps: number): string {
  const span = marker.end === undefined ? `frame ${marker.frame}` : `frames ${marker.frame}–${marker.end}`;
  return [marker.text, span, marker.detail ?? formatSeconds(marker.frame / fps)].filter(Boolean).join(" · ");
}

export class Tip {
  readonly element = h("div", { class: "timeline-tip", hidden: true, "aria-hidden": "true" });
  private timer = 0;
  private shown = -Infinity;

  constructor(private readonly model: Model) {}

  /** `found`: what is under the pointer. */
  over(found: Grip | null): void {
    clearTimeout(this.timer);
    if (!found) return this.hide();
    const warm = performance.now() - this.shown < WARM;
    if (!this.element.hidden || warm) this.show(found);
    else this.timer = window.setTimeout(() => this.show(found), WAIT);
  }

  private hide(): void {
    if (!this.element.hidden) this.shown = performance.now();
    this.element.hidden = true;
  }

  private show({ row, item }: Grip): void {
    const { markers } = item;
    const words =
      markers.length > 1
        ? `${markers.length} markers · frames ${markers[0].frame}–${markers[markers.length - 1].frame}`
        : describe(markers[0], this.model.fps);
    const warns = [...new Set(markers.flatMap((marker) => marker.warn ?? []))];
    setChildren(this.element, words, warns.map((warn) => h("div", { class: "timeline-tip-warn" }, warn)));
    this.element.hidden = false;
    const wide = this.element.offsetWidth;
    const left = Math.min(Math.max(item.x - wide / 2, 4), this.model.scale.width - wide - 4);
    this.element.style.left = `${left}px`;
    this.element.style.top = `${row.y - this.element.offsetHeight - 4}px`;
  }
}

/** Renames a marker in a field on the canvas: Enter keeps, Esc or an empty name leaves it. */
export function renaming(model: Model, pick: Pick, holder: HTMLElement, after: () => void): void {
  const row = rows(model).find((each) => each.lane.id === pick.lane.id);
  if (!row) return;
  const input = h("input", {
    class: "timeline-rename",
    value: pick.marker.text,
    maxlength: 60,
    "aria-label": `New name of ${pick.marker.text}`,
  });
  let open = true;
  const close = (keep: boolean): void => {
    if (!open) return;
    open = false;
    const name = input.value.trim();
    input.remove();
    after();
    if (keep && name && name !== pick.marker.text)
      void model.app.request("marker.rename", { lane: pick.lane.id, ids: [pick.marker.id], name });
  };
  input.addEventListener("keydown", (event) => {
    event.stopPropagation();
    if (event.key === "Enter" || event.key === "Escape") close(event.key === "Enter");
  });
  input.addEventListener("blur", () => close(true));
  input.style.left = `${Math.min(Math.max(xOf(model.scale, pick.marker.frame) + 10, 4), model.scale.width - 140)}px`;
  input.style.top = `${row.y + (row.height - 24) / 2}px`;
  model.select([keyOf(pick.lane.id, pick.marker.id)]);
  holder.append(input);
  input.focus();
  input.select();
}
