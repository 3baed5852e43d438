/** Layout of one view, or of two with a movable divider. */

import { h } from "../core/dom";
import { saveSetting, loadSetting } from "../core/storage";
import type { App } from "../core/types";
import type { Pixel } from "./gizmo";
import { computeFreeArea } from "./free-area";
import type { Pane } from "./view-renderer";

const [MIN_SHARE, MAX_SHARE] = [0.3, 0.7]; // fraction of the width for the first view
const KEY_STEP = 0.02; // change of it by an arrow key
const [TIGHT_WIDTH, NARROW_WIDTH] = [410, 330]; // px of the second view below which its label and the options shrink
const clampShare = (share: number): number => Math.min(MAX_SHARE, Math.max(MIN_SHARE, share));

export class PaneLayout {
  readonly surface = h("div", {
    class: "view-surface",
    role: "application",
    tabindex: 0,
    "aria-label":
      "Views of the body. Drag the background to turn, the wheel zooms, a click on the body selects a vertex.",
  });
  private readonly backgrounds = [h("div", { class: "view-pane view-pane-first" }), h("div", { class: "view-pane" })];
  private readonly divider = h("div", {
    class: "view-divider", role: "separator", tabindex: 0, "aria-orientation": "vertical",
    "aria-label": "Width of the first view",
  });
  readonly element = h("div", { class: "viewport" });
  private share = clampShare(loadSetting("split", 0.5));

  /** onResize: called after the panes were laid out. */
  constructor(private readonly app: App, private readonly panes: [Pane, Pane], private readonly onResize: () => void) {
    this.divider.addEventListener("pointerdown", (event) => this.divider.setPointerCapture(event.pointerId));
    this.divider.addEventListener(
      "pointermove",
      (event) => this.divider.hasPointerCapture(event.pointerId) && this.setShare(this.getShareAt(event)),
    );
    this.divider.addEventListener("dblclick", () => this.setShare(0.5));
    this.divider.addEventListener("keydown", (event) => this.handleKey(event));
    new ResizeObserver(() => this.arrange()).observe(this.element);
  }

  /** Add canvases above the backgrounds, and overlays on top, lowest first. */
  mount(canvases: HTMLElement[], overlays: HTMLElement[]): void {
    this.element.append(...this.backgrounds, ...canvases, this.surface, this.divider, ...overlays);
    this.arrange();
  }

  private handleKey(event: KeyboardEvent): void {
    const step = { ArrowLeft: -KEY_STEP, ArrowRight: KEY_STEP }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    this.setShare(this.share + step);
  }

  private getShareAt(event: PointerEvent): number {
    const box = this.element.getBoundingClientRect();
    return (event.clientX - box.left) / box.width;
  }

  private setShare(share: number): void {
    this.share = clampShare(share);
    saveSetting("split", this.share);
    this.arrange();
  }

  arrange(): void {
    const { clientWidth: width, clientHeight: height } = this.element;
    const two = this.app.ui.views === 2;
    const first = two ? Math.round(width * this.share) : width;
    this.setPane(0, 0, first, height);
    this.setPane(1, first + 1, Math.max(0, width - first - 1), height);
    this.element.style.setProperty("--first", `${first}px`);
    this.element.classList.toggle("view-two", two);
    const second = this.panes[1].width;
    this.element.dataset["second"] = !two || second >= TIGHT_WIDTH ? "wide" : second >= NARROW_WIDTH ? "tight" : "strait";
    this.divider.setAttribute("aria-valuenow", String(Math.round(100 * this.share)));
    this.onResize();
  }

  private setPane(pane: number, left: number, width: number, height: number): void {
    const free = computeFreeArea(width, height, pane === 0);
    Object.assign(this.panes[pane], { left, top: 0, width, height, free, dirty: true });
  }

  /** View under the pointer, and the pixel in it. */
  locate(event: { clientX: number; clientY: number }): { pane: number; at: Pixel } {
    const box = this.element.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    const pane = this.app.ui.views === 2 && x >= this.panes[1].left ? 1 : 0;
    return { pane, at: [x - this.panes[pane].left, y] };
  }
}
