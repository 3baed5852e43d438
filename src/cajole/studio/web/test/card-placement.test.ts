import assert from "node:assert/strict";
import { test } from "node:test";
import { type Box, computeCoverage, choosePlacement } from "../src/ui/card-placement";

const at = (left: number, top: number): Box => ({ left, top, width: 100, height: 50 });
const spots = [
  { x: 50, y: 20, weight: 1 },
  { x: 350, y: 20, weight: 0.4 },
];

test("a card covers the spots under it and a little around it", () => {
  assert.equal(computeCoverage(at(0, 0), spots, []), 1);
  assert.equal(computeCoverage(at(54, 0), spots, []), 1);
  assert.equal(computeCoverage(at(60, 0), spots, []), 0);
});

test("the place that covers least is taken, the first of equally good ones", () => {
  const places = [at(0, 0), at(300, 0), at(0, 200), at(300, 200)];
  assert.equal(choosePlacement(places, null, spots, []), places[2]);
  assert.equal(choosePlacement(places.slice(0, 2), null, spots, []), places[1]);
});

test("to lie over another overlay is worse than over the body", () => {
  const places = [at(0, 0), at(0, 200)];
  assert.equal(choosePlacement(places, null, spots, [at(20, 210)]), places[0]);
});

test("a card stays where it is unless another place is much better", () => {
  const places = [at(0, 200)];
  const now = at(300, 200);
  assert.equal(choosePlacement(places, now, spots, []), now);
  assert.equal(choosePlacement(places, at(0, 0), spots, []), places[0]);
});
