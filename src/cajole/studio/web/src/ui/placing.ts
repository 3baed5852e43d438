/** Where a card has most room: it covers what would be missed least. No DOM here. */

import type { WeightedPoint } from "../core/view-points";

export interface Box {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
}

const MARGIN = 8; // px that are kept free around a card
const SOLID = 100; // to lie over another overlay is never worth it
const WORTH = 0.02; // a card moves only where it covers so much less than now

/** What a card would cover at a place. */
export function covered(card: Box, spots: readonly WeightedPoint[], solid: readonly Box[]): number {
  const [left, top] = [card.left - MARGIN, card.top - MARGIN];
  const [right, bottom] = [card.left + card.width + MARGIN, card.top + card.height + MARGIN];
  const under = spots.filter(({ x, y }) => x > left && x < right && y > top && y < bottom);
  const meets = (box: Box): boolean =>
    box.left < card.left + card.width &&
    box.left + box.width > card.left &&
    box.top < card.top + card.height &&
    box.top + box.height > card.top;
  return under.reduce((sum, { weight }) => sum + weight, 0) + SOLID * solid.filter(meets).length;
}

/** The best of some places, the first of equally good ones; the present one stays unless another is much better. */
export function roomiest(places: readonly Box[], now: Box | null, spots: readonly WeightedPoint[], solid: readonly Box[]): Box {
  const costs = places.map((place) => covered(place, spots, solid));
  const best = costs.indexOf(Math.min(...costs));
  if (now !== null && covered(now, spots, solid) <= costs[best]! + WORTH) return now;
  return places[best]!;
}
