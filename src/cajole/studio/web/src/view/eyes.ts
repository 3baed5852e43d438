/** The cameras of the views: shared unless that is broken, moved by the hand at once and by commands over a moment. */

import { prefersReducedMotion } from "../core/theme";
import type { Vec3 } from "../core/types";
import { between, type Eye, framed, HALF, orbited, panned, zoomed } from "./camera";
import type { Pane } from "./screen";

const MOMENT = 300; // ms that a commanded move takes

export const FIRST: Eye = { azimuth: -62, elevation: 14, target: [0, 0, 0], distance: 5 };

export class Eyes {
  linked = true;
  private moving = 0; // which commanded move is under way

  /** changed: a camera is elsewhere. */
  constructor(
    private readonly panes: readonly Pane[],
    private readonly changed: () => void,
  ) {}

  /** Puts the cameras of a view, and of the others that share it. */
  put(pane: number, eye: Eye): void {
    this.moving++;
    this.set(pane, eye);
  }

  private set(pane: number, eye: Eye): void {
    this.panes.forEach((each, i) => {
      if (i !== pane && !this.linked) return;
      each.eye = eye;
      each.dirty = true;
    });
    this.changed();
  }

  orbit(pane: number, dx: number, dy: number): void {
    this.put(pane, orbited(this.panes[pane].eye, dx, dy));
  }

  pan(pane: number, dx: number, dy: number): void {
    this.put(pane, panned(this.panes[pane].eye, dx, dy, this.panes[pane].height));
  }

  zoom(pane: number, factor: number, about: Vec3, radius: number): void {
    this.put(pane, zoomed(this.panes[pane].eye, factor, about, [0.05 * radius, 60 * radius]));
  }

  /** Turns to a view from an azimuth and elevation [degrees]. */
  look(azimuth: number, elevation: number): void {
    this.go(0, { ...this.panes[0].eye, azimuth, elevation });
  }

  /** Frames points; least: half the size [m] that is shown at any rate. Returns the eye that it leads to. */
  frame(points: readonly Vec3[], least: number, at: "once" | "slowly"): Eye {
    const to = framed(this.panes[0].eye, points, this.sides(), least);
    if (at === "once") this.put(0, to);
    else this.go(0, to);
    return to;
  }

  /** Tangents of half the angles that what is framed may take: in the narrowest of the views that look alike. */
  private sides(): [number, number] {
    const [{ height }] = this.panes;
    const alike = this.panes.filter(({ width }, i) => i === 0 || (this.linked && width > 0));
    const side = (of: "width" | "height"): number => Math.min(...alike.map(({ free }) => free[of]));
    return [(HALF * side("width")) / Math.max(height, 1), (HALF * side("height")) / Math.max(height, 1)];
  }

  /** Breaks or mends the sharing; mended, all look as the first does. */
  link(): void {
    this.linked = !this.linked;
    if (this.linked) this.put(0, this.panes[0].eye);
  }

  private go(pane: number, to: Eye): void {
    const from = this.panes[pane].eye;
    const mine = ++this.moving;
    if (prefersReducedMotion()) return this.set(pane, to);
    const began = performance.now();
    const step = (now: number): void => {
      if (mine !== this.moving) return;
      const share = Math.min(1, Math.max(0, (now - began) / MOMENT));
      this.set(pane, share === 1 ? to : between(from, to, 1 - (1 - share) ** 3));
      if (share < 1) requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
  }
}
