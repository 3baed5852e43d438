/** Commands of Steer. */

import type { CommandSpec } from "./command-table";
import type { App } from "./types";

/** Reason why a kick of the scene is not available; null if it is. */
function getKickDisabledReason(number: number): (app: App) => string | null {
  return (app) => {
    const kicks = app.state?.steer?.flow?.kicks ?? [];
    return number <= kicks.length ? null : "This scene has no such kick.";
  };
}

/** Keys 7 to 9: the digits before select modes, and F1 belongs to the browser. */
const KICK_KEY_OFFSET = 6;

/** Command of the kick with this number. */
function createKickCommand(number: number): CommandSpec {
  return {
    id: `kick.${number}`,
    title: `Kick F${number} of a flow`,
    keys: [String(KICK_KEY_OFFSET + number)],
    helpRow: "Kicks of a flow",
    icon: "impulse",
    modes: ["steer"],
    getDisabledReason: getKickDisabledReason(number),
    run: (app) => void app.request("kick", { number }),
  };
}

export const STEER_COMMANDS: readonly CommandSpec[] = [
  {
    id: "control",
    title: "Control on or off",
    keys: ["c"],
    icon: "steer",
    modes: ["steer"],
    run: (app) => void app.request("control", { on: !app.state?.steer?.control }),
  },
  {
    id: "push.repeat",
    title: "Repeat last push",
    keys: ["r"],
    icon: "push",
    modes: ["steer"],
    run: (app) => void app.request("push.repeat"),
  },
  createKickCommand(1),
  createKickCommand(2),
  createKickCommand(3),
  {
    id: "smoke",
    title: "Smoke in a flow",
    keys: ["s"],
    icon: "eye",
    modes: ["steer"],
    getDisabledReason: (app) => (app.state?.steer?.flow ? null : "Only a flow has smoke."),
    run: (app) => void app.request("smoke", { on: !app.state?.steer?.flow?.smoke }),
  },
];
