/** The number beside a dragged point: which way, how far, in what unit. */

import { h, setText } from "../core/dom";

const AWAY = 26; // px right of the handle
const MINUS = "\u2212";

export class Tag {
  private readonly axis = h("span");
  private readonly value = h("b");
  private readonly unit = h("span", { class: "view-tag-unit" });
  private readonly ring = h("span", { class: "spinner", hidden: true });
  readonly element = h(
    "div",
    { class: "view-tag", hidden: true, "aria-hidden": "true" },
    this.axis,
    this.value,
    this.unit,
    this.ring,
  );

  private size: [number, number] = [0, 0]; // px, of the text of this length
  private measured = "";

  /** At a pixel of the viewport; room: left and right end of the view; wide: px that the handle takes to the right. */
  show(
    x: number,
    y: number,
    room: [number, number],
    wide: number,
    axis: string,
    value: string,
    unit: string,
    good: boolean,
  ): void {
    if (this.element.hidden) this.element.hidden = false;
    setText(this.axis, `Δ${axis}`);
    setText(this.value, value.replace("-", MINUS));
    setText(this.unit, unit);
    this.element.classList.toggle("view-tag-bad", !good);
    this.measure(`${axis.length} ${value.length} ${unit} ${this.ring.hidden}`);
    const [width, height] = this.size;
    const right = x + wide + AWAY;
    const left = right + width > room[1] - 8 ? x - wide - AWAY - width : right;
    const top = Math.max(8, y - height / 2);
    this.element.style.transform = `translate(${Math.max(room[0] + 8, left).toFixed(0)}px, ${top.toFixed(0)}px)`;
  }

  /** Digits are equally wide: only another length is measured, for it lays out the whole page. */
  private measure(length: string): void {
    if (length === this.measured) return;
    this.measured = length;
    this.size = [this.element.offsetWidth, this.element.offsetHeight];
  }

  /** The solver is behind. */
  wait(on: boolean): void {
    if (this.ring.hidden === on) this.ring.hidden = !on;
  }

  hide(): void {
    this.element.hidden = true;
    this.ring.hidden = true;
  }
}
