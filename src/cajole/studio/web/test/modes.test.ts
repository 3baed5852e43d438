/** A mode needs one registration: shared components find its commands, gestures, hints and targets. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { createCommands, createGestureHelp } from "../src/core/command-table";
import { getMode, getModes, getTargets, type ModeDefinition, registerModes } from "../src/core/modes";
import { loadModeUi } from "../src/core/preferences";
import type { ProjectState } from "../src/core/types";
import * as modes from "../src/modes/registry";
import { getHints } from "../src/ui/status-bar";

const target = { id: "t", node: 3, frame: 7, name: "tip", position: [0, 0, 1], given: [0, 0, 0], moved: 1, warn: null } as const;
const toy: ModeDefinition = {
  ...modes.edit,
  name: "toy",
  title: "Toy",
  key: "0",
  defaults: { tool: "measure", views: 1, plots: false },
  commands: [{ id: "toy.run", title: "Run the toy" }],
  gestures: [{ title: "Play", group: "Direct", keys: ["Drag"] }],
  getHints: () => [["Drag", "play"]],
  getTargets: () => [{ ...target, position: [0, 0, 1], given: [0, 0, 0] }],
};

test("a registered mode has commands, gestures, hints, defaults and targets", () => {
  registerModes([...Object.values(modes), toy]);
  assert.deepEqual(getModes().map(({ name }) => name), ["toy", "edit", "keyframe", "steer", "enrich", "reroute"]);
  const commands = createCommands();
  assert.deepEqual(commands.find(({ id }) => id === "toy.run")?.modes, ["toy"]);
  assert.deepEqual(commands.find(({ id }) => id === "mode.toy")?.keys, ["0"]);
  assert.ok(commands.find(({ id }) => id === "tool.move")?.modes?.includes("toy"));
  assert.deepEqual(createGestureHelp().find(({ title }) => title === "Play")?.modes, ["toy"]);
  assert.deepEqual(getHints("select", getMode("toy"), null), [["Drag", "play"]]);
  assert.equal(loadModeUi("toy").tool, "measure");
  assert.equal(getTargets({ mode: "toy" } as ProjectState)[0]!.node, 3);
  assert.throws(() => getMode("none"), /add it to modes\/registry.ts/);
});
