import { type BinaryFrame, Kind, MAGIC } from "./types";

const HEADER = 32; // bytes: eight u32
const [GHOST, SMOKE] = [1, 2]; // bits of extra in NOW

/** A binary message, its data left where it is; null when it is not one of ours. */
export function parse(data: ArrayBuffer): BinaryFrame | null {
  if (data.byteLength < HEADER) return null;
  const head = new Uint32Array(data, 0, 8);
  if (head[0] !== MAGIC) return null;
  const [, kind, seq, frame, count, flags, rev, extra] = head as unknown as number[];
  return {
    kind: kind!,
    seq: seq!,
    frame: frame!,
    count: count!,
    flags: flags!,
    rev: rev!,
    extra: extra!,
    data,
    offset: HEADER,
  };
}

/** The ghost (count, 3) that a NOW frame brings along, flat, without a copy; null when it brings none. */
export function ghost(message: BinaryFrame): Float32Array | null {
  const from = message.offset + 12 * message.count;
  if (message.kind !== Kind.Now || !(message.extra & GHOST) || message.data.byteLength < from + 12 * message.count)
    return null;
  return new Float32Array(message.data, from, 3 * message.count);
}

/** The smoke that a NOW frame brings along, a byte a cell, without a copy; null when it brings none. */
export function smoke(message: BinaryFrame): Uint8Array<ArrayBuffer> | null {
  if (message.kind !== Kind.Now || !(message.extra & SMOKE)) return null;
  const from = message.offset + 12 * message.count * (message.extra & GHOST ? 2 : 1);
  return from < message.data.byteLength ? new Uint8Array(message.data, from) : null;
}

/** Positions (count, 3) of a message, flat, without a copy; null when it is shorter than it says. */
export function positions(message: BinaryFrame): Float32Array | null {
  if (message.data.byteLength < message.offset + 12 * message.count) return null;
  return new Float32Array(message.data, message.offset, 3 * message.count);
}
