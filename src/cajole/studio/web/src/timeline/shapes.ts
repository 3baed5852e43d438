/** The shapes of markers, on the canvas and as the small pictures of the gutter. */

import { svg } from "../core/dom";
import type { Lane } from "../core/types";
import type { Brush } from "./paint";

export type Shape = Lane["shape"];

/** Corners of a shape of "radius" 1, null for a disc. */
const CORNERS: Partial<Record<Shape, [number, number][]>> = {
  diamond: [[0, -1.2], [1.2, 0], [0, 1.2], [-1.2, 0]],
  triangle: [[-0.85, -1], [1.15, 0], [-0.85, 1]],
};

/** A path around (x, y), ready to be filled or stroked. */
export function trace(ctx: Brush, shape: Shape, x: number, y: number, radius: number): void {
  ctx.beginPath();
  const corners = CORNERS[shape];
  if (!corners) return ctx.arc(x, y, radius, 0, 2 * Math.PI);
  for (const [dx, dy] of corners) ctx.lineTo(x + radius * dx, y + radius * dy);
  ctx.closePath();
}

/** The shape as a picture of 12 px in the current colour. */
export function shapeIcon(shape: Shape): SVGElement {
  const corners = CORNERS[shape];
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
