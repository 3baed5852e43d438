/** What is drawn of a body, as it came from the server: triangles, paint, and the node that each vertex stands for. */

import { BinaryKind, type BinaryFrame } from "../core/types";
import { creased, type Split } from "./creases";
import { type Neighbours, neighboursOf } from "./neighbours";

const SHINY = 0.6; // gloss above which something is an eye or a tooth, which clay keeps as it is

/** sRGB bytes to linear light: shading multiplies light, not bytes. */
const LINEAR = Float32Array.from({ length: 256 }, (_, i) => {
  const share = i / 255;
  return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
});

/** Linear light. */
export interface Light { r: number; g: number; b: number }

export class Model {
  readonly faces: Uint32Array<ArrayBuffer>;
  readonly count: number; // drawn vertices
  readonly paint: Float32Array<ArrayBuffer>; // (count, 3) linear
  readonly gloss: Float32Array<ArrayBuffer>; // (count)
  /** The region of each vertex, -1 for none; null where there are no regions. */
  zones: Int32Array<ArrayBuffer> | null = null;
  private nodes: Uint32Array;
  private around: Neighbours | null = null;
  private drawn = new Map<number, number>();
  private split: Split | null | undefined; // undefined before it was looked for

  constructor(faces: Uint32Array<ArrayBuffer>, count: number) {
    this.faces = faces;
    this.count = count;
    this.paint = new Float32Array(3 * count).fill(0.5);
    this.gloss = new Float32Array(count).fill(0.2);
    this.nodes = Uint32Array.from({ length: count }, (_, i) => i);
    this.index();
  }

  /** Colours (sRGB) and gloss, four bytes a vertex. */
  tint(bytes: Uint8Array): void {
    for (let v = 0; v < this.count; v++) {
      for (let i = 0; i < 3; i++) this.paint[3 * v + i] = LINEAR[bytes[4 * v + i]];
      this.gloss[v] = bytes[4 * v + 3] / 255;
    }
  }

  /** The body's vertex of each drawn one. */
  stand(nodes: Uint32Array): void {
    this.nodes = nodes;
    this.index();
  }

  /** The body's vertex that a drawn one stands for. */
  nodeOf(vertex: number): number {
    return this.nodes[vertex];
  }

  /** A drawn vertex that stands for a vertex of the body, or null when none does. */
  vertexOf(node: number): number | null {
    return this.drawn.get(node) ?? null;
  }

  /** From now on this drawn vertex shows its node: the one that the hand touched. */
  prefer(vertex: number): void {
    this.drawn.set(this.nodes[vertex], vertex);
  }

  /** How its sharp edges split it, as the first vertices (count, 3) that are shown have them; null for not at all. */
  creases(positions: Float32Array): Split | null {
    if (this.split === undefined) this.split = creased(positions, this.faces);
    return this.split;
  }

  /** Which vertices share an edge. */
  get neighbours(): Neighbours {
    return (this.around ??= neighboursOf(this.faces, this.count));
  }

  /** Colours (linear) of the regions, laid over one of everything. palette: of each region, by its number. */
  zoned(base: Light, palette: (region: number) => Light): Float32Array<ArrayBuffer> {
    const out = new Float32Array(3 * this.count);
    for (let v = 0; v < this.count; v++) {
      const zone = this.zones?.[v] ?? -1;
      const { r, g, b } = zone < 0 ? base : palette(zone);
      out.set([r, g, b], 3 * v);
    }
    return out;
  }

  /** One colour (linear) for everything but what shines. */
  clay(color: Light): Float32Array<ArrayBuffer> {
    const clay = new Float32Array(this.paint);
    for (let v = 0; v < this.count; v++) {
      if (this.gloss[v] < SHINY) clay.set([color.r, color.g, color.b], 3 * v);
    }
    return clay;
  }

  private index(): void {
    this.drawn.clear();
    for (let v = this.count - 1; v >= 0; v--) this.drawn.set(this.nodes[v], v);
  }
}

/** Whole numbers of a frame's data, `skip` bytes into it; none when it is shorter than it says. */
export function wholesOf(frame: BinaryFrame, size: number, skip = 0): Uint32Array<ArrayBuffer> {
  const start = frame.offset + skip;
  return frame.data.byteLength < start + 4 * size ? new Uint32Array() : new Uint32Array(frame.data, start, size);
}

/** The model after a frame of FACE, TINT or NODE; the same one after a frame of another kind or another body. */
export function modelAfter(model: Model | null, frame: BinaryFrame, vertices: number): Model | null {
  if (frame.kind === BinaryKind.Triangles) return new Model(wholesOf(frame, 3 * frame.count), vertices);
  if (model === null || frame.count !== model.count) return model;
  if (frame.kind === BinaryKind.Colors) model.tint(new Uint8Array(frame.data, frame.offset, 4 * frame.count));
  if (frame.kind === BinaryKind.Nodes) model.stand(wholesOf(frame, frame.count));
  return model;
}
