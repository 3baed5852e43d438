/** Axis gizmo: shows the camera orientation; a click on an axis looks along it, a drag orbits. */

import { h, svg } from "../core/dom";
import { type CameraPose, getViewAxes } from "./camera";
import { AXES, dot, scale } from "./vec";

const SIZE = 76; // px
const AXIS_LENGTH = 25; // px
const AXIS_ENDS = (["x", "y", "z"] as const).flatMap((axis) => [
  { axis, sign: 1 },
  { axis, sign: -1 },
]);

/** Azimuth and elevation [degrees] of the view along each axis. */
const AXIS_VIEWS: Record<string, [number, number]> = {
  x1: [0, 0], "x-1": [180, 0], y1: [90, 0], "y-1": [-90, 0], z1: [-90, 89], "z-1": [-90, -89],
};

export class AxisGizmo {
  readonly element: HTMLElement;
  private readonly drawing = svg("svg", {
    width: SIZE, height: SIZE, viewBox: `${-SIZE / 2} ${-SIZE / 2} ${SIZE} ${SIZE}`, "aria-hidden": "true",
  });
  private pose: CameraPose | null = null;
  private readonly ends = AXIS_ENDS.map(({ axis, sign }) => this.createEnd(axis, sign));

  /** look: to a view by azimuth and elevation; orbit: by pixels. */
  constructor(onLook: (azimuth: number, elevation: number) => void, onOrbit: (dx: number, dy: number) => void) {
    this.element = h("div", { class: "view-ball", "data-tip": "Drag to orbit, click an end to look along it" },
      this.drawing,
    );
    let last: { x: number; y: number; moved: number; name: string } | null = null;
    this.element.addEventListener("pointerdown", (event) => {
      const name = (event.target as Element).closest<SVGElement>("[data-end]")?.dataset["end"] ?? "";
      last = { x: event.clientX, y: event.clientY, moved: 0, name };
      this.element.setPointerCapture(event.pointerId);
      event.stopPropagation();
    });
    this.element.addEventListener("pointermove", (event) => {
      if (last === null) return;
      const [dx, dy] = [event.clientX - last.x, event.clientY - last.y];
      last = { ...last, x: event.clientX, y: event.clientY, moved: last.moved + Math.hypot(dx, dy) };
      if (last.moved > 3) onOrbit(2 * dx, 2 * dy);
    });
    this.element.addEventListener("pointerup", () => {
      const view = last && last.moved <= 3 ? AXIS_VIEWS[last.name] : undefined;
      last = null;
      if (view) onLook(...view);
    });
    this.element.addEventListener("pointercancel", () => (last = null));
  }

  private createEnd(
    axis: "x" | "y" | "z",
    sign: number,
  ): { axis: "x" | "y" | "z"; sign: number; line: SVGElement; knob: SVGElement } {
    const line = svg("line", { class: `view-axis-${axis}`, x1: 0, y1: 0, "stroke-width": 2 });
    const knob = svg("g", { "data-end": `${axis}${sign}`, class: `view-axis-${axis}` },
      svg("circle", { r: sign > 0 ? 8.5 : 4.5 }),
    );
    if (sign > 0) knob.append(svg("text", { y: 3.8, "text-anchor": "middle" }, axis.toUpperCase()));
    return { axis, sign, line, knob };
  }

  /** Orient the axes by a camera pose. */
  update(pose: CameraPose): void {
    if (pose === this.pose) return;
    this.pose = pose;
    const { right, up, forward } = getViewAxes(pose);
    const placed = this.ends.map((end) => {
      const axis = scale(AXES[end.axis], end.sign * AXIS_LENGTH);
      return { end, x: dot(axis, right), y: -dot(axis, up), far: dot(axis, forward) };
    });
    placed.sort((a, b) => b.far - a.far);
    for (const { end, x, y } of placed) {
      end.knob.setAttribute("transform", `translate(${x.toFixed(2)} ${y.toFixed(2)})`);
      if (end.sign > 0)
        for (const [name, value] of [
          ["x2", x],
          ["y2", y],
        ] as const)
          end.line.setAttribute(name, value.toFixed(2));
      end.knob.classList.toggle("view-axis-back", end.sign < 0);
      if (end.sign > 0) this.drawing.append(end.line);
      this.drawing.append(end.knob);
    }
  }
}
