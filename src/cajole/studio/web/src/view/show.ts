/** Which vertices each view shows: what the server says now, or a frame of the motion that has been fetched. */

import { Color, type Texture } from "three";
import { brush, getRegionColor } from "../core/brush";
import { readGhost as ghostIn, readPositions as read, readSmoke as smokeIn } from "../core/binary";
import { frameCache, type Stream } from "../core/frame-cache";
import { countPlayableFrames, getEditFrame } from "../core/playback";
import { type App, type BinaryFrame, BinaryKind, type ProjectState } from "../core/types";
import { getToken } from "../core/theme";
import { isDragMode } from "../core/targets";
import { type Light, modelAfter, type Model } from "./model";
import { PropStore } from "./props";
import type { Pane } from "./screen";
import { type Quality, Stage } from "./stage";

interface Now {
  positions: Float32Array;
  frame: number;
  ghost: Float32Array | null;
  smoke: Uint8Array<ArrayBuffer> | null;
}

export class Show {
  model: Model | null = null;
  guide: Model | null = null; // what the first view shows instead, where it has triangles of its own
  readonly props = new PropStore();
  applied = 0; // seq of the newest frame that was applied
  shownFrame = 0; // of the first view
  /** Whether a frame that should be seen has not come. */
  lacking = false;
  private now: Now | null = null;
  private mode: string | null = null;
  private mark = ""; // what the colours of regions go by

  constructor(
    private readonly app: App,
    private readonly panes: readonly Pane[],
  ) {}

  /** Stages for the present body. room: what rich surfaces mirror. */
  build(room: Texture | null, quality: Quality): void {
    const { project, state, ui } = this.app;
    this.strip();
    if (project === null || this.model === null) return;
    for (const [i, pane] of this.panes.entries()) {
      const first = i === 0 ? this.guide : null;
      pane.stage = new Stage(project, first ?? this.model, room, this.guide);
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
    this.guide = null;
    this.now = null;
    this.mode = null;
    this.props.clear();
  }

  /** A binary message came; says whether it brought another body. */
  take(message: BinaryFrame): boolean {
    if (message.kind === BinaryKind.Prop) this.props.take(message);
    if (message.kind === BinaryKind.Current) this.apply(message);
    if (message.kind === BinaryKind.Regions) this.zone(message);
    if (message.kind !== BinaryKind.Triangles && message.kind !== BinaryKind.Colors && message.kind !== BinaryKind.Nodes) return false;
    if (message.kind === BinaryKind.Triangles && message.extra === 1) {
      this.guide = modelAfter(null, message, this.app.project?.guide ?? 0);
      return true;
    }
    if (message.kind === BinaryKind.Triangles) this.guide = null;
    this.model = modelAfter(this.model, message, this.app.project?.vertices ?? 0);
    return message.kind !== BinaryKind.Nodes;
  }

  /** Regions of the body, or of its guide. */
  private zone({ extra, count, data, offset }: BinaryFrame): void {
    const model = extra === 1 ? this.guide : this.model;
    if (model === null || model.count !== count || data.byteLength < offset + 4 * count) return;
    model.zones = new Int32Array(data.slice(offset, offset + 4 * count));
    if (this.app.state) this.colour(this.app.state);
  }

  private apply(message: BinaryFrame): void {
    const positions = read(message);
    if (positions === null) return;
    this.now = { positions, frame: message.frame, ghost: ghostIn(message), smoke: smokeIn(message) };
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
    if (first.stage?.field?.fill(this.now?.smoke ?? null)) first.dirty = true;
    const led = this.guide !== null;
    this.ghost(first, changed, led ? null : this.shownFrame);
    if (ui.views !== 2) return;
    const frame = this.played(state);
    this.fill(second, this.secondOf(frame), frame);
    if (led) this.ghost(second, changed, frame);
  }

  /** A frame of the result; until one has come what is seen stays, at first the body as it is now. */
  private secondOf(frame: number): Float32Array | null {
    const found = this.resultAt(frame);
    const figure = this.panes[1].stage?.figure;
    return found ?? (figure?.shown ? figure.positions : (this.now?.positions ?? null));
  }

  /** The frame that the second view shows: the playhead's, or the last that there is of a result in the making. */
  private played(state: ProjectState): number {
    return Math.min(Math.floor(this.app.ui.playhead), countPlayableFrames(state) - 1);
  }

  /** Edit shows clay at its left, so that the ghost is read against one colour; everything else its own paint. */
  colour(state: ProjectState): void {
    if (state.mode === "enrich") return this.zones();
    const painted = this.app.project?.painted ?? false;
    this.panes[0].stage?.paint(painted && state.mode !== "edit");
    this.panes[1].stage?.paint(painted);
    for (const pane of this.panes) pane.dirty = true;
  }

  /** The state has changed: what came of regions is seen in its own colour, what they are in theirs. */
  heard(): void {
    const { enrich } = this.app.state!;
    const mark = enrich ? `${enrich.result === null} ${enrich.running === null}` : "";
    if (mark === this.mark) return;
    this.mark = mark;
    if (enrich) this.zones();
  }

  /** Guide and shell in the colours of their regions, or in their own. */
  private zones(): void {
    const { state, ui } = this.app;
    const seen = state?.enrich?.result !== null || state.enrich.running !== null;
    const coloured = brush.shown && (ui.tool === "brush" || !seen); // what came of it is seen as it is
    const mixed = new Map<number, Light>();
    this.panes.forEach((pane, i) => {
      const base = i === 0 && this.guide !== null ? "given-swatch" : "clay";
      mixed.clear();
      const palette = (region: number): Light => {
        const known = mixed.get(region) ?? lightOf(base, coloured ? region : -1);
        mixed.set(region, known);
        return known;
      };
      pane.stage?.zone(base, palette);
      pane.dirty = true;
    });
  }

  private firstOf(state: ProjectState): Float32Array | null {
    const { ui } = this.app;
    const alone = ui.views === 1 && ui.playing && state.mode !== "steer";
    const frame = alone ? Math.floor(ui.playhead) : getEditFrame(this.app);
    const led = this.guide !== null;
    const elsewhere = this.now !== null && this.now.frame !== frame;
    const wanted = alone || ((isDragMode(state) || led) && elsewhere);
    const cached = wanted ? this.fetch(led ? "given" : "result", frame) : null;
    this.shownFrame = cached ? frame : (this.now?.frame ?? state.frame);
    return cached ?? this.now?.positions ?? null;
  }

  private resultAt(frame: number): Float32Array | null {
    return this.fetch("result", frame);
  }

  private fetch(stream: Stream, frame: number): Float32Array | null {
    const found = frameCache.get(stream, frame);
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
  private ghost(pane: Pane, changed: boolean, frame: number | null): void {
    if (pane.stage === null) return;
    const { ghost } = pane.stage;
    const before = ghost.group.visible ? ghost.positions : null;
    const wanted = this.app.ui.ghost && frame !== null;
    const found = wanted ? (this.now?.ghost ?? this.fetch("given", frame)) : null;
    const kept = wanted && !changed ? before : null;
    pane.stage.haunt(found ?? kept);
    if ((found ?? kept) !== before) pane.dirty = true;
  }
}

/** How much of its own colour a region has over that of the body; the rest keeps guide and shell apart. */
const STRONG = 0.9;

/** The light of a region over a base colour; -1: of the base alone. */
function lightOf(base: string, region: number): Light {
  const under = new Color().setStyle(getToken(base));
  return region < 0 ? under : under.lerp(new Color().setStyle(getToken(getRegionColor(region))), STRONG);
}
