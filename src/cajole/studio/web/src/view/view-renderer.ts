/** WebGL renderer of the views: renders on demand, only dirty panes, and waits for the GPU before the next frame. */

import { NeutralToneMapping, PMREMGenerator, type Texture, VSMShadowMap, WebGLRenderer } from "three";
import { RoomEnvironment } from "three/addons/environments/RoomEnvironment.js";
import { loadSetting } from "../core/storage";
import type { CameraPose } from "./camera";
import { DEFAULT_POSE } from "./camera-rig";
import { AdaptiveQuality } from "./adaptive-quality";
import { getPaneCenter, type Area } from "./free-area";
import type { ViewScene } from "./view-scene";

const FENCE_POLL_INTERVAL = 4; // ms

/** Rectangle of the canvas [CSS px] and its scene. */
export interface Pane {
  left: number;
  top: number;
  width: number;
  height: number;
  free: Area; // without overlays
  scene: ViewScene | null;
  pose: CameraPose; // requested
  drawnPose: CameraPose; // of the last rendered frame
  dirty: boolean;
}

const EMPTY_AREA = { left: 0, top: 0, width: 0, height: 0 };
export const createPane = (): Pane => ({
  ...EMPTY_AREA, free: EMPTY_AREA, scene: null, pose: DEFAULT_POSE, drawnPose: DEFAULT_POSE, dirty: true,
});

export class ViewRenderer {
  readonly quality = new AdaptiveQuality();
  readonly renderer: WebGLRenderer;
  frameCount = 0; // rendered so far
  private frameTimes: number[] = []; // start times [ms] of the frames of the last second
  private environmentMap: Texture | null = null;
  private scheduled = false; // an animation frame is requested
  private fence: WebGLSync | null = null;
  private began = 0;
  private readonly gl: WebGL2RenderingContext;

  /** prepare, afterDraw: called before and after each frame. onSimplified: called after the quality was lowered. */
  constructor(
    readonly canvas: HTMLCanvasElement,
    private readonly panes: () => readonly Pane[],
    private readonly hooks: { prepare(): void; afterDraw(): void; onSimplified(): void },
  ) {
    this.quality.initialize(getGpuName(), loadSetting<string | null>("quality", null) === "full");
    // panes that did not change keep their pixels
    const options = {
      canvas, alpha: true, antialias: this.quality.quality.physicalMaterials, stencil: true,
      preserveDrawingBuffer: true,
    };
    this.renderer = new WebGLRenderer(options);
    this.renderer.toneMapping = NeutralToneMapping;
    this.renderer.shadowMap.enabled = true;
    this.renderer.shadowMap.type = VSMShadowMap;
    this.renderer.autoClear = false;
    this.renderer.setClearColor(0, 0);
    this.gl = this.renderer.getContext() as WebGL2RenderingContext;
    canvas.addEventListener("webglcontextlost", () => this.handleContextLost());
    canvas.addEventListener("webglcontextrestored", () => this.handleContextRestored());
    document.addEventListener("visibilitychange", this.handleVisibility);
  }

  /** True if no frame is pending. */
  get idle(): boolean {
    return !this.scheduled && this.fence === null && !this.panes().some((pane) => pane.dirty);
  }

  /** Frames rendered in the last second. */
  get fps(): number {
    const now = performance.now();
    return this.frameTimes.filter((time) => now - time < 1000).length;
  }

  /** Prefiltered environment map. */
  getEnvironment(): Texture {
    if (this.environmentMap !== null) return this.environmentMap;
    const maker = new PMREMGenerator(this.renderer);
    this.environmentMap = maker.fromScene(new RoomEnvironment(), 0.04).texture;
    maker.dispose();
    return this.environmentMap;
  }

  private readonly handleVisibility = (): void => this.request();

  /** Request a frame of the dirty panes. */
  request(): void {
    if (this.scheduled || this.fence !== null || document.hidden) return;
    if (!this.panes().some((pane) => pane.dirty)) return;
    this.scheduled = true;
    requestAnimationFrame(() => {
      this.scheduled = false;
      this.draw();
    });
  }

  /** Request a frame of all panes. */
  requestAll(): void {
    for (const pane of this.panes()) pane.dirty = true;
    this.request();
  }

  /** Resize the canvas [CSS px]. */
  setSize(width: number, height: number): void {
    this.renderer.setPixelRatio(this.quality.quality.fullResolution ? Math.min(devicePixelRatio, 2) : 1);
    this.renderer.setSize(width, height, false);
    this.requestAll();
  }

  private draw(): void {
    this.hooks.prepare();
    this.renderer.toneMappingExposure = document.documentElement.dataset["theme"] === "light" ? 1.04 : 1;
    this.began = performance.now();
    for (const pane of this.panes()) if (pane.dirty) this.renderPane(pane);
    this.frameCount++;
    this.frameTimes = [...this.frameTimes.filter((time) => this.began - time < 1000), this.began];
    this.hooks.afterDraw();
    this.fence = this.gl.fenceSync(this.gl.SYNC_GPU_COMMANDS_COMPLETE, 0);
    this.gl.flush();
    this.pollFence();
  }

  private renderPane(pane: Pane): void {
    const { renderer } = this;
    pane.dirty = false;
    pane.drawnPose = pane.pose;
    if (pane.width < 1 || pane.height < 1) return;
    const bottom = renderer.domElement.clientHeight - pane.top - pane.height;
    renderer.setViewport(pane.left, bottom, pane.width, pane.height);
    renderer.setScissor(pane.left, bottom, pane.width, pane.height);
    renderer.setScissorTest(true);
    renderer.clear();
    if (pane.scene === null || !pane.scene.mesh.hasPositions) return;
    pane.scene.prepareFrame({ pose: pane.pose, width: pane.width, height: pane.height, center: getPaneCenter(pane) });
    renderer.render(pane.scene.scene, pane.scene.camera);
  }

  /** Poll the GPU fence; the next frame starts only after it, so that frames never queue up. */
  private pollFence(): void {
    if (this.fence === null) return;
    const { gl } = this;
    const status = gl.clientWaitSync(this.fence, 0, 0);
    if (status === gl.TIMEOUT_EXPIRED) return void setTimeout(() => this.pollFence(), FENCE_POLL_INTERVAL);
    gl.deleteSync(this.fence);
    this.fence = null;
    const took = performance.now() - this.began;
    // the first frame compiles shaders: its time is not representative
    if (this.frameCount > 1 && this.quality.recordFrameTime(took, performance.now())) this.simplify();
    this.request();
  }

  private simplify(): void {
    this.applyQuality();
    this.hooks.onSimplified();
  }

  /** Apply the current quality to all scenes. */
  applyQuality(): void {
    const { quality } = this.quality;
    for (const { scene } of this.panes()) {
      if (scene === null) continue;
      if (quality.physicalMaterials) scene.scene.environment ??= this.getEnvironment();
      scene.applyQuality(quality);
    }
    this.setSize(this.canvas.clientWidth, this.canvas.clientHeight);
  }

  private handleContextLost(): void {
    this.fence = null;
    this.environmentMap = null;
  }

  private handleContextRestored(): void {
    for (const pane of this.panes()) if (pane.scene) pane.scene.scene.environment = null;
    this.applyQuality();
  }
}

/** GPU name, read from a temporary context. */
function getGpuName(): string {
  const gl = document.createElement("canvas").getContext("webgl2");
  const extension = gl?.getExtension("WEBGL_debug_renderer_info");
  const name = String(gl?.getParameter(extension ? extension.UNMASKED_RENDERER_WEBGL : gl.RENDERER) ?? "");
  gl?.getExtension("WEBGL_lose_context")?.loseContext();
  return name;
}
