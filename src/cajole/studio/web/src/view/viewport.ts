/** The views: bodies drawn by the graphics card, and above them what the hand works with. */

import "../style/view.css";
import { provide } from "../core/commands";
import { h } from "../core/dom";
import { frames } from "../core/frames";
import { go } from "../core/playing";
import type { App, Part, Pulse, Vec3 } from "../core/types";
import { Ball } from "./ball";
import { corners, type Lens, rayAt } from "./camera";
import { Chip, legend, poseBar, sayNow, sayResult } from "./chips";
import { composeNow, composeResult } from "./compose";
import { onPlane } from "./drag";
import { Eyes, FIRST } from "./eyes";
import type { Sight } from "./gesture";
import { Hand } from "./hand";
import type { Pixel } from "./handle";
import { type Hooked, hang } from "./hooking";
import { Layer } from "./layer";
import { Layout } from "./layout";
import { inkMarks } from "./marks";
import { pickTriangle } from "./pick";
import { type Pane, Screen } from "./screen";
import { Selection } from "./selection";
import { Show } from "./show";
import { Stage } from "./stage";
import { Tag } from "./tag";
import { toolColumn, viewOptions } from "./tools";
import { vertexOf } from "./vec";

const WHOLE = 1.5; // a motion that takes up to this many body sizes is framed as a whole at first
const SOME = 4000; // vertices are enough to frame a body by

const emptyPane = (): Pane => ({ left: 0, top: 0, width: 0, height: 0, stage: null, eye: FIRST, seen: FIRST, dirty: true });

export function viewport(app: App): Part {
  try {
    const view = new Viewport(app);
    return { element: view.element, dispose: () => view.dispose() };
  } catch (failure) {
    return { element: noDrawing(failure) };
  }
}

/** What is said where nothing can be drawn. */
function noDrawing(failure: unknown): HTMLElement {
  const why = failure instanceof Error ? failure.message : String(failure);
  return h("div", { class: "viewport view-none", role: "alert" },
    h("p", null, h("b", null, "This browser cannot draw in 3D.")),
    h("p", null, `It says: ${why}`),
    h("p", null, "Switch on hardware acceleration, or open the studio in another browser."));
}

class Viewport implements Sight {
  readonly tag = new Tag();
  private readonly panes: [Pane, Pane] = [emptyPane(), emptyPane()];
  private readonly chips: [Chip, Chip] = [new Chip(), new Chip()];
  private readonly live = h("div", { class: "hidden-text", role: "status", "aria-live": "polite" });
  private readonly layout: Layout;
  private readonly layer: Layer;
  private readonly screen: Screen;
  private readonly eyes: Eyes;
  private readonly show: Show;
  private readonly selection: Selection;
  private readonly hand: Hand;
  private readonly ball: Ball;
  private readonly parts: Part[];
  private readonly ends: (() => void)[];
  private pulse: Pulse | null = null;
  private framed: string | null = null; // the project whose body was framed

  constructor(readonly app: App) {
    this.layout = new Layout(app, this.panes, () => this.resized());
    this.layer = new Layer(() => this.draw());
    const canvas = h("canvas", { class: "view-canvas", "aria-hidden": "true" });
    this.screen = new Screen(canvas, () => this.visible, { prepare: () => this.show.refresh(), drew: () => this.layer.now(), simpler: () => this.simpler() });
    this.eyes = new Eyes(this.panes, () => this.wake());
    this.show = new Show(app, this.panes);
    this.selection = new Selection(app, (node) => this.placeOf(node));
    this.ball = new Ball((azimuth, elevation) => this.eyes.look(azimuth, elevation), (dx, dy) => this.eyes.orbit(0, dx, dy));
    this.hand = new Hand(this.layout.surface, this, this.selection, {
      orbit: (pane, dx, dy) => this.eyes.orbit(pane, dx, dy),
      pan: (pane, dx, dy) => this.eyes.pan(pane, dx, dy),
      zoom: (pane, at, factor) => this.zoom(pane, at, factor),
    }, (event) => this.layout.locate(event));
    const options = viewOptions(app, () => this.eyes.linked, () => this.eyes.link());
    this.parts = [toolColumn(app), options, legend(app), poseBar(app)];
    this.layout.fill(canvas, this.layer.canvas, this.chips.map((chip) => chip.element), [...this.parts.map((part) => part.element), this.ball.element, this.tag.element, this.live]);
    this.ends = [...this.listen(), ...this.commands(), hang(this.hooked())];
    this.rebuild();
  }

  get element(): HTMLElement {
    return this.layout.element;
  }

  private get visible(): Pane[] {
    return this.panes.slice(0, this.app.ui.views);
  }

  private listen(): (() => void)[] {
    const { app } = this;
    return [
      app.onProject.on((project) => project === null && this.close()),
      app.onFrame.on((message) => (this.show.take(message) ? this.rebuild() : this.wake())),
      app.onState.on(() => this.heard()),
      app.onUi.on((change) => this.changed(Object.keys(change))),
      app.onMoved.on((moved) => this.hand.gesture?.moved?.(moved)),
      app.onPulse.on((pulse) => this.pulsed(pulse)),
      app.onTheme.on(() => this.themed()),
      frames.onArrive.on(() => this.wake()),
    ];
  }

  private commands(): (() => void)[] {
    return [
      provide("view.all", () => this.eyes.frame(this.bodyPoints(), this.radius / 10, "slowly")),
      provide("view.selection", () => this.frameSelection()),
      provide("view.front", () => this.eyes.look(-90, 0)),
      provide("view.right", () => this.eyes.look(0, 0)),
      provide("view.top", () => this.eyes.look(-90, 89)),
      provide("tool.pin", () => this.pin()),
    ];
  }

  // --- what came

  private heard(): void {
    this.selection.heard();
    this.wake();
  }

  private pulsed(pulse: Pulse): void {
    this.pulse = pulse;
    this.hand.gesture?.pulse?.(pulse);
    this.wake();
  }

  private changed(names: string[]): void {
    if (names.includes("pilot") && !this.app.ui.pilot) this.hand.drop();
    // one view has one time: where playing stopped is where the hand acts
    if (names.includes("playing") && !this.app.ui.playing && this.app.ui.views === 1 && this.app.state?.mode === "edit") go(this.app, this.app.ui.playhead);
    if (names.includes("wireframe")) for (const pane of this.panes) pane.stage?.mesh(this.app.ui.wireframe);
    if (names.includes("views")) return this.layout.arrange();
    if (names.some((name) => name !== "playhead" && name !== "playing")) return this.all();
    this.wake();
  }

  private themed(): void {
    for (const pane of this.panes) pane.stage?.theme();
    this.all();
  }

  private close(): void {
    this.hand.drop();
    this.show.forget();
    this.strip();
    this.framed = null;
    this.pulse = null;
    this.all();
  }

  private strip(): void {
    for (const pane of this.panes) {
      pane.stage?.dispose();
      pane.stage = null;
    }
  }

  /** Another body: its stages are made anew. */
  private rebuild(): void {
    const { project } = this.app;
    const { model } = this.show;
    this.strip();
    if (project === null || model === null) return;
    const room = this.screen.environment();
    for (const pane of this.panes) {
      pane.stage = new Stage(project, model, room);
      pane.stage.mesh(this.app.ui.wireframe);
      pane.stage.afford(this.screen.pace.quality);
    }
    if (this.app.state) this.show.colour(this.app.state);
    this.all();
  }

  // --- drawing

  private all(): void {
    for (const pane of this.panes) pane.dirty = true;
    this.wake();
  }

  /** Something may look different: the bodies, and what is above them. */
  private wake(): void {
    this.show.refresh();
    if (this.app.project && this.framed !== this.app.project.id && this.figure()?.shown) this.first();
    if (this.visible.some((pane) => pane.dirty)) this.screen.request();
    this.layer.request();
  }

  ink(): void {
    this.layer.request();
  }

  private resized(): void {
    const { clientWidth: width, clientHeight: height } = this.element;
    this.layer.size(width, height);
    this.screen.size(width, height);
  }

  private draw(): void {
    const marks = [composeNow(this, this.selection, this.hand, this.pulse), composeResult(this.app)];
    const far = this.app.project?.size ?? 1;
    this.visible.forEach((pane, i) => {
      const dots = this.layer.within(pane, (context) => inkMarks(context, this.lens(i), marks[i], far));
      if (i === 0) this.hand.dots = dots;
    });
    sayNow(this.chips[0], this.app, this.pulse, this.app.ui.views === 1);
    sayResult(this.chips[1], this.app);
    this.ball.show(this.panes[0].seen);
  }

  private simpler(): void {
    const undo = { text: "Undo", do: () => (this.screen.pace.restore(), this.screen.afford()) };
    const notice = { tone: "warn" as const, title: "Drawing was simplified", text: "Pictures took too long on this machine.", actions: [undo] };
    if (this.screen.pace.level === 1) this.app.toast(notice);
  }

  // --- cameras

  private get radius(): number {
    return (this.app.project?.size ?? 1) / 2;
  }

  private first(): void {
    const project = this.app.project!;
    const { azimuth, elevation, target, distance } = project.camera;
    this.framed = project.id;
    this.eyes.put(0, { ...FIRST, azimuth: azimuth ?? FIRST.azimuth, elevation: elevation ?? FIRST.elevation });
    const box = corners(project.bounds);
    const whole = Math.hypot(...box[7].map((value, i) => value - box[0][i])) <= WHOLE * project.size;
    this.eyes.frame(whole ? box : this.bodyPoints(), this.radius / 10, "once");
    const eye = this.panes[0].eye;
    this.eyes.put(0, { ...eye, target: target ?? eye.target, distance: distance ?? eye.distance });
  }

  private bodyPoints(): Vec3[] {
    const figure = this.figure();
    if (figure === null || !figure.shown) return [];
    const step = Math.max(1, Math.floor(figure.model.count / SOME));
    return Array.from({ length: Math.floor(figure.model.count / step) }, (_, i) => vertexOf(figure.positions, i * step));
  }

  private frameSelection(): void {
    const places = this.selection.chosen.map(({ place }) => place);
    if (places.length > 0) this.eyes.frame(places, this.radius / 3, "slowly");
    else this.eyes.frame(this.bodyPoints(), this.radius / 10, "slowly");
  }

  private zoom(pane: number, at: Pixel, factor: number): void {
    const lens = this.lens(pane);
    const ray = rayAt(lens, ...at);
    const figure = this.panes[pane].stage?.figure;
    const hit = figure?.shown ? pickTriangle(ray, figure.positions, figure.faces)?.point : undefined;
    const forward = rayAt(lens, lens.width / 2, lens.height / 2).direction;
    this.eyes.zoom(pane, factor, hit ?? onPlane(ray, lens.eye.target, forward) ?? lens.eye.target, this.radius);
  }

  // --- what gestures see

  lens(pane: number): Lens {
    const { seen, width, height } = this.panes[pane];
    return { eye: seen, width, height };
  }

  room(pane: number): { left: number; width: number } {
    return this.panes[pane];
  }

  figure(): Stage["figure"] | null {
    return this.panes[0].stage?.figure ?? null;
  }

  frame(): number {
    return this.show.shownFrame;
  }

  placeOf(node: number): Vec3 | null {
    const figure = this.figure();
    const vertex = figure?.shown ? figure.model.vertexOf(node) : null;
    return figure === null || vertex === null ? null : vertexOf(figure.positions, vertex);
  }

  announce(text: string): void {
    this.live.textContent = text;
  }

  expect(nodes: number[]): void {
    this.selection.expect(nodes);
    this.ink();
  }

  settle(place: Vec3 | null): void {
    this.selection.settle(place);
    this.ink();
  }

  /** P: what is under the pointer, else what is selected, else the tool itself. */
  private pin(): void {
    const { touched } = this.hand.hover ?? {};
    if (touched?.near) this.hand.pin([touched.node]);
    else if (this.hand.hover !== null && this.selection.nodes.length > 0) this.hand.pin(this.selection.nodes);
    else this.app.set({ tool: "pin" });
  }

  private hooked(): Hooked {
    return {
      lens: () => this.lens(0),
      box: () => this.element.getBoundingClientRect(),
      vertex: (node) => this.placeOf(node),
      middle: () => this.selection.middle,
      hover: () => this.hand.hover,
      drawn: () => this.screen.drawn,
      applied: () => this.show.applied,
      milliseconds: () => this.screen.milliseconds,
      quality: () => this.screen.pace.level,
      idle: () => this.screen.idle,
    };
  }

  dispose(): void {
    for (const end of this.ends) end();
    for (const part of this.parts) part.dispose?.();
    this.hand.dispose();
    this.layout.dispose();
    this.strip();
    this.screen.dispose();
  }
}
