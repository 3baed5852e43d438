/** The motion that a page holds: whole numbers, packed as src/cajole/animation/html_arrays.py says. */

import type { Vec3 } from "../core/types";

const STEPS = 65535; // along each axis, from the least coordinate to the greatest

export interface Header {
  format: string;
  version: number;
  name: string;
  fps: number;
  frames: number;
  every: number; // of the frames that there were, one in so many is here
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

/** Rows of whole numbers from their bytes: lowest bytes first, then the next; each row a difference to the one before. */
export function unpacked<T extends Uint8Array | Uint16Array | Uint32Array>(bytes: Uint8Array, columns: number, out: T): T {
  const count = out.length;
  const width = out.BYTES_PER_ELEMENT;
  if (bytes.length !== width * count) throw new Error(`${bytes.length} bytes came where ${width * count} are needed`);
  for (let i = 0; i < count; i++) {
    let value = i < columns ? 0 : out[i - columns];
    for (let b = 0, unit = 1; b < width; b++, unit *= 256) value += unit * bytes[b * count + i];
    out[i] = value; // of which the array keeps what its numbers can hold: differences wrap around
  }
  return out;
}

export class Motion {
  private readonly side: Vec3;
  private readonly shown: [Float32Array, Float32Array]; // in turn, so that what is drawn is never written to
  private turn = 0;

  /** rows: (1 + frames, 3 vertices), the rest shape and the frames. */
  constructor(
    readonly header: Header,
    readonly faces: Uint32Array<ArrayBuffer>,
    readonly tint: Uint8Array,
    private readonly rows: Uint16Array,
  ) {
    const { low, high, vertices } = header;
    this.side = low.map((value, i) => (high[i] > value ? high[i] - value : 1) / STEPS) as Vec3;
    this.shown = [new Float32Array(3 * vertices), new Float32Array(3 * vertices)];
  }

  /** Vertices [m] at a time in frames, straight between them; kept until the next but one is asked for. */
  at(time: number): Float32Array {
    const { rows, side } = this;
    const { low, frames, vertices } = this.header;
    const first = Math.min(Math.max(Math.floor(time), 0), frames - 1);
    const second = Math.min(first + 1, frames - 1);
    const share = Math.min(Math.max(time - first, 0), 1);
    const [a, b] = [first, second].map((frame) => 3 * vertices * (1 + frame));
    const out = this.shown[(this.turn = 1 - this.turn)];
    for (let i = 0; i < out.length; i++) {
      const k = i % 3;
      out[i] = low[k] + side[k] * (rows[a + i] + share * (rows[b + i] - rows[a + i]));
    }
    return out;
  }
}

/** The motion in the scripts of a page. */
export async function motionIn(page: Document): Promise<Motion> {
  const header = JSON.parse(textOf(page, "motion")) as Header;
  const { vertices, triangles, frames } = header;
  const [positions, faces, tint] = await Promise.all(
    ["positions", "triangles", "tint"].map((name) => inflated(textOf(page, name))),
  );
  return new Motion(
    header,
    unpacked(faces, 3, new Uint32Array(3 * triangles)),
    unpacked(tint, 4, new Uint8Array(4 * vertices)),
    unpacked(positions, 3 * vertices, new Uint16Array(3 * vertices * (1 + frames))),
  );
}

function textOf(page: Document, name: string): string {
  const found = page.getElementById(`cajole-${name}`)?.textContent;
  if (!found) throw new Error(`the page holds no ${name}`);
  return found;
}

/** Bytes of a zlib stream in base64. */
async function inflated(text: string): Promise<Uint8Array> {
  const letters = atob(text.trim());
  const bytes = new Uint8Array(letters.length);
  for (let i = 0; i < letters.length; i++) bytes[i] = letters.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}
