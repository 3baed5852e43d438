/** Amounts typed while a drag is on: digits, minus and point; Tab goes to the next axis. */

import type { AxisName } from "./drag";

/** What has been typed so far. Text that is no number yet ("-", "1.") keeps the last good amount in force. */
export class Typing {
  private texts: Partial<Record<AxisName, string>> = {};
  private at = 0;
  private axes: AxisName[];

  constructor(axes: AxisName[]) {
    this.axes = axes;
  }

  /** Whether anything was typed. */
  get begun(): boolean {
    return Object.keys(this.texts).length > 0;
  }

  get axis(): AxisName {
    return this.axes[this.at];
  }

  get text(): string {
    return this.texts[this.axis] ?? "";
  }

  /** Whether the text of the present axis is a number. */
  get good(): boolean {
    return this.text === "" || isAmount(this.text);
  }

  /** Other axes: what was typed for the first one before goes to the first one now. */
  turn(axes: AxisName[]): void {
    const kept = this.texts[this.axes[0]];
    this.axes = axes;
    this.at = 0;
    this.texts = kept === undefined ? {} : { [axes[0]]: kept };
  }

  /** Takes a key by its name; says whether it was one of typing. */
  key(name: string): boolean {
    if (/^[0-9]$/.test(name)) return this.put(this.text + name);
    if (name === "." || name === ",") return this.text.includes(".") || this.put(this.text + ".");
    if (name === "-" || name === "−") return this.put(negated(this.text));
    if (!this.begun) return false;
    if (name === "Backspace") return this.put(this.text.slice(0, -1));
    if (name !== "Tab") return false;
    this.at = (this.at + 1) % this.axes.length;
    return this.put(this.text);
  }

  /** Amounts [m] of all axes whose text is a number. */
  get amounts(): Partial<Record<AxisName, number>> {
    const good = Object.entries(this.texts).filter(([, text]) => isAmount(text));
    return Object.fromEntries(good.map(([axis, text]) => [axis, Number(text)]));
  }

  private put(text: string): true {
    this.texts[this.axis] = text;
    return true;
  }
}

const negated = (text: string): string => (text.startsWith("-") ? text.slice(1) : `-${text}`);

const isAmount = (text: string): boolean => /[0-9]/.test(text) && Number.isFinite(Number(text));
