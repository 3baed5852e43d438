/** The view of the time line, told to the plots: they stand above it and show the same frames. */

import { createSignal } from "../core/signal";
import type { App, Signal } from "../core/types";
import type { Scale } from "./scale";

interface Shared { scale: Scale | null; changed: Signal<Scale> }

const known = new WeakMap<App, Shared>();

function sharedOf(app: App): Shared {
  const found = known.get(app) ?? { scale: null, changed: createSignal<Scale>() };
  known.set(app, found);
  return found;
}

export const sharedScale = (app: App): Scale | null => sharedOf(app).scale;

/** Hear of another view; returns what ends it. */
export const onScale = (app: App, hear: (scale: Scale) => void): (() => void) => sharedOf(app).changed.on(hear);

export function shareScale(app: App, scale: Scale): void {
  const shared = sharedOf(app);
  if (shared.scale === scale) return;
  shared.scale = scale;
  shared.changed.emit(scale);
}
