/** One view of a motion, drawn as the studio draws. */

import { h } from "../core/dom";
import type { Project, PropInfo } from "../core/types";
import { getBoxCorners, type CameraPose } from "../view/camera";
import { CameraRig, DEFAULT_POSE } from "../view/camera-rig";
import { SurfaceModel } from "../view/surface-model";
import { createPane, ViewRenderer } from "../view/view-renderer";
import { ViewScene } from "../view/view-scene";
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
  private readonly pane = createPane();
  private readonly screen = new ViewRenderer(this.canvas, () => [this.pane], { prepare() {}, afterDraw() {}, onSimplified() {} });
  private readonly eyes = new CameraRig([this.pane], () => this.screen.request());
  private readonly stage: ViewScene;
  private framed: CameraPose | null = null; // as the whole was framed last

  constructor(private readonly motion: Motion) {
    const { header, faces, tint } = motion;
    const model = new SurfaceModel(faces, header.vertices);
    model.setColors(tint);
    const { quality } = this.screen.quality;
    this.stage = new ViewScene(worldOf(header), model, quality.physicalMaterials ? this.screen.getEnvironment() : null);
    this.stage.setGhost(null);
    this.stage.setWireframe(false);
    this.stage.applyQuality(quality);
    this.stage.setPainted(header.painted);
    this.pane.scene = this.stage;
    this.eyes.setPose(0, { ...DEFAULT_POSE, ...header.camera });
    new ResizeObserver(() => this.resized()).observe(this.element);
  }

  get drawn(): number {
    return this.screen.frameCount;
  }

  get positions(): Float32Array {
    return this.stage.mesh.positions;
  }

  /** The shape at a time in frames. */
  show(time: number): void {
    this.stage.setPositions(this.motion.at(time));
    this.pane.dirty = true;
    this.screen.request();
  }

  /** All that the motion ever takes, in the middle. */
  whole(at: "instant" | "animated"): void {
    const { low, high, size } = this.motion.header;
    this.framed = this.eyes.framePoints(getBoxCorners([low, high]), size / 20, at);
  }

  theme(): void {
    this.stage.updateTheme();
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
    this.eyes.zoom(0, factor, this.pane.pose.target, this.motion.header.size / 2);
  }

  private resized(): void {
    const { clientWidth: width, clientHeight: height } = this.element;
    const [across, down] = [Math.max(1, width - 2 * RIM), Math.max(1, height - 2 * RIM - BAR)];
    const free = { left: RIM, top: RIM, width: across, height: down };
    Object.assign(this.pane, { left: 0, top: 0, width, height, free });
    this.screen.setSize(width, height);
    if (this.framed === null || this.framed === this.pane.pose) this.whole("instant");
  }
}
