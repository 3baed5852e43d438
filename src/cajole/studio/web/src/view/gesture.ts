/** Pointer gestures: one at a time, from press to release. */

import type { App, MovedMessage, PulseMessage, Vec3 } from "../core/types";
import type { ViewCamera } from "./camera";
import type { DragLabel } from "./drag-label";
import type { DynamicMesh } from "./dynamic-mesh";
import type { Pixel } from "./gizmo";
import type { Marks } from "./marks";

export const CLICK_SLOP = 3; // px that the pointer may move during a click

/** Interface of the viewport for gestures. */
export interface ViewContext {
  readonly app: App;
  readonly label: DragLabel;
  /** Camera of the last rendered frame of a view. */
  getCamera(pane: number): ViewCamera;
  /** Left edge and width [px] of a view. */
  getPaneBox(pane: number): { left: number; width: number };
  /** Body of the first view, null before it has arrived. */
  getBodyMesh(): DynamicMesh | null;
  /** Body of a view. */
  getMesh(pane: number): DynamicMesh | null;
  /** Update vertex colors after a local change of regions. */
  updateColors(): void;
  /** Frame shown in the first view. */
  getFrame(): number;
  /** Rendered position of a vertex of the body, null if it is not rendered. */
  getPosition(node: number): Vec3 | null;
  /** Request a redraw of the overlay. */
  requestOverlay(): void;
  /** Announce to screen readers. */
  announce(text: string): void;
  /** Show this selection until the next state arrives. */
  setPendingSelection(nodes: number[]): void;
  /** Show the gizmo here until the next state arrives. */
  setPendingPosition(position: Vec3 | null): void;
}

export interface Gesture {
  readonly pane: number;
  /** Handle a pointer move to a pixel of the view. */
  move(at: Pixel, event: PointerEvent): void;
  release(): void;
  cancel(): void;
  /** Handle a key: "held" if it was used, "done" if it ended the gesture. */
  handleKey?(event: KeyboardEvent): "held" | "done" | null;
  handleDragUpdate?(moved: MovedMessage): void;
  handleSteerUpdate?(pulse: PulseMessage): void;
  addMarks(marks: Marks): void;
}

/** Tool of a mode with its own cursor in both views. */
export interface ViewTool {
  readonly isActive: boolean;
  /** Gesture that a press starts; null: the press moves the camera. */
  startGesture(event: PointerEvent, pane: number, at: Pixel): Gesture | null;
  /** Move the cursor to a pixel of a view, null to hide it. */
  updateCursor(location: { pane: number; at: Pixel } | null): void;
  /** Add the cursor to the marks of its view. */
  addMarks(marks: Marks[], gesture: Gesture | null): void;
}

let lastGestureId = Date.now() % 1_000_000_000; // differs after a reload, so that late replies match no new gesture

/** Create a unique gesture id. */
export const createGestureId = (): number => ++lastGestureId;

/** Status bar hint of gestures that can be cancelled. */
export const CANCEL_HINT: [string, string] = ["Esc", "cancel"];

/** Orbit or pan by pointer movement; a press without movement is a click. */
export class CameraDrag implements Gesture {
  private last: Pixel;
  private distance = 0;

  constructor(
    readonly pane: number,
    at: Pixel,
    private readonly onMove: (dx: number, dy: number) => void,
    private readonly onClick: () => void,
  ) {
    this.last = at;
  }

  move(at: Pixel): void {
    const [dx, dy] = [at[0] - this.last[0], at[1] - this.last[1]];
    this.distance += Math.hypot(dx, dy);
    this.last = at;
    if (this.distance > CLICK_SLOP) this.onMove(dx, dy);
  }

  release(): void {
    if (this.distance <= CLICK_SLOP) this.onClick();
  }

  cancel(): void {}

  addMarks(): void {}
}
