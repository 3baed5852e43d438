/** Rows of the table for Reroute: the pilot, the goals of a scene, and the second run. */

import { idle } from "./acts";
import type { Row } from "./table";

export const REROUTING: readonly Row[] = [
  {
    name: "reroute",
    title: "Run again",
    keys: ["Enter"],
    icon: "reroute",
    modes: ["reroute"],
    when: (app) => idle(app) ?? (app.state?.reroute?.goals.length ? null : "Drag a point to where it shall be first."),
    do: (app) => void app.ask("reroute"),
  },
  {
    name: "pilot",
    title: "Run the pilot",
    icon: "play",
    modes: ["reroute"],
    when: idle,
    do: (app) => void app.ask("pilot"),
  },
  {
    name: "goals",
    title: "Take the scene's goals",
    icon: "drag",
    modes: ["reroute"],
    when: (app) => (app.state?.reroute?.suggested ? null : "What is open has none."),
    do: (app) => void app.ask("moves"),
  },
];
