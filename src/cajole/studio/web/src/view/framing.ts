/** What the cameras show at first, and when something is to fill the view. */

import type { App, Project, Vec3 } from "../core/types";
import { corners, type Eye, frameOf, type Lens, rayAt } from "./camera";
import { onPlane } from "./drag";
import { type Eyes, FIRST } from "./eyes";
import type { Figure } from "./figure";
import type { Pixel } from "./handle";
import { pickTriangle } from "./pick";
import type { Pane } from "./screen";
import { distance, vertexOf } from "./vec";

const WHOLE = 1.5; // a motion that takes up to this many body sizes is framed as a whole at first
const SOME = 4000; // vertices are enough to frame a body by

export class Framing {
  private done: string | null = null; // the project whose body was framed
  private room = ""; // what was seen to be filled by it
  private began: number | null = null; // the frame that was framed at first, until another is shown
  private fit: { eye: Eye; points: () => Vec3[] } | null = null; // what was framed last, and how

  /** tell: called when a body has been framed for the first time. */
  constructor(
    private readonly app: App,
    private readonly panes: readonly Pane[],
    private readonly eyes: Eyes,
    private readonly tell: () => void,
  ) {}

  private get figure(): Figure | null {
    const figure = this.panes[0].stage?.figure;
    return figure?.shown ? figure : null;
  }

  private get radius(): number {
    return (this.app.project?.size ?? 1) / 2;
  }

  forget(): void {
    this.done = null;
    this.fit = null;
  }

  /** Frames a body that has just come, as its scene says and otherwise as it fits; frame: the one that is shown. */
  first(frame: number): void {
    const { project } = this.app;
    if (project === null || this.figure === null || this.panes[0].height < 1) return;
    if (this.done === project.id) return this.second(frame);
    this.began = frame;
    this.room = String(project.bounds);
    const { azimuth, elevation, target, distance: far } = project.camera;
    this.done = project.id;
    this.eyes.put(0, { ...FIRST, azimuth: azimuth ?? FIRST.azimuth, elevation: elevation ?? FIRST.elevation });
    this.whole(this.filling(project), "once");
    const { eye } = this.panes[0];
    if (target || far) this.eyes.put(0, { ...eye, target: target ?? eye.target, distance: far ?? eye.distance });
    this.tell();
  }

  /** What the first look fills the view with: the whole motion, or the body where that goes far. */
  private filling({ bounds, size }: Project): () => Vec3[] {
    return distance(...bounds) <= WHOLE * size ? () => corners(bounds) : () => this.points();
  }

  /** The first look leads to another frame than the first, or to a motion that takes more room: the body is elsewhere. */
  private second(frame: number): void {
    const { project } = this.app;
    if (project !== null && String(project.bounds) !== this.room) {
      this.room = String(project.bounds);
      if (this.fit?.eye === this.panes[0].eye) this.whole(this.filling(project), "slowly");
    }
    if (this.began === null || frame === this.began) return;
    this.began = null;
    if (frame === this.app.project?.suggestion?.frame) this.resized();
  }

  /** The whole body as it is now. */
  all(): void {
    const { project } = this.app;
    this.whole(() => (project?.field ? corners(project.bounds) : this.points()), "slowly");
  }

  /** The views have another size: what filled them still does, unless the hand has moved the camera since. */
  resized(): void {
    if (this.fit !== null && this.fit.eye === this.panes[0].eye) this.whole(this.fit.points, "once");
  }

  private whole(points: () => Vec3[], at: "once" | "slowly"): void {
    this.fit = { points, eye: this.eyes.frame(points(), this.radius / 10, at) };
  }

  /** Selected places and some room around them; the whole body where there are none. */
  selected(places: readonly Vec3[]): void {
    if (places.length === 0) this.all();
    else this.eyes.frame(places, this.radius / 3, "slowly");
  }

  /** Toward what is under the pointer: the body, else the plane of the target. */
  zoom(pane: number, lens: Lens, at: Pixel, factor: number): void {
    const ray = rayAt(lens, ...at);
    const figure = this.panes[pane].stage?.figure;
    const hit = figure?.shown ? pickTriangle(ray, figure.positions, figure.faces)?.point : undefined;
    const { forward } = frameOf(lens.eye);
    this.eyes.zoom(pane, factor, hit ?? onPlane(ray, lens.eye.target, forward) ?? lens.eye.target, this.radius);
  }

  private points(): Vec3[] {
    const { figure } = this;
    if (figure === null) return [];
    const step = Math.max(1, Math.floor(figure.model.count / SOME));
    return Array.from({ length: Math.floor(figure.model.count / step) }, (_, i) =>
      vertexOf(figure.positions, i * step),
    );
  }
}
