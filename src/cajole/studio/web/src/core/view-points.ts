/** Screen positions of what the views show, so that overlays can avoid covering it. */

import { createSignal } from "./signal";

/** A point of the page [px] and the cost of covering it. */
export interface WeightedPoint { readonly x: number; readonly y: number; readonly weight: number }

/** Emitted when the views were resized or show another body. */
export const onViewLayout = createSignal<void>();

let provider: (() => WeightedPoint[]) | null = null;

/** Set the function that lists the points; returns the function that removes it. */
export function provideViewPoints(points: () => WeightedPoint[]): () => void {
  provider = points;
  return () => {
    if (provider === points) provider = null;
  };
}

/** Points spread over the bodies and the gizmo; none before a body has arrived. */
export const getViewPoints = (): WeightedPoint[] => provider?.() ?? [];
