/** The modes of the studio: one line each. */

export { edit } from "./edit";
export { keyframe } from "./keyframe";
export { steer } from "./steer";
export { enrich } from "./enrich";
export { reroute } from "./reroute";
