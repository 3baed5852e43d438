/** A body in a scene: its vertices come anew many times a second, its triangles stay. */

import { BufferAttribute, BufferGeometry, DynamicDrawUsage, Group, type Material, Mesh } from "three";
import type { Vec3 } from "../core/types";
import type { Model } from "./model";
import { areaNormals } from "./normals";
import type { Drawn } from "./pick";

export class Figure implements Drawn {
  readonly group = new Group();
  readonly model: Model;
  private readonly geometry = new BufferGeometry();
  private readonly place: BufferAttribute;
  private readonly out: BufferAttribute;
  private stale = false;
  private low: Vec3 = [0, 0, 0];
  private high: Vec3 = [0, 0, 0];
  shown = false; // whether vertices came

  constructor(model: Model) {
    this.model = model;
    this.place = new BufferAttribute(new Float32Array(3 * model.count), 3).setUsage(DynamicDrawUsage);
    this.out = new BufferAttribute(new Float32Array(3 * model.count), 3).setUsage(DynamicDrawUsage);
    this.geometry.setAttribute("position", this.place);
    this.geometry.setAttribute("normal", this.out);
    this.geometry.setAttribute("gloss", new BufferAttribute(model.gloss, 1));
    this.geometry.setIndex(new BufferAttribute(model.faces, 1));
    this.group.visible = false;
  }

  get positions(): Float32Array {
    return this.place.array as Float32Array;
  }

  get faces(): Uint32Array {
    return this.model.faces;
  }

  /** Unnormalised, of the present vertices. */
  get normals(): Float32Array {
    this.settle();
    return this.out.array as Float32Array;
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
    this.geometry.setAttribute("color", new BufferAttribute(colors, 3));
  }

  /** New vertices (count, 3) [m]; the array is kept, not copied. Says whether they fit the body. */
  show(positions: Float32Array): boolean {
    if (positions.length !== 3 * this.model.count) return false;
    if (this.shown && positions === this.place.array) return true;
    this.place.array = positions;
    this.place.needsUpdate = true;
    this.stale = true;
    this.shown = true;
    this.group.visible = true;
    return true;
  }

  /** Normals and bounds of the newest vertices: once a picture, however many frames came since the last. */
  settle(): void {
    if (!this.stale) return;
    this.stale = false;
    areaNormals(this.positions, this.faces, this.out.array as Float32Array);
    this.out.needsUpdate = true;
    this.measure();
  }

  private measure(): void {
    const { positions } = this;
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
