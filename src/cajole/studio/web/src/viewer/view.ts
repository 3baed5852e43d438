/** One view of a motion, drawn as the studio draws. */

import { h } from "../core/dom";
import type { Project, PropInfo } from "../core/types";
import { corners, type Eye } from "../view/camera";
import { Eyes, FIRST } from "../view/eyes";
import { Model } from "../view/model";
import { emptyPane, Screen } from "../view/screen";
import { Stage } from "../view/stage";
import type { Header, Motion } from "./motion";

const RIM = 16; // px around the body
const BAR = 52; // px that the bar below takes
const FLOOR = 0.02; // of the size: what comes so near to z = 0 stands on it

/** A project as far as a stage looks at one: there is no server here that would have more to say. */
function worldOf({ low, high, size }: Header): Project {
  const ground = Math.abs(low[2]) < FLOOR * size ? 0 : null;
  return { size, bounds: [low, high], ground, props: [] as PropInfo[] } as Project;
}

export class View {
  readonly surface = h("div", {
    class: "view-surface viewer-surface", tabindex: 0, role: "application",
    "aria-label": "The motion. Drag to turn, the wheel zooms.",
  });
  private readonly canvas = h("canvas", { class: "view-canvas", "aria-hidden": "true" });
  readonly element = h("div", { class: "viewer-view" }, this.canvas, this.surface);
  private readonly pane = emptyPane();
  private readonly screen = new Screen(this.canvas, () => [this.pane], { prepare() {}, drew() {}, simpler() {} });
  private readonly eyes = new Eyes([this.pane], () => this.screen.request());
  private readonly stage: Stage;
  private framed: Eye | null = null; // as the whole was framed last

  constructor(private readonly motion: Motion) {
    const { header, faces, tint } = motion;
    const model = new Model(faces, header.vertices);
    model.tint(tint);
    const { quality } = this.screen.pace;
    this.stage = new Stage(worldOf(header), model, quality.rich ? this.screen.environment() : null);
    this.stage.haunt(null);
    this.stage.mesh(false);
    this.stage.afford(quality);
    this.stage.paint(header.painted);
    this.pane.stage = this.stage;
    this.eyes.put(0, { ...FIRST, ...header.camera });
    new ResizeObserver(() => this.resized()).observe(this.element);
  }

  get drawn(): number {
    return this.screen.drawn;
  }

  get positions(): Float32Array {
    return this.stage.figure.positions;
  }

  /** The shape at a time in frames. */
  show(time: number): void {
    this.stage.show(this.motion.at(time));
    this.pane.dirty = true;
    this.screen.request();
  }

  /** All that the motion ever takes, in the middle. */
  whole(at: "once" | "slowly"): void {
    const { low, high, size } = this.motion.header;
    this.framed = this.eyes.frame(corners([low, high]), size / 20, at);
  }

  theme(): void {
    this.stage.theme();
    this.pane.dirty = true;
    this.screen.request();
  }

  turn(dx: number, dy: number): void {
    this.eyes.orbit(0, dx, dy);
  }

  shift(dx: number, dy: number): void {
    this.eyes.pan(0, dx, dy);
  }

  zoom(factor: number): void {
    this.eyes.zoom(0, factor, this.pane.eye.target, this.motion.header.size / 2);
  }

  private resized(): void {
    const { clientWidth: width, clientHeight: height } = this.element;
    const [across, down] = [Math.max(1, width - 2 * RIM), Math.max(1, height - 2 * RIM - BAR)];
    const free = { left: RIM, top: RIM, width: across, height: down };
    Object.assign(this.pane, { left: 0, top: 0, width, height, free });
    this.screen.size(width, height);
    if (this.framed === null || this.framed === this.pane.eye) this.whole("once");
  }
}
