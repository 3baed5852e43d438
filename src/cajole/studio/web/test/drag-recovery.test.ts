import assert from "node:assert/strict";
import { test } from "node:test";
import type { StudioApp } from "../src/core/app";
import type { Toast } from "../src/core/types";
import { createSignal } from "../src/core/signal";
import { offerLostDrags } from "../src/core/drag-recovery";

/** As much of a studio as a lost drag needs. */
function fake(): { app: StudioApp; asked: [string, object][]; toasts: Toast[]; connection(at: string): void } {
  const asked: [string, object][] = [];
  const toasts: Toast[] = [];
  const app = {
    project: { id: "p1" },
    ui: { connection: "connected" },
    onRequest: createSignal(),
    onMoved: createSignal(),
    onUi: createSignal(),
    onState: createSignal(),
    showToast: (toast: Toast) => toasts.push(toast),
    request(this: StudioApp, what: string, values: object) {
      asked.push([what, values]);
      this.onRequest.emit({ name: what, values, reply: Promise.resolve({}) });
      return Promise.resolve({});
    },
  } as unknown as StudioApp;
  offerLostDrags(app);
  const connection = (at: string): void => {
    Object.assign(app.ui, { connection: at });
    app.onUi.emit({ connection: at as "lost" });
  };
  return { app, asked, toasts, connection };
}

const moved = (app: StudioApp): void =>
  app.onMoved.emit({ is: "moved", gesture: 4, seq: 1, position: [1, 2, 3], miss: 0, ms: 1, meter: null });

test("a drag that was under the hand when the socket went is offered again", () => {
  const { app, asked, toasts, connection } = fake();
  void app.request("drag.begin", { gesture: 4, nodes: [7], frame: 20 });
  moved(app);
  connection("lost");
  app.onState.emit({} as never);
  assert.equal(toasts.length, 0, "not while it is away");
  connection("connected");
  app.onState.emit({} as never);
  assert.equal(toasts[0]!.title, "The last drag was not saved");
  toasts[0]!.actions![0]!.onClick();
  assert.deepEqual(asked.at(-1), ["place", { node: 7, frame: 20, position: [1, 2, 3] }]);
  app.onState.emit({} as never);
  assert.equal(toasts.length, 1, "only once");
});

test("a drag that was kept is not offered, nor one of another project", async () => {
  const { app, toasts, connection } = fake();
  void app.request("drag.begin", { gesture: 4, nodes: [7], frame: 20 });
  moved(app);
  await app.request("drag.commit", { gesture: 4 });
  connection("lost");
  connection("connected");
  app.onState.emit({} as never);
  assert.equal(toasts.length, 0);
  void app.request("drag.begin", { gesture: 4, nodes: [7], frame: 20 });
  moved(app);
  connection("lost");
  connection("connected");
  Object.assign(app, { project: { id: "p2" } });
  app.onState.emit({} as never);
  assert.equal(toasts.length, 0);
});
