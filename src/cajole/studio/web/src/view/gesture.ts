/** What the hand can be doing: one gesture at a time, from a press to a release. */

import type { App, DragUpdate, SteerUpdate, Vec3 } from "../core/types";
import type { Lens } from "./camera";
import type { Figure } from "./figure";
import type { Pixel } from "./handle";
import type { Marks } from "./marks";
import type { Tag } from "./tag";

export const SLACK = 3; // px that a click may tremble

/** What a gesture may see and use of the viewport. */
export interface Sight {
  readonly app: App;
  readonly tag: Tag;
  /** How a view is seen at this moment. */
  lens(pane: number): Lens;
  /** Left end and width [px] of a view. */
  room(pane: number): { left: number; width: number };
  /** The body of the first view, null before it came. */
  figure(): Figure | null;
  /** The body of a view. */
  figureIn(pane: number): Figure | null;
  /** Vertices of a body belong to other regions, though nobody was told yet. */
  recolour(): void;
  /** The frame that the first view shows. */
  frame(): number;
  /** Where a vertex of the body is drawn now, null when it is not. */
  placeOf(node: number): Vec3 | null;
  /** The layer above the bodies has changed. */
  ink(): void;
  /** Tell those who do not see it. */
  announce(text: string): void;
  /** Show the selection at these nodes until the server says where it is. */
  expect(nodes: number[]): void;
  /** Show the dragged point here until the server says where it is. */
  settle(place: Vec3 | null): void;
}

export interface Gesture {
  readonly pane: number;
  /** The pointer is at a pixel of its view. */
  move(at: Pixel, event: PointerEvent): void;
  release(): void;
  cancel(): void;
  /** A key was pressed: "held" when it meant something, "done" when it ended the gesture. */
  key?(event: KeyboardEvent): "held" | "done" | null;
  moved?(moved: DragUpdate): void;
  pulse?(pulse: SteerUpdate): void;
  mark(marks: Marks): void;
}

let last = Date.now() % 1_000_000_000; // differs after a reload, so that late answers fit no new gesture

/** A number for a gesture. */
export const nextGesture = (): number => ++last;

/** Words for the status bar during a gesture that can be cancelled. */
export const CANCEL: [string, string] = ["Esc", "cancel"];
