/** Keyframe and Steer: pulling and pushing the body at a point, like a spring between it and the hand. */

import { getPushStiffness, formatPush } from "../core/push-settings";
import type { SteerUpdate, Tone, Vec3 } from "../core/types";
import { frameOf, rayAt } from "./camera";
import { onPlane } from "./drag";
import { CANCEL, type Gesture, nextGesture, type Sight, SLACK } from "./gesture";
import type { Pixel } from "./handle";
import type { Marks } from "./marks";
import { length, scale, sub } from "./vec";

/** What a force at a point is for. */
export type Use = "pull" | "push" | "impulse";

/** What is in the hand: a vertex of the body, or a place in a flow. */
export interface Touched {
  where: { node: number } | { at: Vec3 }; // as the server is told
  place(): Vec3 | null; // where that is now
  plane?: Vec3; // what the hand moves in, where not in that of the view: its normal
  add: boolean; // beside other pulls
  use: Use;
}

interface Words {
  tone: Tone;
  tag: (force: string) => string;
  done: string;
  hints: [string, string][];
}

const yours = (force: string): string => `your push · ${force}`;
const WORDS: Record<Use, Words> = {
  pull: {
    tone: "asked",
    tag: (force) => force,
    done: "pulled by",
    hints: [["Drag", "pull"], ["⇧ Drag", "add to stack"], CANCEL],
  },
  push: { tone: "world", tag: yours, done: "pushed by", hints: [["Drag", "push"], ["Release", "let go"], CANCEL] },
  impulse: {
    tone: "world",
    tag: yours,
    done: "pushed for a moment by",
    hints: [["Release", "push for a moment"], CANCEL],
  },
};

export class Pull implements Gesture {
  private readonly number = nextGesture();
  private readonly begin: Vec3; // where the vertex was
  private readonly forward: Vec3;
  private hand: Vec3; // where the pointer is, in the plane of the view
  private begun = false;
  private over = false;
  private released = false;
  private seq = 0;
  private stiffness: number | null = null; // [N/m] of a pull: the server knows how the body answers

  /** click: what a press that never moved means. */
  constructor(
    private readonly sight: Sight,
    readonly pane: number,
    private readonly start: Pixel,
    private readonly touched: Touched,
    private readonly click: () => void,
  ) {
    const lens = sight.lens(pane);
    this.begin = touched.place() ?? lens.eye.target;
    this.forward = touched.plane ?? frameOf(lens.eye).forward;
    this.hand = this.begin;
  }

  private get vertex(): Vec3 {
    return this.touched.place() ?? this.begin;
  }

  /** Whether it is known how strong the hand is. */
  private get strong(): boolean {
    return this.touched.use !== "pull" || this.stiffness !== null;
  }

  /** A pull counts from where the vertex was, a push from where it is: the one poses, the other is a spring. */
  private get force(): Vec3 {
    const { project } = this.sight.app;
    const from = this.touched.use === "pull" ? this.begin : this.vertex;
    if (project === null || !this.strong) return [0, 0, 0];
    return scale(sub(this.hand, from), this.stiffness ?? getPushStiffness(project));
  }

  move(at: Pixel): void {
    if (this.over || this.sight.app.ui.connection !== "connected") return;
    if (!this.begun && Math.hypot(at[0] - this.start[0], at[1] - this.start[1]) <= SLACK) return;
    if (!this.begun) this.take();
    this.hand = onPlane(rayAt(this.sight.lens(this.pane), ...at), this.begin, this.forward) ?? this.hand;
    this.send();
  }

  private take(): void {
    const { where, add: also, use } = this.touched;
    const { app } = this.sight;
    this.begun = true;
    app.setHints(WORDS[use].hints);
    if (use === "impulse") return;
    const values = use === "pull" ? { add: also } : {};
    app
      .request(`${use}.begin`, { gesture: this.number, ...where, ...values })
      .then((answer) => this.taken(answer))
      .catch(() => this.end());
  }

  /** The body is in the hand; one that was quicker than that is made up for. */
  private taken(answer: Record<string, unknown>): void {
    if (this.touched.use !== "pull") return;
    this.stiffness = Number(answer["stiffness"]);
    if (!this.over) this.send();
    else if (this.released) {
      this.send();
      this.drop();
    }
  }

  private send(): void {
    const { use } = this.touched;
    if (use !== "impulse" && this.strong)
      this.sight.app.stream(`${use}.move`, { gesture: this.number, seq: ++this.seq, force: this.force });
    this.sight.ink();
  }

  pulse(_pulse: SteerUpdate): void {
    if (this.begun && !this.over && this.touched.use === "push") this.send(); // the body moved on, the hand did not
  }

  key(event: KeyboardEvent): "done" | null {
    if (event.key !== "Escape" || !this.begun) return null;
    this.cancel();
    return "done";
  }

  release(): void {
    if (this.over) return;
    if (!this.begun) return this.click();
    this.released = true;
    this.end();
    if (this.strong) this.drop();
  }

  private drop(): void {
    const { use, where } = this.touched;
    const { app } = this.sight;
    const force = this.force;
    if (use === "impulse") void app.request("impulse", { ...where, force });
    else void app.request(use === "pull" ? "pull.commit" : "push.end", { gesture: this.number });
    this.sight.announce(`${WORDS[use].done} ${formatPush(app.project, length(force))}`);
  }

  cancel(): void {
    if (this.over) return;
    this.end();
    const { use } = this.touched;
    if (!this.begun || use === "impulse") return;
    void this.sight.app
      .request(use === "pull" ? "pull.cancel" : "push.end", { gesture: this.number }, { quiet: true })
      .catch(() => undefined);
  }

  private end(): void {
    this.over = true;
    this.sight.app.setHints(null);
    this.sight.ink();
  }

  mark(marks: Marks): void {
    if (!this.begun || this.over) return;
    const { use } = this.touched;
    const at = this.vertex;
    marks.hover = null;
    if (use === "pull" && !this.touched.add) marks.arrows = marks.arrows.filter((arrow) => arrow.passing !== true);
    marks.arrows.push({
      at,
      way: sub(this.hand, at),
      tone: WORDS[use].tone,
      pixels: 4.5,
      disc: true,
      label: this.strong ? WORDS[use].tag(formatPush(this.sight.app.project, length(this.force))) : null,
    });
  }
}
