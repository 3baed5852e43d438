/** Frames of the motion that the server has sent, and which to ask for next. */

import { positions } from "./binary";
import { signal } from "./signal";
import { type App, type BinaryFrame, Kind, type State } from "./types";

export type Stream = "result" | "given" | "other";
const STREAMS = new Map<number, Stream>([
  [Kind.Result, "result"],
  [Kind.Given, "given"],
  [Kind.Other, "other"],
]);

const ROOM = 256 * 1024 * 1024; // bytes of frames that are kept
const AHEAD = 0.7; // share of it that looking ahead may fill, so that it never throws out what it fetched
const BATCH = 32; // frames that may be wanted at once
const INTEREST = 3000; // ms for which a stream is fetched ahead after someone looked at it

interface Held {
  data: Float32Array;
  rev: number;
}

export class Frames {
  /** A frame has come. */
  readonly onArrive = signal<{ stream: Stream; frame: number }>();
  private held = new Map<string, Held>();
  private bytes = 0;
  private looked = new Map<Stream, Map<number, number>>(); // frames that parts asked for: when
  private wanted = new Map<Stream, Set<number>>(); // asked of the server, not yet here
  private timer: ReturnType<typeof setTimeout> | undefined;
  private app: App | null = null;
  private at: { mode: string; rev: number } = { mode: "", rev: -1 };
  private newest = 0; // the last revision heard of: a hand at work sends views, and the state only when it lets go

  constructor(private readonly room = ROOM) {}

  /** Begins to serve an app: hears its frames, its project and its state. */
  attach(app: App): void {
    this.app = app;
    app.onFrame.on((message) => this.take(message));
    app.onProject.on(() => this.forget());
    app.onState.on((state) => this.moved(state));
    app.onUi.on((change) => ("playhead" in change || "playing" in change) && this.soon());
  }

  /** A frame (count, 3), flat [m], or null when it is not here yet; a missing or stale one is asked for. */
  get(stream: Stream, frame: number): Float32Array | null {
    const held = this.held.get(name(stream, frame));
    const seen = this.looked.get(stream) ?? new Map<number, number>();
    this.looked.set(stream, seen);
    seen.set(frame, Date.now());
    if (!held || this.stale(held)) this.soon();
    if (held) this.touch(stream, frame, held);
    return held?.data ?? null;
  }

  /** Whether a frame is here and as the present state has it. */
  fresh(stream: Stream, frame: number): boolean {
    const held = this.held.get(name(stream, frame));
    return held !== undefined && !this.stale(held);
  }

  /** Throws everything away: another project, another mode. */
  forget(): void {
    this.held.clear();
    this.looked.clear();
    this.wanted.clear();
    this.bytes = 0;
    this.newest = 0;
  }

  /** What was asked of a lost socket will not come. */
  again(): void {
    this.wanted.clear();
    this.soon();
  }

  /** Another mode has other frames; a new revision may have frames where there were none. */
  private moved({ mode, rev }: State): void {
    if (mode !== this.at.mode) this.forget();
    if (rev !== this.at.rev) this.wanted.clear();
    this.at = { mode, rev };
    this.soon();
  }

  private stale(held: Held): boolean {
    return held.rev < Math.max(this.newest, this.app?.state?.rev ?? 0);
  }

  private take(message: BinaryFrame): void {
    if (message.kind === Kind.Now && message.rev > this.newest) {
      this.newest = message.rev;
      this.soon();
    }
    const stream = STREAMS.get(message.kind);
    const data = stream && positions(message);
    if (!stream || !data) return;
    const before = this.held.get(name(stream, message.frame));
    this.wanted.get(stream)?.delete(message.frame);
    if (before && before.rev > message.rev) return;
    this.touch(stream, message.frame, { data, rev: message.rev });
    this.evict();
    this.onArrive.emit({ stream, frame: message.frame });
    this.soon();
  }

  /** Puts a frame at the young end. */
  private touch(stream: Stream, frame: number, held: Held): void {
    const key = name(stream, frame);
    const before = this.held.get(key);
    if (before) this.bytes -= before.data.byteLength;
    this.held.delete(key);
    this.held.set(key, held);
    this.bytes += held.data.byteLength;
  }

  private evict(): void {
    for (const [key, { data }] of this.held) {
      if (this.bytes <= this.room) return;
      this.held.delete(key);
      this.bytes -= data.byteLength;
    }
  }

  private soon(): void {
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      for (const stream of this.looked.keys()) this.fetch(stream);
    }, 8);
  }

  /** Asks for what is missing, nearest first. The server replaces what was wanted, so the list is always whole. */
  private fetch(stream: Stream): void {
    const app = this.app;
    if (!app?.state || !app.project || app.ui.connection !== "connected") return;
    const list = this.missing(stream);
    const asked = this.wanted.get(stream) ?? new Set<number>();
    const known = list.length > 0 && list.slice(0, BATCH / 2).every((frame) => asked.has(frame));
    if (list.length === 0 || known) return;
    this.wanted.set(stream, new Set(list));
    app.ask("frames", { stream, list }, { quiet: true }).catch(() => this.wanted.delete(stream));
  }

  private missing(stream: Stream): number[] {
    const app = this.app!;
    const now = Date.now();
    const seen = this.looked.get(stream)!;
    // what is still being made comes later
    const there = stream === "result" ? (app.state!.ready ?? Infinity) : Infinity;
    for (const [frame, when] of seen) if (now - when > INTEREST || frame >= app.state!.frames) seen.delete(frame);
    const looked = [...seen.keys()].sort((a, b) => seen.get(b)! - seen.get(a)!);
    const ahead = seen.size > 0 ? this.ahead() : [];
    const list: number[] = [];
    for (const frame of new Set([...looked, ...ahead])) {
      if (frame < there && !this.fresh(stream, frame)) list.push(frame);
      if (list.length === BATCH) break;
    }
    return list;
  }

  /** Frames from the playhead on, around the loop, as many as may be kept for each stream. */
  private ahead(): number[] {
    const { ui, state, project } = this.app!;
    const [first, last] = ui.loop ? ui.loopRange : [0, state!.frames - 1];
    const length = Math.max(1, last - first + 1);
    const each = 12 * Math.max(1, project!.vertices);
    const many = Math.min(length, Math.floor((AHEAD * this.room) / each / Math.max(1, this.looked.size)));
    const start = Math.max(0, Math.floor(ui.playhead) - first);
    return Array.from({ length: many }, (_, step) => first + ((start + step) % length)).filter(
      (frame) => frame < state!.frames,
    );
  }
}

function name(stream: Stream, frame: number): string {
  return `${stream} ${frame}`;
}

/** The page's frames. */
export const frames = new Frames();
