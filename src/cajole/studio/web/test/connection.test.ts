import assert from "node:assert/strict";
import { test } from "node:test";
import { Connection, RequestError } from "../src/core/connection";

/** A socket whose other end is the test. */
class Socket {
  static OPEN = 1;
  static made: Socket[] = [];
  readyState = 1;
  bufferedAmount = 0;
  binaryType = "";
  said: Record<string, unknown>[] = [];
  onopen?: () => void;
  onmessage?: (event: { data: unknown }) => void;
  onclose?: (event: { code: number }) => void;
  constructor(readonly url: string) {
    Socket.made.push(this);
  }
  send(text: string): void {
    this.said.push(JSON.parse(text) as Record<string, unknown>);
  }
  hear(message: object): void {
    this.onmessage?.({ data: JSON.stringify(message) });
  }
}

const frames: (() => void)[] = [];
Object.assign(globalThis, {
  WebSocket: Socket,
  location: { protocol: "http:", host: "127.0.0.1:1", hash: "#secret", pathname: "/", search: "" },
  history: { replaceState: () => (location.hash = "") },
  sessionStorage: { getItem: () => "secret", setItem: () => undefined },
  requestAnimationFrame: (does: () => void) => frames.push(does),
});
let door = 204;
let reach = true;
globalThis.fetch = ((path: string) => {
  if (!reach) return Promise.reject(new Error("no network"));
  return Promise.resolve({ status: path === "/enter" ? door : 200, ok: path !== "/enter" || door < 400 });
}) as typeof fetch;

const paint = (): void => frames.splice(0).forEach((does) => does());
/** Wait for a status. */
async function until(wire: Connection, at: string): Promise<void> {
  while (wire.status.at !== at) await new Promise((resolve) => setTimeout(resolve));
}

async function connected(): Promise<{ wire: Connection; socket: Socket }> {
  const wire = new Connection();
  await wire.connect();
  const socket = Socket.made.at(-1)!;
  socket.onopen?.();
  socket.hear({ is: "welcome", proto: 1, project: null });
  return { wire, socket };
}

test("the first message is hello, and welcome connects", async () => {
  const { wire, socket } = await connected();
  assert.deepEqual(socket.said, [{ v: 1, do: "hello", proto: 1 }]);
  assert.equal(wire.status.at, "connected");
});

test("each request gets its own answer or error", async () => {
  const { wire, socket } = await connected();
  const one = wire.request("catalogue");
  const two = wire.request("pin", { nodes: [3], frame: 0 });
  const [first, second] = socket.said.slice(1) as { id: number }[];
  socket.hear({ is: "error", id: second!.id, code: "input", text: "vertex 3 is fixed", remedy: "choose another" });
  socket.hear({ is: "done", id: first!.id, catalogue: 1 });
  assert.equal((await one).catalogue, 1);
  await assert.rejects(
    two,
    (failure: RequestError) => failure.message === "vertex 3 is fixed" && failure.remedy === "choose another",
  );
});

test("a stream sends its newest value once per animation frame, and before the next request", async () => {
  const { wire, socket } = await connected();
  const move = (seq: number): void => wire.stream("drag.move", { gesture: 1, seq, delta: [0, 0, 0] });
  move(1);
  move(2);
  assert.equal(socket.said.length, 1);
  paint();
  assert.deepEqual(socket.said.slice(1), [{ v: 1, do: "drag.move", gesture: 1, seq: 2, delta: [0, 0, 0] }]);
  move(3);
  const commit = wire.request("drag.commit", { gesture: 1 });
  assert.deepEqual(
    socket.said.slice(2).map((each) => each["do"]),
    ["drag.move", "drag.commit"],
  );
  paint();
  assert.equal(socket.said.length, 4);
  socket.hear({ is: "done", id: socket.said.at(-1)!["id"] });
  await commit;
});

test("streams pause while the socket buffer is full", async () => {
  const { wire, socket } = await connected();
  socket.bufferedAmount = 1e6;
  wire.stream("frame", { frame: 1 });
  paint();
  assert.equal(socket.said.length, 1);
  socket.bufferedAmount = 0;
  wire.stream("frame", { frame: 2 });
  paint();
  assert.deepEqual(socket.said[1], { v: 1, do: "frame", frame: 2 });
});

test("live frames are acknowledged after the listeners have run", async () => {
  const { wire, socket } = await connected();
  const order: string[] = [];
  wire.onBinary.on(() => order.push(`heard, ${socket.said.length} said`));
  const data = new ArrayBuffer(32);
  new Uint32Array(data).set([0x314c4a43, 10, 5, 0, 0, 0, 0, 0]);
  socket.onmessage?.({ data });
  assert.deepEqual(order, ["heard, 1 said"]);
  assert.deepEqual(socket.said.at(-1), { v: 1, do: "ack", seq: 5 });
});

test("a lost socket rejects pending requests and reconnects; a refused token does not", async () => {
  const { wire, socket } = await connected();
  const asked = wire.request("undo");
  reach = false;
  socket.onclose?.({ code: 1006 });
  await assert.rejects(asked, (failure: RequestError) => failure.code === "lost");
  await until(wire, "lost");
  await assert.rejects(wire.request("redo"), (failure: RequestError) => failure.code === "lost");
  reach = true;
  door = 403;
  wire.retry();
  await until(wire, "refused");
  door = 204;
});
