/** Move gesture: drag vertices to target positions. */

import { formatDigits } from "../core/format";
import { niceStep } from "../core/math";
import { getCurrentMode } from "../core/modes";
import type { MovedMessage, Vec3 } from "../core/types";
import { getViewAxes, pixelsPerMetre, projectPoint, getPixelRay } from "./camera";
import { type AxisName, getLockAxes, DragTracker, type AxisLock, toggleLock, snapped, TypedAmounts } from "./drag";
import { CANCEL_HINT, type Gesture, createGestureId, type ViewContext, CLICK_SLOP } from "./gesture";
import { GIZMO_SIZE, type Pixel } from "./gizmo";
import type { Marks } from "./marks";
import { add, distance, length } from "./vec";

const LAG_LINE_DELAY = 150; // ms after which a line shows the lag of the solver …
const LAG_SPINNER_DELAY = 1000; // … and a spinner
const MIN_SNAP_PIXELS = 8; // least px of a snapping step

const HINTS: [string, string][] = [
  ["Drag", "move"],
  ["X Y Z", "lock axis"],
  ["⇧ Z", "lock plane"],
  ["0–9", "type a value"],
  CANCEL_HINT,
];

/** Vertices that a drag moves, and their anchor. */
interface MoveTarget {
  nodes: number[];
  anchor: Vec3; // follows the pointer: a vertex, or the centroid of several [m]
  lock: AxisLock;
  name: string; // for screen readers
}

export class MoveGesture implements Gesture {
  private readonly id = createGestureId();
  private readonly drag: DragTracker;
  private typing: TypedAmounts;
  private started = false;
  private ended = false;
  private snap = false;
  private seq = 0;
  private sent = new Map<number, number>(); // time of each unanswered move by sequence number
  private serverPosition: Vec3;
  private startPosition: Vec3;
  private timers: ReturnType<typeof setTimeout>[] = [];

  /** onClick: called for a press without movement. */
  constructor(
    private readonly view: ViewContext,
    readonly pane: number,
    private readonly startPixel: Pixel,
    private readonly target: MoveTarget,
    private readonly onClick: () => void,
  ) {
    const camera = view.getCamera(pane);
    const { forward } = getViewAxes(camera.pose);
    this.drag = new DragTracker(target.anchor, getPixelRay(camera, ...startPixel), target.lock, forward);
    this.typing = new TypedAmounts(getLockAxes(target.lock));
    this.serverPosition = target.anchor;
    this.startPosition = target.anchor;
  }

  move(at: Pixel, event: PointerEvent): void {
    if (this.ended || this.view.app.ui.connection !== "connected") return;
    if (!this.started && Math.hypot(at[0] - this.startPixel[0], at[1] - this.startPixel[1]) <= CLICK_SLOP) return;
    if (!this.started) this.start();
    this.snap = event.ctrlKey || event.metaKey;
    this.drag.moveTo(getPixelRay(this.view.getCamera(this.pane), ...at), event.shiftKey);
    this.send();
  }

  private start(): void {
    const { app } = this.view;
    const { nodes } = this.target;
    this.started = true;
    this.view.setPendingSelection(nodes);
    app.setHints(HINTS);
    app.request("drag.begin", { gesture: this.id, nodes, frame: this.view.getFrame() }).then(
      ({ position }) => (this.startPosition = this.serverPosition = position),
      () => this.finish(),
    );
  }

  /** Requested offset [m]: typed, else from the pointer, snapped while Ctrl is held. */
  private get offset(): Vec3 {
    if (this.typing.hasInput || !this.snap) return this.drag.offset;
    return snapped(this.drag.offset, niceStep(MIN_SNAP_PIXELS / pixelsPerMetre(this.view.getCamera(this.pane), this.target.anchor)));
  }

  private get position(): Vec3 {
    return add(this.target.anchor, this.offset);
  }

  private send(): void {
    if (this.typing.hasInput) this.drag.setTyped(this.typing.amounts);
    this.sent.set(++this.seq, performance.now());
    this.view.app.stream("drag.move", { gesture: this.id, seq: this.seq, delta: this.offset });
    if (this.sent.size === 1) this.scheduleLagCheck();
    this.view.requestOverlay();
  }

  /** Redraw when a reply is overdue. */
  private scheduleLagCheck(): void {
    this.timers.forEach(clearTimeout);
    this.timers = [LAG_LINE_DELAY, LAG_SPINNER_DELAY].map((ms) => setTimeout(() => this.view.requestOverlay(), ms + 5));
  }

  /** Time [ms] since the oldest unanswered move. */
  private get lag(): number {
    const [oldest] = this.sent.values();
    return oldest === undefined ? 0 : performance.now() - oldest;
  }

  handleDragUpdate(moved: MovedMessage): void {
    if (moved.gesture !== this.id) return;
    this.serverPosition = moved.position;
    for (const seq of this.sent.keys()) if (seq <= moved.seq) this.sent.delete(seq);
    if (this.sent.size > 0) this.scheduleLagCheck();
    this.view.requestOverlay();
  }

  handleKey(event: KeyboardEvent): "held" | "done" | null {
    if (!this.started) return null;
    const name = event.key.toLowerCase();
    if (name === "escape") return (this.cancel(), "done");
    if (name === "enter") return (this.release(), "done");
    if (name === "x" || name === "y" || name === "z") return (this.toggleLock(name, event.shiftKey), "held");
    if (event.ctrlKey || event.metaKey || !this.typing.handleKey(event.key)) return null;
    this.send();
    return "held";
  }

  private toggleLock(axis: AxisName, plane: boolean): void {
    this.drag.setLock(toggleLock(this.drag.lock, axis, plane));
    this.typing.setAxes(getLockAxes(this.drag.lock));
    this.send();
  }

  release(): void {
    if (this.ended) return;
    if (!this.started) return this.onClick();
    const far = length(this.offset);
    this.view.setPendingPosition(this.position);
    this.finish();
    this.view.app.request("drag.commit", { gesture: this.id }).then(
      () => this.view.announce(`${this.target.name} moved ${formatDigits(far)} metres`),
      () => this.view.setPendingPosition(null),
    );
  }

  cancel(): void {
    if (this.ended) return;
    this.finish();
    this.view.setPendingPosition(null);
    if (this.started)
      void this.view.app.request("drag.cancel", { gesture: this.id }, { quiet: true }).catch(() => undefined);
    this.view.announce("drag cancelled");
  }

  private finish(): void {
    this.ended = true;
    this.timers.forEach(clearTimeout);
    this.view.label.hide();
    this.view.app.setHints(null);
    this.view.requestOverlay();
  }

  addMarks(marks: Marks): void {
    if (!this.started || this.ended) return;
    const { lock } = this.drag;
    marks.hover = null;
    marks.handle = { at: this.position, grip: null, held: true, lock };
    marks.discs = marks.discs.filter((disc) => !disc.active);
    const { app } = this.view;
    const ball = app.state && getCurrentMode(app)?.createTargetBall?.(app.state, this.position);
    if (ball) marks.balls.push(ball);
    marks.discs.push({ at: this.position, size: 19, active: true });
    const behind = distance(add(this.startPosition, this.offset), this.serverPosition);
    if (this.lag > LAG_LINE_DELAY && behind > 0)
      marks.lagLine = { from: this.position, to: add(this.position, computeLag(this.startPosition, this.offset, this.serverPosition)) };
    this.updateLabel();
  }

  private updateLabel(): void {
    const camera = this.view.getCamera(this.pane);
    const { left, width } = this.view.getPaneBox(this.pane);
    const { label: tag } = this.view;
    const at = toPixel(camera, this.position);
    const typed = this.typing.hasInput;
    const axis = typed ? this.typing.axis : (this.drag.lock ?? "");
    const single = axis.length === 1 ? this.offset["xyz".indexOf(axis)] : length(this.offset);
    const text = typed ? this.typing.text || "0" : formatDigits(single);
    const gizmoWidth = this.drag.lock === null || this.drag.lock.length === 2 ? 0.5 * GIZMO_SIZE : 0;
    tag.show(left + at[0], at[1], [left, left + width], gizmoWidth, axis, text, "m", this.typing.isValid);
    tag.setBusy(this.lag > LAG_SPINNER_DELAY);
  }
}

/** Offset from the requested to the solved position. */
const computeLag = (from: Vec3, offset: Vec3, serverPosition: Vec3): Vec3 =>
  serverPosition.map((value, i) => value - from[i] - offset[i]) as Vec3;

function toPixel(camera: Parameters<typeof projectPoint>[0], position: Vec3): Pixel {
  const projected = projectPoint(camera, position);
  return [projected.x, projected.y];
}
