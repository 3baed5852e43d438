import assert from "node:assert/strict";
import { test } from "node:test";
import { parseBinaryFrame, readPositions } from "../src/core/binary";
import "./setup";
import { createGestureHelp, findAdjacentMarker } from "../src/core/command-table";
import { getCommands } from "../src/core/commands";
import { FrameCache } from "../src/core/frame-cache";
import { formatKey, readKey } from "../src/core/keys";
import { getModes } from "../src/core/modes";
import { advancePlayhead } from "../src/core/playback";
import { createSignal } from "../src/core/signal";
import { type App, type BinaryFrame, BinaryKind, MAGIC, type ProjectState } from "../src/core/types";
import { getHelpLines } from "../src/ui/help";
import { scoreMatch, searchCommands } from "../src/ui/command-palette";

const press = (key: string, more: object = {}): Parameters<typeof readKey>[0] => ({
  key,
  code: "",
  ctrlKey: false,
  metaKey: false,
  shiftKey: false,
  altKey: false,
  ...more,
});

test("a signal calls its listeners in order until they unsubscribe", () => {
  const told: string[] = [];
  const bell = createSignal<number>();
  const off = bell.on((value) => told.push(`a${value}`));
  bell.on((value) => told.push(`b${value}`));
  bell.emit(1);
  off();
  bell.emit(2);
  assert.deepEqual(told, ["a1", "b1", "b2"]);
});

test("key names are read as the command table writes them", () => {
  assert.equal(readKey(press("Z", { ctrlKey: true, shiftKey: true })), "Ctrl+Shift+z");
  assert.equal(readKey(press("?", { shiftKey: true })), "?");
  assert.equal(readKey(press("ArrowLeft", { shiftKey: true })), "Shift+ArrowLeft");
  assert.equal(readKey(press("1", { code: "Numpad1" })), "Num1");
  assert.equal(readKey(press("1", { code: "Digit1" })), "1");
  assert.equal(formatKey("Ctrl+Shift+z"), "Ctrl ⇧ Z");
  assert.equal(formatKey(" "), "Space");
});

test("command ids are unique, and shortcuts are unique in each mode", () => {
  assert.equal(new Set(getCommands().map((each) => each.id)).size, getCommands().length);
  for (const { name: mode } of getModes()) {
    const keys = getCommands().filter((each) => !each.modes || each.modes.includes(mode)).flatMap((each) => each.keys ?? []);
    assert.deepEqual(
      keys.filter((key, at) => keys.indexOf(key) !== at),
      [],
      mode,
    );
  }
  const browsers = ["Tab", "Ctrl+1", "Ctrl+t", "Ctrl+w", "Ctrl+n", "Ctrl+l", "Alt+ArrowLeft", "F1", "F5"];
  assert.deepEqual(
    getCommands().flatMap((each) => each.keys ?? []).filter((key) => browsers.includes(key)),
    [],
  );
});

test("the help dialog lists every command with a shortcut once, in its modes", () => {
  const all = getHelpLines("all", "");
  const titles = all.map((line) => `${line.group} ${line.title}`);
  assert.equal(new Set(titles).size, titles.length);
  for (const each of getCommands().filter((one) => one.keys && !one.hidden)) {
    const line = all.find((one) => one.group === each.group && one.title === (each.helpRow ?? each.title));
    assert.ok(line?.keys.includes(formatKey(each.keys![0]!)), each.id);
  }
  assert.equal(
    getHelpLines("steer", "").some((line) => line.title === "Capture key"),
    false,
  );
  assert.deepEqual(
    getHelpLines("all", "wireframe").map((line) => line.keys),
    [["H", "T", "W"]],
  );
  assert.ok(createGestureHelp().every((each) => all.some((line) => line.title === each.title)));
});

test("the palette matches parts of words and prefers the starts of words", () => {
  assert.equal(scoreMatch("Frame all", "zoo"), null);
  assert.ok(scoreMatch("Frame all", "fr")! < scoreMatch("Previous frame", "fr")!);
  assert.ok(scoreMatch("Frame all", "ram")! > scoreMatch("Frame all", "all")!);
  assert.equal(searchCommands("undo", () => true)[0]!.id, "undo");
  assert.equal(
    searchCommands("", (each) => each.onStartPage === true).every((each) => each.onStartPage),
    true,
  );
});

test("the playhead follows the clock, wraps in a loop, and stops at the end without one", () => {
  assert.equal(advancePlayhead(10, 0.5, 60, [0, 99], true, 100), 40);
  assert.equal(advancePlayhead(90, 0.5, 60, [0, 99], true, 100), 20);
  assert.equal(advancePlayhead(5, 0.1, 60, [20, 40], true, 100), 20);
  assert.equal(advancePlayhead(40.5, 1, 21, [20, 40], true, 100), 40.5);
  assert.equal(advancePlayhead(98, 1, 60, [0, 99], false, 100), null);
  assert.equal(advancePlayhead(0, 0.25, 24, [0, 99], false, 100), 6);
});

test("adjacent markers are found in both directions", () => {
  const marker = (frame: number): object => ({ frame });
  const state = { lanes: [{ markers: [marker(34), marker(172)] }, { markers: [marker(96)] }] } as unknown as ProjectState;
  assert.equal(findAdjacentMarker(state, 96, 1), 172);
  assert.equal(findAdjacentMarker(state, 96, -1), 34);
  assert.equal(findAdjacentMarker(state, 172, 1), null);
});

/** A binary message in the format of the server. */
function packed(kind: BinaryKind, frame: number, rev: number, values: number[]): ArrayBuffer {
  const data = new ArrayBuffer(32 + 4 * values.length);
  new Uint32Array(data, 0, 8).set([MAGIC, kind, 7, frame, values.length / 3, 0, rev, 0]);
  new Float32Array(data, 32).set(values);
  return data;
}

test("binary messages are parsed without copying, and others are rejected", () => {
  const message = parseBinaryFrame(packed(BinaryKind.LiveFrame, 96, 3, [1, 2, 3, 4, 5, 6]))!;
  assert.deepEqual([message.kind, message.seq, message.frame, message.count, message.rev], [10, 7, 96, 2, 3]);
  assert.deepEqual([...readPositions(message)!], [1, 2, 3, 4, 5, 6]);
  assert.equal(parseBinaryFrame(new ArrayBuffer(16)), null);
  assert.equal(parseBinaryFrame(new ArrayBuffer(64)), null);
  assert.equal(readPositions({ ...message, count: 3 }), null);
});

/** A fake app for frames; requests are in `asked`. */
function fake(
  rev: number,
  frames = 100,
): { app: App; asked: { stream: string; list: number[] }[]; say(frame: BinaryFrame): void; state: ProjectState } {
  const asked: { stream: string; list: number[] }[] = [];
  const state = { rev, mode: "edit", frames } as unknown as ProjectState;
  const app = {
    project: { vertices: 2 },
    state,
    ui: { connection: "connected", playhead: 10, loop: true, loopRange: [0, frames - 1] },
    onFrame: createSignal<BinaryFrame>(),
    onProject: createSignal(),
    onState: createSignal(),
    onUi: createSignal(),
    request: (_: string, values: { stream: string; list: number[] }) => (asked.push(values), Promise.resolve({})),
  } as unknown as App;
  return { app, asked, say: (frame) => app.onFrame.emit(frame), state };
}

test("accessed frames are requested first, then those ahead of the playhead", (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const { app, asked } = fake(1);
  const frames = new FrameCache();
  frames.attach(app);
  app.onState.emit(app.state!);
  assert.equal(frames.get("result", 50), null);
  t.mock.timers.runAll();
  assert.equal(asked.length, 1);
  assert.equal(asked[0]!.stream, "result");
  assert.deepEqual(asked[0]!.list.slice(0, 4), [50, 10, 11, 12]);
  assert.equal(asked[0]!.list.length, 32);
  frames.get("result", 50);
  t.mock.timers.runAll();
  assert.equal(asked.length, 1, "a pending frame is not requested again");
});

test("a stale frame is shown until a newer one arrives, and never replaced by an older one", (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const { app, asked, say, state } = fake(1);
  const frames = new FrameCache();
  frames.attach(app);
  app.onState.emit(app.state!);
  frames.get("result", 10);
  t.mock.timers.runAll();
  say(parseBinaryFrame(packed(BinaryKind.ResultFrame, 10, 1, [1, 1, 1, 1, 1, 1]))!);
  assert.equal(frames.isFresh("result", 10), true);
  state.rev = 2;
  app.onState.emit(state);
  assert.equal(frames.isFresh("result", 10), false);
  assert.deepEqual([...frames.get("result", 10)!], [1, 1, 1, 1, 1, 1]);
  t.mock.timers.runAll();
  assert.equal(asked.at(-1)!.list[0], 10);
  say(parseBinaryFrame(packed(BinaryKind.ResultFrame, 10, 2, [2, 2, 2, 2, 2, 2]))!);
  say(parseBinaryFrame(packed(BinaryKind.ResultFrame, 10, 1, [1, 1, 1, 1, 1, 1]))!);
  assert.equal(frames.get("result", 10)![0], 2);
});

test("frames are evicted by age beyond the capacity, and all with their project", () => {
  const { app, say } = fake(1);
  const frames = new FrameCache(3 * 24);
  frames.attach(app);
  app.onState.emit(app.state!);
  for (const frame of [0, 1, 2]) say(parseBinaryFrame(packed(BinaryKind.InputFrame, frame, 1, [0, 0, 0, 0, 0, 0]))!);
  frames.get("given", 0);
  say(parseBinaryFrame(packed(BinaryKind.InputFrame, 3, 1, [0, 0, 0, 0, 0, 0]))!);
  assert.deepEqual(
    [0, 1, 2, 3].map((frame) => frames.isFresh("given", frame)),
    [true, false, true, true],
  );
  app.onProject.emit(null);
  assert.equal(frames.get("given", 0), null);
});
