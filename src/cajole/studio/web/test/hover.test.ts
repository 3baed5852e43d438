import assert from "node:assert/strict";
import { test } from "node:test";
import "./setup";
import { onHover, emitHover } from "../src/core/hover";
import type { App } from "../src/core/types";
import { getHoveredDiscNode, type HoverTarget } from "../src/view/hover";

(globalThis as { window?: unknown }).window = new EventTarget();

test("a hover event reaches the other sources until they unsubscribe", () => {
  const heard: (number | null)[] = [];
  const end = onHover("view", (node) => heard.push(node));
  emitHover(4, "panel");
  emitHover(9, "view");
  emitHover(null, "panel");
  end();
  emitHover(5, "panel");
  assert.deepEqual(heard, [4, null]);
});

const at = (node: number, near: boolean, drag: number | null = null): HoverTarget =>
  ({ drag: drag === null ? null : { node: drag }, touched: { vertex: node, node, near } }) as HoverTarget;

test("a disc is hovered at a drag, a pin or a pull, and nowhere else", () => {
  const loads = [
    { kind: "pull", nodes: [7] },
    { kind: "gravity", nodes: [1] },
  ];
  const app = { state: { mode: "keyframe", keyframe: { pins: [{ nodes: [2, 3] }], loads } } } as unknown as App;
  assert.equal(getHoveredDiscNode(app, at(5, true, 8)), 8);
  assert.equal(getHoveredDiscNode(app, at(3, true)), 3);
  assert.equal(getHoveredDiscNode(app, at(7, true)), 7);
  for (const hover of [at(3, false), at(1, true), at(5, true), null]) assert.equal(getHoveredDiscNode(app, hover), null);
});
