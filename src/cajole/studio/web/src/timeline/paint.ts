/** Colours and letters of the time line's canvas, all from the page's tokens. */

import { getToken } from "../core/theme";
import type { Tone } from "../core/types";

export const font = (weight = 400): string => `${weight} 11px ${getToken("font")}`;

/** A colour at a part of its strength; never quite nothing, for a gradient to "transparent" runs through grey. */
export const faded = (colour: string, part: number): string =>
  `color-mix(in srgb, ${colour} ${Math.max(100 * part, 0.5)}%, transparent)`;

/** The colour of a tone; quiet things are grey. */
export const toned = (tone: Tone): string => getToken(tone === "quiet" ? "t3" : tone);

/** The same for markers, which are swatches and no text. */
export const swatch = (tone: Tone): string =>
  tone === "asked" ? getToken("asked-dot") : tone === "given" ? getToken("given-swatch") : toned(tone);

/** Hairlines stand on half pixels, or they are two pixels wide. */
export const half = (x: number): number => Math.round(x) + 0.5;

export type Brush = CanvasRenderingContext2D;

/** A hairline from (x0, y0) to (x1, y1). */
export function hairline(ctx: Brush, x0: number, y0: number, x1: number, y1: number, colour: string, wide = 1): void {
  ctx.strokeStyle = colour;
  ctx.lineWidth = wide;
  ctx.beginPath();
  ctx.moveTo(x0, y0);
  ctx.lineTo(x1, y1);
  ctx.stroke();
}

export function box(ctx: Brush, x: number, y: number, wide: number, high: number, round: number, colour: string): void {
  ctx.fillStyle = colour;
  ctx.beginPath();
  ctx.roundRect(x, y, wide, high, round);
  ctx.fill();
}
