import assert from "node:assert/strict";
import { test } from "node:test";
import type { Vec3 } from "../src/core/types";
import { type MotionHeader, Motion, decodeDeltas } from "../src/viewer/motion";

test("rows are decoded from wrapped differences with bytes by significance", () => {
  // rows (2, 2) of 16 bit: [513, 65535], [2, 4]: differences 513, 65535, -511, 5
  const steps = [513, 65535, 65536 - 511, 5];
  const bytes = Uint8Array.from([...steps.map((step) => step % 256), ...steps.map((step) => step >> 8)]);
  assert.deepEqual([...decodeDeltas(bytes, 2, new Uint16Array(4))], [513, 65535, 2, 4]);
  assert.throws(() => decodeDeltas(bytes, 2, new Uint16Array(5)), /expected 10 bytes, got 8/);
});

test("32-bit values are decoded exactly", () => {
  const value = 4_000_000_001;
  const bytes = Uint8Array.from([0, 1, 2, 3].map((b) => Math.floor(value / 256 ** b) % 256));
  assert.deepEqual([...decodeDeltas(bytes, 1, new Uint32Array(1))], [value]);
});

const header = { frames: 2, vertices: 1, low: [0, -1, 3], high: [65535, 1, 3] } as unknown as MotionHeader;
const rows = Uint16Array.from([7, 7, 7, 0, 0, 0, 100, 65535, 0]);
const motion = new Motion(header, new Uint32Array(), new Uint8Array(), rows);

test("frames are interpolated linearly and clamped at the ends", () => {
  const at = (time: number): Vec3 => [...motion.sample(time)] as Vec3;
  assert.deepEqual(at(0), [0, -1, 3]);
  assert.deepEqual(at(1), [100, 1, 3]);
  assert.deepEqual(at(0.25), [25, -0.5, 3]);
  assert.deepEqual([at(-1), at(1.7)], [at(0), at(1)]);
});

test("the drawn buffer is not written to", () => {
  const drawn = motion.sample(0);
  motion.sample(1);
  assert.deepEqual([...drawn], [0, -1, 3]);
});
