/** A press into a flow: where it meets the pane, and the push that begins there. */

import type { FieldInfo } from "../core/flow-types";
import type { Vec3 } from "../core/types";
import { type Ray, rayAt } from "./camera";
import { onPlane } from "./drag";
import type { Gesture, Sight } from "./gesture";
import type { Pixel } from "./handle";
import { Pull } from "./pulling";
import { AXES } from "./vec";

/** Where a ray meets the pane of a field; null beside it. */
export function placeIn(field: FieldInfo, ray: Ray): Vec3 | null {
  const at = onPlane(ray, [0, 0, 0], AXES.y);
  if (at === null) return null;
  const [x, , z] = at;
  return x >= 0 && x <= field.size[0] && z >= 0 && z <= field.size[1] ? at : null;
}

/** The push that a press at a pixel of the first view begins; null where it means something else. */
export function kickAt(sight: Sight, at: Pixel): Gesture | null {
  const { project, ui } = sight.app;
  if (!project?.field || (ui.tool !== "push" && ui.tool !== "impulse")) return null;
  const place = placeIn(project.field, rayAt(sight.lens(0), ...at));
  if (place === null) return null;
  return new Pull(
    sight,
    0,
    at,
    { where: { at: place }, place: () => place, plane: AXES.y, add: false, use: ui.tool },
    () => undefined,
  );
}
