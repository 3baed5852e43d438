/** Label beside a dragged vertex: axis, amount, unit. */

import { h, setText } from "../core/dom";

const OFFSET = 26; // px from the gizmo
const MINUS = "\u2212";

export class DragLabel {
  private readonly axis = h("span");
  private readonly value = h("b");
  private readonly unit = h("span", { class: "view-tag-unit" });
  private readonly spinner = h("span", { class: "spinner", hidden: true });
  readonly element = h("div", { class: "view-tag", hidden: true, "aria-hidden": "true" },
    this.axis,
    this.value,
    this.unit,
    this.spinner,
  );

  private size: [number, number] = [0, 0]; // px
  private measured = "";

  /** Show at a pixel of the viewport; bounds: left and right edge of the view; gizmoWidth: px to keep clear. */
  show(
    x: number,
    y: number,
    bounds: [number, number],
    gizmoWidth: number,
    axis: string,
    value: string,
    unit: string,
    isValid: boolean,
  ): void {
    if (this.element.hidden) this.element.hidden = false;
    setText(this.axis, `Δ${axis}`);
    setText(this.value, value.replace("-", MINUS));
    setText(this.unit, unit);
    this.element.classList.toggle("view-tag-bad", !isValid);
    this.measure(`${axis.length} ${value.length} ${unit} ${this.spinner.hidden}`);
    const [width, height] = this.size;
    const right = x + gizmoWidth + OFFSET;
    const left = right + width > bounds[1] - 8 ? x - gizmoWidth - OFFSET - width : right;
    const top = Math.max(8, y - height / 2);
    this.element.style.transform = `translate(${Math.max(bounds[0] + 8, left).toFixed(0)}px, ${top.toFixed(0)}px)`;
  }

  /** Measure only if the text length differs (digits have equal width), since measuring forces a layout. */
  private measure(length: string): void {
    if (length === this.measured) return;
    this.measured = length;
    this.size = [this.element.offsetWidth, this.element.offsetHeight];
  }

  /** Show a spinner while the solver lags behind. */
  setBusy(on: boolean): void {
    if (this.spinner.hidden === on) this.spinner.hidden = !on;
  }

  hide(): void {
    this.element.hidden = true;
    this.spinner.hidden = true;
  }
}
