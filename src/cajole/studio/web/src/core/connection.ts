/** WebSocket connection: requests with replies, latest-value streams, and reconnection with backoff. */

import { parseBinaryFrame } from "./binary";
import { createSignal } from "./signal";
import {
  type AnswerTo, type BinaryFrame, BinaryKind, type CommandName, type Commands, PROTOCOL_VERSION,
  type RequestArguments, type ServerMessage,
} from "./types";

const RETRY_DELAYS = [0.5, 1, 2, 4, 8]; // seconds between attempts
const MAX_BUFFERED = 64 * 1024; // bytes buffered in the socket beyond which streams pause
const REPLY_TIMEOUT = 60; // seconds

export type ConnectionStatus = { at: "connecting" | "connected" | "refused" } | { at: "lost"; until: number };

/** Error of a request: from the server, or a lost connection or timeout. */
export class RequestError extends Error {
  constructor(readonly code: string, text: string, readonly remedy: string = "") {
    super(text);
  }
}

interface PendingRequest {
  resolve(answer: unknown): void; // an Answer
  reject(failure: RequestError): void;
  timer: ReturnType<typeof setTimeout>;
}

export class Connection {
  readonly onText = createSignal<ServerMessage>();
  readonly onBinary = createSignal<BinaryFrame>();
  readonly onStatus = createSignal<ConnectionStatus>();
  status: ConnectionStatus = { at: "connecting" };
  private socket: WebSocket | null = null;
  private attempts = 0;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private lastId = 0;
  private requests = new Map<number, PendingRequest>();
  private streams = new Map<CommandName, Commands[CommandName]>();
  private scheduled = false;

  /** Authenticate and open the socket; repeated automatically after a loss. */
  async connect(): Promise<void> {
    clearTimeout(this.timer);
    this.setStatus({ at: "connecting" });
    const authentication = await authenticate();
    if (authentication === "refused") return this.setStatus({ at: "refused" });
    if (authentication === "unreachable") return this.scheduleReconnect();
    this.openSocket();
  }

  /** Reconnect now instead of after the delay. */
  retry(): void {
    this.attempts = 0;
    void this.connect();
  }

  private openSocket(): void {
    const scheme = location.protocol === "https:" ? "wss" : "ws";
    const socket = new WebSocket(`${scheme}://${location.host}/ws`);
    let opened = false;
    socket.binaryType = "arraybuffer";
    this.socket = socket;
    socket.onopen = () => {
      opened = true;
      this.send("hello", { proto: PROTOCOL_VERSION });
    };
    socket.onmessage = (event) => this.handleData(event.data as string | ArrayBuffer);
    socket.onclose = (event) => void this.handleClose(socket, opened, event.code);
  }

  private async handleClose(socket: WebSocket, opened: boolean, code: number): Promise<void> {
    if (this.socket !== socket) return;
    this.socket = null;
    this.streams.clear();
    for (const id of [...this.requests.keys()]) this.takeRequest(id)?.reject(createLostError());
    const refused = code === 1008 || code === 4403 || (!opened && (await isServerReachable()));
    if (refused) this.setStatus({ at: "refused" });
    else this.scheduleReconnect();
  }

  private scheduleReconnect(): void {
    const wait = RETRY_DELAYS[Math.min(this.attempts++, RETRY_DELAYS.length - 1)]!;
    this.setStatus({ at: "lost", until: Date.now() + 1000 * wait });
    this.timer = setTimeout(() => void this.connect(), 1000 * wait);
  }

  private setStatus(status: ConnectionStatus): void {
    this.status = status;
    this.onStatus.emit(status);
  }

  private handleData(data: string | ArrayBuffer): void {
    if (typeof data === "string") return this.handleMessage(JSON.parse(data));
    const message = parseBinaryFrame(data);
    if (message === null) return;
    this.onBinary.emit(message);
    // listeners apply a frame before they return, so the server may send the next one
    if (message.kind === BinaryKind.LiveFrame) this.send("ack", { seq: message.seq });
    else if (message.kind > BinaryKind.LiveFrame) this.send("got");
  }

  private handleMessage(message: ServerMessage): void {
    if (message.is === "welcome") {
      this.attempts = 0;
      this.setStatus({ at: "connected" });
    }
    const isReply = message.is === "done" || message.is === "error";
    if (!isReply || typeof message.id !== "number") return this.onText.emit(message);
    const request = this.takeRequest(message.id);
    if (message.is === "done") request?.resolve(message);
    else request?.reject(new RequestError(message.code, message.text, message.remedy));
  }

  private takeRequest(id: number): PendingRequest | undefined {
    const request = this.requests.get(id);
    if (request) clearTimeout(request.timer);
    this.requests.delete(id);
    return request;
  }

  /** Send a request and await its reply. Pending streams are sent first, so that the last move precedes its commit. */
  request<Name extends CommandName>(name: Name, ...[values]: RequestArguments<Name, never>): Promise<AnswerTo<Name>> {
    this.flushStreams(true);
    const id = ++this.lastId;
    const reply = new Promise<AnswerTo<Name>>((resolve, reject) => {
      const expire = (): void => this.takeRequest(id)?.reject(createTimeoutError(name));
      this.requests.set(id, { resolve, reject, timer: setTimeout(expire, 1000 * REPLY_TIMEOUT) });
    });
    reply.catch(() => undefined); // callers that do not await it see the error as a toast
    if (!this.send(name, { id, ...values })) this.takeRequest(id)?.reject(createLostError());
    return reply;
  }

  /** Send the newest value of a message, at most once per animation frame. */
  stream<Name extends CommandName>(name: Name, values: Commands[Name]): void {
    this.streams.set(name, values);
    if (this.scheduled) return;
    this.scheduled = true;
    requestAnimationFrame(() => {
      this.scheduled = false;
      this.flushStreams(false);
    });
  }

  private flushStreams(all: boolean): void {
    for (const [name, values] of [...this.streams]) {
      if (!all && this.socket && this.socket.bufferedAmount > MAX_BUFFERED) return this.stream(name, values);
      this.streams.delete(name);
      this.send(name, values);
    }
  }

  /** Send a message without a reply; false if the socket is not open. */
  send(name: CommandName, values: object = {}): boolean {
    if (this.socket?.readyState !== WebSocket.OPEN) return false;
    this.socket.send(JSON.stringify({ v: PROTOCOL_VERSION, do: name, ...values }));
    return true;
  }
}

function createLostError(): RequestError {
  return new RequestError("lost", "The studio cannot be reached.", "Your work is safe; the page reconnects automatically.");
}

function createTimeoutError(name: string): RequestError {
  return new RequestError(
    "late",
    `The studio has not answered “${name}” for ${REPLY_TIMEOUT} seconds.`,
    "Wait for the running job, or cancel it.",
  );
}

const TOKEN_KEY = "cajole.token";

type AuthenticationResult = "authenticated" | "refused" | "unreachable";

/** Token from the address, which is then removed from it; after a reload, the token stored for this tab. */
function readToken(): string | null {
  const given = location.hash.slice(1);
  if (given) {
    storeToken(given);
    history.replaceState(null, "", location.pathname + location.search);
    return given;
  }
  try {
    return sessionStorage.getItem(TOKEN_KEY);
  } catch {
    return null;
  }
}

function storeToken(value: string): void {
  try {
    sessionStorage.setItem(TOKEN_KEY, value);
  } catch {
    // without session storage the cookie alone authenticates
  }
}

/** Send the token to the server. Without a token, the cookie of another tab may still be valid. */
export async function authenticate(): Promise<AuthenticationResult> {
  const key = readToken();
  if (key === null) return "authenticated";
  try {
    const answer = await fetch("/enter", { method: "POST", body: key, credentials: "same-origin" });
    return answer.status === 403 ? "refused" : answer.ok ? "authenticated" : "unreachable";
  } catch {
    return "unreachable";
  }
}

/** True if the server answers HTTP: a refused WebSocket cannot be told from an unreachable one otherwise. */
export async function isServerReachable(): Promise<boolean> {
  try {
    return (await fetch("/", { method: "HEAD", cache: "no-store" })).status < 500;
  } catch {
    return false;
  }
}
