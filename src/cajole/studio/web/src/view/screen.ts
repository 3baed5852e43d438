/** The canvas under the views: draws on demand, only the views that changed, and never ahead of the graphics card. */

import { NeutralToneMapping, PMREMGenerator, type Texture, VSMShadowMap, WebGLRenderer } from "three";
import { RoomEnvironment } from "three/addons/environments/RoomEnvironment.js";
import { loadSetting } from "../core/storage";
import type { Eye } from "./camera";
import { FIRST } from "./eyes";
import { Pace } from "./pace";
import { centreOf, type Room } from "./room";
import type { Stage } from "./stage";

const POLL = 4; // ms between looks at whether the card is done

/** A part of the canvas [CSS px], and what is to be seen in it. */
export interface Pane {
  left: number;
  top: number;
  width: number;
  height: number;
  free: Room; // where nothing lies above the body
  stage: Stage | null;
  eye: Eye; // wanted
  seen: Eye; // of the last picture
  dirty: boolean;
}

const NOWHERE = { left: 0, top: 0, width: 0, height: 0 };
export const emptyPane = (): Pane => ({
  ...NOWHERE,
  free: NOWHERE,
  stage: null,
  eye: FIRST,
  seen: FIRST,
  dirty: true,
});

export class Screen {
  readonly pace = new Pace();
  readonly renderer: WebGLRenderer;
  drawn = 0; // pictures so far
  private times: number[] = []; // when the last pictures were drawn [ms]
  private room: Texture | null = null;
  private waiting = false; // for an animation frame
  private fence: WebGLSync | null = null;
  private began = 0;
  private readonly gl: WebGL2RenderingContext;

  /** panes: read anew for every picture. prepare: called just before one. drew: just after. simpler: less is drawn. */
  constructor(
    readonly canvas: HTMLCanvasElement,
    private readonly panes: () => readonly Pane[],
    private readonly hooks: { prepare(): void; drew(): void; simpler(): void },
  ) {
    this.pace.begin(drawnBy(), loadSetting<string | null>("quality", null) === "full");
    // views that did not change are kept, hence preserved
    const options = {
      canvas,
      alpha: true,
      antialias: this.pace.quality.rich,
      stencil: true,
      preserveDrawingBuffer: true,
    };
    this.renderer = new WebGLRenderer(options);
    this.renderer.toneMapping = NeutralToneMapping;
    this.renderer.shadowMap.enabled = true;
    this.renderer.shadowMap.type = VSMShadowMap;
    this.renderer.autoClear = false;
    this.renderer.setClearColor(0, 0);
    this.gl = this.renderer.getContext() as WebGL2RenderingContext;
    canvas.addEventListener("webglcontextlost", () => this.forget());
    canvas.addEventListener("webglcontextrestored", () => this.again());
    document.addEventListener("visibilitychange", this.wake);
  }

  /** Whether nothing is being drawn, and nothing is waiting to be. */
  get idle(): boolean {
    return !this.waiting && this.fence === null && !this.panes().some((pane) => pane.dirty);
  }

  /** Pictures in the last second. */
  get fps(): number {
    const now = performance.now();
    return this.times.filter((time) => now - time < 1000).length;
  }

  /** A softly lit room that surfaces mirror. */
  environment(): Texture {
    if (this.room !== null) return this.room;
    const maker = new PMREMGenerator(this.renderer);
    this.room = maker.fromScene(new RoomEnvironment(), 0.04).texture;
    maker.dispose();
    return this.room;
  }

  private readonly wake = (): void => this.request();

  /** A picture is wanted, of the panes that are dirty. */
  request(): void {
    if (this.waiting || this.fence !== null || document.hidden) return;
    if (!this.panes().some((pane) => pane.dirty)) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.draw();
    });
  }

  /** All of it is wanted. */
  all(): void {
    for (const pane of this.panes()) pane.dirty = true;
    this.request();
  }

  /** The canvas has another size [CSS px]. */
  size(width: number, height: number): void {
    this.renderer.setPixelRatio(this.pace.quality.sharp ? Math.min(devicePixelRatio, 2) : 1);
    this.renderer.setSize(width, height, false);
    this.all();
  }

  private draw(): void {
    this.hooks.prepare();
    this.renderer.toneMappingExposure = document.documentElement.dataset["theme"] === "light" ? 1.04 : 1;
    this.began = performance.now();
    for (const pane of this.panes()) if (pane.dirty) this.paint(pane);
    this.drawn++;
    this.times = [...this.times.filter((time) => this.began - time < 1000), this.began];
    this.hooks.drew();
    this.fence = this.gl.fenceSync(this.gl.SYNC_GPU_COMMANDS_COMPLETE, 0);
    this.gl.flush();
    this.look();
  }

  private paint(pane: Pane): void {
    const { renderer } = this;
    pane.dirty = false;
    pane.seen = pane.eye;
    if (pane.width < 1 || pane.height < 1) return;
    const bottom = renderer.domElement.clientHeight - pane.top - pane.height;
    renderer.setViewport(pane.left, bottom, pane.width, pane.height);
    renderer.setScissor(pane.left, bottom, pane.width, pane.height);
    renderer.setScissorTest(true);
    renderer.clear();
    if (pane.stage === null || !pane.stage.figure.shown) return;
    pane.stage.prepare({ eye: pane.eye, width: pane.width, height: pane.height, middle: centreOf(pane) });
    renderer.render(pane.stage.scene, pane.stage.camera);
  }

  /** Looks whether the card is done; only then the next picture may begin, or a slow one would queue them up. */
  private look(): void {
    if (this.fence === null) return;
    const { gl } = this;
    const status = gl.clientWaitSync(this.fence, 0, 0);
    if (status === gl.TIMEOUT_EXPIRED) return void setTimeout(() => this.look(), POLL);
    gl.deleteSync(this.fence);
    this.fence = null;
    const took = performance.now() - this.began;
    // the first picture compiles shaders: it says nothing about the machine
    if (this.drawn > 1 && this.pace.took(took, performance.now())) this.simplify();
    this.request();
  }

  private simplify(): void {
    this.afford();
    this.hooks.simpler();
  }

  /** Puts the present quality in force. */
  afford(): void {
    const { quality } = this.pace;
    for (const { stage } of this.panes()) {
      if (stage === null) continue;
      if (quality.rich) stage.scene.environment ??= this.environment();
      stage.afford(quality);
    }
    this.size(this.canvas.clientWidth, this.canvas.clientHeight);
  }

  private forget(): void {
    this.fence = null;
    this.room = null;
  }

  private again(): void {
    for (const pane of this.panes()) if (pane.stage) pane.stage.scene.environment = null;
    this.afford();
  }

  dispose(): void {
    document.removeEventListener("visibilitychange", this.wake);
    this.renderer.dispose();
  }
}

/** The name of what draws, as far as the browser tells: asked of a context that is thrown away. */
function drawnBy(): string {
  const gl = document.createElement("canvas").getContext("webgl2");
  const told = gl?.getExtension("WEBGL_debug_renderer_info");
  const name = String(gl?.getParameter(told ? told.UNMASKED_RENDERER_WEBGL : gl.RENDERER) ?? "");
  gl?.getExtension("WEBGL_lose_context")?.loseContext();
  return name;
}
