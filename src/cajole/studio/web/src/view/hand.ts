/** The hand in the views: which gesture a press begins, and who hears what comes after it. */

import { onHover, emitHover } from "../core/hover";
import { seek } from "../core/playback";
import { isDragMode } from "../core/targets";
import type { Vec3 } from "../core/types";
import { Marquee, Measure } from "./area";
import { BrushInHand } from "./brushing";
import { kickAt } from "./flow-kick";
import type { Gesture, Sight } from "./gesture";
import type { Pixel } from "./handle";
import { cursorOf, differs, discOf, type Hover, hoverAt } from "./hover";
import { Look } from "./looking";
import type { Dot, LineMark, Marks } from "./marks";
import { Move } from "./move";
import { Pull, type Use } from "./pulling";
import type { Selection } from "./selection";
import type { Lock } from "./drag";

const NOTCH = 1.0015; // zoom for each pixel of the wheel

/** What the hand can do to the cameras. */
export interface Cameras {
  orbit(pane: number, dx: number, dy: number): void;
  pan(pane: number, dx: number, dy: number): void;
  zoom(pane: number, at: Pixel, factor: number): void;
}
/** Where a pointer is: in which view, at which of its pixels. */
export type Locate = (event: { clientX: number; clientY: number }) => { pane: number; at: Pixel };

export class Hand {
  gesture: Gesture | null = null;
  hover: Hover | null = null;
  measured: LineMark | null = null;
  readonly brush: BrushInHand;
  dots: Dot[] = [];
  looked: number | null = null; // the vertex whose disc is hovered, or whose row in the panel is
  private readonly deaf: () => void;
  private pointer: number | null = null;
  private waiting = false; // to look what is under the pointer
  private last: PointerEvent | null = null;

  constructor(
    private readonly surface: HTMLElement,
    private readonly sight: Sight,
    private readonly selection: Selection,
    private readonly cameras: Cameras,
    private readonly locate: Locate,
  ) {
    this.brush = new BrushInHand(sight);
    surface.addEventListener("pointerdown", (event) => this.down(event));
    surface.addEventListener("pointermove", (event) => this.move(event));
    surface.addEventListener("pointerup", (event) => this.up(event));
    surface.addEventListener("pointercancel", () => this.drop());
    surface.addEventListener("lostpointercapture", (event) => this.pointer === event.pointerId && this.drop());
    surface.addEventListener("pointerleave", () => this.gesture === null && this.look(null));
    surface.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    surface.addEventListener("contextmenu", (event) => event.preventDefault());
    window.addEventListener("keydown", this.key, true);
    this.deaf = onHover("view", (node) => {
      this.looked = node;
      this.sight.ink();
    });
  }

  private down(event: PointerEvent): void {
    if (this.gesture !== null) return;
    const { pane, at } = this.locate(event);
    this.gesture = this.begin(event, pane, at);
    if (this.gesture === null) return;
    this.pointer = event.pointerId;
    this.surface.setPointerCapture(event.pointerId);
    this.sight.ink();
  }

  private begin(event: PointerEvent, pane: number, at: Pixel): Gesture | null {
    if (event.button === 1) return event.shiftKey ? this.panning(pane, at) : this.orbiting(pane, at);
    if (event.button === 2) return this.panning(pane, at);
    if (event.button !== 0) return null;
    const hover = hoverAt(this.sight, this.selection, this.dots, pane, at);
    this.hover = hover;
    if (this.brush.paints) return this.brush.begin(event, pane, at) ?? this.orbiting(pane, at);
    return (this.sight.app.ui.pilot && pane === 0 ? this.acting(event, hover) : null) ?? this.orbiting(pane, at);
  }

  /** The gesture of the tool in hand, null when the press means the camera. */
  private acting(event: PointerEvent, hover: Hover): Gesture | null {
    const { tool } = this.sight.app.ui;
    const { at, touched } = hover;
    const kick = kickAt(this.sight, at);
    if (kick !== null) return kick;
    if (hover.dot !== null)
      return new Look(
        0,
        at,
        () => undefined,
        () => seek(this.sight.app, hover.dot!.frame),
      );
    if (hover.grip !== null)
      return this.moving(at, this.selection.nodes, this.selection.middle!, hover.grip === "view" ? null : hover.grip);
    if (tool === "measure") return new Measure(this.sight, 0, at, (line) => this.measure(line));
    if (tool === "marquee" || (touched === null && event.shiftKey && isDragMode(this.sight.app.state)))
      return this.boxing(event, at);
    if (touched === null || this.sight.app.state?.mode === "enrich") return null;
    if (tool === "pin")
      return touched.near
        ? new Look(
            0,
            at,
            (dx, dy) => this.cameras.orbit(0, dx, dy),
            () => this.pin([touched.node]),
          )
        : null;
    if (tool === "pull" || tool === "push" || tool === "impulse") return this.pulling(event, hover, tool);
    return touched.near ? this.grabbing(event, hover) : null;
  }

  /** A press on a vertex: a click selects it, a drag moves it at once. */
  private grabbing(event: PointerEvent, { at, touched }: Hover): Gesture {
    const { vertex, node } = touched!;
    const figure = this.sight.figure()!;
    figure.model.prefer(vertex);
    const select = (): void => this.select(node, event);
    if (!isDragMode(this.sight.app.state))
      return new Look(0, at, (dx, dy) => this.cameras.orbit(0, dx, dy), select);
    const { nodes, middle } = this.selection;
    if (nodes.length > 1 && nodes.includes(node)) return this.moving(at, nodes, middle!, null, select);
    return this.moving(at, [node], this.sight.placeOf(node)!, null, select);
  }

  private moving(at: Pixel, nodes: number[], anchor: Vec3, lock: Lock, click: () => void = () => undefined): Gesture {
    return new Move(this.sight, 0, at, { nodes, anchor, lock, name: this.selection.name }, click);
  }

  private pulling(event: PointerEvent, { at, touched }: Hover, use: Use): Gesture {
    const { vertex, node } = touched!;
    this.sight.figure()!.model.prefer(vertex);
    const place = (): Vec3 | null => this.sight.placeOf(node);
    return new Pull(this.sight, 0, at, { where: { node }, place, add: event.shiftKey, use }, () => this.select(node, event));
  }

  private boxing(event: PointerEvent, at: Pixel): Gesture {
    const before = event.shiftKey ? this.selection.nodes : [];
    return new Marquee(this.sight, 0, at, (nodes) => {
      this.selection.choose([...new Set([...before, ...nodes])]);
      this.sight.announce(`${nodes.length} vertices selected`);
    });
  }

  private orbiting(pane: number, at: Pixel): Gesture {
    return new Look(
      pane,
      at,
      (dx, dy) => this.cameras.orbit(pane, dx, dy),
      () => this.clear(),
    );
  }

  private panning(pane: number, at: Pixel): Gesture {
    const pan = (dx: number, dy: number): void => this.cameras.pan(pane, dx, dy);
    return new Look(pane, at, pan, () => undefined);
  }

  private select(node: number, event: PointerEvent): void {
    this.selection.click(node, event);
    this.sight.announce(`${this.selection.name} selected`);
    this.sight.ink();
  }

  /** A click on the background. */
  private clear(): void {
    this.measure(null);
    if (this.sight.app.ui.pilot && this.selection.nodes.length > 0) this.selection.choose([]);
  }

  private measure(line: LineMark | null): void {
    this.measured = line;
    this.sight.ink();
  }

  /** Holds vertices where they are; in a pose, lets go those that are held already. */
  pin(nodes: number[]): void {
    const { app } = this.sight;
    const held = app.state?.reroute?.held ?? app.state?.keyframe?.pins.flatMap((pin) => pin.nodes) ?? [];
    const loose = nodes.filter((node) => !held.includes(node));
    if (app.state?.mode === "edit") void app.request("pin", { nodes, frame: this.sight.frame() });
    else if (app.state?.mode === "keyframe" || app.state?.mode === "reroute")
      void app.request(loose.length > 0 ? "pose.pin" : "pose.unpin", { nodes: loose.length > 0 ? loose : nodes });
    this.sight.announce(`${nodes.length === 1 ? "vertex" : `${nodes.length} vertices`} pinned`);
  }

  /** P: what is under the pointer, else what is selected, else the tool itself. */
  pinHere(): void {
    const { touched } = this.hover ?? {};
    if (touched?.near) this.pin([touched.node]);
    else if (this.hover !== null && this.selection.nodes.length > 0) this.pin(this.selection.nodes);
    else this.sight.app.setUi({ tool: "pin" });
  }

  private move(event: PointerEvent): void {
    if (this.gesture === null) return this.look(event);
    if (event.pointerId !== this.pointer) return;
    // a right press during a drag comes as a move with one button more
    if (!(this.gesture instanceof Look) && (event.buttons & 2) !== 0) return this.drop();
    this.gesture.move(this.within(event), event);
  }

  /** The pointer's pixel in the view of the gesture, also where it has left it. */
  private within(event: PointerEvent): Pixel {
    const { left } = this.sight.room(this.gesture!.pane);
    const box = this.surface.getBoundingClientRect();
    return [event.clientX - box.left - left, event.clientY - box.top];
  }

  private up(event: PointerEvent): void {
    if (event.pointerId !== this.pointer) return;
    const { gesture } = this;
    this.end();
    gesture?.release();
    this.look(event);
  }

  /** The gesture ends as if it had not been. */
  drop(): void {
    const { gesture } = this;
    this.end();
    gesture?.cancel();
  }

  private end(): void {
    const { pointer } = this;
    this.gesture = null;
    this.pointer = null;
    if (pointer !== null && this.surface.hasPointerCapture(pointer)) this.surface.releasePointerCapture(pointer);
    this.sight.ink();
  }

  private readonly key = (event: KeyboardEvent): void => {
    const meant = this.gesture?.key?.(event) ?? null;
    if (meant === null) return;
    event.preventDefault();
    event.stopPropagation();
    if (meant === "done") this.end();
  };

  private wheel(event: WheelEvent): void {
    event.preventDefault();
    const { pane, at } = this.locate(event);
    const pixels = event.deltaY * (event.deltaMode === 1 ? 33 : event.deltaMode === 2 ? 400 : 1);
    // a pinch comes as a wheel with ctrl, in small steps
    this.cameras.zoom(pane, at, NOTCH ** (event.ctrlKey ? 6 * pixels : pixels));
  }

  /** Looks what is under the pointer, at most once an animation frame. */
  private look(event: PointerEvent | null): void {
    this.last = event;
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      if (this.gesture === null) this.see();
    });
  }

  private see(): void {
    const before = this.hover;
    const spot = this.last && this.locate(this.last);
    this.brush.hold(spot);
    this.hover = spot && hoverAt(this.sight, this.selection, this.dots, spot.pane, spot.at);
    this.surface.style.cursor = cursorOf(this.sight.app, this.hover);
    if (!differs(before, this.hover)) return;
    this.lookAt(discOf(this.sight.app, this.hover));
    this.sight.ink();
  }

  /** Others show what the pointer is over; said once, so that what the panel looks at stays. */
  private lookAt(node: number | null): void {
    if (node === this.looked) return;
    this.looked = node;
    emitHover(node, "view");
  }

  mark(marks: Marks): void {
    marks.measure = this.measured;
    this.gesture?.mark(marks);
  }

  dispose(): void {
    window.removeEventListener("keydown", this.key, true);
    this.deaf();
    this.drop();
  }
}
