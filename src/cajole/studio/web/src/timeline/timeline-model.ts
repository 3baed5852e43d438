/** View model of the timeline: scale, selection, hover and drag state. */

import { clamp } from "../core/math";
import { getCurrentMode, type ModeDefinition } from "../core/modes";
import { seek, getEditFrame } from "../core/playback";
import type { App, Lane, Marker, ProjectState } from "../core/types";
import { resized, scrolledTo, createFitScale, type TimeScale } from "./time-scale";

export const TRANSPORT_HEIGHT = 40;
export const RULER_HEIGHT = 26;
export const LANE_HEIGHT = 28;
const MAX_LANE_HEIGHT = 84; // after the timeline was resized
export const OVERVIEW_HEIGHT = 6;

/** A marker and its lane; ids are unique per lane. */
export interface MarkerRef { lane: Lane; marker: Marker }
export const getMarkerKey = (lane: string, marker: string): string => `${lane}\n${marker}`;

/** Dragged markers: new frames by key; `lanes`: as they were at the start, since ids may change. */
interface DraggedMarkers {
  frames: ReadonlyMap<string, number>;
  copy: boolean;
  snapFrame: number | null;
  lanes: readonly Lane[];
}

/** Identifies a moved marker in the next state, whose id may differ. */
interface ExpectedMarker { lane: string; frame: number; text: string }

/** Edit frame and playhead; with one view only the latter. */
interface Cursors { edit: number | null; play: number }

export class TimelineModel {
  scale: TimeScale = createFitScale(1000, 1);
  height = RULER_HEIGHT + LANE_HEIGHT + OVERVIEW_HEIGHT; // [px] of the canvas
  hasCustomHeight = false; // the user resized the timeline
  scroll = 0; // [px] of the lanes
  selection: ReadonlySet<string> = new Set();
  hover: string | null = null;
  focus: string | null = null; // focused in the accessible list
  dragged: DraggedMarkers | null = null;
  band: [[number, number], [number, number]] | null = null;
  draggedWindow: [number, number] | null = null; // edit window during a drag
  liveCurve: number[] | null = null; // added force during a drag in the view
  lap: number | null = null; // of a live simulation
  liveFrame: number | null = null; // of a live simulation
  scrubFrame: number | null = null; // edit frame while scrubbing
  hiddenLanes: ReadonlySet<string> = new Set(); // hidden by the user
  private expected: ExpectedMarker[] = [];

  /** redraw: called on every change of what is drawn; must be cheap. */
  constructor(readonly app: App, readonly redraw: () => void) {}

  get state(): ProjectState | null {
    return this.app.state;
  }
  get mode(): ModeDefinition | null {
    return getCurrentMode(this.app);
  }
  get frames(): number {
    return Math.max(this.state?.frames ?? 1, 1);
  }
  get last(): number {
    return this.frames - 1;
  }
  get fps(): number {
    return this.state?.fps || 60;
  }

  /** Visible lanes: the first always (it shows a hint), others if not empty, none that is hidden. */
  get lanes(): Lane[] {
    const before = new Map(this.dragged?.lanes.map((lane) => [lane.id, lane]));
    const filled = (lane: Lane): boolean => lane.markers.length > 0 || Boolean(lane.curve?.length);
    const shown = (this.state?.lanes ?? []).filter((lane, i) => !this.hiddenLanes.has(lane.id) && (i === 0 || filled(lane)));
    return shown.map((lane) => (lane.curve ? lane : (before.get(lane.id) ?? lane)));
  }

  /** Height of a lane [px]. */
  get laneHeight(): number {
    if (!this.hasCustomHeight) return LANE_HEIGHT;
    return clamp((this.height - RULER_HEIGHT - OVERVIEW_HEIGHT) / Math.max(this.lanes.length, 1), LANE_HEIGHT, MAX_LANE_HEIGHT);
  }

  /** Edit frame. */
  get frame(): number {
    return clamp(this.scrubFrame ?? getEditFrame(this.app), 0, this.last);
  }

  get cursors(): Cursors {
    const { ui } = this.app;
    const play = clamp(ui.playhead, 0, this.last);
    if (this.mode?.live) return { edit: null, play: clamp(this.liveFrame ?? this.frame, 0, this.last) };
    if (ui.views === 1) return { edit: null, play: ui.playing ? play : this.frame };
    return { edit: this.frame, play };
  }

  /** Range of frames that markers may move in. */
  get range(): [number, number] {
    return (this.state && this.mode?.getMarkerRange?.(this.state)) ?? [0, this.last];
  }

  /** Range of frames that edits may change, also during a drag of its ends; null: all frames. */
  get editWindow(): [number, number] | null {
    return this.draggedWindow ?? (this.state && this.mode?.getEditWindow?.(this.state)) ?? null;
  }

  /** Set the range of frames that edits may change; null: all frames. */
  async setEditWindow(range: [number, number] | null): Promise<void> {
    const all = range === null || (range[0] <= 0 && range[1] >= this.last);
    await this.mode?.setEditWindow?.(this.app, all ? null : range).catch(() => undefined);
  }

  get markers(): MarkerRef[] {
    return this.lanes.flatMap((lane) => lane.markers.map((marker) => ({ lane, marker })));
  }

  findMarker(key: string | null): MarkerRef | null {
    return key === null ? null : (this.markers.find((ref) => getMarkerKey(ref.lane.id, ref.marker.id) === key) ?? null);
  }

  /** Selection of the timeline, else of the server. */
  get selectedMarkers(): MarkerRef[] {
    const here = this.markers.filter((ref) => this.selection.has(getMarkerKey(ref.lane.id, ref.marker.id)));
    return here.length ? here : this.markers.filter((ref) => ref.marker.selected);
  }

  isSelected(lane: Lane, marker: Marker): boolean {
    return this.selection.size ? this.selection.has(getMarkerKey(lane.id, marker.id)) : Boolean(marker.selected);
  }

  /** Frame at which a marker is drawn, also during a move; copies are drawn beside their originals. */
  getDrawnFrame(lane: Lane, marker: Marker): number {
    const draggedFrame = this.dragged && !this.dragged.copy ? this.dragged.frames.get(getMarkerKey(lane.id, marker.id)) : undefined;
    return draggedFrame ?? marker.frame;
  }

  setSelection(keys: Iterable<string>): void {
    this.selection = new Set(keys);
    this.redraw();
  }

  setScale(scale: TimeScale): void {
    this.scale = scale;
    this.redraw();
  }

  seek(frame: number): void {
    seek(this.app, frame);
    this.redraw();
  }

  /** Seek and scroll the frame into view. */
  seekAndReveal(frame: number): void {
    this.scale = scrolledTo(this.scale, frame);
    this.seek(frame);
  }

  /** Keep markers selected whose ids may change in the next state. */
  expectMarkers(found: ExpectedMarker[]): void {
    this.expected = found;
  }

  /** Handle a new state: drop references to removed markers. */
  handleState(state: ProjectState): void {
    this.liveCurve = null;
    if (!this.mode?.live) this.liveFrame = this.lap = null;
    this.scale = resized(this.scale, this.scale.width, Math.max(state.frames, 1));
    if (!this.dragged) this.pruneMarkers();
    this.redraw();
  }

  private pruneMarkers(): void {
    const markers = this.markers;
    const existing = new Set(markers.map((ref) => getMarkerKey(ref.lane.id, ref.marker.id)));
    const moved = markers.filter(({ lane, marker }) =>
      this.expected.some((each) => each.lane === lane.id && each.frame === marker.frame && each.text === marker.text),
    );
    if (moved.length && moved.length === this.expected.length) {
      this.selection = new Set(moved.map((ref) => getMarkerKey(ref.lane.id, ref.marker.id)));
      this.expected = [];
    } else if ([...this.selection].some((key) => !existing.has(key))) {
      this.selection = new Set([...this.selection].filter((key) => existing.has(key)));
    }
    if (this.hover !== null && !existing.has(this.hover)) this.hover = null;
    if (this.focus !== null && !existing.has(this.focus)) this.focus = null;
  }

  /** End a drag and apply deferred server changes. */
  endDrag(): void {
    this.dragged = null;
    this.pruneMarkers();
    this.redraw();
  }
}
