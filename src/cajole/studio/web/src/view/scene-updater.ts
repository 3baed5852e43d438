/** Updates the scenes of the views from the server's current frame or from cached frames. */

import type { Texture } from "three";
import { readGhost as ghostIn, readPositions as read, readSmoke as smokeIn } from "../core/binary";
import { frameCache, type Stream } from "../core/frame-cache";
import { getMode } from "../core/modes";
import { countPlayableFrames, getEditFrame } from "../core/playback";
import { type App, type BinaryFrame, BinaryKind, type ProjectState } from "../core/types";
import { updateModel, type SurfaceModel } from "./surface-model";
import { PropStore } from "./props";
import type { Pane } from "./view-renderer";
import { type Quality, ViewScene } from "./view-scene";

interface CurrentFrame {
  positions: Float32Array;
  frame: number;
  ghost: Float32Array | null;
  smoke: Uint8Array<ArrayBuffer> | null;
}

export class SceneUpdater {
  model: SurfaceModel | null = null;
  guide: SurfaceModel | null = null; // mesh of the first view if it differs (Enrich)
  readonly props = new PropStore();
  applied = 0; // sequence number of the last applied frame
  shownFrame = 0; // in the first view
  /** True if a frame that should be shown has not arrived. */
  isMissingFrame = false;
  private current: CurrentFrame | null = null;
  private mode: string | null = null;
  private colorKey = ""; // of the last coloring

  constructor(private readonly app: App, private readonly panes: readonly Pane[]) {}

  /** Create the scenes of the current body. environment: reflected by physical materials. */
  buildScenes(environment: Texture | null, quality: Quality): void {
    const { project, state, ui } = this.app;
    this.disposeScenes();
    if (project === null || this.model === null) return;
    for (const [i, pane] of this.panes.entries()) {
      const first = i === 0 ? this.guide : null;
      pane.scene = new ViewScene(project, first ?? this.model, environment, this.guide);
      pane.scene.setWireframe(ui.wireframe);
      pane.scene.applyQuality(quality);
    }
    if (state) this.updateColors(state);
  }

  private disposeScenes(): void {
    for (const pane of this.panes) {
      pane.scene?.dispose();
      pane.scene = null;
    }
  }

  /** Remove everything after the project was closed. */
  clear(): void {
    this.disposeScenes();
    this.model = null;
    this.guide = null;
    this.current = null;
    this.mode = null;
    this.props.clear();
  }

  /** Handle a binary message; returns true if the body was replaced. */
  handleFrame(message: BinaryFrame): boolean {
    if (message.kind === BinaryKind.Prop) this.props.add(message);
    if (message.kind === BinaryKind.LiveFrame) this.setCurrent(message);
    if (message.kind === BinaryKind.RegionLabels) this.setRegions(message);
    if (message.kind !== BinaryKind.Triangles && message.kind !== BinaryKind.VertexColors && message.kind !== BinaryKind.VertexNodes) return false;
    if (message.kind === BinaryKind.Triangles && message.extra === 1) {
      this.guide = updateModel(null, message, this.app.project?.guide ?? 0);
      return true;
    }
    if (message.kind === BinaryKind.Triangles) this.guide = null;
    this.model = updateModel(this.model, message, this.app.project?.vertices ?? 0);
    return message.kind !== BinaryKind.VertexNodes;
  }

  /** Set the regions of the body or of its guide. */
  private setRegions({ extra, count, data, offset }: BinaryFrame): void {
    const model = extra === 1 ? this.guide : this.model;
    if (model === null || model.count !== count || data.byteLength < offset + 4 * count) return;
    model.regions = new Int32Array(data.slice(offset, offset + 4 * count));
    if (this.app.state) this.updateColors(this.app.state);
  }

  private setCurrent(message: BinaryFrame): void {
    const positions = read(message);
    if (positions === null) return;
    this.current = { positions, frame: message.frame, ghost: ghostIn(message), smoke: smokeIn(message) };
    this.applied = message.seq;
  }

  /** Update positions and ghosts of the views; mark changed panes dirty. */
  update(): void {
    const { state, ui } = this.app;
    if (state === null) return;
    const [first, second] = this.panes;
    const changed = this.mode !== state.mode;
    this.mode = state.mode;
    this.isMissingFrame = false;
    if (changed && first.scene && this.app.project) this.updateColors(state);
    this.updatePane(first, this.getCurrentPositions(state), this.shownFrame);
    if (first.scene?.field?.setSmoke(this.current?.smoke ?? null)) first.dirty = true;
    const hasGuide = this.guide !== null;
    this.updateGhost(first, changed, hasGuide ? null : this.shownFrame);
    if (ui.views !== 2) return;
    const frame = this.getPlayedFrame(state);
    this.updatePane(second, this.getResultPositions(frame), frame);
    if (hasGuide) this.updateGhost(second, changed, frame);
  }

  /** Result at a frame; until it arrives, what is shown stays, at first the current pose. */
  private getResultPositions(frame: number): Float32Array | null {
    const found = this.getResultFrame(frame);
    const mesh = this.panes[1].scene?.mesh;
    return found ?? (mesh?.hasPositions ? mesh.positions : (this.current?.positions ?? null));
  }

  /** Frame of the second view: the playhead, at most the last computed frame. */
  private getPlayedFrame(state: ProjectState): number {
    return Math.min(Math.floor(this.app.ui.playhead), countPlayableFrames(state) - 1);
  }

  /** Color the bodies by region where the mode has regions, else with their own colors or as clay. */
  updateColors(state: ProjectState): void {
    const mode = getMode(state.mode);
    const painted = this.app.project?.painted ?? false;
    this.panes.forEach((pane, i) => {
      const regions = mode.getRegionColors?.(this.app, i === 0 && this.guide !== null);
      if (regions) pane.scene?.setRegionColors(regions.base, regions.palette);
      else pane.scene?.setPainted(painted && !(i === 0 && mode.showsClay));
      pane.dirty = true;
    });
  }

  /** Color again if the new state requires it. */
  handleState(): void {
    const state = this.app.state!;
    const key = getMode(state.mode).getColorKey?.(state) ?? "";
    if (key === this.colorKey) return;
    this.colorKey = key;
    this.updateColors(state);
  }

  private getCurrentPositions(state: ProjectState): Float32Array | null {
    const { ui } = this.app;
    const mode = getMode(state.mode);
    const alone = ui.views === 1 && ui.playing && !mode.live;
    const frame = alone ? Math.floor(ui.playhead) : getEditFrame(this.app);
    const hasGuide = this.guide !== null;
    const elsewhere = this.current !== null && this.current.frame !== frame;
    const isNeeded = alone || ((mode.allowsVertexDrag || hasGuide) && elsewhere);
    const cached = isNeeded ? this.getFrame(hasGuide ? "given" : "result", frame) : null;
    this.shownFrame = cached ? frame : (this.current?.frame ?? state.frame);
    return cached ?? this.current?.positions ?? null;
  }

  private getResultFrame(frame: number): Float32Array | null {
    return this.getFrame("result", frame);
  }

  private getFrame(stream: Stream, frame: number): Float32Array | null {
    const found = frameCache.get(stream, frame);
    this.isMissingFrame ||= found === null;
    return found;
  }

  private updatePane(pane: Pane, positions: Float32Array | null, frame: number): void {
    if (pane.scene === null || positions === null) return;
    pane.scene.updateProps(this.props, frame);
    const fresh = !pane.scene.mesh.hasPositions || pane.scene.mesh.positions !== positions;
    if (fresh && pane.scene.setPositions(positions)) pane.dirty = true;
  }

  /** Update the ghost; it keeps its last shape until the next arrives, to avoid flicker while scrubbing. */
  private updateGhost(pane: Pane, changed: boolean, frame: number | null): void {
    if (pane.scene === null) return;
    const { ghost } = pane.scene;
    const before = ghost.group.visible ? ghost.positions : null;
    const isNeeded = this.app.ui.ghost && frame !== null;
    const found = isNeeded ? (this.current?.ghost ?? this.getFrame("given", frame)) : null;
    const previous = isNeeded && !changed ? before : null;
    pane.scene.setGhost(found ?? previous);
    if ((found ?? previous) !== before) pane.dirty = true;
  }
}
