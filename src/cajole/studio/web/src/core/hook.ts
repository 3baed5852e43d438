/** What tests may look at: window.cajole. The page itself takes only the drawing rate from it. */

import type { App, Vec3 } from "./types";

export interface Hook {
  readonly app: App;
  view?: {
    project(node: number): [number, number] | null;
    vertex(node: number): Vec3 | null;
    handle(): unknown;
    readonly fps: number;
  };
  timeline?: { x(frame: number): number; y(lane: string): number };
}

declare global {
  interface Window {
    cajole?: Hook;
  }
}

/** Puts the hook in place, before the parts that add to it. */
export function hang(app: App): void {
  window.cajole = { app };
}
