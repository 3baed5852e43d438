/** Camera framing: the initial view of a project, frame all, frame selection, zoom to the pointer. */

import type { App, Project, Vec3 } from "../core/types";
import { getBoxCorners, type CameraPose, getViewAxes, type ViewCamera, getPixelRay } from "./camera";
import { intersectPlane } from "./drag";
import { type CameraRig, DEFAULT_POSE } from "./camera-rig";
import type { DynamicMesh } from "./dynamic-mesh";
import type { Pixel } from "./gizmo";
import { pickTriangle } from "./picking";
import type { Pane } from "./view-renderer";
import { distance, getVertex } from "./vec";

const MAX_MOTION_SIZE = 1.5; // body sizes: motions up to this extent are framed completely at first
const MAX_SAMPLES = 4000; // vertices sampled to frame a body

export class CameraFraming {
  private framedProject: string | null = null; // id of the project that was framed
  private framedBounds = ""; // bounds of the project at that time
  private firstFrame: number | null = null; // frame shown at that time, until another one is shown
  private lastFit: { pose: CameraPose; points: () => Vec3[] } | null = null; // last fit, repeated on resize

  /** onFramed: called after the first framing of a project. */
  constructor(
    private readonly app: App,
    private readonly panes: readonly Pane[],
    private readonly cameras: CameraRig,
    private readonly onFramed: () => void,
  ) {}

  private get mesh(): DynamicMesh | null {
    const mesh = this.panes[0].scene?.mesh;
    return mesh?.hasPositions ? mesh : null;
  }

  private get radius(): number {
    return (this.app.project?.size ?? 1) / 2;
  }

  reset(): void {
    this.framedProject = null;
    this.lastFit = null;
  }

  /** Frame a newly opened project by the camera of its scene, else by its bounds. frame: the one shown. */
  frameFirst(frame: number): void {
    const { project } = this.app;
    if (project === null || this.mesh === null || this.panes[0].height < 1) return;
    if (this.framedProject === project.id) return this.reframe(frame);
    this.firstFrame = frame;
    this.framedBounds = String(project.bounds);
    const { azimuth = DEFAULT_POSE.azimuth, elevation = DEFAULT_POSE.elevation } = project.camera;
    this.framedProject = project.id;
    this.cameras.setPose(0, { ...DEFAULT_POSE, azimuth, elevation });
    this.fitPoints(this.chooseFirstTarget(project), "instant");
    this.onFramed();
  }

  /** Points of the first framing: bounds of the motion, or the body alone if the motion extends far. */
  private chooseFirstTarget({ bounds, size }: Project): () => Vec3[] {
    return distance(...bounds) <= MAX_MOTION_SIZE * size ? () => getBoxCorners(bounds) : () => this.samplePoints();
  }

  /** Frame again if the bounds have grown or the suggested frame is now shown. */
  private reframe(frame: number): void {
    const { project } = this.app;
    if (project !== null && String(project.bounds) !== this.framedBounds) {
      this.framedBounds = String(project.bounds);
      if (this.lastFit?.pose === this.panes[0].pose) this.fitPoints(this.chooseFirstTarget(project), "animated");
    }
    if (this.firstFrame === null || frame === this.firstFrame) return;
    this.firstFrame = null;
    if (frame === this.app.project?.suggestion?.frame) this.handleResize();
  }

  /** Frame the body in its current pose. */
  frameAll(): void {
    const { project } = this.app;
    this.fitPoints(() => (project?.field ? getBoxCorners(project.bounds) : this.samplePoints()), "animated");
  }

  /** Repeat the last fit after a resize, unless the camera was moved since. */
  handleResize(): void {
    if (this.lastFit !== null && this.lastFit.pose === this.panes[0].pose) this.fitPoints(this.lastFit.points, "instant");
  }

  private fitPoints(points: () => Vec3[], transition: "instant" | "animated"): void {
    this.lastFit = { points, pose: this.cameras.framePoints(points(), this.radius / 10, transition) };
  }

  /** Frame some positions with a margin; the whole body if there are none. */
  framePositions(positions: readonly Vec3[]): void {
    if (positions.length === 0) this.frameAll();
    else this.cameras.framePoints(positions, this.radius / 3, "animated");
  }

  /** Zoom toward the surface under the pointer, else toward the plane of the target. */
  zoomAt(pane: number, camera: ViewCamera, at: Pixel, factor: number): void {
    const ray = getPixelRay(camera, ...at);
    const mesh = this.panes[pane].scene?.mesh;
    const hit = mesh?.hasPositions ? pickTriangle(ray, mesh.positions, mesh.faces)?.point : undefined;
    const { forward } = getViewAxes(camera.pose);
    this.cameras.zoom(pane, factor, hit ?? intersectPlane(ray, camera.pose.target, forward) ?? camera.pose.target, this.radius);
  }

  private samplePoints(): Vec3[] {
    const { mesh } = this;
    if (mesh === null) return [];
    const step = Math.max(1, Math.floor(mesh.model.count / MAX_SAMPLES));
    return Array.from({ length: Math.floor(mesh.model.count / step) }, (_, i) => getVertex(mesh.positions, i * step));
  }
}
