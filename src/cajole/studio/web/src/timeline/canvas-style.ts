/** Colors, fonts and primitives of the timeline canvas, from the design tokens. */

import { getToken } from "../core/theme";
import type { Tone, Lane } from "../core/types";
import { svg } from "../core/dom";

export const getFont = (weight = 400): string => `${weight} 11px ${getToken("font")}`;

/** Color with an alpha, at least 0.5 %: gradients to "transparent" turn grey. */
export const withAlpha = (color: string, alpha: number): string =>
  `color-mix(in srgb, ${color} ${Math.max(100 * alpha, 0.5)}%, transparent)`;

/** Text color of a tone. */
export const getToneColor = (tone: Tone): string => getToken(tone === "quiet" ? "t3" : tone);

/** Marker color of a tone. */
export const getSwatchColor = (tone: Tone): string =>
  tone === "asked" ? getToken("asked-dot") : tone === "given" ? getToken("given-swatch") : getToneColor(tone);

/** Half pixel positions give lines one pixel wide. */
export const snapToPixel = (x: number): number => Math.round(x) + 0.5;

export type Context2D = CanvasRenderingContext2D;

/** Stroke a line from (x0, y0) to (x1, y1). */
export function strokeLine(ctx: Context2D, x0: number, y0: number, x1: number, y1: number, color: string, width = 1): void {
  ctx.strokeStyle = color;
  ctx.lineWidth = width;
  ctx.beginPath();
  ctx.moveTo(x0, y0);
  ctx.lineTo(x1, y1);
  ctx.stroke();
}

export function fillRoundRect(ctx: Context2D, x: number, y: number, width: number, height: number, radius: number, color: string): void {
  ctx.fillStyle = color;
  ctx.beginPath();
  ctx.roundRect(x, y, width, height, radius);
  ctx.fill();
}

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
      class: "timeline-shape", viewBox: "0 0 12 12", width: 12, height: 12, fill: "currentColor",
      "aria-hidden": "true",
    },
    mark,
  );
}
