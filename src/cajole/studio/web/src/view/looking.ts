/** Turning and shifting the camera with the hand. */

import type { Gesture } from "./gesture";
import { SLACK } from "./gesture";
import type { Pixel } from "./handle";

/** Orbit or pan, by the pixels that the pointer goes; a press that never moved was a click. */
export class Look implements Gesture {
  private last: Pixel;
  private far = 0;

  constructor(
    readonly pane: number,
    at: Pixel,
    private readonly turn: (dx: number, dy: number) => void,
    private readonly click: () => void,
  ) {
    this.last = at;
  }

  move(at: Pixel): void {
    const [dx, dy] = [at[0] - this.last[0], at[1] - this.last[1]];
    this.far += Math.hypot(dx, dy);
    this.last = at;
    if (this.far > SLACK) this.turn(dx, dy);
  }

  release(): void {
    if (this.far <= SLACK) this.click();
  }

  cancel(): void {}

  mark(): void {}
}
