/** Mesh with fixed triangles whose vertex positions change every frame. */

import { BufferAttribute, BufferGeometry, DynamicDrawUsage, Group, type Material, Mesh } from "three";
import type { Vec3 } from "../core/types";
import { scatterToCorners, type CreaseSplit } from "./creases";
import type { SurfaceModel } from "./surface-model";
import type { PickMesh } from "./picking";

export class DynamicMesh implements PickMesh {
  readonly group = new Group();
  readonly model: SurfaceModel;
  private readonly geometry = new BufferGeometry();
  private vertices: Float32Array; // (count, 3) as received
  private positionAttribute!: BufferAttribute; // vertices, or corners if creases split them
  private normalAttribute!: BufferAttribute;
  private vertexNormals: Float32Array | null = null; // per vertex, computed on demand if corners are rendered
  private colors: Float32Array | null = null;
  private split: CreaseSplit | null = null;
  private stale = false;
  private min: Vec3 = [0, 0, 0];
  private max: Vec3 = [0, 0, 0];
  hasPositions = false; // false until the first positions arrive

  constructor(model: SurfaceModel) {
    this.model = model;
    this.vertices = new Float32Array(3 * model.count);
    this.allocate(null);
    this.group.visible = false;
  }

  /** Allocate the vertex attributes. */
  private allocate(split: CreaseSplit | null): void {
    const { model, geometry } = this;
    const count = split?.source.length ?? model.count;
    const buffer = (): BufferAttribute =>
      new BufferAttribute(new Float32Array(3 * count), 3).setUsage(DynamicDrawUsage);
    this.split = split;
    [this.positionAttribute, this.normalAttribute] = [buffer(), buffer()];
    geometry.dispose(); // frees the old GPU buffers
    geometry.setAttribute("position", this.positionAttribute);
    geometry.setAttribute("normal", this.normalAttribute);
    geometry.setAttribute("gloss", new BufferAttribute(this.expandToCorners(model.gloss, 1), 1));
    geometry.setIndex(new BufferAttribute(split?.faces ?? model.faces, 1));
    if (this.colors !== null) this.setColors(this.colors);
  }

  /** Vertex values expanded to corners. */
  private expandToCorners(values: Float32Array, width: number): Float32Array {
    const { split } = this;
    return split === null ? values : scatterToCorners(values, split, width, new Float32Array(width * split.source.length));
  }

  get positions(): Float32Array {
    return this.vertices;
  }

  get faces(): Uint32Array {
    return this.model.faces;
  }

  /** Vertex normals, not normalized. */
  get normals(): Float32Array {
    this.updateAttributes();
    if (this.split === null) return this.normalAttribute.array as Float32Array;
    if (this.vertexNormals === null) {
      this.vertexNormals = new Float32Array(this.vertices.length);
      computeVertexNormals(this.vertices, this.faces, this.vertexNormals);
    }
    return this.vertexNormals;
  }

  /** Bounding box [min, max] [m]. */
  get bounds(): [Vec3, Vec3] {
    this.updateAttributes();
    return [this.min, this.max];
  }

  /** Add a three.js mesh that shares this geometry. */
  addMesh(material: Material, order: number, shadow = false): Mesh {
    const mesh = new Mesh(this.geometry, material);
    mesh.frustumCulled = false; // its bounds change every frame, and it is nearly always visible
    mesh.renderOrder = order;
    mesh.castShadow = shadow;
    mesh.receiveShadow = shadow;
    this.group.add(mesh);
    return mesh;
  }

  /** Set vertex colors (count, 3), linear. */
  setColors(colors: Float32Array): void {
    this.colors = colors;
    this.geometry.setAttribute("color", new BufferAttribute(this.expandToCorners(colors, 3), 3));
  }

  /** Set positions (count, 3) [m] without copying; returns false if their number does not match. */
  setPositions(positions: Float32Array): boolean {
    if (positions.length !== 3 * this.model.count) return false;
    if (this.hasPositions && positions === this.vertices) return true;
    this.vertices = positions;
    const split = this.hasPositions ? null : this.model.getCreaseSplit(positions);
    if (split !== null) this.allocate(split);
    this.stale = true;
    this.hasPositions = true;
    this.group.visible = true;
    return true;
  }

  /** Update corners, normals and bounds; called once per rendered frame. */
  updateAttributes(): void {
    if (!this.stale) return;
    this.stale = false;
    this.vertexNormals = null;
    const { split, positionAttribute, normalAttribute } = this;
    if (split === null) positionAttribute.array = this.vertices;
    else scatterToCorners(this.vertices, split, 3, positionAttribute.array as Float32Array);
    computeVertexNormals(positionAttribute.array as Float32Array, split?.faces ?? this.faces, normalAttribute.array as Float32Array);
    positionAttribute.needsUpdate = true;
    normalAttribute.needsUpdate = true;
    this.computeBounds();
  }

  private computeBounds(): void {
    const positions = this.vertices;
    const low: Vec3 = [Infinity, Infinity, Infinity];
    const high: Vec3 = [-Infinity, -Infinity, -Infinity];
    for (let i = 0; i < positions.length; i += 3) {
      for (let k = 0; k < 3; k++) {
        const value = positions[i + k];
        if (value < low[k]) low[k] = value;
        if (value > high[k]) high[k] = value;
      }
    }
    this.min = low;
    this.max = high;
  }

  dispose(): void {
    this.geometry.dispose();
    this.group.removeFromParent();
  }
}

/**
 * Sum the cross product of each triangle (twice its area times its normal) into its three vertices.
 *
 * positions: (n, 3) flat; faces: (m, 3) flat; normals: (n, 3), overwritten. Not normalized: the vertex shader does
 * that. Vertices without a proper triangle get a tiny upward normal, since normalizing zero gives NaN.
 */
export function computeVertexNormals(positions: Float32Array, faces: Uint32Array, normals: Float32Array): void {
  normals.fill(0);
  // edges are written out as in picking.ts: passing them in an array costs 1.4 times as much
  for (let f = 0; f < faces.length; f += 3) {
    const a = 3 * faces[f];
    const b = 3 * faces[f + 1];
    const c = 3 * faces[f + 2];
    const ax = positions[a];
    const ay = positions[a + 1];
    const az = positions[a + 2];
    const ux = positions[b] - ax;
    const uy = positions[b + 1] - ay;
    const uz = positions[b + 2] - az;
    const vx = positions[c] - ax;
    const vy = positions[c + 1] - ay;
    const vz = positions[c + 2] - az;
    const nx = uy * vz - uz * vy;
    const ny = uz * vx - ux * vz;
    const nz = ux * vy - uy * vx;
    normals[a] += nx;
    normals[a + 1] += ny;
    normals[a + 2] += nz;
    normals[b] += nx;
    normals[b + 1] += ny;
    normals[b + 2] += nz;
    normals[c] += nx;
    normals[c + 1] += ny;
    normals[c + 2] += nz;
  }
  fixZeroNormals(normals);
}

/** Replace zero normals. */
function fixZeroNormals(normals: Float32Array): void {
  for (let i = 0; i < normals.length; i += 3) {
    if (normals[i] === 0 && normals[i + 1] === 0 && normals[i + 2] === 0) normals[i + 2] = 1e-12;
  }
}
