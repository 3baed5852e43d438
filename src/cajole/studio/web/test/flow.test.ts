/** Flows: picking in the box, ghost and smoke of a frame, plots and kicks. */

import assert from "node:assert/strict";
import test from "node:test";
import { parseBinaryFrame, readGhost, readPositions, readSmoke } from "../src/core/binary";
import { findCommand } from "../src/core/commands";
import "./setup";
import { steer } from "../src/modes/steer";
import { formatPush } from "../src/core/push-settings";
import { type App, BinaryKind, MAGIC, type Project, type Vec3 } from "../src/core/types";
import { createLiveData } from "../src/modes/steer/live-data";
import { getHints } from "../src/ui/status-bar";
import { getPixelRay, projectPoint, type ViewCamera } from "../src/view/camera";
import type { ViewContext } from "../src/view/gesture";
import type { Pixel } from "../src/view/gizmo";
import { intersectField, startFlowPush } from "../src/view/pull-gesture";

const FIELD = { size: [256, 128] as [number, number], cells: [4, 2] as [number, number] };
const camera: ViewCamera = {
  pose: { azimuth: -80, elevation: 12, target: [128, 0, 64], distance: 500 },
  width: 800,
  height: 600,
};

/** A live frame of one vertex, with an optional ghost and smoke. */
function now(extra: number, bytes: number): ReturnType<typeof parseBinaryFrame> {
  const floats = extra & 1 ? 6 : 3;
  const data = new ArrayBuffer(32 + 4 * floats + bytes);
  new Uint32Array(data, 0, 8).set([MAGIC, BinaryKind.LiveFrame, 1, 0, 1, 0, 1, extra]);
  new Float32Array(data, 32, floats).set([1, 2, 3, 4, 5, 6].slice(0, floats));
  new Uint8Array(data, 32 + 4 * floats).fill(7);
  return parseBinaryFrame(data);
}

test("a frame contains a ghost, smoke, both or neither", () => {
  for (const [extra, bytes] of [[0, 0], [1, 0], [2, 8], [3, 8]] as const) {
    const frame = now(extra, bytes)!;
    assert.deepEqual([...readPositions(frame)!], [1, 2, 3]);
    assert.deepEqual(readGhost(frame) && [...readGhost(frame)!], extra & 1 ? [4, 5, 6] : null);
    assert.deepEqual(readSmoke(frame) && [...readSmoke(frame)!], extra & 2 ? Array(8).fill(7) : null);
  }
  assert.equal(readSmoke(now(2, 0)!), null);
});

test("a pointer ray hits the box where it is drawn, and not beside it", () => {
  for (const place of [[1, 0, 1], [200, 0, 100], [255, 0, 127]] as Vec3[]) {
    const { x, y } = projectPoint(camera, place);
    const met = intersectField(FIELD, getPixelRay(camera, x, y))!;
    place.forEach((value, i) => assert.ok(Math.abs(met[i]! - value) < 1e-6));
  }
  for (const place of [[-1, 0, 64], [128, 0, 129]] as Vec3[]) {
    const { x, y } = projectPoint(camera, place);
    assert.equal(intersectField(FIELD, getPixelRay(camera, x, y)), null);
  }
});

test("a drag in the box pushes there, in the plane of the box", () => {
  const said: [string, Record<string, unknown>][] = [];
  const app = {
    project: { weight: 0.4, size: 286, field: FIELD },
    ui: { connection: "connected", tool: "push" },
    setHints: () => undefined,
    stream: (what: string, values: Record<string, unknown>) => void said.push([what, values]),
    request: (what: string, values: Record<string, unknown>) => (said.push([what, values]), Promise.resolve({})),
  };
  const view = { app, getCamera: () => camera, requestOverlay: () => undefined, announce: () => undefined } as unknown as ViewContext;
  const pixel = (place: Vec3): Pixel => [projectPoint(camera, place).x, projectPoint(camera, place).y];
  const push = startFlowPush(view, pixel([100, 0, 60]))!;
  push.move(pixel([120, 0, 60]), {} as PointerEvent);
  push.release();
  assert.deepEqual(said.map(([what]) => what), ["push.begin", "push.move", "push.end"]);
  (said[0]![1]["at"] as Vec3).forEach((value, i) => assert.ok(Math.abs(value - [100, 0, 60][i]!) < 1e-6));
  const [fx, fy, fz] = said[1]![1]["force"] as Vec3;
  assert.ok(fx > 0 && Math.abs(fy) < 1e-9 && Math.abs(fz) < 1e-9);
  assert.equal(startFlowPush(view, pixel([300, 0, 60])), null);
  app.ui.tool = "select";
  assert.equal(startFlowPush(view, pixel([100, 0, 60])), null);
});

test("errors of flows are in cells, and are plotted without a push", () => {
  const recent = { now: 1, times: [-1, 0], error: [0.2, 3.4], effort: [0, 0.02], pushes: [] };
  const shown = createLiveData(recent, "error", [], true);
  assert.deepEqual([shown.value, shown.unit, shown.empty], ["3.4", "cells, largest error", false]);
  assert.deepEqual([shown.y[0], shown.y[1]], [0, 4]);
  assert.equal(createLiveData(recent, "effort", [], true).value, "2.0 %");
  assert.equal(createLiveData(recent, "error", []).empty, true);
});

test("forces are in newtons on bodies and accelerations in flows", () => {
  assert.equal(formatPush({ field: FIELD } as Project, 0.123), "0.12 m/s²");
  assert.equal(formatPush({ field: null } as Project, 12), "12 N");
});

test("kick commands are enabled up to the number of kicks of the scene", () => {
  const app = (kicks: number): App =>
    ({ state: { mode: "steer", steer: { flow: { kicks: Array(kicks).fill({ name: "F", text: "" }) } } } }) as unknown as App;
  assert.equal(findCommand("kick.3")!.getDisabledReason!(app(3)), null);
  assert.match(findCommand("kick.3")!.getDisabledReason!(app(0))!, /no such kick/);
  assert.match(getHints("push", steer, { field: FIELD } as Project)[0]![1], /push the flow/);
});
