/** Where bodies and the handle are on the page, for those who must not cover them. */

import type { WeightedPoint } from "../core/view-points";
import type { App, Vec3 } from "../core/types";
import { type Lens, project } from "./camera";
import { handleAt } from "./handle";
import { handleShown } from "./hover";
import { centreOf } from "./room";
import type { Pane } from "./screen";
import type { Selection } from "./selection";
import { vertexOf } from "./vec";

const SOME = 400; // vertices stand for a body
const SHARES = [1, 0.5]; // of the bodies: the hand acts on the first
const GRIP = 0.4; // of each end of the handle: without it nothing can be done

/** Spots of the panes that are seen in an element. */
export function spotsOf(app: App, panes: readonly Pane[], element: HTMLElement, selection: Selection): WeightedPoint[] {
  const box = element.getBoundingClientRect();
  const middle = handleShown(app) ? selection.middle : null;
  return panes.flatMap((pane, i) => {
    const lens: Lens = { eye: pane.eye, width: pane.width, height: pane.height, middle: centreOf(pane) };
    const at = (point: Vec3, weight: number): WeightedPoint => {
      const { x, y } = project(lens, point);
      return { x: box.left + pane.left + x, y: box.top + pane.top + y, weight };
    };
    const held = i === 0 && middle !== null ? handleAt(lens, middle).axes.flatMap(({ from, tip }) => [from, tip]) : [];
    return [...bodyOf(pane, SHARES[i] ?? 0, at), ...held.map((point) => at(point, GRIP))];
  });
}

/** A body's vertices, `share` in all. */
function bodyOf({ stage }: Pane, share: number, at: (point: Vec3, weight: number) => WeightedPoint): WeightedPoint[] {
  const figure = stage?.figure;
  if (!figure?.shown) return [];
  const step = Math.max(1, Math.floor(figure.model.count / SOME));
  const count = Math.floor(figure.model.count / step);
  return Array.from({ length: count }, (_, i) => at(vertexOf(figure.positions, i * step), share / count));
}
