/** Props of the scene, static or animated. */

import { BufferAttribute, BufferGeometry, Color, Group, Mesh } from "three";
import { readPositions } from "../core/binary";
import type { BinaryFrame, PropInfo } from "../core/types";
import { createPropMaterial } from "./materials";
import { readUint32 } from "./surface-model";

/** Geometries of all props by index and frame, shared by both views. */
export class PropStore {
  private readonly shapes = new Map<number, Map<number, BufferGeometry>>();

  /** Add the geometry in a Prop frame. */
  add(frame: BinaryFrame): void {
    const places = readPositions(frame);
    if (places === null) return;
    const geometry = new BufferGeometry();
    const skip = 12 * frame.count;
    const rest = Math.floor((frame.data.byteLength - frame.offset - skip) / 4);
    geometry.setAttribute("position", new BufferAttribute(places, 3));
    geometry.setIndex(new BufferAttribute(readUint32(frame, rest, skip), 1));
    geometry.computeVertexNormals();
    const frames = this.shapes.get(frame.extra) ?? new Map<number, BufferGeometry>();
    frames.get(frame.frame)?.dispose();
    frames.set(frame.frame, geometry);
    this.shapes.set(frame.extra, frames);
  }

  /** Geometry of a prop at a frame: the last one at or before it. */
  get(prop: number, frame: number): BufferGeometry | null {
    const frames = this.shapes.get(prop);
    if (frames === undefined) return null;
    for (let f = Math.floor(frame); f >= 0; f--) {
      const found = frames.get(f);
      if (found !== undefined) return found;
    }
    return null;
  }

  clear(): void {
    for (const frames of this.shapes.values()) for (const geometry of frames.values()) geometry.dispose();
    this.shapes.clear();
  }
}

/** Prop meshes of one view. */
export class PropMeshes {
  readonly group = new Group();
  private readonly meshes: Mesh[];

  constructor(infos: PropInfo[]) {
    this.meshes = infos.map((info) => {
      const mesh = new Mesh(undefined, createPropMaterial(new Color().setRGB(...info.color, "srgb"), info.opacity));
      mesh.castShadow = info.opacity >= 1;
      mesh.receiveShadow = info.opacity >= 1; // the edge of the shadow map would show on water
      this.group.add(mesh);
      return mesh;
    });
  }

  /** Show the props at a frame; returns true if any changed. */
  update(store: PropStore, frame: number): boolean {
    let changed = false;
    this.meshes.forEach((mesh, i) => {
      const shape = store.get(i, frame);
      mesh.visible = shape !== null;
      if (shape === null || mesh.geometry === shape) return;
      mesh.geometry = shape;
      changed = true;
    });
    return changed;
  }
}
