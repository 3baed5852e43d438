import assert from "node:assert/strict";
import { test } from "node:test";
import { createLatestSender } from "../src/ui/controls/latest-sender";

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test("one request is pending, and only the newest value follows", async () => {
  const sent: number[] = [];
  const answers: (() => void)[] = [];
  const send = createLatestSender<number>((value) => {
    sent.push(value);
    return new Promise<void>((resolve) => answers.push(resolve));
  });
  const all = [1, 2, 3, 4].map(send);
  assert.deepEqual(sent, [1]);
  answers[0]!();
  await turn();
  assert.deepEqual(sent, [1, 4]);
  answers[1]!();
  await Promise.all(all);
  const later = send(5);
  assert.deepEqual(sent, [1, 4, 5]);
  answers[2]!();
  await later;
});

test("a failure drops the waiting value, and the next one is sent", async () => {
  const sent: number[] = [];
  const send = createLatestSender<number>((value) => {
    sent.push(value);
    return value === 1 ? Promise.reject(new Error("no")) : Promise.resolve();
  });
  const first = send(1);
  void send(2).catch(() => undefined);
  await assert.rejects(first, /no/);
  assert.deepEqual(sent, [1]);
  await send(3);
  assert.deepEqual(sent, [1, 3]);
});
