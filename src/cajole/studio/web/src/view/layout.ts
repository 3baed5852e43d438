/** Where the views are: one, or two with a divider that can be drawn aside. */

import { h } from "../core/dom";
import { saveSetting, loadSetting } from "../core/storage";
import type { App } from "../core/types";
import type { Pixel } from "./handle";
import { freeRoom } from "./room";
import type { Pane } from "./screen";

const [LEAST, MOST] = [0.3, 0.7]; // of the width, for the first view
const STEP = 0.02; // of it, by an arrow key
const [TIGHT, STRAIT] = [410, 330]; // px of the second view below which its chip and the options have no room
const within = (share: number): number => Math.min(MOST, Math.max(LEAST, share));

export class Layout {
  readonly surface = h("div", {
    class: "view-surface",
    role: "application",
    tabindex: 0,
    "aria-label":
      "Views of the body. Drag the background to turn, the wheel zooms, a click on the body selects a vertex.",
  });
  private readonly backs = [h("div", { class: "view-pane view-pane-first" }), h("div", { class: "view-pane" })];
  private readonly divider = h("div", {
    class: "view-divider",
    role: "separator",
    tabindex: 0,
    "aria-orientation": "vertical",
    "aria-label": "Width of the first view",
  });
  readonly element = h("div", { class: "viewport" });
  private share = within(loadSetting("split", 0.5));
  private readonly observer = new ResizeObserver(() => this.arrange());

  /** resized: told after the panes have got their places. */
  constructor(
    private readonly app: App,
    private readonly panes: [Pane, Pane],
    private readonly resized: () => void,
  ) {
    this.divider.addEventListener("pointerdown", (event) => this.divider.setPointerCapture(event.pointerId));
    this.divider.addEventListener(
      "pointermove",
      (event) => this.divider.hasPointerCapture(event.pointerId) && this.split(this.shareAt(event)),
    );
    this.divider.addEventListener("dblclick", () => this.split(0.5));
    this.divider.addEventListener("keydown", (event) => this.key(event));
    this.observer.observe(this.element);
  }

  /** Canvases above the ground of the views, and overlays above all, lowest first. */
  fill(canvases: HTMLElement[], overlays: HTMLElement[]): void {
    this.element.append(...this.backs, ...canvases, this.surface, this.divider, ...overlays);
    this.arrange();
  }

  private key(event: KeyboardEvent): void {
    const way = { ArrowLeft: -STEP, ArrowRight: STEP }[event.key];
    if (way === undefined) return;
    event.preventDefault();
    this.split(this.share + way);
  }

  private shareAt(event: PointerEvent): number {
    const box = this.element.getBoundingClientRect();
    return (event.clientX - box.left) / box.width;
  }

  private split(share: number): void {
    this.share = within(share);
    saveSetting("split", this.share);
    this.arrange();
  }

  arrange(): void {
    const { clientWidth: width, clientHeight: height } = this.element;
    const two = this.app.ui.views === 2;
    const first = two ? Math.round(width * this.share) : width;
    this.put(0, 0, first, height);
    this.put(1, first + 1, Math.max(0, width - first - 1), height);
    this.element.style.setProperty("--first", `${first}px`);
    this.element.classList.toggle("view-two", two);
    const second = this.panes[1].width;
    this.element.dataset["second"] = !two || second >= TIGHT ? "wide" : second >= STRAIT ? "tight" : "strait";
    this.divider.setAttribute("aria-valuenow", String(Math.round(100 * this.share)));
    this.resized();
  }

  private put(pane: number, left: number, width: number, height: number): void {
    const free = freeRoom(width, height, pane === 0);
    Object.assign(this.panes[pane], { left, top: 0, width, height, free, dirty: true });
  }

  /** The view under a pointer, and the pixel in it. */
  locate(event: { clientX: number; clientY: number }): { pane: number; at: Pixel } {
    const box = this.element.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    const pane = this.app.ui.views === 2 && x >= this.panes[1].left ? 1 : 0;
    return { pane, at: [x - this.panes[pane].left, y] };
  }

  dispose(): void {
    this.observer.disconnect();
  }
}
