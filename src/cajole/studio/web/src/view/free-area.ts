/** Area of a view that its overlays leave free. No DOM access. */

/** Rectangle of a view [CSS px]. */
export interface Area { left: number; top: number; width: number; height: number }

// px covered by overlays: labels and options at the top, legend or pose buttons at the bottom, tools at the left
const OVERLAY_MARGINS = { top: 52, bottom: 52, side: 12, tools: 60 };
const MIN_FREE_SHARE = 0.5; // fraction of each dimension that stays free in a small view

/** Compute the area without overlays; tools: the view has the tool column. */
export function computeFreeArea(width: number, height: number, tools: boolean): Area {
  const [left, right] = [tools ? OVERLAY_MARGINS.tools : OVERLAY_MARGINS.side, OVERLAY_MARGINS.side];
  const across = Math.min(1, ((1 - MIN_FREE_SHARE) * width) / (left + right));
  const down = Math.min(1, ((1 - MIN_FREE_SHARE) * height) / (OVERLAY_MARGINS.top + OVERLAY_MARGINS.bottom));
  return {
    left: across * left, top: down * OVERLAY_MARGINS.top, width: width - across * (left + right),
    height: height - down * (OVERLAY_MARGINS.top + OVERLAY_MARGINS.bottom),
  };
}

/** Pixel of the camera target: the center of the free area. */
export const getPaneCenter = ({ free }: { free: Area }): [number, number] => [
  free.left + free.width / 2,
  free.top + free.height / 2,
];
