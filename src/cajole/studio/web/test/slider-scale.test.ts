import assert from "node:assert/strict";
import { test } from "node:test";
import { createLinearScale, createLogScale, createLogScaleWithZero, stepValue } from "../src/ui/controls/slider-scale";

test("a logarithmic scale maps equal ratios to equal lengths", () => {
  const scale = createLogScale(1e-6, 1e-2);
  assert.equal(scale.toFraction(1e-6), 0);
  assert.equal(scale.toFraction(1e-2), 1);
  assert.ok(Math.abs(scale.toFraction(1e-4) - 0.5) < 1e-12);
  assert.equal(scale.fromFraction(0.75), 1e-3);
});

test("values are restored from their fractions to the kept digits", () => {
  for (const scale of [createLogScale(0.01, 100), createLogScaleWithZero(1e-4, 10), createLinearScale(0, 5, 0.1)])
    for (let share = 0; share <= 1; share += 1 / 64) {
      const value = scale.fromFraction(share);
      assert.equal(scale.fromFraction(scale.toFraction(value)), value, `${value}`);
    }
});

test("values and fractions are clamped and finite", () => {
  assert.equal(createLogScale(0.1, 10).fromFraction(2), 10);
  assert.equal(createLogScale(0.1, 10).toFraction(1e9), 1);
  assert.equal(createLogScale(0.1, 10).toFraction(0), 0);
  assert.equal(createLogScaleWithZero(0.1, 10).fromFraction(-1), 0);
  assert.equal(createLogScale(3, 3).toFraction(3), 0);
  assert.equal(createLogScale(3, 3).fromFraction(1), 3);
  assert.equal(createLinearScale(2, 2, 1).fromFraction(0.5), 2);
});

test("a scale with zero reaches zero and keeps the ratios above", () => {
  const scale = createLogScaleWithZero(1e-3, 1e3);
  assert.equal(scale.fromFraction(0), 0);
  assert.equal(scale.toFraction(0), 0);
  assert.ok(scale.toFraction(1e-3) > 0);
  assert.ok(Math.abs(scale.toFraction(1) - scale.toFraction(1e-3) - (scale.toFraction(1e3) - scale.toFraction(1))) < 1e-12);
});

test("an arrow key is a twentieth of a decade, and always changes the value", () => {
  assert.equal(stepValue(createLogScale(1e-6, 1e-2), 1e-4, 20), 1e-3);
  assert.equal(stepValue(createLogScale(1e-6, 1e-2), 1e-2, 1), 1e-2);
  assert.equal(stepValue(createLinearScale(0, 10, 1), 4, -1), 3);
  const counts = createLogScale(1, 500, { whole: true });
  assert.ok(stepValue(counts, 1, 1) > 1);
  assert.ok(stepValue(counts, 3, -1) < 3);
  assert.ok(stepValue(createLogScaleWithZero(1e-3, 1), 0, 1) >= 1e-3);
});
