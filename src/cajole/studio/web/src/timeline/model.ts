/** What the time line knows beyond the server's word: its view, what is selected, hovered and held. */

import { seek, getEditFrame } from "../core/playback";
import type { App, Lane, Marker, ProjectState } from "../core/types";
import { clamp, resized, revealing, whole, type Scale } from "./scale";

export const TRANSPORT = 40;
export const RULER = 26;
export const LANE = 28;
export const TALLEST = 84; // of a lane, when the time line was pulled up
export const FOOT = 6;

/** One marker of one lane; ids are told apart lane by lane. */
export interface Pick { lane: Lane; marker: Marker }
export const keyOf = (lane: string, marker: string): string => `${lane}\n${marker}`;

/** Markers under the hand: where they would go, by key; `lanes`: as the hand found them, for ids may change. */
export interface Held {
  frames: ReadonlyMap<string, number>;
  copy: boolean;
  line: number | null;
  lanes: readonly Lane[];
}

/** Where a marker that was moved will be found again. */
export interface Expected { lane: string; frame: number; text: string }

/** The two cursors: the edit frame and the playhead. With one view there is only the latter. */
export interface Cursors { edit: number | null; play: number }

export class Model {
  scale: Scale = whole(1000, 1);
  height = RULER + LANE + FOOT; // [px] of the canvas
  pulled = false; // whether the author chose the height
  scroll = 0; // [px] of the lanes
  selection: ReadonlySet<string> = new Set();
  hover: string | null = null;
  focus: string | null = null; // the marker that the hidden list points at
  held: Held | null = null;
  band: [[number, number], [number, number]] | null = null;
  window: [number, number] | null = null; // the editable range under the hand
  curve: number[] | null = null; // added force while something is dragged in the body
  lap: number | null = null; // the lap of a live run
  live: number | null = null; // the frame of a live run
  scrub: number | null = null; // the edit frame under the hand
  hidden: ReadonlySet<string> = new Set(); // lanes that the author put away
  private expected: Expected[] = [];

  /** `redraw`: called whenever something drawn changes; it may be called often. */
  constructor(
    readonly app: App,
    readonly redraw: () => void,
  ) {}

  get state(): ProjectState | null {
    return this.app.state;
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

  /** Lanes that are shown: the first always (it teaches), others when they hold something; none that was put away. */
  get lanes(): Lane[] {
    const before = new Map(this.held?.lanes.map((lane) => [lane.id, lane]));
    const filled = (lane: Lane): boolean => lane.markers.length > 0 || Boolean(lane.curve?.length);
    const shown = (this.state?.lanes ?? []).filter((lane, i) => !this.hidden.has(lane.id) && (i === 0 || filled(lane)));
    return shown.map((lane) => (lane.curve ? lane : (before.get(lane.id) ?? lane)));
  }

  /** Height of a lane [px]: LANE, and more once the time line was pulled up. */
  get laneHeight(): number {
    if (!this.pulled) return LANE;
    return clamp((this.height - RULER - FOOT) / Math.max(this.lanes.length, 1), LANE, TALLEST);
  }

  /** The frame that is edited: the one asked for last. */
  get frame(): number {
    return clamp(this.scrub ?? getEditFrame(this.app), 0, this.last);
  }

  get cursors(): Cursors {
    const { ui } = this.app;
    const play = clamp(ui.playhead, 0, this.last);
    if (this.state?.mode === "steer") return { edit: null, play: clamp(this.live ?? this.frame, 0, this.last) };
    if (ui.views === 1) return { edit: null, play: ui.playing ? play : this.frame };
    return { edit: this.frame, play };
  }

  /** The range that markers may be moved in. */
  get range(): [number, number] {
    // nothing can have led a vertex at frame 0
    return this.state?.edit?.editable ?? [this.state?.reroute ? 1 : 0, this.last];
  }

  get picks(): Pick[] {
    return this.lanes.flatMap((lane) => lane.markers.map((marker) => ({ lane, marker })));
  }

  pick(key: string | null): Pick | null {
    return key === null ? null : (this.picks.find((pick) => keyOf(pick.lane.id, pick.marker.id) === key) ?? null);
  }

  /** What is selected: by hand here, else what the server says is. */
  get selected(): Pick[] {
    const here = this.picks.filter((pick) => this.selection.has(keyOf(pick.lane.id, pick.marker.id)));
    return here.length ? here : this.picks.filter((pick) => pick.marker.selected);
  }

  isSelected(lane: Lane, marker: Marker): boolean {
    return this.selection.size ? this.selection.has(keyOf(lane.id, marker.id)) : Boolean(marker.selected);
  }

  /** Where a marker is drawn: under the hand, or where the server has it. A copy is drawn beside the original. */
  frameOf(lane: Lane, marker: Marker): number {
    const held = this.held && !this.held.copy ? this.held.frames.get(keyOf(lane.id, marker.id)) : undefined;
    return held ?? marker.frame;
  }

  select(keys: Iterable<string>): void {
    this.selection = new Set(keys);
    this.redraw();
  }

  view(scale: Scale): void {
    this.scale = scale;
    this.redraw();
  }

  goTo(frame: number): void {
    seek(this.app, frame);
    this.redraw();
  }

  /** The same, and bring it into sight. */
  show(frame: number): void {
    this.scale = revealing(this.scale, frame);
    this.goTo(frame);
  }

  /** Markers are moved, by which their ids may change: whatever they are called then, they stay selected. */
  expect(found: Expected[]): void {
    this.expected = found;
  }

  /** The server's word came: forget markers that are gone. */
  hear(state: ProjectState): void {
    this.curve = null;
    if (state.mode !== "steer") this.live = this.lap = null;
    this.scale = resized(this.scale, this.scale.width, Math.max(state.frames, 1));
    if (!this.held) this.forget();
    this.redraw();
  }

  private forget(): void {
    const picks = this.picks;
    const there = new Set(picks.map((pick) => keyOf(pick.lane.id, pick.marker.id)));
    const moved = picks.filter(({ lane, marker }) =>
      this.expected.some((each) => each.lane === lane.id && each.frame === marker.frame && each.text === marker.text),
    );
    if (moved.length && moved.length === this.expected.length) {
      this.selection = new Set(moved.map((pick) => keyOf(pick.lane.id, pick.marker.id)));
      this.expected = [];
    } else if ([...this.selection].some((key) => !there.has(key))) {
      this.selection = new Set([...this.selection].filter((key) => there.has(key)));
    }
    if (this.hover !== null && !there.has(this.hover)) this.hover = null;
    if (this.focus !== null && !there.has(this.focus)) this.focus = null;
  }

  /** The hand has let go; what came meanwhile counts. */
  let(): void {
    this.held = null;
    this.forget();
    this.redraw();
  }
}
