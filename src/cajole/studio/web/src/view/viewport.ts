/** The viewport: two views of the bodies, their overlay, controls and pointer input. */

import "../style/view.css";
import { registerHandler } from "../core/commands";
import { h } from "../core/dom";
import { frameCache } from "../core/frame-cache";
import { getCurrentMode, getModes } from "../core/modes";
import { onSeek, seek } from "../core/playback";
import type { App, Component, PulseMessage, Vec3 } from "../core/types";
import { onViewLayout, provideViewPoints, type WeightedPoint } from "../core/view-points";
import { projectPoint, type ViewCamera } from "./camera";
import { CameraFraming } from "./camera-framing";
import { CameraRig } from "./camera-rig";
import { DragLabel } from "./drag-label";
import type { DynamicMesh } from "./dynamic-mesh";
import { getPaneCenter } from "./free-area";
import type { ViewContext } from "./gesture";
import { computeGizmo } from "./gizmo";
import { isGizmoVisible } from "./hover";
import { composeMarks } from "./mark-composition";
import { drawMarks } from "./marks";
import { OverlayCanvas } from "./overlay-canvas";
import { PaneLayout } from "./pane-layout";
import { PointerController } from "./pointer-controller";
import { SceneUpdater } from "./scene-updater";
import { Selection } from "./selection";
import { getVertex } from "./vec";
import { ViewControls } from "./view-controls";
import { createPane, type Pane, ViewRenderer } from "./view-renderer";

const RETRY_DELAY = 700; // ms
const MAX_RETRIES = 8;

export class Viewport implements ViewContext, Component {
  readonly label = new DragLabel();
  private readonly panes: [Pane, Pane] = [createPane(), createPane()];
  private readonly liveRegion = h("div", { class: "hidden-text", role: "status", "aria-live": "polite" });
  private readonly layout: PaneLayout;
  private readonly overlay: OverlayCanvas;
  private readonly renderer: ViewRenderer;
  private readonly cameras: CameraRig;
  private readonly framing: CameraFraming;
  private readonly scenes: SceneUpdater;
  private readonly selection: Selection;
  private readonly pointer: PointerController;
  private readonly controls: ViewControls;
  private steerUpdate: PulseMessage | null = null;
  private retries = MAX_RETRIES; // left for a missing frame: the frame cache drops requests that nobody repeats
  private retryTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(readonly app: App) {
    this.layout = new PaneLayout(app, this.panes, () => this.handleResize());
    this.overlay = new OverlayCanvas(() => this.drawOverlay());
    const canvas = h("canvas", { class: "view-canvas", "aria-hidden": "true" });
    this.renderer = new ViewRenderer(canvas, () => this.visiblePanes, {
      prepare: () => this.updateScenes(),
      afterDraw: () => this.overlay.drawNow(),
      onSimplified: () => this.handleSimplified(),
    });
    this.cameras = new CameraRig(this.panes, () => this.update());
    this.framing = new CameraFraming(app, this.panes, this.cameras, () => onViewLayout.emit());
    this.scenes = new SceneUpdater(app, this.panes);
    this.selection = new Selection(app, (node) => this.getPosition(node));
    this.pointer = new PointerController(
      this.layout.surface,
      this,
      this.selection,
      {
        orbit: (pane, dx, dy) => this.cameras.orbit(pane, dx, dy),
        pan: (pane, dx, dy) => this.cameras.pan(pane, dx, dy),
        zoom: (pane, at, factor) => this.framing.zoomAt(pane, this.getCamera(pane), at, factor),
      },
      (event) => this.layout.locate(event),
    );
    this.controls = new ViewControls(app, this.cameras);
    this.layout.mount([canvas, this.overlay.canvas], [...this.controls.elements, this.label.element, this.liveRegion]);
    this.subscribe();
    this.registerCommands();
    this.installTestHook();
    provideViewPoints(() => collectViewPoints(app, this.visiblePanes, this.element, this.selection));
    this.rebuild();
  }

  get element(): HTMLElement {
    return this.layout.element;
  }

  private get visiblePanes(): Pane[] {
    return this.panes.slice(0, this.app.ui.views);
  }

  private subscribe(): void {
    const { app } = this;
    app.onProject.on((project) => project === null && this.handleClose());
    app.onFrame.on((message) => (this.scenes.handleFrame(message) ? this.rebuild() : this.update()));
    app.onState.on(() => this.handleState());
    app.onUi.on((change) => this.handleUiChange(Object.keys(change)));
    app.onMoved.on((moved) => this.pointer.gesture?.handleDragUpdate?.(moved));
    app.onPulse.on((pulse) => this.handleSteerUpdate(pulse));
    app.onTheme.on(() => this.handleTheme());
    frameCache.onArrive.on(() => this.update());
    onSeek.on(() => this.update());
    for (const mode of getModes()) mode.onSettings?.(() => this.updateColors());
  }

  private registerCommands(): void {
    registerHandler("view.all", () => this.framing.frameAll());
    registerHandler("view.selection", () => this.framing.framePositions(this.selection.points.map(({ position }) => position)));
    registerHandler("view.front", () => this.cameras.lookFrom(-90, 0));
    registerHandler("view.right", () => this.cameras.lookFrom(0, 0));
    registerHandler("view.top", () => this.cameras.lookFrom(-90, 89));
    registerHandler("tool.pin", () => this.pointer.pinAtPointer());
  }

  // --- events

  private handleState(): void {
    this.retries = MAX_RETRIES;
    this.scenes.handleState();
    this.selection.clearPending();
    this.update();
  }

  private handleSteerUpdate(pulse: PulseMessage): void {
    this.steerUpdate = pulse;
    this.pointer.gesture?.handleSteerUpdate?.(pulse);
    this.update();
  }

  private handleUiChange(names: string[]): void {
    if (names.includes("pilot") && !this.app.ui.pilot) this.pointer.cancelGesture();
    // a single view has one cursor: editing continues where playback stopped
    if (names.includes("playing") && !this.app.ui.playing && this.app.ui.views === 1 && getCurrentMode(this.app)?.allowsVertexDrag)
      seek(this.app, this.app.ui.playhead);
    if (names.includes("wireframe")) for (const pane of this.panes) pane.scene?.setWireframe(this.app.ui.wireframe);
    if (names.includes("views")) {
      this.layout.arrange();
      return this.renderer.applyQuality(); // a hidden view may have missed a quality change
    }
    if (names.includes("tool")) return this.updateColors(); // regions are colored while the brush is active
    if (names.some((name) => name !== "playhead" && name !== "playing")) return this.invalidateAll();
    this.update();
  }

  private handleTheme(): void {
    for (const pane of this.panes) pane.scene?.updateTheme();
    this.updateColors();
  }

  private handleClose(): void {
    this.pointer.cancelGesture();
    this.scenes.clear();
    this.framing.reset();
    this.steerUpdate = null;
    this.invalidateAll();
  }

  /** Rebuild the scenes for another body. */
  private rebuild(): void {
    const { quality } = this.renderer.quality;
    this.scenes.buildScenes(quality.physicalMaterials ? this.renderer.getEnvironment() : null, quality);
    this.invalidateAll();
  }

  // --- drawing

  private invalidateAll(): void {
    for (const pane of this.panes) pane.dirty = true;
    this.update();
  }

  /** Update the scenes and request redraws where needed. */
  private update(): void {
    this.updateScenes();
    if (this.visiblePanes.some((pane) => pane.dirty)) this.renderer.request();
    this.overlay.request();
    if (!this.scenes.isMissingFrame) this.retries = MAX_RETRIES;
    else if (this.retries > 0) this.retryTimer ??= setTimeout(() => this.retry(), RETRY_DELAY);
  }

  private retry(): void {
    this.retryTimer = undefined;
    this.retries--;
    this.update();
  }

  /** Update the scenes, and frame a new body before it is rendered. */
  private updateScenes(): void {
    this.scenes.update();
    this.framing.frameFirst(this.scenes.shownFrame);
  }

  private handleResize(): void {
    const { clientWidth: width, clientHeight: height } = this.element;
    this.overlay.setSize(width, height);
    this.renderer.setSize(width, height);
    this.framing.handleResize();
    onViewLayout.emit();
  }

  private drawOverlay(): void {
    const marks = composeMarks(this, this.selection, this.pointer, this.steerUpdate);
    this.pointer.addCursors(marks);
    const bodySize = this.app.project?.size ?? 1;
    this.visiblePanes.forEach((pane, i) => {
      const dots = this.overlay.drawInPane(pane, (context) => drawMarks(context, this.getCamera(i), marks[i], bodySize));
      if (i === 0) this.pointer.dots = dots;
    });
    this.controls.update(this.steerUpdate, this.scenes.shownFrame, this.panes[0].drawnPose);
  }

  private handleSimplified(): void {
    const restore = (): void => (this.renderer.quality.restore(), this.renderer.applyQuality());
    if (this.renderer.quality.level === 1) showSimplifiedToast(this.app, restore);
  }

  // --- ViewContext

  getCamera(pane: number): ViewCamera {
    const { drawnPose: projected, width, height } = this.panes[pane];
    return { pose: projected, width, height, center: getPaneCenter(this.panes[pane]) };
  }

  getPaneBox(pane: number): { left: number; width: number } {
    return this.panes[pane];
  }

  getBodyMesh(): DynamicMesh | null {
    return this.getMesh(0);
  }

  getMesh(pane: number): DynamicMesh | null {
    return this.panes[pane].scene?.mesh ?? null;
  }

  requestOverlay(): void {
    this.overlay.request();
  }

  updateColors(): void {
    if (this.app.state) this.scenes.updateColors(this.app.state);
    this.invalidateAll();
  }

  getFrame(): number {
    return this.scenes.shownFrame;
  }

  getPosition(node: number): Vec3 | null {
    const mesh = this.getBodyMesh();
    const vertex = mesh?.hasPositions ? mesh.model.getVertex(node) : null;
    return mesh === null || vertex === null ? null : getVertex(mesh.positions, vertex);
  }

  announce(text: string): void {
    this.liveRegion.textContent = text;
  }

  setPendingSelection(nodes: number[]): void {
    this.selection.setPendingNodes(nodes);
    this.requestOverlay();
  }

  setPendingPosition(position: Vec3 | null): void {
    this.selection.setPendingPosition(position);
    this.requestOverlay();
  }

  /** Install window.cajole.view, in pixels of the page. */
  private installTestHook(): void {
    const { pointer, renderer, scenes, selection } = this;
    const getPixel = (point: Vec3 | null): [number, number] | null => {
      if (point === null) return null;
      const [projected, box] = [projectPoint(this.getCamera(0), point), this.element.getBoundingClientRect()];
      return [box.left + projected.x, box.top + projected.y];
    };
    const getHandle = (): unknown => {
      const { center } = selection;
      if (center === null) return null;
      const { axes } = computeGizmo(this.getCamera(0), center);
      const tips = Object.fromEntries(axes.map((axis) => [axis.name, getPixel(axis.to)]));
      return { place: center, centre: getPixel(center), tips, axis: pointer.hover?.grip ?? null };
    };
    if (!window.cajole) return;
    window.cajole.view = {
      project: (node) => getPixel(this.getPosition(node)),
      at: getPixel,
      vertex: (node) => this.getPosition(node),
      handle: getHandle,
      hover: () => pointer.hover,
      get framesDrawn() { return renderer.frameCount; },
      get applied() { return scenes.applied; },
      get idle() { return renderer.idle; }, // no frame is pending
      get quality() { return renderer.quality.level; },
      get fps() { return renderer.fps; },
    };
  }
}

/** Tell the user that the quality was lowered; restore: returns to full quality. */
function showSimplifiedToast(app: App, restore: () => void): void {
  app.showToast({
    tone: "warn", title: "Render quality was reduced", text: "Frames took too long to render on this machine.",
    actions: [{ text: "Undo", onClick: restore }],
  });
}

const POINTS_PER_BODY = 400; // sampled vertices
const BODY_WEIGHTS = [1, 0.5]; // cost of covering each body: edits happen in the first view
const GIZMO_WEIGHT = 0.4; // cost of covering each end of the gizmo

/** Collect points of the visible panes in page coordinates. */
function collectViewPoints(app: App, panes: readonly Pane[], element: HTMLElement, selection: Selection): WeightedPoint[] {
  const box = element.getBoundingClientRect();
  const center = isGizmoVisible(app) ? selection.center : null;
  return panes.flatMap((pane, i) => {
    const camera: ViewCamera = { pose: pane.pose, width: pane.width, height: pane.height, center: getPaneCenter(pane) };
    const at = (point: Vec3, weight: number): WeightedPoint => {
      const { x, y } = projectPoint(camera, point);
      return { x: box.left + pane.left + x, y: box.top + pane.top + y, weight };
    };
    const gizmo = i === 0 && center !== null ? computeGizmo(camera, center).axes.flatMap(({ from, tip }) => [from, tip]) : [];
    return [...sampleBody(pane, BODY_WEIGHTS[i] ?? 0, at), ...gizmo.map((point) => at(point, GIZMO_WEIGHT))];
  });
}

/** Sample vertices of a body; their weights sum to `share`. */
function sampleBody({ scene }: Pane, share: number, at: (point: Vec3, weight: number) => WeightedPoint): WeightedPoint[] {
  const mesh = scene?.mesh;
  if (!mesh?.hasPositions) return [];
  const step = Math.max(1, Math.floor(mesh.model.count / POINTS_PER_BODY));
  const count = Math.floor(mesh.model.count / step);
  return Array.from({ length: count }, (_, i) => at(getVertex(mesh.positions, i * step), share / count));
}
