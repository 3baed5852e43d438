/** window.cajole: access for tests. The page itself reads only the frame rate and projected vertices from it. */

import type { App, Vec3 } from "./types";

interface TestHook {
  readonly app: App;
  view?: {
    project(node: number): [number, number] | null;
    vertex(node: number): Vec3 | null;
    at(point: Vec3 | null): [number, number] | null;
    handle(): unknown;
    hover(): unknown;
    readonly framesDrawn: number;
    readonly applied: number;
    readonly idle: boolean;
    readonly quality: number;
    readonly fps: number;
  };
  timeline?: { x(frame: number): number; y(lane: string): number };
}

declare global {
  interface Window {
    cajole?: TestHook;
  }
}

/** Install the hook before the components that extend it. */
export function installTestHook(app: App): void {
  window.cajole = { app };
}
