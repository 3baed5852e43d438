/** The socket: questions with answers, streams of which only the newest matters, and coming back after it was lost. */

import { parse } from "./binary";
import { enter, reachable } from "./entry";
import { signal } from "./signal";
import { type BinaryFrame, type Failure, Kind } from "./types";

export const PROTO = 1;
const BACKOFF = [0.5, 1, 2, 4, 8]; // seconds between attempts
const FULL = 64 * 1024; // bytes waiting in the socket beyond which streams pause
const PATIENCE = 60; // seconds for an answer

export type Message = Record<string, unknown>;
export type Status = { at: "connecting" | "connected" | "refused" } | { at: "lost"; until: number };

/** What went wrong with a question: the server's words, or ours when it could not be put. */
export class WireError extends Error {
  constructor(
    readonly code: string,
    text: string,
    readonly remedy: string = "",
  ) {
    super(text);
  }
}

interface Waiting {
  answer(message: Message): void;
  fail(failure: WireError): void;
  timer: ReturnType<typeof setTimeout>;
}

export class Wire {
  readonly onText = signal<Message>();
  readonly onBinary = signal<BinaryFrame>();
  readonly onStatus = signal<Status>();
  status: Status = { at: "connecting" };
  private socket: WebSocket | null = null;
  private attempts = 0;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private lastId = 0;
  private waiting = new Map<number, Waiting>();
  private pending = new Map<string, object>();
  private scheduled = false;

  /** Opens the socket; called again by itself after a loss. */
  async connect(): Promise<void> {
    clearTimeout(this.timer);
    this.tell({ at: "connecting" });
    const door = await enter();
    if (door === "refused") return this.tell({ at: "refused" });
    if (door === "unreachable") return this.later();
    this.open();
  }

  /** Tries at once instead of when the time has come. */
  retry(): void {
    this.attempts = 0;
    void this.connect();
  }

  private open(): void {
    const scheme = location.protocol === "https:" ? "wss" : "ws";
    const socket = new WebSocket(`${scheme}://${location.host}/ws`);
    let opened = false;
    socket.binaryType = "arraybuffer";
    this.socket = socket;
    socket.onopen = () => {
      opened = true;
      this.send("hello", { proto: PROTO });
    };
    socket.onmessage = (event) => this.hear(event.data as string | ArrayBuffer);
    socket.onclose = (event) => void this.lost(socket, opened, event.code);
  }

  private async lost(socket: WebSocket, opened: boolean, code: number): Promise<void> {
    if (this.socket !== socket) return;
    this.socket = null;
    this.pending.clear();
    for (const id of [...this.waiting.keys()]) this.settle(id)?.fail(gone());
    const turnedAway = code === 1008 || code === 4403 || (!opened && (await reachable()));
    if (turnedAway) this.tell({ at: "refused" });
    else this.later();
  }

  private later(): void {
    const wait = BACKOFF[Math.min(this.attempts++, BACKOFF.length - 1)]!;
    this.tell({ at: "lost", until: Date.now() + 1000 * wait });
    this.timer = setTimeout(() => void this.connect(), 1000 * wait);
  }

  private tell(status: Status): void {
    this.status = status;
    this.onStatus.emit(status);
  }

  private hear(data: string | ArrayBuffer): void {
    if (typeof data === "string") return this.read(JSON.parse(data) as Message);
    const message = parse(data);
    if (message === null) return;
    this.onBinary.emit(message);
    // the parts apply a frame before they return, so that the next one may come
    if (message.kind === Kind.Now) this.send("ack", { seq: message.seq });
    else if (message.kind > Kind.Now) this.send("got");
  }

  private read(message: Message): void {
    if (message["is"] === "welcome") {
      this.attempts = 0;
      this.tell({ at: "connected" });
    }
    const id = message["id"];
    const asked = typeof id === "number" && (message["is"] === "done" || message["is"] === "error");
    if (!asked) return this.onText.emit(message);
    const waiting = this.settle(id);
    if (message["is"] === "done") return waiting?.answer(message);
    const { code, text, remedy } = message as unknown as Failure;
    return waiting?.fail(new WireError(code, text, remedy));
  }

  private settle(id: number): Waiting | undefined {
    const waiting = this.waiting.get(id);
    if (waiting) clearTimeout(waiting.timer);
    this.waiting.delete(id);
    return waiting;
  }

  /** Says something that is answered. Streams that wait go first, so that a last move comes before its commit. */
  ask(what: string, values: object = {}): Promise<Message> {
    this.flush(true);
    const id = ++this.lastId;
    const answer = new Promise<Message>((resolve, reject) => {
      const slow = (): void => this.settle(id)?.fail(late(what));
      this.waiting.set(id, { answer: resolve, fail: reject, timer: setTimeout(slow, 1000 * PATIENCE) });
    });
    answer.catch(() => undefined); // who does not wait for the answer is told by a toast
    if (!this.send(what, { id, ...values })) this.settle(id)?.fail(gone());
    return answer;
  }

  /** Says something of which only the newest matters, at most once an animation frame. */
  stream(what: string, values: object): void {
    this.pending.set(what, values);
    if (this.scheduled) return;
    this.scheduled = true;
    requestAnimationFrame(() => {
      this.scheduled = false;
      this.flush(false);
    });
  }

  private flush(all: boolean): void {
    for (const [what, values] of [...this.pending]) {
      if (!all && this.socket && this.socket.bufferedAmount > FULL) return this.stream(what, values);
      this.pending.delete(what);
      this.send(what, values);
    }
  }

  /** Says something that is not answered; false when the socket is not open. */
  send(what: string, values: object = {}): boolean {
    if (this.socket?.readyState !== WebSocket.OPEN) return false;
    this.socket.send(JSON.stringify({ v: PROTO, do: what, ...values }));
    return true;
  }
}

function gone(): WireError {
  return new WireError("lost", "The studio cannot be reached.", "Your work is safe; it comes back by itself.");
}

function late(what: string): WireError {
  return new WireError(
    "late",
    `The studio has not answered “${what}” for ${PATIENCE} seconds.`,
    "Wait for the work in hand, or cancel it.",
  );
}
