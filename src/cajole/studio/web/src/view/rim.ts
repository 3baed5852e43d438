/** What lies at the rim of the views and is not drawn: chips, tools, options, legend, buttons of a pose, axis ball. */

import type { App, Component, SteerUpdate } from "../core/types";
import { Ball } from "./ball";
import { Chip, legend, poseBar, sayNow, sayResult } from "./chips";
import type { Eye } from "./camera";
import type { Eyes } from "./eyes";
import { toolColumn, viewOptions } from "./tools";

export class Rim {
  private readonly chips = [new Chip(), new Chip()];
  private readonly ball: Ball;
  private readonly parts: Component[];

  constructor(
    private readonly app: App,
    eyes: Eyes,
  ) {
    const orbit = (dx: number, dy: number): void => eyes.orbit(0, dx, dy);
    this.ball = new Ball((azimuth, elevation) => eyes.look(azimuth, elevation), orbit);
    const linked = (): boolean => eyes.linked;
    this.parts = [toolColumn(app), viewOptions(app, linked, () => eyes.link()), legend(app), poseBar(app)];
  }

  /** Chips first: the second one's place depends on their order. */
  get elements(): HTMLElement[] {
    return [...this.chips, ...this.parts, this.ball].map(({ element }) => element);
  }

  /** What the views are at; frame: of the first; eye: as it is seen. */
  say(pulse: SteerUpdate | null, frame: number, eye: Eye): void {
    sayNow(this.chips[0], this.app, pulse, frame);
    sayResult(this.chips[1], this.app);
    this.ball.show(eye);
  }

  dispose(): void {
    for (const part of this.parts) part.dispose?.();
  }
}
