/** Tooltip of a marker, and the field that renames it. */

import { setChildren, h } from "../core/dom";
import { formatSeconds } from "../core/format";
import type { Marker } from "../core/types";
import { layOutRows, type MarkerHit } from "./lane-layout";
import { getMarkerKey, type TimelineModel, type MarkerRef } from "./timeline-model";
import { frameToX } from "./time-scale";

const SHOW_DELAY = 500; // ms before the first tooltip
const LINGER = 300; // ms after one has closed in which the next shows at once

/** Tooltip text: "head · frame 96 · 1.60 s · 0.42 m". */
export function describeMarker(marker: Marker, fps: number): string {
  const span = marker.end === undefined ? `frame ${marker.frame}` : `frames ${marker.frame}–${marker.end}`;
  return [marker.text, span, marker.detail ?? formatSeconds(marker.frame / fps)].filter(Boolean).join(" · ");
}

export class MarkerTooltip {
  readonly element = h("div", { class: "timeline-tip", hidden: true, "aria-hidden": "true" });
  private timer = 0;
  private hiddenAt = -Infinity;

  constructor(private readonly model: TimelineModel) {}

  /** Set the marker under the pointer. */
  setTarget(found: MarkerHit | null): void {
    clearTimeout(this.timer);
    if (!found) return this.hide();
    const warm = performance.now() - this.hiddenAt < LINGER;
    if (!this.element.hidden || warm) this.show(found);
    else this.timer = window.setTimeout(() => this.show(found), SHOW_DELAY);
  }

  private hide(): void {
    if (!this.element.hidden) this.hiddenAt = performance.now();
    this.element.hidden = true;
  }

  private show({ row, item }: MarkerHit): void {
    const { markers } = item;
    const words =
      markers.length > 1
        ? `${markers.length} markers · frames ${markers[0].frame}–${markers[markers.length - 1].frame}`
        : describeMarker(markers[0], this.model.fps);
    const warns = [...new Set(markers.flatMap((marker) => marker.warn ?? []))];
    setChildren(this.element, words, warns.map((warn) => h("div", { class: "timeline-tip-warn" }, warn)));
    this.element.hidden = false;
    const width = this.element.offsetWidth;
    const left = Math.min(Math.max(item.x - width / 2, 4), this.model.scale.width - width - 4);
    this.element.style.left = `${left}px`;
    this.element.style.top = `${row.y - this.element.offsetHeight - 4}px`;
  }
}

/** Open a text field that renames a marker: Enter saves, Escape or an empty name cancels. */
export function openRenameField(model: TimelineModel, ref: MarkerRef, container: HTMLElement, onClose: () => void): void {
  const row = layOutRows(model).find((each) => each.lane.id === ref.lane.id);
  if (!row) return;
  const input = h("input", {
    class: "timeline-rename", value: ref.marker.text, maxlength: 60, "aria-label": `New name of ${ref.marker.text}`,
  });
  let open = true;
  const close = (save: boolean): void => {
    if (!open) return;
    open = false;
    const name = input.value.trim();
    input.remove();
    onClose();
    if (save && name && name !== ref.marker.text)
      void model.app.request("marker.rename", { lane: ref.lane.id, ids: [ref.marker.id], name });
  };
  input.addEventListener("keydown", (event) => {
    event.stopPropagation();
    if (event.key === "Enter" || event.key === "Escape") close(event.key === "Enter");
  });
  input.addEventListener("blur", () => close(true));
  input.style.left = `${Math.min(Math.max(frameToX(model.scale, ref.marker.frame) + 10, 4), model.scale.width - 140)}px`;
  input.style.top = `${row.y + (row.height - 24) / 2}px`;
  model.setSelection([getMarkerKey(ref.lane.id, ref.marker.id)]);
  container.append(input);
  input.focus();
  input.select();
}
