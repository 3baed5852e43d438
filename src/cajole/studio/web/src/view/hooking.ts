/** What tests may look at: window.cajole.view. */

import type { Vec3 } from "../core/types";
import { type Lens, project } from "./camera";
import { handleAt } from "./handle";
import type { Hover } from "./hover";

/** What the viewport tells of itself. */
export interface Hooked {
  lens(): Lens;
  box(): DOMRect;
  vertex(node: number): Vec3 | null;
  middle(): Vec3 | null;
  hover(): Hover | null;
  drawn(): number;
  applied(): number;
  fps(): number;
  quality(): number;
  idle(): boolean;
}

/** Hangs the hook where there is one; returns what takes it away. Pixels are those of the page. */
export function hang(of: Hooked): () => void {
  const pixel = (point: Vec3 | null): [number, number] | null => {
    if (point === null) return null;
    const [seen, box] = [project(of.lens(), point), of.box()];
    return [box.left + seen.x, box.top + seen.y];
  };
  const view = {
    project: (node: number) => pixel(of.vertex(node)),
    at: pixel,
    vertex: (node: number) => of.vertex(node),
    handle: () => {
      const middle = of.middle();
      if (middle === null) return null;
      const { axes } = handleAt(of.lens(), middle);
      const tips = Object.fromEntries(axes.map((axis) => [axis.name, pixel(axis.to)]));
      return { place: middle, centre: pixel(middle), tips, axis: of.hover()?.grip ?? null };
    },
    hover: () => of.hover(),
    get framesDrawn() {
      return of.drawn();
    },
    get applied() {
      return of.applied();
    },
    /** Whether nothing is being drawn, and nothing is waiting to be. */
    get idle() {
      return of.idle();
    },
    get quality() {
      return of.quality();
    },
    get fps() {
      return of.fps();
    },
  };
  if (window.cajole) window.cajole.view = view;
  return () => {
    if (window.cajole?.view === view) delete window.cajole.view;
  };
}
