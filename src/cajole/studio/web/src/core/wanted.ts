/** Modes in which vertices are dragged to where they shall be: Edit, and Reroute. */

import type { State, Wanted } from "./types";

/** Whether a hand on a vertex drags it. */
export const drags = (state: State | null): boolean => state?.mode === "edit" || state?.mode === "reroute";

/** What is wanted so far. */
export const wantedOf = (state: State | null): readonly Wanted[] => state?.edit?.drags ?? state?.reroute?.goals ?? [];

/** Places of what is wanted for a vertex at a frame, null where nothing is. */
export const wantedAt = (state: State | null, node: number, frame: number): Wanted | null =>
  wantedOf(state).find((each) => each.node === node && each.frame === frame) ?? null;
