/** three.js scene of one view: lights, ground, props, the body and its ghost. */

import { type Material, PerspectiveCamera, Scene, type Texture } from "three";
import { getToken } from "../core/theme";
import type { Project, Vec3 } from "../core/types";
import { FOV, type ViewCamera, getCenter, getCameraPosition } from "./camera";
import { DynamicMesh } from "./dynamic-mesh";
import { FlowFieldMesh } from "./flow-field";
import { Ground } from "./ground";
import { Lights } from "./lights";
import {
  createBodyMaterial, createGhostMaterials, createGuideMaterial, createSimpleMaterial, getScreenColor,
  createWireMaterial,
} from "./materials";
import type { LinearColor, SurfaceModel } from "./surface-model";
import { PropMeshes, type PropStore } from "./props";
import { centroid } from "./vec";

const COARSE_TRIANGLES = 600; // guides up to this size are drawn as wireframes
const GROUND_OFFSET = 0.12; // fraction of the body size below its lowest point, for scenes without a floor

/** Render quality options. */
export interface Quality {
  readonly shadows: boolean;
  readonly fullResolution: boolean; // device pixel ratio
  readonly physicalMaterials: boolean; // with an environment map
}

export class ViewScene {
  readonly scene = new Scene();
  readonly camera = new PerspectiveCamera(FOV);
  readonly mesh: DynamicMesh;
  readonly ghost: DynamicMesh;
  readonly radius: number;
  readonly field: FlowFieldMesh | null; // the box of a flow
  private readonly lights: Lights;
  private readonly ground: Ground;
  private readonly props: PropMeshes;
  private readonly physicalMaterial = createBodyMaterial();
  private readonly simpleMaterial = createSimpleMaterial();
  private readonly wireMaterial = createWireMaterial();
  private readonly ghostMaterials = createGhostMaterials();
  private readonly guideMaterial = createGuideMaterial();
  private readonly bodyMesh;
  private readonly wireMesh;
  private painted = true;
  private shadowChanged = true;
  private wantsGhost = true;

  /** guide: mesh of the ghost; a coarse guide is drawn as a wireframe. */
  constructor(project: Project, model: SurfaceModel, room: Texture | null, guide: SurfaceModel | null = null) {
    this.radius = project.size / 2;
    this.lights = new Lights(this.radius);
    this.ground = new Ground(this.radius, project.ground ?? project.bounds[0][2] - GROUND_OFFSET * project.size);
    this.props = new PropMeshes(project.props);
    this.mesh = new DynamicMesh(model);
    const wired = guide !== null && guide.faces.length <= 3 * COARSE_TRIANGLES;
    this.ghost = new DynamicMesh(guide ?? model);
    if (wired && guide === model) this.mesh.addMesh(this.guideMaterial, 6);
    this.bodyMesh = this.mesh.addMesh(this.physicalMaterial, 0, true);
    this.wireMesh = this.mesh.addMesh(this.wireMaterial, 5);
    if (wired) this.ghost.addMesh(this.guideMaterial, 10);
    else this.ghostMaterials.forEach((material, i) => this.ghost.addMesh(material, 10 + i));
    this.field = project.field ? new FlowFieldMesh(project.field) : null;
    if (this.field) this.scene.add(this.field.group);
    this.camera.up.set(0, 0, 1);
    this.scene.environment = room;
    this.scene.add(this.lights.group, this.ground.group, this.props.group, this.mesh.group, this.ghost.group);
    this.updateTheme();
  }

  /** Apply the colors of the current theme. */
  updateTheme(): void {
    const light = document.documentElement.dataset["theme"] === "light";
    this.scene.environmentIntensity = light ? 0.45 : 0.4;
    this.lights.updateTheme();
    this.ground.updateTheme();
    this.field?.updateTheme();
    this.wireMaterial.color.setStyle(getToken("view-shade"));
    for (const material of this.ghostMaterials) {
      if ("uniforms" in material) material.uniforms["color"].value = getScreenColor("given-swatch");
    }
    this.guideMaterial.color.setStyle(getToken("given-swatch"));
    this.setPainted(this.painted);
    this.shadowChanged = true;
  }

  /** Use the colors of the model, or clay. */
  setPainted(painted: boolean): void {
    this.painted = painted;
    const { model } = this.mesh;
    this.mesh.setColors(painted ? model.colors : model.computeClayColors(this.physicalMaterial.color.clone().setStyle(getToken("clay"))));
  }

  /** Color by region. base: token of the base color. */
  setRegionColors(base: string, palette: (region: number) => LinearColor): void {
    this.mesh.setColors(this.mesh.model.computeRegionColors(this.physicalMaterial.color.clone().setStyle(getToken(base)), palette));
  }

  /** Set the positions of the body; returns false if their number does not match. */
  setPositions(positions: Float32Array): boolean {
    const before = this.mesh.positions;
    if (!this.mesh.setPositions(positions)) return false;
    this.shadowChanged ||= before !== positions;
    return true;
  }

  /** Set the positions of the ghost, null to hide it. */
  setGhost(positions: Float32Array | null): void {
    if (positions !== null) this.ghost.setPositions(positions);
    this.wantsGhost = positions !== null;
    this.ghost.group.visible = this.wantsGhost && this.ghost.hasPositions;
  }

  /** Show the props at a frame. */
  updateProps(store: PropStore, frame: number): void {
    if (this.props.update(store, frame)) this.shadowChanged = true;
  }

  setWireframe(wireframe: boolean): void {
    this.wireMesh.visible = wireframe;
  }

  applyQuality(quality: Quality): void {
    const material: Material = quality.physicalMaterials ? this.physicalMaterial : this.simpleMaterial;
    this.bodyMesh.material = material;
    this.lights.key.castShadow = quality.shadows;
    this.shadowChanged = true;
  }

  /** Update geometry, lights and camera before rendering. */
  prepareFrame(camera: ViewCamera): void {
    const { pose, width, height } = camera;
    const [x, y] = getCenter(camera);
    this.mesh.updateAttributes();
    if (this.ghost.group.visible) this.ghost.updateAttributes();
    const center = this.getCenter();
    this.ground.follow(center);
    if (this.lights.orient(pose.azimuth, center)) this.shadowChanged = true;
    this.lights.key.shadow.needsUpdate = this.shadowChanged;
    this.shadowChanged = false;
    this.camera.aspect = width / height;
    this.camera.setViewOffset(width, height, width / 2 - x, height / 2 - y, width, height);
    this.camera.near = Math.max(pose.distance - 12 * this.radius, 0.02 * pose.distance);
    this.camera.far = pose.distance + 16 * this.radius;
    this.camera.position.set(...getCameraPosition(pose));
    this.camera.lookAt(...pose.target);
    this.camera.updateProjectionMatrix();
  }

  private getCenter(): Vec3 {
    return this.mesh.hasPositions ? centroid(this.mesh.bounds) : [0, 0, 0];
  }

  dispose(): void {
    this.mesh.dispose();
    this.ghost.dispose();
    this.lights.dispose();
    this.field?.dispose();
    for (const material of [
      this.physicalMaterial,
      this.simpleMaterial,
      this.wireMaterial,
      this.guideMaterial,
      ...this.ghostMaterials,
    ])
      material.dispose();
  }
}
