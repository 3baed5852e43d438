/** Target positions of vertices, in the two modes that have them: Edit and Reroute. */

import type { ProjectState, PositionTarget } from "./types";

/** True if vertices can be dragged in the current mode. */
export const isDragMode = (state: ProjectState | null): boolean => state?.mode === "edit" || state?.mode === "reroute";

/** All targets of the current mode. */
export const getTargets = (state: ProjectState | null): readonly PositionTarget[] => state?.edit?.drags ?? state?.reroute?.goals ?? [];

/** Target of a vertex at a frame, null if there is none. */
export const findTarget = (state: ProjectState | null, node: number, frame: number): PositionTarget | null =>
  getTargets(state).find((each) => each.node === node && each.frame === frame) ?? null;
