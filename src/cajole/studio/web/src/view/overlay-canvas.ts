/** 2D canvas above the WebGL canvas: it follows the pointer even if rendering is slow. */

import { h } from "../core/dom";
import type { Pane } from "./view-renderer";

export class OverlayCanvas {
  readonly canvas = h("canvas", { class: "view-canvas", "aria-hidden": "true" });
  private readonly context = this.canvas.getContext("2d")!;
  private scheduled = false;
  private width = 0;
  private height = 0;

  constructor(private readonly draw: () => void) {}

  /** Request a redraw at the next animation frame. */
  request(): void {
    if (this.scheduled || document.hidden) return;
    this.scheduled = true;
    requestAnimationFrame(() => {
      if (this.scheduled) this.drawNow();
    });
  }

  /** Redraw now, in the same frame as the bodies. */
  drawNow(): void {
    this.scheduled = false;
    this.context.setTransform(1, 0, 0, 1, 0, 0);
    this.context.clearRect(0, 0, this.canvas.width, this.canvas.height);
    this.draw();
  }

  setSize(width: number, height: number): void {
    if (width === this.width && height === this.height && this.canvas.width === Math.round(width * devicePixelRatio))
      return;
    [this.width, this.height] = [width, height];
    this.canvas.width = Math.round(width * devicePixelRatio);
    this.canvas.height = Math.round(height * devicePixelRatio);
    this.request();
  }

  /** Draw in the coordinates of a pane, clipped to it. */
  drawInPane<T>(pane: Pane, draw: (context: CanvasRenderingContext2D) => T): T {
    const { context } = this;
    context.save();
    context.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
    context.beginPath();
    context.rect(pane.left, pane.top, pane.width, pane.height);
    context.clip();
    context.translate(pane.left, pane.top);
    const out = draw(context);
    context.restore();
    return out;
  }
}
