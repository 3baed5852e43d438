/** Amounts typed during a drag: digits, minus and point; Tab goes to the next axis. */

import type { AxisName } from "./drag";

/** Typed text per axis. An incomplete number ("-") is ignored. */
export class TypedAmounts {
  private texts: Partial<Record<AxisName, string>> = {};
  private axisIndex = 0;
  private axes: AxisName[];

  constructor(axes: AxisName[]) {
    this.axes = axes;
  }

  /** True if anything was typed. */
  get hasInput(): boolean {
    return Object.keys(this.texts).length > 0;
  }

  get axis(): AxisName {
    return this.axes[this.axisIndex];
  }

  get text(): string {
    return this.texts[this.axis] ?? "";
  }

  /** True if the text of the current axis is empty or a number. */
  get isValid(): boolean {
    return this.text === "" || isAmount(this.text);
  }

  /** Change the axes; the text of the first axis moves to the new first axis. */
  setAxes(axes: AxisName[]): void {
    const text = this.texts[this.axes[0]];
    this.axes = axes;
    this.axisIndex = 0;
    this.texts = text === undefined ? {} : { [axes[0]]: text };
  }

  /** Handle a key; returns true if it was used. */
  handleKey(name: string): boolean {
    if (/^[0-9]$/.test(name)) return this.setText(this.text + name);
    if (name === "." || name === ",") return this.text.includes(".") || this.setText(this.text + ".");
    if (name === "-" || name === "−") return this.setText(negate(this.text));
    if (!this.hasInput) return false;
    if (name === "Backspace") return this.setText(this.text.slice(0, -1));
    if (name !== "Tab") return false;
    this.axisIndex = (this.axisIndex + 1) % this.axes.length;
    return this.setText(this.text);
  }

  /** Amounts [m] of all axes whose text is a number. */
  get amounts(): Partial<Record<AxisName, number>> {
    const good = Object.entries(this.texts).filter(([, text]) => isAmount(text));
    return Object.fromEntries(good.map(([axis, text]) => [axis, Number(text)]));
  }

  private setText(text: string): true {
    this.texts[this.axis] = text;
    return true;
  }
}

const negate = (text: string): string => (text.startsWith("-") ? text.slice(1) : `-${text}`);

const isAmount = (text: string): boolean => /[0-9]/.test(text) && Number.isFinite(Number(text));
