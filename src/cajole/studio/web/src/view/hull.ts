import type { Pixel } from "./gizmo";

/** Convex hull of pixels by Andrew's monotone chain (1979). */
export function computeConvexHull(points: readonly Pixel[]): Pixel[] {
  const sorted = [...points].sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  if (sorted.length < 3) return sorted;
  const lower = computeChain(sorted);
  const upper = computeChain(sorted.reverse());
  return [...lower.slice(0, -1), ...upper.slice(0, -1)];
}

function computeChain(points: readonly Pixel[]): Pixel[] {
  const out: Pixel[] = [];
  for (const point of points) {
    while (out.length > 1 && computeTurn(out[out.length - 2], out[out.length - 1], point) <= 0) out.pop();
    out.push(point);
  }
  return out;
}

/** Twice the signed area of a triangle: positive when it turns to the left. */
const computeTurn = (a: Pixel, b: Pixel, c: Pixel): number => (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);
