/** One view's world: light, floor, things around, the body, and the ghost of what came in. */

import { type Material, PerspectiveCamera, Scene, type Texture } from "three";
import { getToken } from "../core/theme";
import type { Project, Vec3 } from "../core/types";
import { FOV, type Lens, middleOf, placeOf } from "./camera";
import { Figure } from "./figure";
import { Field } from "./flow-field";
import { Ground } from "./ground";
import { Lights } from "./lights";
import { bodyMaterial, ghostMaterials, guideMaterial, plainMaterial, screenColor, wireMaterial } from "./materials";
import type { Light, Model } from "./model";
import { Props, type PropStore } from "./props";
import { centroid } from "./vec";

const COARSE = 600; // triangles of a guide up to which its wires can be told apart
const BELOW = 0.12; // of the body's size: where the floor lies under a body that flies

/** How much of the picture a machine can afford; each step down leaves something out. */
export interface Quality {
  readonly shadows: boolean;
  readonly sharp: boolean; // the screen's own pixel ratio
  readonly rich: boolean; // physical materials under a lit room
}

export class Stage {
  readonly scene = new Scene();
  readonly camera = new PerspectiveCamera(FOV);
  readonly figure: Figure;
  readonly ghost: Figure;
  readonly radius: number;
  readonly field: Field | null; // the box of a flow
  private readonly lights: Lights;
  private readonly ground: Ground;
  private readonly props: Props;
  private readonly rich = bodyMaterial();
  private readonly plain = plainMaterial();
  private readonly wire = wireMaterial();
  private readonly ghosts = ghostMaterials();
  private readonly guide = guideMaterial();
  private readonly body;
  private readonly wires;
  private painted = true;
  private cast = true;
  private wantsGhost = true;

  /** guide: what the ghost shows; a coarse one as wires, also over the body where it is its own model. */
  constructor(project: Project, model: Model, room: Texture | null, guide: Model | null = null) {
    this.radius = project.size / 2;
    this.lights = new Lights(this.radius);
    this.ground = new Ground(this.radius, project.ground ?? project.bounds[0][2] - BELOW * project.size);
    this.props = new Props(project.props);
    this.figure = new Figure(model);
    const wired = guide !== null && guide.faces.length <= 3 * COARSE;
    this.ghost = new Figure(guide ?? model);
    if (wired && guide === model) this.figure.dress(this.guide, 6);
    this.body = this.figure.dress(this.rich, 0, true);
    this.wires = this.figure.dress(this.wire, 5);
    if (wired) this.ghost.dress(this.guide, 10);
    else this.ghosts.forEach((material, i) => this.ghost.dress(material, 10 + i));
    this.field = project.field ? new Field(project.field) : null;
    if (this.field) this.scene.add(this.field.group);
    this.camera.up.set(0, 0, 1);
    this.scene.environment = room;
    this.scene.add(this.lights.group, this.ground.group, this.props.group, this.figure.group, this.ghost.group);
    this.theme();
  }

  /** Colours of the theme in force. */
  theme(): void {
    const light = document.documentElement.dataset["theme"] === "light";
    this.scene.environmentIntensity = light ? 0.45 : 0.4;
    this.lights.theme();
    this.ground.theme();
    this.field?.theme();
    this.wire.color.setStyle(getToken("view-shade"));
    for (const material of this.ghosts) {
      if ("uniforms" in material) material.uniforms["color"].value = screenColor("given-swatch");
    }
    this.guide.color.setStyle(getToken("given-swatch"));
    this.paint(this.painted);
    this.cast = true;
  }

  /** Its own colours, or clay. */
  paint(painted: boolean): void {
    this.painted = painted;
    const { model } = this.figure;
    this.figure.color(painted ? model.paint : model.clay(this.rich.color.clone().setStyle(getToken("clay"))));
  }

  /** One colour with those of regions over it. base: its token. */
  zone(base: string, palette: (region: number) => Light): void {
    this.figure.color(this.figure.model.zoned(this.rich.color.clone().setStyle(getToken(base)), palette));
  }

  /** New vertices of the body; says whether they fit. */
  show(positions: Float32Array): boolean {
    const before = this.figure.positions;
    if (!this.figure.show(positions)) return false;
    this.cast ||= before !== positions;
    return true;
  }

  /** New vertices of the ghost, null for none. */
  haunt(positions: Float32Array | null): void {
    if (positions !== null) this.ghost.show(positions);
    this.wantsGhost = positions !== null;
    this.ghost.group.visible = this.wantsGhost && this.ghost.shown;
  }

  /** Things around, as they are at a frame. */
  surround(store: PropStore, frame: number): void {
    if (this.props.show(store, frame)) this.cast = true;
  }

  mesh(wireframe: boolean): void {
    this.wires.visible = wireframe;
  }

  afford(quality: Quality): void {
    const material: Material = quality.rich ? this.rich : this.plain;
    this.body.material = material;
    this.lights.key.castShadow = quality.shadows;
    this.cast = true;
  }

  /** Makes ready for a picture. */
  prepare(lens: Lens): void {
    const { eye, width, height } = lens;
    const [x, y] = middleOf(lens);
    this.figure.settle();
    if (this.ghost.group.visible) this.ghost.settle();
    const middle = this.middle();
    this.ground.follow(middle);
    if (this.lights.turn(eye.azimuth, middle)) this.cast = true;
    this.lights.key.shadow.needsUpdate = this.cast;
    this.cast = false;
    this.camera.aspect = width / height;
    this.camera.setViewOffset(width, height, width / 2 - x, height / 2 - y, width, height);
    this.camera.near = Math.max(eye.distance - 12 * this.radius, 0.02 * eye.distance);
    this.camera.far = eye.distance + 16 * this.radius;
    this.camera.position.set(...placeOf(eye));
    this.camera.lookAt(...eye.target);
    this.camera.updateProjectionMatrix();
  }

  private middle(): Vec3 {
    return this.figure.shown ? centroid(this.figure.bounds) : [0, 0, 0];
  }

  dispose(): void {
    this.figure.dispose();
    this.ghost.dispose();
    this.lights.dispose();
    this.field?.dispose();
    for (const material of [this.rich, this.plain, this.wire, this.guide, ...this.ghosts]) material.dispose();
  }
}
