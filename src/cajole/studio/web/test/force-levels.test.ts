import assert from "node:assert/strict";
import { test } from "node:test";
import { computeBarFill, formatForceShare, describeMeter, describeForce, getForceLevel } from "../src/ui/controls/force-levels";

test("levels change at 3, 15 and 50 percent of the body weight", () => {
  const found = [0, 0.0299, 0.03, 0.149, 0.15, 0.499, 0.5, 7].map(getForceLevel);
  assert.deepEqual(found, ["Feather", "Feather", "Gentle", "Gentle", "Firm", "Firm", "Forced", "Forced"]);
});

test("every level takes a quarter of the bar, which is monotonic and ends full", () => {
  assert.deepEqual([0, 0.03, 0.15, 0.5, 1, 4].map(computeBarFill), [0, 0.25, 0.5, 0.75, 1, 1]);
  let before = -1;
  for (let share = 0; share < 1.2; share += 0.003) {
    assert.ok(computeBarFill(share) >= before);
    before = computeBarFill(share);
  }
});

test("percentages have suitable digits", () => {
  assert.deepEqual([0, 2e-4, 0.084, 0.0996, 0.21, 1.34].map(formatForceShare), [
    "0 %",
    "< 0.1 %",
    "8.4 %",
    "10 %",
    "21 %",
    "134 %",
  ]);
});

test("the meter is described with its level for screen readers", () => {
  assert.equal(describeForce(0.084), "8.4 percent of body weight, gentle");
  assert.equal(describeForce(0), "nothing added");
});

test("the description has the peak, its frame and the remedy, and is empty without force", () => {
  const cure = "Widen the reach to make it gentler.";
  assert.equal(describeMeter({ share: 0.08, peak: 0.21, frame: 97, cure }), `Peak 21 % at frame 97. ${cure}`);
  assert.equal(describeMeter({ share: 0.08, peak: 0.21, frame: null, cure: null }), "Peak 21 %.");
  const whole = "Peak 34 % while recovering from the push at 2.1 s.";
  assert.equal(describeMeter({ share: 0.08, peak: 0.34, frame: 12, cure: whole }), whole);
  assert.equal(describeMeter({ share: 0, peak: 0, frame: null, cure: null }), null);
});
