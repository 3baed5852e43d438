/** Motion embedded in a page: delta-coded integers in the format of src/cajole/animation/html_arrays.py. */

import type { Vec3 } from "../core/types";

const QUANTIZATION_STEPS = 65535; // per axis, from the minimum to the maximum

export interface MotionHeader {
  format: string;
  version: number;
  name: string;
  fps: number;
  frames: number;
  every: number; // every n-th frame of the original is stored
  start_frame: number;
  vertices: number;
  triangles: number;
  low: Vec3;
  high: Vec3; // [m] over all frames
  size: number; // [m] diagonal of the first frame
  painted: boolean;
  camera: { azimuth?: number; elevation?: number };
  note: string;
}

/** Decode byte planes (lowest bytes first) of rows that are differences to the row before. */
export function decodeDeltas<T extends Uint8Array | Uint16Array | Uint32Array>(bytes: Uint8Array, columns: number, out: T): T {
  const count = out.length;
  const width = out.BYTES_PER_ELEMENT;
  if (bytes.length !== width * count) throw new Error(`expected ${width * count} bytes, got ${bytes.length}`);
  for (let i = 0; i < count; i++) {
    let value = i < columns ? 0 : out[i - columns];
    for (let b = 0, unit = 1; b < width; b++, unit *= 256) value += unit * bytes[b * count + i];
    out[i] = value; // modulo the range of the array type
  }
  return out;
}

export class Motion {
  private readonly stepSize: Vec3;
  private readonly buffers: [Float32Array, Float32Array]; // double buffer: the rendered one is never written
  private bufferIndex = 0;

  /** rows: (1 + frames, 3 vertices): rest shape, then frames. */
  constructor(
    readonly header: MotionHeader,
    readonly faces: Uint32Array<ArrayBuffer>,
    readonly tint: Uint8Array,
    private readonly rows: Uint16Array,
  ) {
    const { low, high, vertices } = header;
    this.stepSize = low.map((value, i) => (high[i] > value ? high[i] - value : 1) / QUANTIZATION_STEPS) as Vec3;
    this.buffers = [new Float32Array(3 * vertices), new Float32Array(3 * vertices)];
  }

  /** Positions [m] at a time in frames, linearly interpolated; valid until the next call but one. */
  sample(time: number): Float32Array {
    const { rows, stepSize: side } = this;
    const { low, frames, vertices } = this.header;
    const first = Math.min(Math.max(Math.floor(time), 0), frames - 1);
    const second = Math.min(first + 1, frames - 1);
    const share = Math.min(Math.max(time - first, 0), 1);
    const [a, b] = [first, second].map((frame) => 3 * vertices * (1 + frame));
    const out = this.buffers[(this.bufferIndex = 1 - this.bufferIndex)];
    for (let i = 0; i < out.length; i++) {
      const k = i % 3;
      out[i] = low[k] + side[k] * (rows[a + i] + share * (rows[b + i] - rows[a + i]));
    }
    return out;
  }
}

/** Load the motion from the script elements of a page. */
export async function loadMotion(page: Document): Promise<Motion> {
  const header = JSON.parse(readScript(page, "motion")) as MotionHeader;
  const { vertices, triangles, frames } = header;
  const [positions, faces, tint] = await Promise.all(
    ["positions", "triangles", "tint"].map((name) => inflate(readScript(page, name))),
  );
  return new Motion(
    header,
    decodeDeltas(faces, 3, new Uint32Array(3 * triangles)),
    decodeDeltas(tint, 4, new Uint8Array(4 * vertices)),
    decodeDeltas(positions, 3 * vertices, new Uint16Array(3 * vertices * (1 + frames))),
  );
}

function readScript(page: Document, name: string): string {
  const found = page.getElementById(`cajole-${name}`)?.textContent;
  if (!found) throw new Error(`the page has no ${name}`);
  return found;
}

/** Decompress a base64 zlib stream. */
async function inflate(text: string): Promise<Uint8Array> {
  const letters = atob(text.trim());
  const bytes = new Uint8Array(letters.length);
  for (let i = 0; i < letters.length; i++) bytes[i] = letters.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}
