/** Render mesh of a body from the server: triangles, colors, and the simulation node of each vertex. */

import { BinaryKind, type BinaryFrame } from "../core/types";
import { splitCreases, type CreaseSplit } from "./creases";
import { type Adjacency, buildAdjacency } from "./adjacency";

const GLOSSY = 0.6; // gloss above which a vertex (eyes, teeth) keeps its color in clay

/** Lookup table from sRGB bytes to linear values. */
const SRGB_TO_LINEAR = Float32Array.from({ length: 256 }, (_, i) => {
  const share = i / 255;
  return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
});

/** Color in linear space. */
export interface LinearColor { r: number; g: number; b: number }

export class SurfaceModel {
  readonly faces: Uint32Array<ArrayBuffer>;
  readonly count: number; // render vertices
  readonly colors: Float32Array<ArrayBuffer>; // (count, 3) linear
  readonly gloss: Float32Array<ArrayBuffer>; // (count)
  /** Region of each vertex, -1 for none; null without regions. */
  regions: Int32Array<ArrayBuffer> | null = null;
  private nodes: Uint32Array;
  private adjacencyCache: Adjacency | null = null;
  private vertexByNode = new Map<number, number>();
  private split: CreaseSplit | null | undefined; // undefined until computed

  constructor(faces: Uint32Array<ArrayBuffer>, count: number) {
    this.faces = faces;
    this.count = count;
    this.colors = new Float32Array(3 * count).fill(0.5);
    this.gloss = new Float32Array(count).fill(0.2);
    this.nodes = Uint32Array.from({ length: count }, (_, i) => i);
    this.indexNodes();
  }

  /** Set colors (sRGB) and gloss, four bytes per vertex. */
  setColors(bytes: Uint8Array): void {
    for (let v = 0; v < this.count; v++) {
      for (let i = 0; i < 3; i++) this.colors[3 * v + i] = SRGB_TO_LINEAR[bytes[4 * v + i]];
      this.gloss[v] = bytes[4 * v + 3] / 255;
    }
  }

  /** Set the simulation node of each render vertex. */
  setNodes(nodes: Uint32Array): void {
    this.nodes = nodes;
    this.indexNodes();
  }

  /** Simulation node of a render vertex. */
  getNode(vertex: number): number {
    return this.nodes[vertex];
  }

  /** A render vertex of a simulation node, or null. */
  getVertex(node: number): number | null {
    return this.vertexByNode.get(node) ?? null;
  }

  /** Use this render vertex for its node from now on: the one that was clicked. */
  preferVertex(vertex: number): void {
    this.vertexByNode.set(this.nodes[vertex], vertex);
  }

  /** Split along sharp edges, computed from the first positions (count, 3); null if there are none. */
  getCreaseSplit(positions: Float32Array): CreaseSplit | null {
    if (this.split === undefined) this.split = splitCreases(positions, this.faces);
    return this.split;
  }

  /** Vertex adjacency, computed on demand. */
  get adjacency(): Adjacency {
    return (this.adjacencyCache ??= buildAdjacency(this.faces, this.count));
  }

  /** Vertex colors (linear) by region; base: of vertices without one. */
  computeRegionColors(base: LinearColor, palette: (region: number) => LinearColor): Float32Array<ArrayBuffer> {
    const out = new Float32Array(3 * this.count);
    for (let v = 0; v < this.count; v++) {
      const region = this.regions?.[v] ?? -1;
      const { r, g, b } = region < 0 ? base : palette(region);
      out.set([r, g, b], 3 * v);
    }
    return out;
  }

  /** Vertex colors (linear) of clay; glossy vertices keep theirs. */
  computeClayColors(color: LinearColor): Float32Array<ArrayBuffer> {
    const clay = new Float32Array(this.colors);
    for (let v = 0; v < this.count; v++) {
      if (this.gloss[v] < GLOSSY) clay.set([color.r, color.g, color.b], 3 * v);
    }
    return clay;
  }

  private indexNodes(): void {
    this.vertexByNode.clear();
    for (let v = this.count - 1; v >= 0; v--) this.vertexByNode.set(this.nodes[v], v);
  }
}

/** Read u32 values of a frame from byte `skip` on; empty if the frame is too short. */
export function readUint32(frame: BinaryFrame, size: number, skip = 0): Uint32Array<ArrayBuffer> {
  const start = frame.offset + skip;
  return frame.data.byteLength < start + 4 * size ? new Uint32Array() : new Uint32Array(frame.data, start, size);
}

/** Model after a Triangles, Colors or Nodes frame; unchanged by other kinds or another vertex count. */
export function updateModel(model: SurfaceModel | null, frame: BinaryFrame, vertices: number): SurfaceModel | null {
  if (frame.kind === BinaryKind.Triangles) return new SurfaceModel(readUint32(frame, 3 * frame.count), vertices);
  if (model === null || frame.count !== model.count) return model;
  if (frame.kind === BinaryKind.VertexColors) model.setColors(new Uint8Array(frame.data, frame.offset, 4 * frame.count));
  if (frame.kind === BinaryKind.VertexNodes) model.setNodes(readUint32(frame, frame.count));
  return model;
}
