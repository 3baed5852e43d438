/** Rows of the table for Steer: control, pushes, and what a flow has of its own. */

import type { Row } from "./table";
import type { App } from "./types";

/** Why one of the scene's own kicks cannot be given, null when it can. */
function unkicked(number: number): (app: App) => string | null {
  return (app) => {
    const kicks = app.state?.steer?.flow?.kicks ?? [];
    return number <= kicks.length ? null : "This scene has no such kick of its own.";
  };
}

/** Digits that no mode has; F1 is the browser's own. */
const FIRST = 6;

/** One of the scene's own kicks. */
function kick(number: number): Row {
  return {
    name: `kick.${number}`,
    title: `Kick F${number} of a flow`,
    keys: [String(FIRST + number)],
    row: "Kicks of a flow",
    icon: "impulse",
    modes: ["steer"],
    when: unkicked(number),
    do: (app) => void app.ask("kick", { number }),
  };
}

export const STEERING: readonly Row[] = [
  {
    name: "control",
    title: "Control on or off",
    keys: ["c"],
    icon: "steer",
    modes: ["steer"],
    do: (app) => void app.ask("control", { on: !app.state?.steer?.control }),
  },
  {
    name: "push.repeat",
    title: "Repeat last push",
    keys: ["r"],
    icon: "push",
    modes: ["steer"],
    do: (app) => void app.ask("push.repeat"),
  },
  kick(1),
  kick(2),
  kick(3),
  {
    name: "smoke",
    title: "Smoke in a flow",
    keys: ["s"],
    icon: "eye",
    modes: ["steer"],
    when: (app) => (app.state?.steer?.flow ? null : "Only a flow has smoke."),
    do: (app) => void app.ask("smoke", { on: !app.state?.steer?.flow?.smoke }),
  },
];
