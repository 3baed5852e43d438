/** Which vertices each view shows: what the server says now, or a frame of the motion that has been fetched. */

import type { Texture } from "three";
import { positions as read } from "../core/binary";
import { frames, type Stream } from "../core/frames";
import { present } from "../core/playing";
import { type App, type BinaryFrame, Kind, type State } from "../core/types";
import { modelAfter, type Model } from "./model";
import { PropStore } from "./props";
import type { Pane } from "./screen";
import { type Quality, Stage } from "./stage";

interface Now {
  positions: Float32Array;
  frame: number;
  ghost: Float32Array | null;
}

/** The ghost that came with a body: as many vertices of another at the same moment; null when none did. */
function ghostIn({ extra, count, data, offset }: BinaryFrame): Float32Array | null {
  return extra === 1 && data.byteLength >= offset + 24 * count
    ? new Float32Array(data, offset + 12 * count, 3 * count)
    : null;
}

export class Show {
  model: Model | null = null;
  readonly props = new PropStore();
  applied = 0; // seq of the newest frame that was applied
  shownFrame = 0; // of the first view
  /** Whether a frame that should be seen has not come. */
  lacking = false;
  private now: Now | null = null;
  private mode: string | null = null;

  constructor(
    private readonly app: App,
    private readonly panes: readonly Pane[],
  ) {}

  /** Stages for the present body. room: what rich surfaces mirror. */
  build(room: Texture | null, quality: Quality): void {
    const { project, state, ui } = this.app;
    this.strip();
    if (project === null || this.model === null) return;
    for (const pane of this.panes) {
      pane.stage = new Stage(project, this.model, room);
      pane.stage.mesh(ui.wireframe);
      pane.stage.afford(quality);
    }
    if (state) this.colour(state);
  }

  private strip(): void {
    for (const pane of this.panes) {
      pane.stage?.dispose();
      pane.stage = null;
    }
  }

  /** Nothing is open. */
  forget(): void {
    this.strip();
    this.model = null;
    this.now = null;
    this.mode = null;
    this.props.clear();
  }

  /** A binary message came; says whether it brought another body. */
  take(message: BinaryFrame): boolean {
    if (message.kind === Kind.Prop) this.props.take(message);
    if (message.kind === Kind.Now) this.apply(message);
    if (message.kind !== Kind.Face && message.kind !== Kind.Tint && message.kind !== Kind.Node) return false;
    this.model = modelAfter(this.model, message, this.app.project?.vertices ?? 0);
    return message.kind !== Kind.Node;
  }

  private apply(message: BinaryFrame): void {
    const positions = read(message);
    if (positions === null) return;
    this.now = { positions, frame: message.frame, ghost: ghostIn(message) };
    this.applied = message.seq;
  }

  /** Gives the views what they show now; marks those that differ. */
  refresh(): void {
    const { state, ui } = this.app;
    if (state === null) return;
    const [first, second] = this.panes;
    const changed = this.mode !== state.mode;
    this.mode = state.mode;
    this.lacking = false;
    if (changed && first.stage && this.app.project) this.colour(state);
    this.fill(first, this.firstOf(state), this.shownFrame);
    this.ghost(first, changed);
    if (ui.views === 2) this.fill(second, this.secondOf(), Math.floor(ui.playhead));
  }

  /** A frame of the result; until one has come what is seen stays, at first the body as it is now. */
  private secondOf(): Float32Array | null {
    const found = this.resultAt(Math.floor(this.app.ui.playhead));
    const figure = this.panes[1].stage?.figure;
    return found ?? (figure?.shown ? figure.positions : (this.now?.positions ?? null));
  }

  /** Edit shows clay at its left, so that the ghost is read against one colour; everything else its own paint. */
  colour(state: State): void {
    const painted = this.app.project?.painted ?? false;
    this.panes[0].stage?.paint(painted && state.mode !== "edit");
    this.panes[1].stage?.paint(painted);
    for (const pane of this.panes) pane.dirty = true;
  }

  private firstOf(state: State): Float32Array | null {
    const { ui } = this.app;
    const alone = ui.views === 1 && ui.playing && state.mode !== "steer";
    const frame = alone ? Math.floor(ui.playhead) : present(this.app);
    const wanted = alone || (state.mode === "edit" && this.now !== null && this.now.frame !== frame);
    const cached = wanted ? this.resultAt(frame) : null;
    this.shownFrame = cached ? frame : (this.now?.frame ?? state.frame);
    return cached ?? this.now?.positions ?? null;
  }

  private resultAt(frame: number): Float32Array | null {
    return this.fetch("result", frame);
  }

  private fetch(stream: Stream, frame: number): Float32Array | null {
    const found = frames.get(stream, frame);
    this.lacking ||= found === null;
    return found;
  }

  private fill(pane: Pane, positions: Float32Array | null, frame: number): void {
    if (pane.stage === null || positions === null) return;
    pane.stage.surround(this.props, frame);
    const fresh = !pane.stage.figure.shown || pane.stage.figure.positions !== positions;
    if (fresh && pane.stage.show(positions)) pane.dirty = true;
  }

  /** The ghost keeps its last shape until the next has come, so that it does not flicker while one scrubs. */
  private ghost(pane: Pane, changed: boolean): void {
    if (pane.stage === null) return;
    const { ghost } = pane.stage;
    const before = ghost.group.visible ? ghost.positions : null;
    const found = this.app.ui.ghost ? (this.now?.ghost ?? this.fetch("given", this.shownFrame)) : null;
    const kept = this.app.ui.ghost && !changed ? before : null;
    pane.stage.haunt(found ?? kept);
    if ((found ?? kept) !== before) pane.dirty = true;
  }
}
