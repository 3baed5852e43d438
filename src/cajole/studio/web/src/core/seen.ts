/** Where something is seen in the views: they tell it, so that what lies above them can keep away. */

import { signal } from "./signal";

/** A pixel of the page, and how much it would be missed. */
export interface Spot {
  readonly x: number;
  readonly y: number;
  readonly weight: number;
}

/** The views have another size, or show another body. */
export const onSeen = signal<void>();

let tell: (() => Spot[]) | null = null;

/** Who can tell; returns what ends it. */
export function tellsSeen(spots: () => Spot[]): () => void {
  tell = spots;
  return () => {
    if (tell === spots) tell = null;
  };
}

/** Spots spread over the bodies, and those that the hand needs; none before a body came. */
export const seen = (): Spot[] => tell?.() ?? [];
