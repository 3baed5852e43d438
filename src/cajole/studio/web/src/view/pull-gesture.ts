/** Pull and push gestures of Keyframe and Steer: a spring between a vertex and the pointer. */

import { formatPush, getPushStiffness } from "../core/push-settings";
import type { FieldInfo, PulseMessage, Tone, Vec3 } from "../core/types";
import { getPixelRay, getViewAxes, type Ray } from "./camera";
import { intersectPlane } from "./drag";
import { CANCEL_HINT, CLICK_SLOP, createGestureId, type Gesture, type ViewContext } from "./gesture";
import type { Pixel } from "./gizmo";
import type { Marks } from "./marks";
import { AXES, length, scale, sub } from "./vec";

/** Tool that applies a force at a point. */
export type ForceTool = "pull" | "push" | "impulse";

/** Where the force acts: a vertex of the body, or a point in a flow. */
interface PullTarget {
  where: { node: number } | { at: Vec3 }; // as sent to the server
  getPosition(): Vec3 | null; // current position
  plane?: Vec3; // normal of the drag plane, by default the view plane
  add: boolean; // keep other pulls
  tool: ForceTool;
}

interface ToolTexts { tone: Tone; tag: (force: string) => string; done: string; hints: [string, string][] }

const formatPushLabel = (force: string): string => `your push · ${force}`;
const TOOL_TEXTS: Record<ForceTool, ToolTexts> = {
  pull: {
    tone: "asked",
    tag: (force) => force,
    done: "pulled by", hints: [["Drag", "pull"], ["⇧ Drag", "add to stack"], CANCEL_HINT],
  },
  push: { tone: "world", tag: formatPushLabel, done: "pushed by", hints: [["Drag", "push"], ["Release", "end the push"], CANCEL_HINT] },
  impulse: {
    tone: "world", tag: formatPushLabel, done: "impulse of", hints: [["Release", "apply the impulse"], CANCEL_HINT],
  },
};

export class PullGesture implements Gesture {
  private readonly id = createGestureId();
  private readonly startPosition: Vec3; // of the vertex at the press
  private readonly forward: Vec3;
  private pointerPosition: Vec3; // in the drag plane
  private started = false;
  private ended = false;
  private released = false;
  private seq = 0;
  private stiffness: number | null = null; // [N/m] of a pull, from the server's reply

  /** onClick: called for a press without movement. */
  constructor(
    private readonly view: ViewContext,
    readonly pane: number,
    private readonly startPixel: Pixel,
    private readonly target: PullTarget,
    private readonly onClick: () => void,
  ) {
    const camera = view.getCamera(pane);
    this.startPosition = target.getPosition() ?? camera.pose.target;
    this.forward = target.plane ?? getViewAxes(camera.pose).forward;
    this.pointerPosition = this.startPosition;
  }

  private get position(): Vec3 {
    return this.target.getPosition() ?? this.startPosition;
  }

  /** True if the spring stiffness is known. */
  private get hasStiffness(): boolean {
    return this.target.tool !== "pull" || this.stiffness !== null;
  }

  /** Spring force [N]: a pull is measured from the start position, a push from the current one. */
  private get force(): Vec3 {
    const { project } = this.view.app;
    const from = this.target.tool === "pull" ? this.startPosition : this.position;
    if (project === null || !this.hasStiffness) return [0, 0, 0];
    return scale(sub(this.pointerPosition, from), this.stiffness ?? getPushStiffness(project));
  }

  move(at: Pixel): void {
    if (this.ended || this.view.app.ui.connection !== "connected") return;
    if (!this.started && Math.hypot(at[0] - this.startPixel[0], at[1] - this.startPixel[1]) <= CLICK_SLOP) return;
    if (!this.started) this.start();
    this.pointerPosition =
      intersectPlane(getPixelRay(this.view.getCamera(this.pane), ...at), this.startPosition, this.forward) ??
      this.pointerPosition;
    this.send();
  }

  private start(): void {
    const { where, add: keepsOthers, tool } = this.target;
    const { app } = this.view;
    const { id: gesture } = this;
    this.started = true;
    app.setHints(TOOL_TEXTS[tool].hints);
    if (tool === "push") app.request("push.begin", { gesture, ...where }).catch(() => this.finish());
    if (tool !== "pull" || !("node" in where)) return;
    app.request("pull.begin", { gesture, node: where.node, add: keepsOthers }).then(
      ({ stiffness }) => this.setStiffness(stiffness),
      () => this.finish(),
    );
  }

  /** Set the stiffness of a pull; if the pointer was released before, commit now. */
  private setStiffness(stiffness: number): void {
    this.stiffness = stiffness;
    if (this.ended && !this.released) return;
    this.send();
    if (this.released) this.commit();
  }

  private send(): void {
    const { tool } = this.target;
    const command = tool === "pull" ? "pull.move" : "push.move";
    if (tool !== "impulse" && this.hasStiffness)
      this.view.app.stream(command, { gesture: this.id, seq: ++this.seq, force: this.force });
    this.view.requestOverlay();
  }

  handleSteerUpdate(_pulse: PulseMessage): void {
    if (this.started && !this.ended && this.target.tool === "push") this.send(); // the body has moved relative to the pointer
  }

  handleKey(event: KeyboardEvent): "done" | null {
    if (event.key !== "Escape" || !this.started) return null;
    this.cancel();
    return "done";
  }

  release(): void {
    if (this.ended) return;
    if (!this.started) return this.onClick();
    this.released = true;
    this.finish();
    if (this.hasStiffness) this.commit();
  }

  private commit(): void {
    const { tool, where } = this.target;
    const { app } = this.view;
    const force = this.force;
    if (tool === "impulse") void app.request("impulse", { ...where, force });
    else void app.request(tool === "pull" ? "pull.commit" : "push.end", { gesture: this.id });
    this.view.announce(`${TOOL_TEXTS[tool].done} ${formatPush(app.project, length(force))}`);
  }

  cancel(): void {
    if (this.ended) return;
    this.finish();
    const { tool } = this.target;
    if (!this.started || tool === "impulse") return;
    void this.view.app
      .request(tool === "pull" ? "pull.cancel" : "push.end", { gesture: this.id }, { quiet: true })
      .catch(() => undefined);
  }

  private finish(): void {
    this.ended = true;
    this.view.app.setHints(null);
    this.view.requestOverlay();
  }

  addMarks(marks: Marks): void {
    if (!this.started || this.ended) return;
    const { tool } = this.target;
    const at = this.position;
    marks.hover = null;
    if (tool === "pull" && !this.target.add) marks.arrows = marks.arrows.filter((arrow) => arrow.replaceable !== true);
    marks.arrows.push({
      at, offset: sub(this.pointerPosition, at), tone: TOOL_TEXTS[tool].tone, pixels: 4.5, disc: true,
      label: this.hasStiffness ? TOOL_TEXTS[tool].tag(formatPush(this.view.app.project, length(this.force))) : null,
    });
  }
}

/** Intersect a ray with the rectangle of a flow; null if it misses. */
export function intersectField(field: FieldInfo, ray: Ray): Vec3 | null {
  const at = intersectPlane(ray, [0, 0, 0], AXES.y);
  if (at === null) return null;
  const [x, , z] = at;
  return x >= 0 && x <= field.size[0] && z >= 0 && z <= field.size[1] ? at : null;
}

/** Push that a press in a flow starts; null if another tool is active or the press misses the flow. */
export function startFlowPush(view: ViewContext, at: Pixel): Gesture | null {
  const { project, ui } = view.app;
  if (!project?.field || (ui.tool !== "push" && ui.tool !== "impulse")) return null;
  const position = intersectField(project.field, getPixelRay(view.getCamera(0), ...at));
  if (position === null) return null;
  return new PullGesture(
    view,
    0,
    at,
    { where: { at: position }, getPosition: () => position, plane: AXES.y, add: false, tool: ui.tool },
    () => undefined,
  );
}
