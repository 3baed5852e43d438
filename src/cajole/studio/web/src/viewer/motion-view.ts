/** View of a motion with the renderer of the studio. */

import { h } from "../core/dom";
import type { Project, PropInfo } from "../core/types";
import { getBoxCorners, type CameraPose } from "../view/camera";
import { CameraRig, DEFAULT_POSE } from "../view/camera-rig";
import { SurfaceModel } from "../view/surface-model";
import { createPane, ViewRenderer } from "../view/view-renderer";
import { ViewScene } from "../view/view-scene";
import type { MotionHeader, Motion } from "./motion";

const MARGIN = 16; // px
const BAR_HEIGHT = 52; // px
const FLOOR_TOLERANCE = 0.02; // fraction of the size: bodies this close to z = 0 get a floor there

/** Project with the fields that a scene needs. */
function createProject({ low, high, size }: MotionHeader): Project {
  const ground = Math.abs(low[2]) < FLOOR_TOLERANCE * size ? 0 : null;
  return { size, bounds: [low, high], ground, props: [] as PropInfo[] } as Project;
}

export class MotionView {
  readonly surface = h("div", {
    class: "view-surface viewer-surface", tabindex: 0, role: "application",
    "aria-label": "The motion. Drag to turn, the wheel zooms.",
  });
  private readonly canvas = h("canvas", { class: "view-canvas", "aria-hidden": "true" });
  readonly element = h("div", { class: "viewer-view" }, this.canvas, this.surface);
  private readonly pane = createPane();
  private readonly renderer = new ViewRenderer(this.canvas, () => [this.pane], { prepare() {}, afterDraw() {}, onSimplified() {} });
  private readonly cameras = new CameraRig([this.pane], () => this.renderer.request());
  private readonly scene: ViewScene;
  private framedPose: CameraPose | null = null; // after the last frameAll

  constructor(private readonly motion: Motion) {
    const { header, faces, tint } = motion;
    const model = new SurfaceModel(faces, header.vertices);
    model.setColors(tint);
    const { quality } = this.renderer.quality;
    this.scene = new ViewScene(createProject(header), model, quality.physicalMaterials ? this.renderer.getEnvironment() : null);
    this.scene.setGhost(null);
    this.scene.setWireframe(false);
    this.scene.applyQuality(quality);
    this.scene.setPainted(header.painted);
    this.pane.scene = this.scene;
    this.cameras.setPose(0, { ...DEFAULT_POSE, ...header.camera });
    new ResizeObserver(() => this.handleResize()).observe(this.element);
  }

  get frameCount(): number {
    return this.renderer.frameCount;
  }

  get positions(): Float32Array {
    return this.scene.mesh.positions;
  }

  /** Show the motion at a time in frames. */
  show(time: number): void {
    this.scene.setPositions(this.motion.sample(time));
    this.pane.dirty = true;
    this.renderer.request();
  }

  /** Frame the bounds of the whole motion. */
  frameAll(transition: "instant" | "animated"): void {
    const { low, high, size } = this.motion.header;
    this.framedPose = this.cameras.framePoints(getBoxCorners([low, high]), size / 20, transition);
  }

  updateTheme(): void {
    this.scene.updateTheme();
    this.pane.dirty = true;
    this.renderer.request();
  }

  orbit(dx: number, dy: number): void {
    this.cameras.orbit(0, dx, dy);
  }

  pan(dx: number, dy: number): void {
    this.cameras.pan(0, dx, dy);
  }

  zoom(factor: number): void {
    this.cameras.zoom(0, factor, this.pane.pose.target, this.motion.header.size / 2);
  }

  private handleResize(): void {
    const { clientWidth: width, clientHeight: height } = this.element;
    const [across, down] = [Math.max(1, width - 2 * MARGIN), Math.max(1, height - 2 * MARGIN - BAR_HEIGHT)];
    const free = { left: MARGIN, top: MARGIN, width: across, height: down };
    Object.assign(this.pane, { left: 0, top: 0, width, height, free });
    this.renderer.setSize(width, height);
    if (this.framedPose === null || this.framedPose === this.pane.pose) this.frameAll("instant");
  }
}
