/** Edit and Reroute: taking hold of vertices and putting them elsewhere. */

import { formatDigits } from "../core/format";
import type { DragUpdate, Vec3 } from "../core/types";
import { frameOf, pixelsPerMetre, project, rayAt } from "./camera";
import { type AxisName, axesOf, Drag, type Lock, nextLock, snapped } from "./drag";
import { CANCEL, type Gesture, nextGesture, type Sight, SLACK } from "./gesture";
import { SIZE, type Pixel } from "./handle";
import type { Marks } from "./marks";
import { Typing } from "./typing";
import { add, distance, length, niceStep } from "./vec";

const LATE = 150; // ms after which a line shows that the body lags behind the hand …
const VERY_LATE = 1000; // … and a ring turns
const SNAP = 8; // px that a step of snapping takes at least

const HINTS: [string, string][] = [
  ["Drag", "move"],
  ["X Y Z", "lock axis"],
  ["⇧ Z", "lock plane"],
  ["0–9", "type a value"],
  CANCEL,
];

/** Where a drag takes hold. */
export interface Hold {
  nodes: number[];
  anchor: Vec3; // what follows the pointer: a vertex, or the middle of several [m]
  lock: Lock;
  name: string; // of what is dragged, for those who do not see it
}

export class Move implements Gesture {
  private readonly number = nextGesture();
  private readonly drag: Drag;
  private typing: Typing;
  private begun = false;
  private over = false;
  private snap = false;
  private seq = 0;
  private sent = new Map<number, number>(); // when moves went out that have no answer
  private served: Vec3;
  private from: Vec3;
  private timers: ReturnType<typeof setTimeout>[] = [];

  /** click: what a press that never moved means. */
  constructor(
    private readonly sight: Sight,
    readonly pane: number,
    private readonly start: Pixel,
    private readonly hold: Hold,
    private readonly click: () => void,
  ) {
    const lens = sight.lens(pane);
    const { forward } = frameOf(lens.eye);
    this.drag = new Drag(hold.anchor, rayAt(lens, ...start), hold.lock, forward);
    this.typing = new Typing(axesOf(hold.lock));
    this.served = hold.anchor;
    this.from = hold.anchor;
  }

  move(at: Pixel, event: PointerEvent): void {
    if (this.over || this.sight.app.ui.connection !== "connected") return;
    if (!this.begun && Math.hypot(at[0] - this.start[0], at[1] - this.start[1]) <= SLACK) return;
    if (!this.begun) this.begin();
    this.snap = event.ctrlKey || event.metaKey;
    this.drag.to(rayAt(this.sight.lens(this.pane), ...at), event.shiftKey);
    this.send();
  }

  private begin(): void {
    const { app } = this.sight;
    const { nodes } = this.hold;
    this.begun = true;
    this.sight.expect(nodes);
    app.setHints(HINTS);
    app.request("drag.begin", { gesture: this.number, nodes, frame: this.sight.frame() }).then(
      (answer) => {
        if (Array.isArray(answer["position"])) this.from = this.served = answer["position"] as Vec3;
      },
      () => this.end(),
    );
  }

  /** The way [m] that is asked for: typed, else the hand's, in whole steps while ctrl is held. */
  private get way(): Vec3 {
    if (this.typing.begun || !this.snap) return this.drag.way;
    return snapped(this.drag.way, niceStep(SNAP / pixelsPerMetre(this.sight.lens(this.pane), this.hold.anchor)));
  }

  private get place(): Vec3 {
    return add(this.hold.anchor, this.way);
  }

  private send(): void {
    if (this.typing.begun) this.drag.typed(this.typing.amounts);
    this.sent.set(++this.seq, performance.now());
    this.sight.app.stream("drag.move", { gesture: this.number, seq: this.seq, delta: this.way });
    if (this.sent.size === 1) this.watch();
    this.sight.ink();
  }

  /** Looks again when an answer is late. */
  private watch(): void {
    this.timers.forEach(clearTimeout);
    this.timers = [LATE, VERY_LATE].map((ms) => setTimeout(() => this.sight.ink(), ms + 5));
  }

  /** How long [ms] the oldest move waits for an answer. */
  private get lag(): number {
    const [oldest] = this.sent.values();
    return oldest === undefined ? 0 : performance.now() - oldest;
  }

  moved(moved: DragUpdate): void {
    if (moved.gesture !== this.number) return;
    this.served = moved.position;
    for (const seq of this.sent.keys()) if (seq <= moved.seq) this.sent.delete(seq);
    if (this.sent.size > 0) this.watch();
    this.sight.ink();
  }

  key(event: KeyboardEvent): "held" | "done" | null {
    if (!this.begun) return null;
    const name = event.key.toLowerCase();
    if (name === "escape") return (this.cancel(), "done");
    if (name === "enter") return (this.release(), "done");
    if (name === "x" || name === "y" || name === "z") return (this.turn(name, event.shiftKey), "held");
    if (event.ctrlKey || event.metaKey || !this.typing.key(event.key)) return null;
    this.send();
    return "held";
  }

  private turn(axis: AxisName, plane: boolean): void {
    this.drag.hold(nextLock(this.drag.lock, axis, plane));
    this.typing.turn(axesOf(this.drag.lock));
    this.send();
  }

  release(): void {
    if (this.over) return;
    if (!this.begun) return this.click();
    const far = length(this.way);
    this.sight.settle(this.place);
    this.end();
    this.sight.app.request("drag.commit", { gesture: this.number }).then(
      () => this.sight.announce(`${this.hold.name} moved ${formatDigits(far)} metres`),
      () => this.sight.settle(null),
    );
  }

  cancel(): void {
    if (this.over) return;
    this.end();
    this.sight.settle(null);
    if (this.begun)
      void this.sight.app.request("drag.cancel", { gesture: this.number }, { quiet: true }).catch(() => undefined);
    this.sight.announce("drag cancelled");
  }

  private end(): void {
    this.over = true;
    this.timers.forEach(clearTimeout);
    this.sight.tag.hide();
    this.sight.app.setHints(null);
    this.sight.ink();
  }

  mark(marks: Marks): void {
    if (!this.begun || this.over) return;
    const { lock } = this.drag;
    marks.hover = null;
    marks.handle = { at: this.place, grip: null, held: true, lock };
    marks.discs = marks.discs.filter((disc) => !disc.active);
    const within = this.sight.app.state?.reroute?.dials.within;
    if (within !== undefined) marks.balls.push({ at: this.place, radius: within, now: true, warn: false });
    marks.discs.push({ at: this.place, size: 19, active: true });
    const behind = distance(add(this.from, this.way), this.served);
    if (this.lag > LATE && behind > 0)
      marks.tether = { from: this.place, to: add(this.place, back(this.from, this.way, this.served)) };
    this.tell();
  }

  private tell(): void {
    const lens = this.sight.lens(this.pane);
    const { left, width } = this.sight.room(this.pane);
    const { tag } = this.sight;
    const at = pixel(lens, this.place);
    const typed = this.typing.begun;
    const axis = typed ? this.typing.axis : (this.drag.lock ?? "");
    const single = axis.length === 1 ? this.way["xyz".indexOf(axis)] : length(this.way);
    const text = typed ? this.typing.text || "0" : formatDigits(single);
    const wide = this.drag.lock === null || this.drag.lock.length === 2 ? 0.5 * SIZE : 0;
    tag.show(left + at[0], at[1], [left, left + width], wide, axis, text, "m", this.typing.good);
    tag.wait(this.lag > VERY_LATE);
  }
}

/** From where the point is asked to be, to where it is. */
const back = (from: Vec3, way: Vec3, served: Vec3): Vec3 => served.map((value, i) => value - from[i] - way[i]) as Vec3;

function pixel(lens: Parameters<typeof project>[0], place: Vec3): Pixel {
  const seen = project(lens, place);
  return [seen.x, seen.y];
}
