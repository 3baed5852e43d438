/** The canvas above the bodies: it follows the pointer at once, however slow the graphics card is. */

import { h } from "../core/dom";
import type { Pane } from "./screen";

export class Layer {
  readonly canvas = h("canvas", { class: "view-canvas", "aria-hidden": "true" });
  private readonly context = this.canvas.getContext("2d")!;
  private waiting = false;
  private width = 0;
  private height = 0;

  constructor(private readonly draw: () => void) {}

  /** A drawing is wanted at the next animation frame. */
  request(): void {
    if (this.waiting || document.hidden) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      if (this.waiting) this.now();
    });
  }

  /** Draws at once, together with the bodies. */
  now(): void {
    this.waiting = false;
    this.context.setTransform(1, 0, 0, 1, 0, 0);
    this.context.clearRect(0, 0, this.canvas.width, this.canvas.height);
    this.draw();
  }

  size(width: number, height: number): void {
    if (width === this.width && height === this.height && this.canvas.width === Math.round(width * devicePixelRatio))
      return;
    [this.width, this.height] = [width, height];
    this.canvas.width = Math.round(width * devicePixelRatio);
    this.canvas.height = Math.round(height * devicePixelRatio);
    this.request();
  }

  /** Draws in the pixels of a pane, and nowhere else. */
  within<T>(pane: Pane, ink: (context: CanvasRenderingContext2D) => T): T {
    const { context } = this;
    context.save();
    context.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
    context.beginPath();
    context.rect(pane.left, pane.top, pane.width, pane.height);
    context.clip();
    context.translate(pane.left, pane.top);
    const out = ink(context);
    context.restore();
    return out;
  }
}
