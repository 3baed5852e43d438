import assert from "node:assert/strict";
import { test } from "node:test";
import type { Vec3 } from "../src/core/types";
import { type ViewCamera, projectPoint } from "../src/view/camera";
import type { ViewContext } from "../src/view/gesture";
import type { Pixel } from "../src/view/gizmo";
import { PullGesture } from "../src/view/pull-gesture";
import { length } from "../src/view/vec";

const camera: ViewCamera = { pose: { azimuth: -60, elevation: 20, target: [0, 0, 0], distance: 6 }, width: 800, height: 600 };
const { x, y } = projectPoint(camera, [0, 0, 0]);
const start: Pixel = [x, y];
const there: Pixel = [x + 60, y];

/** A fake viewport for a pull; begun: answers its start. */
function pulled(): { pull: PullGesture; said: [string, Record<string, unknown>][]; begun(stiffness: number): Promise<void> } {
  const said: [string, Record<string, unknown>][] = [];
  let answer: (values: Record<string, unknown>) => void = () => undefined;
  const app = {
    project: { weight: 1000, size: 2 },
    ui: { connection: "connected" },
    setHints: () => undefined,
    stream: (what: string, values: Record<string, unknown>) => void said.push([what, values]),
    request: (what: string, values: Record<string, unknown>) => {
      said.push([what, values]);
      return new Promise((resolve) => what === "pull.begin" && (answer = resolve));
    },
  };
  const view = { app, getCamera: () => camera, requestOverlay: () => undefined, announce: () => undefined };
  const touched = { where: { node: 7 }, getPosition: (): Vec3 => [0, 0, 0], add: false, tool: "pull" as const };
  const pull = new PullGesture(view as unknown as ViewContext, 0, start, touched, () => undefined);
  const begun = async (stiffness: number): Promise<void> => {
    answer({ stiffness });
    await new Promise((resolve) => setTimeout(resolve));
  };
  return { pull, said, begun };
}

const names = (said: [string, unknown][]): string[] => said.map(([what]) => what);

test("a pull has the stiffness of the server's answer, and waits for it", async () => {
  const { pull, said, begun } = pulled();
  pull.move(there);
  assert.deepEqual(names(said), ["pull.begin"]);
  await begun(50);
  const weak = length(said[1]![1]["force"] as Vec3);
  const other = pulled();
  other.pull.move(there);
  await other.begun(500);
  assert.ok(weak > 0);
  assert.ok(Math.abs(length(other.said[1]![1]["force"] as Vec3) / weak - 10) < 1e-9);
  pull.release();
  assert.deepEqual(names(said), ["pull.begin", "pull.move", "pull.commit"]);
});

test("a pull released before the answer is committed, a cancelled one is not", async () => {
  const quick = pulled();
  quick.pull.move(there);
  quick.pull.release();
  assert.deepEqual(names(quick.said), ["pull.begin"]);
  await quick.begun(50);
  assert.deepEqual(names(quick.said), ["pull.begin", "pull.move", "pull.commit"]);
  const back = pulled();
  back.pull.move(there);
  back.pull.cancel();
  await back.begun(50);
  assert.deepEqual(names(back.said), ["pull.begin", "pull.cancel"]);
});
