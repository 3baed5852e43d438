/** What stands around the body, still or moving: meshes that the scene brings along. */

import { BufferAttribute, BufferGeometry, Color, Group, Mesh } from "three";
import { readPositions } from "../core/binary";
import type { BinaryFrame, PropInfo } from "../core/types";
import { propMaterial } from "./materials";
import { wholesOf } from "./model";

/** Vertices and triangles of every prop, by its number and frame; kept for both views. */
export class PropStore {
  private readonly shapes = new Map<number, Map<number, BufferGeometry>>();

  /** Takes a PROP frame. */
  take(frame: BinaryFrame): void {
    const places = readPositions(frame);
    if (places === null) return;
    const geometry = new BufferGeometry();
    const skip = 12 * frame.count;
    const rest = Math.floor((frame.data.byteLength - frame.offset - skip) / 4);
    geometry.setAttribute("position", new BufferAttribute(places, 3));
    geometry.setIndex(new BufferAttribute(wholesOf(frame, rest, skip), 1));
    geometry.computeVertexNormals();
    const frames = this.shapes.get(frame.extra) ?? new Map<number, BufferGeometry>();
    frames.get(frame.frame)?.dispose();
    frames.set(frame.frame, geometry);
    this.shapes.set(frame.extra, frames);
  }

  /** The shape of a prop at a frame: the newest that is not later, as a moving one holds until its next. */
  at(prop: number, frame: number): BufferGeometry | null {
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

/** The props of one view. */
export class Props {
  readonly group = new Group();
  private readonly meshes: Mesh[];

  constructor(infos: PropInfo[]) {
    this.meshes = infos.map((info) => {
      const mesh = new Mesh(undefined, propMaterial(new Color().setRGB(...info.color, "srgb"), info.opacity));
      mesh.castShadow = info.opacity >= 1;
      mesh.receiveShadow = info.opacity >= 1; // on water the edge of what the light sees would show
      this.group.add(mesh);
      return mesh;
    });
  }

  /** As they are at a frame; says whether any of them changed. */
  show(store: PropStore, frame: number): boolean {
    let changed = false;
    this.meshes.forEach((mesh, i) => {
      const shape = store.at(i, frame);
      mesh.visible = shape !== null;
      if (shape === null || mesh.geometry === shape) return;
      mesh.geometry = shape;
      changed = true;
    });
    return changed;
  }
}
