/** LRU cache of the motion's frames, with prefetch from the playhead on. */

import { readPositions } from "./binary";
import { createSignal } from "./signal";
import { type App, type BinaryFrame, BinaryKind, type ProjectState } from "./types";

export type Stream = "result" | "given" | "other";
const STREAMS = new Map<number, Stream>([
  [BinaryKind.ResultFrame, "result"],
  [BinaryKind.InputFrame, "given"],
  [BinaryKind.ComparisonFrame, "other"],
]);

const CAPACITY = 256 * 1024 * 1024; // bytes
const PREFETCH_SHARE = 0.7; // fraction of the capacity that prefetch may fill, so that it never evicts its own frames
const BATCH = 32; // frames per request
const ACCESS_LIFETIME = 3000; // ms for which a stream is prefetched after its last access

interface CachedFrame { data: Float32Array; rev: number }

export class FrameCache {
  /** Emitted when a frame has arrived. */
  readonly onArrive = createSignal<{ stream: Stream; frame: number }>();
  private entries = new Map<string, CachedFrame>();
  private bytes = 0;
  private accessTimes = new Map<Stream, Map<number, number>>(); // per stream: time of the last access of each frame [ms]
  private requested = new Map<Stream, Set<number>>(); // requested from the server, not yet arrived
  private timer: ReturnType<typeof setTimeout> | undefined;
  private app: App | null = null;
  private shown: { mode: string; rev: number } = { mode: "", rev: -1 };
  private latestRevision = 0; // newest revision of a Current frame: during a drag it is ahead of the state's

  constructor(private readonly capacity = CAPACITY) {}

  /** Subscribe to the signals of an app. */
  attach(app: App): void {
    this.app = app;
    app.onFrame.on((message) => this.handleFrame(message));
    app.onProject.on(() => this.clear());
    app.onState.on((state) => this.handleState(state));
    app.onUi.on((change) => ("playhead" in change || "playing" in change) && this.scheduleFetch());
  }

  /** Positions (count, 3) of a frame, flat [m], or null; a missing or stale frame is requested. */
  get(stream: Stream, frame: number): Float32Array | null {
    const cached = this.entries.get(getKey(stream, frame));
    const times = this.accessTimes.get(stream) ?? new Map<number, number>();
    this.accessTimes.set(stream, times);
    times.set(frame, Date.now());
    if (!cached || this.isStale(cached)) this.scheduleFetch();
    if (cached) this.touch(stream, frame, cached);
    return cached?.data ?? null;
  }

  /** True if a frame is cached at the current revision. */
  isFresh(stream: Stream, frame: number): boolean {
    const cached = this.entries.get(getKey(stream, frame));
    return cached !== undefined && !this.isStale(cached);
  }

  /** Drop all frames. */
  clear(): void {
    this.entries.clear();
    this.accessTimes.clear();
    this.requested.clear();
    this.bytes = 0;
    this.latestRevision = 0;
  }

  /** Request again what was pending when the connection was lost. */
  refetch(): void {
    this.requested.clear();
    this.scheduleFetch();
  }

  /** Drop all frames on a mode change, pending requests on a new revision. */
  private handleState({ mode, rev }: ProjectState): void {
    if (mode !== this.shown.mode) this.clear();
    if (rev !== this.shown.rev) this.requested.clear();
    this.shown = { mode, rev };
    this.scheduleFetch();
  }

  private isStale(cached: CachedFrame): boolean {
    return cached.rev < Math.max(this.latestRevision, this.app?.state?.rev ?? 0);
  }

  private handleFrame(message: BinaryFrame): void {
    if (message.kind === BinaryKind.LiveFrame && message.rev > this.latestRevision) {
      this.latestRevision = message.rev;
      this.scheduleFetch();
    }
    const stream = STREAMS.get(message.kind);
    const data = stream && readPositions(message);
    if (!stream || !data) return;
    const before = this.entries.get(getKey(stream, message.frame));
    this.requested.get(stream)?.delete(message.frame);
    if (before && before.rev > message.rev) return;
    this.touch(stream, message.frame, { data, rev: message.rev });
    this.evict();
    this.onArrive.emit({ stream, frame: message.frame });
    this.scheduleFetch();
  }

  /** Insert a frame as the most recently used. */
  private touch(stream: Stream, frame: number, cached: CachedFrame): void {
    const key = getKey(stream, frame);
    const before = this.entries.get(key);
    if (before) this.bytes -= before.data.byteLength;
    this.entries.delete(key);
    this.entries.set(key, cached);
    this.bytes += cached.data.byteLength;
  }

  private evict(): void {
    for (const [key, { data }] of this.entries) {
      if (this.bytes <= this.capacity) return;
      this.entries.delete(key);
      this.bytes -= data.byteLength;
    }
  }

  private scheduleFetch(): void {
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      for (const stream of this.accessTimes.keys()) this.requestMissing(stream);
    }, 8);
  }

  /** Request missing frames, nearest first. A request replaces the one before, so the list is always complete. */
  private requestMissing(stream: Stream): void {
    const app = this.app;
    if (!app?.state || !app.project || app.ui.connection !== "connected") return;
    const list = this.listMissing(stream);
    const pending = this.requested.get(stream) ?? new Set<number>();
    const known = list.length > 0 && list.slice(0, BATCH / 2).every((frame) => pending.has(frame));
    if (list.length === 0 || known) return;
    this.requested.set(stream, new Set(list));
    app.request("frames", { stream, list }, { quiet: true }).catch(() => this.requested.delete(stream));
  }

  private listMissing(stream: Stream): number[] {
    const app = this.app!;
    const now = Date.now();
    const times = this.accessTimes.get(stream)!;
    // a running job has computed only the first `ready` frames of the result
    const available = stream === "result" ? (app.state!.ready ?? Infinity) : Infinity;
    for (const [frame, when] of times) if (now - when > ACCESS_LIFETIME || frame >= app.state!.frames) times.delete(frame);
    const accessed = [...times.keys()].sort((a, b) => times.get(b)! - times.get(a)!);
    const ahead = times.size > 0 ? this.listPrefetch() : [];
    const list: number[] = [];
    for (const frame of new Set([...accessed, ...ahead])) {
      if (frame < available && !this.isFresh(stream, frame)) list.push(frame);
      if (list.length === BATCH) break;
    }
    return list;
  }

  /** Frames from the playhead on, around the loop, as many as the capacity allows per stream. */
  private listPrefetch(): number[] {
    const { ui, state, project } = this.app!;
    const [first, last] = ui.loop ? ui.loopRange : [0, state!.frames - 1];
    const length = Math.max(1, last - first + 1);
    const frameBytes = 12 * Math.max(1, project!.vertices);
    const count = Math.min(length, Math.floor((PREFETCH_SHARE * this.capacity) / frameBytes / Math.max(1, this.accessTimes.size)));
    const start = Math.max(0, Math.floor(ui.playhead) - first);
    return Array.from({ length: count }, (_, step) => first + ((start + step) % length)).filter(
      (frame) => frame < state!.frames,
    );
  }
}

function getKey(stream: Stream, frame: number): string {
  return `${stream} ${frame}`;
}

/** The page's frames. */
export const frameCache = new FrameCache();
