/** Shapes of markers, on the canvas and as icons of the gutter. */

import { svg } from "../core/dom";
import type { Lane } from "../core/types";
import type { Context2D } from "./canvas-style";

type MarkerShape = Lane["shape"];

/** Corners of a shape of "radius" 1, null for a disc. */
const SHAPE_CORNERS: Partial<Record<MarkerShape, [number, number][]>> = {
  diamond: [[0, -1.2], [1.2, 0], [0, 1.2], [-1.2, 0]],
  triangle: [[-0.85, -1], [1.15, 0], [-0.85, 1]],
};

/** Trace the path of a shape around (x, y). */
export function traceShape(ctx: Context2D, shape: MarkerShape, x: number, y: number, radius: number): void {
  ctx.beginPath();
  const corners = SHAPE_CORNERS[shape];
  if (!corners) return ctx.arc(x, y, radius, 0, 2 * Math.PI);
  for (const [dx, dy] of corners) ctx.lineTo(x + radius * dx, y + radius * dy);
  ctx.closePath();
}

/** Icon of a shape, 12 px, in the text color. */
export function createShapeIcon(shape: MarkerShape): SVGElement {
  const corners = SHAPE_CORNERS[shape];
  const mark = corners
    ? svg("polygon", { points: corners.map(([dx, dy]) => `${6 + 4.6 * dx},${6 + 4.6 * dy}`).join(" ") })
    : shape === "disc"
      ? svg("circle", { cx: 6, cy: 6, r: 4.5 })
      : svg("rect", { x: 1.5, y: 1.5, width: 9, height: 9, rx: 2 });
  return svg(
    "svg",
    {
      class: "timeline-shape",
      viewBox: "0 0 12 12",
      width: 12,
      height: 12,
      fill: "currentColor",
      "aria-hidden": "true",
    },
    mark,
  );
}
