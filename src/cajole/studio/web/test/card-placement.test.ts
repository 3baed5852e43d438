import assert from "node:assert/strict";
import { test } from "node:test";
import { type Box, computeCoverage, choosePlacement } from "../src/ui/onboarding";

const at = (left: number, top: number): Box => ({ left, top, width: 100, height: 50 });
const spots = [
  { x: 50, y: 20, weight: 1 },
  { x: 350, y: 20, weight: 0.4 },
];

test("a card covers the points below it and within its margin", () => {
  assert.equal(computeCoverage(at(0, 0), spots, []), 1);
  assert.equal(computeCoverage(at(54, 0), spots, []), 1);
  assert.equal(computeCoverage(at(60, 0), spots, []), 0);
});

test("the placement with the least coverage is chosen, the first among equals", () => {
  const places = [at(0, 0), at(300, 0), at(0, 200), at(300, 200)];
  assert.equal(choosePlacement(places, null, spots, []), places[2]);
  assert.equal(choosePlacement(places.slice(0, 2), null, spots, []), places[1]);
});

test("covering another overlay costs more than covering the body", () => {
  const places = [at(0, 0), at(0, 200)];
  assert.equal(choosePlacement(places, null, spots, [at(20, 210)]), places[0]);
});

test("a card moves only to a much better placement", () => {
  const places = [at(0, 200)];
  const now = at(300, 200);
  assert.equal(choosePlacement(places, now, spots, []), now);
  assert.equal(choosePlacement(places, at(0, 0), spots, []), places[0]);
});
