import assert from "node:assert/strict";
import { test } from "node:test";
import type { StudioApp } from "../src/core/app";
import type { CommandName, Commands, Toast } from "../src/core/types";
import { createSignal } from "../src/core/signal";
import { offerLostDrags } from "../src/core/drag-recovery";

/** A fake studio for lost drags. */
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
    request(this: StudioApp, what: CommandName, values: Commands[CommandName]) {
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

test("a drag that a lost connection interrupted is offered again", () => {
  const { app, asked, toasts, connection } = fake();
  void app.request("drag.begin", { gesture: 4, nodes: [7], frame: 20 });
  moved(app);
  connection("lost");
  app.onState.emit({} as never);
  assert.equal(toasts.length, 0, "not while disconnected");
  connection("connected");
  app.onState.emit({} as never);
  assert.equal(toasts[0]!.title, "The last drag was not saved");
  toasts[0]!.actions![0]!.onClick();
  assert.deepEqual(asked.at(-1), ["place", { node: 7, frame: 20, position: [1, 2, 3] }]);
  app.onState.emit({} as never);
  assert.equal(toasts.length, 1, "only once");
});

test("a committed drag, or one of another project, is not offered", async () => {
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
