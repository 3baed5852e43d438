/** Binary messages of the server: a header of eight u32, then positions, triangles or bytes. */

import { type BinaryFrame, BinaryKind, MAGIC } from "./types";

const HEADER_BYTES = 32; // bytes: eight u32
const [GHOST_FLAG, SMOKE_FLAG] = [1, 2]; // bits of `extra` in a Current frame

/** Parse the header of a binary message without copying its data; null if the magic number differs. */
export function parseBinaryFrame(data: ArrayBuffer): BinaryFrame | null {
  if (data.byteLength < HEADER_BYTES) return null;
  const head = new Uint32Array(data, 0, 8);
  if (head[0] !== MAGIC) return null;
  const [, kind, seq, frame, count, flags, rev, extra] = head;
  return { kind, seq, frame, count, flags, rev, extra, data, offset: HEADER_BYTES };
}

/** Ghost positions (count, 3) in a Current frame, flat, not copied; null if it has none. */
export function readGhost(message: BinaryFrame): Float32Array | null {
  const from = message.offset + 12 * message.count;
  if (message.kind !== BinaryKind.LiveFrame || !(message.extra & GHOST_FLAG) || message.data.byteLength < from + 12 * message.count)
    return null;
  return new Float32Array(message.data, from, 3 * message.count);
}

/** Smoke density in a Current frame, one byte per cell, not copied; null if it has none. */
export function readSmoke(message: BinaryFrame): Uint8Array<ArrayBuffer> | null {
  if (message.kind !== BinaryKind.LiveFrame || !(message.extra & SMOKE_FLAG)) return null;
  const from = message.offset + 12 * message.count * (message.extra & GHOST_FLAG ? 2 : 1);
  return from < message.data.byteLength ? new Uint8Array(message.data, from) : null;
}

/** Positions (count, 3) of a message, flat, not copied; null if the message is too short. */
export function readPositions(message: BinaryFrame): Float32Array | null {
  if (message.data.byteLength < message.offset + 12 * message.count) return null;
  return new Float32Array(message.data, message.offset, 3 * message.count);
}
