import assert from "node:assert/strict";
import { test } from "node:test";
import { linear, log, logZero, stepped } from "../src/ui/parts/scale";

test("a logarithmic scale gives equal ratios equal lengths", () => {
  const scale = log(1e-6, 1e-2);
  assert.equal(scale.share(1e-6), 0);
  assert.equal(scale.share(1e-2), 1);
  assert.ok(Math.abs(scale.share(1e-4) - 0.5) < 1e-12);
  assert.equal(scale.value(0.75), 1e-3);
});

test("values come back from their shares to the digits that are kept", () => {
  for (const scale of [log(0.01, 100), logZero(1e-4, 10), linear(0, 5, 0.1)])
    for (let share = 0; share <= 1; share += 1 / 64) {
      const value = scale.value(share);
      assert.equal(scale.value(scale.share(value)), value, `${value}`);
    }
});

test("beyond the ends the ends are meant, and never a number that is not finite", () => {
  assert.equal(log(0.1, 10).value(2), 10);
  assert.equal(log(0.1, 10).share(1e9), 1);
  assert.equal(log(0.1, 10).share(0), 0);
  assert.equal(logZero(0.1, 10).value(-1), 0);
  assert.equal(log(3, 3).share(3), 0);
  assert.equal(log(3, 3).value(1), 3);
  assert.equal(linear(2, 2, 1).value(0.5), 2);
});

test("a scale with zero reaches zero, and what is above it keeps its ratios", () => {
  const scale = logZero(1e-3, 1e3);
  assert.equal(scale.value(0), 0);
  assert.equal(scale.share(0), 0);
  assert.ok(scale.share(1e-3) > 0);
  assert.ok(Math.abs(scale.share(1) - scale.share(1e-3) - (scale.share(1e3) - scale.share(1))) < 1e-12);
});

test("an arrow key is a twentieth of a decade, and always gets on", () => {
  assert.equal(stepped(log(1e-6, 1e-2), 1e-4, 20), 1e-3);
  assert.equal(stepped(log(1e-6, 1e-2), 1e-2, 1), 1e-2);
  assert.equal(stepped(linear(0, 10, 1), 4, -1), 3);
  const counts = log(1, 500, { whole: true });
  assert.ok(stepped(counts, 1, 1) > 1);
  assert.ok(stepped(counts, 3, -1) < 3);
  assert.ok(stepped(logZero(1e-3, 1), 0, 1) >= 1e-3);
});
