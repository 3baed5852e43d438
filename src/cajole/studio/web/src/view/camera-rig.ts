/** Cameras of the views: linked by default, moved directly by the pointer and with an animation by commands. */

import { prefersReducedMotion } from "../core/theme";
import type { Vec3 } from "../core/types";
import { interpolatePose, type CameraPose, framed, TAN_HALF_FOV, orbited, panned, zoomed } from "./camera";
import type { Pane } from "./view-renderer";

const ANIMATION_TIME = 300; // ms

export const DEFAULT_POSE: CameraPose = { azimuth: -62, elevation: 14, target: [0, 0, 0], distance: 5 };

export class CameraRig {
  linked = true;
  private animation = 0; // id of the running animation

  /** onChange: called after a camera has moved. */
  constructor(private readonly panes: readonly Pane[], private readonly onChange: () => void) {}

  /** Set the camera of a view, and of the views linked to it; stops an animation. */
  setPose(pane: number, pose: CameraPose): void {
    this.animation++;
    this.applyPose(pane, pose);
  }

  private applyPose(pane: number, pose: CameraPose): void {
    this.panes.forEach((each, i) => {
      if (i !== pane && !this.linked) return;
      each.pose = pose;
      each.dirty = true;
    });
    this.onChange();
  }

  orbit(pane: number, dx: number, dy: number): void {
    this.setPose(pane, orbited(this.panes[pane].pose, dx, dy));
  }

  pan(pane: number, dx: number, dy: number): void {
    this.setPose(pane, panned(this.panes[pane].pose, dx, dy, this.panes[pane].height));
  }

  zoom(pane: number, factor: number, about: Vec3, radius: number): void {
    this.setPose(pane, zoomed(this.panes[pane].pose, factor, about, [0.05 * radius, 60 * radius]));
  }

  /** Turn to an azimuth and elevation [degrees]. */
  lookFrom(azimuth: number, elevation: number): void {
    this.animateTo(0, { ...this.panes[0].pose, azimuth, elevation });
  }

  /** Frame points; minHalfSize [m]: least half extent that stays visible. Returns the final pose. */
  framePoints(points: readonly Vec3[], minHalfSize: number, transition: "instant" | "animated"): CameraPose {
    const to = framed(this.panes[0].pose, points, this.getHalfTangents(), minHalfSize);
    if (transition === "instant") this.setPose(0, to);
    else this.animateTo(0, to);
    return to;
  }

  /** Tangents of the half angles of the free area, horizontal and vertical: the smallest over the linked views. */
  private getHalfTangents(): [number, number] {
    const [{ height }] = this.panes;
    const visible = this.panes.filter(({ width }, i) => i === 0 || (this.linked && width > 0));
    const side = (of: "width" | "height"): number => Math.min(...visible.map(({ free }) => free[of]));
    return [(TAN_HALF_FOV * side("width")) / Math.max(height, 1), (TAN_HALF_FOV * side("height")) / Math.max(height, 1)];
  }

  /** Link or unlink the cameras; linking copies the first one. */
  toggleLinked(): void {
    this.linked = !this.linked;
    if (this.linked) this.setPose(0, this.panes[0].pose);
  }

  private animateTo(pane: number, to: CameraPose): void {
    const from = this.panes[pane].pose;
    const animation = ++this.animation;
    if (prefersReducedMotion()) return this.applyPose(pane, to);
    const began = performance.now();
    const step = (now: number): void => {
      if (animation !== this.animation) return;
      const share = Math.min(1, Math.max(0, (now - began) / ANIMATION_TIME));
      this.applyPose(pane, share === 1 ? to : interpolatePose(from, to, 1 - (1 - share) ** 3));
      if (share < 1) requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
  }
}
