/** Pointer input of the views: starts gestures, forwards events to them, and tracks the hover target. */

import { emitHover, onHover } from "../core/hover";
import { getCurrentMode, getModes } from "../core/modes";
import { seek } from "../core/playback";
import type { Vec3 } from "../core/types";
import type { AxisLock } from "./drag";
import { CameraDrag, type Gesture, type ViewContext, type ViewTool } from "./gesture";
import type { Pixel } from "./gizmo";
import { findHover, getCursor, getHoveredDiscNode, hasHoverChanged, type HoverTarget } from "./hover";
import type { LineMark, Marks, TrailDot } from "./marks";
import { MarqueeGesture, MeasureGesture } from "./marquee-gesture";
import { MoveGesture } from "./move-gesture";
import { type ForceTool, PullGesture, startFlowPush } from "./pull-gesture";
import type { Selection } from "./selection";

const ZOOM_PER_PIXEL = 1.0015; // zoom factor per pixel of the wheel

/** Camera actions of the pointer. */
interface CameraControls {
  orbit(pane: number, dx: number, dy: number): void;
  pan(pane: number, dx: number, dy: number): void;
  zoom(pane: number, at: Pixel, factor: number): void;
}
/** Find the view and the pixel in it of a pointer event. */
type Locate = (event: { clientX: number; clientY: number }) => { pane: number; at: Pixel };

export class PointerController {
  gesture: Gesture | null = null;
  hover: HoverTarget | null = null;
  measurement: LineMark | null = null;
  dots: TrailDot[] = [];
  hoveredNode: number | null = null; // vertex whose disc, or whose row in the panel, is hovered
  private readonly tools: ViewTool[]; // of the modes
  private pointerId: number | null = null;
  private hoverScheduled = false; // to look what is under the pointer
  private lastEvent: PointerEvent | null = null;

  constructor(
    private readonly surface: HTMLElement,
    private readonly view: ViewContext,
    private readonly selection: Selection,
    private readonly cameras: CameraControls,
    private readonly locate: Locate,
  ) {
    this.tools = getModes().flatMap((mode) => mode.createTool?.(view) ?? []);
    surface.addEventListener("pointerdown", (event) => this.handleDown(event));
    surface.addEventListener("pointermove", (event) => this.handleMove(event));
    surface.addEventListener("pointerup", (event) => this.handleUp(event));
    surface.addEventListener("pointercancel", () => this.cancelGesture());
    surface.addEventListener("lostpointercapture", (event) => this.pointerId === event.pointerId && this.cancelGesture());
    surface.addEventListener("pointerleave", () => this.gesture === null && this.scheduleHover(null));
    surface.addEventListener("wheel", (event) => this.handleWheel(event), { passive: false });
    surface.addEventListener("contextmenu", (event) => event.preventDefault());
    window.addEventListener("keydown", this.handleKey, true);
    onHover("view", (node) => {
      this.hoveredNode = node;
      this.view.requestOverlay();
    });
  }

  private handleDown(event: PointerEvent): void {
    if (this.gesture !== null) return;
    const { pane, at } = this.locate(event);
    this.gesture = this.startGesture(event, pane, at);
    if (this.gesture === null) return;
    this.pointerId = event.pointerId;
    this.surface.setPointerCapture(event.pointerId);
    this.view.requestOverlay();
  }

  private startGesture(event: PointerEvent, pane: number, at: Pixel): Gesture | null {
    if (event.button === 1) return event.shiftKey ? this.createPan(pane, at) : this.createOrbit(pane, at);
    if (event.button === 2) return this.createPan(pane, at);
    if (event.button !== 0) return null;
    const hover = findHover(this.view, this.selection, this.dots, pane, at);
    this.hover = hover;
    const tool = this.tools.find(({ isActive }) => isActive);
    if (tool) return tool.startGesture(event, pane, at) ?? this.createOrbit(pane, at);
    return (this.view.app.ui.pilot && pane === 0 ? this.startToolGesture(event, hover) : null) ?? this.createOrbit(pane, at);
  }

  /** Gesture of the active tool, null if the press moves the camera. */
  private startToolGesture(event: PointerEvent, hover: HoverTarget): Gesture | null {
    const { tool } = this.view.app.ui;
    const { at, touched } = hover;
    const kick = startFlowPush(this.view, at);
    if (kick !== null) return kick;
    if (hover.dot !== null)
      return new CameraDrag(0, at, () => undefined, () => seek(this.view.app, hover.dot!.frame));
    if (hover.grip !== null)
      return this.createMove(at, this.selection.nodes, this.selection.center!, hover.grip === "view" ? null : hover.grip);
    if (tool === "measure") return new MeasureGesture(this.view, 0, at, (line) => this.setMeasurement(line));
    const mode = getCurrentMode(this.view.app);
    if (tool === "marquee" || (touched === null && event.shiftKey && mode?.allowsVertexDrag))
      return this.createMarquee(event, at);
    if (touched === null || mode?.ignoresVertices) return null;
    if (tool === "pin")
      return touched.near
        ? new CameraDrag(0, at, (dx, dy) => this.cameras.orbit(0, dx, dy), () => this.togglePins([touched.node]))
        : null;
    if (tool === "pull" || tool === "push" || tool === "impulse") return this.createPull(event, hover, tool);
    return touched.near ? this.createGrab(event, hover) : null;
  }

  /** Press on a vertex: a click selects it, a drag moves it. */
  private createGrab(event: PointerEvent, { at, touched }: HoverTarget): Gesture {
    const { vertex, node } = touched!;
    const mesh = this.view.getBodyMesh()!;
    mesh.model.preferVertex(vertex);
    const select = (): void => this.selectNode(node, event);
    if (!getCurrentMode(this.view.app)?.allowsVertexDrag)
      return new CameraDrag(0, at, (dx, dy) => this.cameras.orbit(0, dx, dy), select);
    const { nodes, center } = this.selection;
    if (nodes.length > 1 && nodes.includes(node)) return this.createMove(at, nodes, center!, null, select);
    return this.createMove(at, [node], this.view.getPosition(node)!, null, select);
  }

  private createMove(at: Pixel, nodes: number[], anchor: Vec3, lock: AxisLock, click: () => void = () => undefined): Gesture {
    return new MoveGesture(this.view, 0, at, { nodes, anchor, lock, name: this.selection.name }, click);
  }

  private createPull(event: PointerEvent, { at, touched }: HoverTarget, tool: ForceTool): Gesture {
    const { vertex, node } = touched!;
    this.view.getBodyMesh()!.model.preferVertex(vertex);
    const getPosition = (): Vec3 | null => this.view.getPosition(node);
    return new PullGesture(this.view, 0, at, { where: { node }, getPosition, add: event.shiftKey, tool }, () =>
      this.selectNode(node, event),
    );
  }

  private createMarquee(event: PointerEvent, at: Pixel): Gesture {
    const before = event.shiftKey ? this.selection.nodes : [];
    return new MarqueeGesture(this.view, 0, at, (nodes) => {
      this.selection.select([...new Set([...before, ...nodes])]);
      this.view.announce(`${nodes.length} vertices selected`);
    });
  }

  private createOrbit(pane: number, at: Pixel): Gesture {
    return new CameraDrag(pane, at, (dx, dy) => this.cameras.orbit(pane, dx, dy), () => this.handleBackgroundClick());
  }

  private createPan(pane: number, at: Pixel): Gesture {
    const pan = (dx: number, dy: number): void => this.cameras.pan(pane, dx, dy);
    return new CameraDrag(pane, at, pan, () => undefined);
  }

  private selectNode(node: number, event: PointerEvent): void {
    this.selection.handleClick(node, event);
    this.view.announce(`${this.selection.name} selected`);
    this.view.requestOverlay();
  }

  /** A click on the background. */
  private handleBackgroundClick(): void {
    this.setMeasurement(null);
    if (this.view.app.ui.pilot && this.selection.nodes.length > 0) this.selection.select([]);
  }

  private setMeasurement(line: LineMark | null): void {
    this.measurement = line;
    this.view.requestOverlay();
  }

  private togglePins(nodes: number[]): void {
    getCurrentMode(this.view.app)?.togglePins?.(this.view.app, nodes, this.view.getFrame());
    this.view.announce(`${nodes.length === 1 ? "vertex" : `${nodes.length} vertices`} pinned`);
  }

  /** Pin the vertex under the pointer, else the selection; else select the pin tool. */
  pinAtPointer(): void {
    const { touched } = this.hover ?? {};
    if (touched?.near) this.togglePins([touched.node]);
    else if (this.hover !== null && this.selection.nodes.length > 0) this.togglePins(this.selection.nodes);
    else this.view.app.setUi({ tool: "pin" });
  }

  private handleMove(event: PointerEvent): void {
    if (this.gesture === null) return this.scheduleHover(event);
    if (event.pointerId !== this.pointerId) return;
    // a right press during a drag arrives as a move with another button
    if (!(this.gesture instanceof CameraDrag) && (event.buttons & 2) !== 0) return this.cancelGesture();
    this.gesture.move(this.getGesturePixel(event), event);
  }

  /** Pixel of the pointer relative to the view of the gesture, even outside of it. */
  private getGesturePixel(event: PointerEvent): Pixel {
    const { left } = this.view.getPaneBox(this.gesture!.pane);
    const box = this.surface.getBoundingClientRect();
    return [event.clientX - box.left - left, event.clientY - box.top];
  }

  private handleUp(event: PointerEvent): void {
    if (event.pointerId !== this.pointerId) return;
    const { gesture } = this;
    this.endGesture();
    gesture?.release();
    this.scheduleHover(event);
  }

  /** Cancel the active gesture. */
  cancelGesture(): void {
    const { gesture } = this;
    this.endGesture();
    gesture?.cancel();
  }

  private endGesture(): void {
    const { pointerId: pointer } = this;
    this.gesture = null;
    this.pointerId = null;
    if (pointer !== null && this.surface.hasPointerCapture(pointer)) this.surface.releasePointerCapture(pointer);
    this.view.requestOverlay();
  }

  private readonly handleKey = (event: KeyboardEvent): void => {
    const result = this.gesture?.handleKey?.(event) ?? null;
    if (result === null) return;
    event.preventDefault();
    event.stopPropagation();
    if (result === "done") this.endGesture();
  };

  private handleWheel(event: WheelEvent): void {
    event.preventDefault();
    const { pane, at } = this.locate(event);
    const pixels = event.deltaY * (event.deltaMode === 1 ? 33 : event.deltaMode === 2 ? 400 : 1);
    // a pinch arrives as a wheel event with Ctrl, in small steps
    this.cameras.zoom(pane, at, ZOOM_PER_PIXEL ** (event.ctrlKey ? 6 * pixels : pixels));
  }

  /** Update the hover target at most once per animation frame. */
  private scheduleHover(event: PointerEvent | null): void {
    this.lastEvent = event;
    if (this.hoverScheduled) return;
    this.hoverScheduled = true;
    requestAnimationFrame(() => {
      this.hoverScheduled = false;
      if (this.gesture === null) this.updateHover();
    });
  }

  private updateHover(): void {
    const before = this.hover;
    const location = this.lastEvent && this.locate(this.lastEvent);
    for (const tool of this.tools) tool.updateCursor(location);
    this.hover = location && findHover(this.view, this.selection, this.dots, location.pane, location.at);
    this.surface.style.cursor = getCursor(this.view.app, this.hover);
    if (!hasHoverChanged(before, this.hover)) return;
    this.setHoveredNode(getHoveredDiscNode(this.view.app, this.hover));
    this.view.requestOverlay();
  }

  /** Announce the hovered vertex once, so that a hover in the panel is not overwritten. */
  private setHoveredNode(node: number | null): void {
    if (node === this.hoveredNode) return;
    this.hoveredNode = node;
    emitHover(node, "view");
  }

  addMarks(marks: Marks): void {
    marks.measure = this.measurement;
    this.gesture?.addMarks(marks);
  }

  /** Add the cursors of the tools to the marks of all views. */
  addCursors(marks: Marks[]): void {
    for (const tool of this.tools) tool.addMarks(marks, this.gesture);
  }
}
