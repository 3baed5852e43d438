/** Brush regions, computed frames, and colors of regions. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { getRegionColor, REGION_COLORS } from "../src/modes/enrich/brush-settings";
import { countPlayableFrames } from "../src/core/playback";
import type { ProjectState } from "../src/core/types";
import { SurfaceModel } from "../src/view/surface-model";
import { buildAdjacency, findWithinRadius } from "../src/view/adjacency";

/** A strip of squares along x, two triangles each, one metre wide; a second strip 1 cm above it. */
function strips(count: number): { positions: Float32Array; faces: Uint32Array<ArrayBuffer> } {
  const positions: number[] = [];
  const faces: number[] = [];
  for (const height of [0, 0.01]) {
    const first = positions.length / 3;
    for (let i = 0; i <= count; i++) positions.push(i, 0, height, i, 1, height);
    for (let i = 0; i < count; i++) {
      const a = first + 2 * i;
      faces.push(a, a + 2, a + 1, a + 1, a + 2, a + 3);
    }
  }
  return { positions: Float32Array.from(positions), faces: Uint32Array.from(faces) };
}

test("the brush spreads along the surface, not to parts that are only close in space", () => {
  const { positions, faces } = strips(4);
  const around = buildAdjacency(faces, positions.length / 3);
  const found = findWithinRadius(positions, around, [4, 6, 5], [2, 0.1, 0], 1.2);
  assert.deepEqual([...found].sort((a, b) => a - b), [2, 4, 5, 6]);
  // a small brush on a coarse mesh still paints the nearest corner
  assert.deepEqual(findWithinRadius(positions, around, [4, 6, 5], [2.2, 0.1, 0], 0.01), [4]);
});

test("neighbors share an edge", () => {
  const { faces } = strips(1);
  const { starts, neighbors: others } = buildAdjacency(faces, 8);
  const of = (v: number): number[] => [...new Set(others.slice(starts[v], starts[v + 1]))].sort((a, b) => a - b);
  assert.deepEqual(of(0), [1, 2]);
  assert.deepEqual(of(1), [0, 2, 3]);
  assert.deepEqual(of(4), [5, 6]);
});

test("vertices have the color of their region, or the base color", () => {
  const model = new SurfaceModel(Uint32Array.from([0, 1, 2]), 3);
  model.regions = Int32Array.from([0, -1, 1]);
  const out = model.computeRegionColors({ r: 1, g: 1, b: 1 }, (region) => ({ r: 0, g: region, b: 0 }));
  assert.deepEqual([...out], [0, 0, 0, 1, 1, 1, 0, 1, 0]);
  assert.equal(getRegionColor(REGION_COLORS + 3), getRegionColor(3));
});

test("only computed frames play", () => {
  const state = { frames: 30 } as ProjectState;
  assert.equal(countPlayableFrames(state), 30);
  assert.equal(countPlayableFrames({ ...state, ready: null }), 30);
  assert.equal(countPlayableFrames({ ...state, ready: 4 }), 4);
  assert.equal(countPlayableFrames({ ...state, ready: 0 }), 1);
});
