/** Colors, fonts and primitives of the timeline canvas, from the design tokens. */

import { getToken } from "../core/theme";
import type { Tone } from "../core/types";

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
