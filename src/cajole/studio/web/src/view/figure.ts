/** A body in a scene: its vertices come anew many times a second, its triangles stay. */

import { BufferAttribute, BufferGeometry, DynamicDrawUsage, Group, type Material, Mesh } from "three";
import type { Vec3 } from "../core/types";
import { scattered, type Split } from "./creases";
import type { Model } from "./model";
import { areaNormals } from "./normals";
import type { Drawn } from "./pick";

export class Figure implements Drawn {
  readonly group = new Group();
  readonly model: Model;
  private readonly geometry = new BufferGeometry();
  private vertices: Float32Array; // (count, 3) as they came
  private place!: BufferAttribute; // drawn: the vertices themselves, or the corners that creases make of them
  private out!: BufferAttribute;
  private soft: Float32Array | null = null; // normals of the vertices, where corners are drawn
  private colors: Float32Array | null = null;
  private split: Split | null = null;
  private stale = false;
  private low: Vec3 = [0, 0, 0];
  private high: Vec3 = [0, 0, 0];
  shown = false; // whether vertices came

  constructor(model: Model) {
    this.model = model;
    this.vertices = new Float32Array(3 * model.count);
    this.arrange(null);
    this.group.visible = false;
  }

  /** Buffers for what is drawn. */
  private arrange(split: Split | null): void {
    const { model, geometry } = this;
    const count = split?.source.length ?? model.count;
    const buffer = (): BufferAttribute =>
      new BufferAttribute(new Float32Array(3 * count), 3).setUsage(DynamicDrawUsage);
    this.split = split;
    [this.place, this.out] = [buffer(), buffer()];
    geometry.dispose(); // the card forgets those of before
    geometry.setAttribute("position", this.place);
    geometry.setAttribute("normal", this.out);
    geometry.setAttribute("gloss", new BufferAttribute(this.drawn(model.gloss, 1), 1));
    geometry.setIndex(new BufferAttribute(split?.faces ?? model.faces, 1));
    if (this.colors !== null) this.color(this.colors);
  }

  /** Values of the vertices for what is drawn. */
  private drawn(values: Float32Array, width: number): Float32Array {
    const { split } = this;
    return split === null ? values : scattered(values, split, width, new Float32Array(width * split.source.length));
  }

  get positions(): Float32Array {
    return this.vertices;
  }

  get faces(): Uint32Array {
    return this.model.faces;
  }

  /** Unnormalised, of the present vertices. */
  get normals(): Float32Array {
    this.settle();
    if (this.split === null) return this.out.array as Float32Array;
    if (this.soft === null) {
      this.soft = new Float32Array(this.vertices.length);
      areaNormals(this.vertices, this.faces, this.soft);
    }
    return this.soft;
  }

  /** Least and greatest corner [m] of the present vertices. */
  get bounds(): [Vec3, Vec3] {
    this.settle();
    return [this.low, this.high];
  }

  /** Adds a mesh of these triangles, drawn with a material at its place in the order. */
  dress(material: Material, order: number, shadow = false): Mesh {
    const mesh = new Mesh(this.geometry, material);
    mesh.frustumCulled = false; // its bounds change with every frame, and it is nearly always in view
    mesh.renderOrder = order;
    mesh.castShadow = shadow;
    mesh.receiveShadow = shadow;
    this.group.add(mesh);
    return mesh;
  }

  /** Colours (count, 3), linear. */
  color(colors: Float32Array): void {
    this.colors = colors;
    this.geometry.setAttribute("color", new BufferAttribute(this.drawn(colors, 3), 3));
  }

  /** New vertices (count, 3) [m]; the array is kept, not copied. Says whether they fit the body. */
  show(positions: Float32Array): boolean {
    if (positions.length !== 3 * this.model.count) return false;
    if (this.shown && positions === this.vertices) return true;
    this.vertices = positions;
    const split = this.shown ? null : this.model.creases(positions);
    if (split !== null) this.arrange(split);
    this.stale = true;
    this.shown = true;
    this.group.visible = true;
    return true;
  }

  /** Corners, normals and bounds of the newest vertices: once a picture, however many frames came since the last. */
  settle(): void {
    if (!this.stale) return;
    this.stale = false;
    this.soft = null;
    const { split, place, out } = this;
    if (split === null) place.array = this.vertices;
    else scattered(this.vertices, split, 3, place.array as Float32Array);
    areaNormals(place.array as Float32Array, split?.faces ?? this.faces, out.array as Float32Array);
    place.needsUpdate = true;
    out.needsUpdate = true;
    this.measure();
  }

  private measure(): void {
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
    this.low = low;
    this.high = high;
  }

  dispose(): void {
    this.geometry.dispose();
    this.group.removeFromParent();
  }
}
