/** Commands of Reroute. */

import { getBusyReason } from "./command-actions";
import type { CommandSpec } from "./command-table";

export const REROUTE_COMMANDS: readonly CommandSpec[] = [
  {
    id: "reroute",
    title: "Run again",
    keys: ["Enter"],
    icon: "reroute",
    modes: ["reroute"],
    getDisabledReason: (app) =>
      getBusyReason(app) ?? (app.state?.reroute?.goals.length ? null : "Drag a point to its goal first."),
    run: (app) => void app.request("reroute"),
  },
  {
    id: "pilot",
    title: "Run the pilot",
    icon: "play",
    modes: ["reroute"],
    getDisabledReason: getBusyReason,
    run: (app) => void app.request("pilot"),
  },
  {
    id: "goals",
    title: "Take the scene's goals",
    icon: "drag",
    modes: ["reroute"],
    getDisabledReason: (app) => (app.state?.reroute?.suggested ? null : "This project has no goals."),
    run: (app) => void app.request("moves"),
  },
];
