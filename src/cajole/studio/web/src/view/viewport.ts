/** The views: bodies drawn by the graphics card, and above them what the hand works with. */

import "../style/view.css";
import { onBrush } from "../core/brush";
import { registerHandler } from "../core/commands";
import { h } from "../core/dom";
import { frameCache } from "../core/frame-cache";
import { seek, onSeek } from "../core/playback";
import { onViewLayout, type WeightedPoint, provideViewPoints } from "../core/view-points";
import type { App, Component, SteerUpdate, Vec3 } from "../core/types";
import { isDragMode } from "../core/targets";
import { Again } from "./again";
import type { Lens } from "./camera";
import { composeNow, composeResult } from "./compose";
import { Eyes } from "./eyes";
import { Framing } from "./framing";
import type { Sight } from "./gesture";
import { Hand } from "./hand";
import { type Hooked, hang } from "./hooking";
import { Layer } from "./layer";
import { Layout } from "./layout";
import { inkMarks } from "./marks";
import { emptyPane, type Pane, Screen } from "./screen";
import { Rim } from "./rim";
import { centreOf } from "./room";
import { Selection } from "./selection";
import { Show } from "./show";
import { tellSimpler } from "./simpler";
import { spotsOf } from "./spots";
import type { Figure } from "./figure";
import { Tag } from "./tag";
import { vertexOf } from "./vec";

export function viewport(app: App): Component {
  const view = new Viewport(app);
  return { element: view.element, dispose: () => view.dispose() };
}

class Viewport implements Sight {
  readonly tag = new Tag();
  private readonly panes: [Pane, Pane] = [emptyPane(), emptyPane()];
  private readonly live = h("div", { class: "hidden-text", role: "status", "aria-live": "polite" });
  private readonly layout: Layout;
  private readonly layer: Layer;
  private readonly screen: Screen;
  private readonly eyes: Eyes;
  private readonly framing: Framing;
  private readonly show: Show;
  private readonly selection: Selection;
  private readonly hand: Hand;
  private readonly rim: Rim;
  private readonly ends: (() => void)[];
  private pulse: SteerUpdate | null = null;
  private readonly again = new Again(() => this.wake());

  constructor(readonly app: App) {
    this.layout = new Layout(app, this.panes, () => this.resized());
    this.layer = new Layer(() => this.draw());
    const canvas = h("canvas", { class: "view-canvas", "aria-hidden": "true" });
    this.screen = new Screen(canvas, () => this.visible, {
      prepare: () => this.look(),
      drew: () => this.layer.now(),
      simpler: () => this.simpler(),
    });
    this.eyes = new Eyes(this.panes, () => this.wake());
    this.framing = new Framing(app, this.panes, this.eyes, () => onViewLayout.emit());
    this.show = new Show(app, this.panes);
    this.selection = new Selection(app, (node) => this.placeOf(node));
    this.hand = new Hand(
      this.layout.surface,
      this,
      this.selection,
      {
        orbit: (pane, dx, dy) => this.eyes.orbit(pane, dx, dy),
        pan: (pane, dx, dy) => this.eyes.pan(pane, dx, dy),
        zoom: (pane, at, factor) => this.framing.zoom(pane, this.lens(pane), at, factor),
      },
      (event) => this.layout.locate(event),
    );
    this.rim = new Rim(app, this.eyes);
    this.layout.fill([canvas, this.layer.canvas], [...this.rim.elements, this.tag.element, this.live]);
    const spots = (): WeightedPoint[] => spotsOf(app, this.visible, this.element, this.selection);
    this.ends = [...this.listen(), ...this.commands(), hang(this.hooked()), provideViewPoints(spots)];
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
      frameCache.onArrive.on(() => this.wake()),
      onSeek.on(() => this.wake()),
      onBrush(() => this.recolour()),
    ];
  }

  private commands(): (() => void)[] {
    return [
      registerHandler("view.all", () => this.framing.all()),
      registerHandler("view.selection", () => this.framing.selected(this.selection.chosen.map(({ place }) => place))),
      registerHandler("view.front", () => this.eyes.look(-90, 0)),
      registerHandler("view.right", () => this.eyes.look(0, 0)),
      registerHandler("view.top", () => this.eyes.look(-90, 89)),
      registerHandler("tool.pin", () => this.hand.pinHere()),
    ];
  }

  // --- what came

  private heard(): void {
    this.again.afresh();
    this.show.heard();
    this.selection.heard();
    this.wake();
  }

  private pulsed(pulse: SteerUpdate): void {
    this.pulse = pulse;
    this.hand.gesture?.pulse?.(pulse);
    this.wake();
  }

  private changed(names: string[]): void {
    if (names.includes("pilot") && !this.app.ui.pilot) this.hand.drop();
    // one view has one time: where playing stopped is where the hand acts
    if (names.includes("playing") && !this.app.ui.playing && this.app.ui.views === 1 && isDragMode(this.app.state))
      seek(this.app, this.app.ui.playhead);
    if (names.includes("wireframe")) for (const pane of this.panes) pane.stage?.mesh(this.app.ui.wireframe);
    if (names.includes("views")) {
      this.layout.arrange();
      return this.screen.afford(); // a view that was hidden may have missed a change of it
    }
    if (names.includes("tool")) return this.recolour(); // regions have their colours while they are painted
    if (names.some((name) => name !== "playhead" && name !== "playing")) return this.all();
    this.wake();
  }

  private themed(): void {
    for (const pane of this.panes) pane.stage?.theme();
    this.recolour();
  }

  private close(): void {
    this.hand.drop();
    this.show.forget();
    this.framing.forget();
    this.pulse = null;
    this.all();
  }

  /** Another body: its stages are made anew. */
  private rebuild(): void {
    const { quality } = this.screen.pace;
    this.show.build(quality.rich ? this.screen.environment() : null, quality);
    this.all();
  }

  // --- drawing

  private all(): void {
    for (const pane of this.panes) pane.dirty = true;
    this.wake();
  }

  /** Something may look different: the bodies, and what is above them. */
  private wake(): void {
    this.look();
    if (this.visible.some((pane) => pane.dirty)) this.screen.request();
    this.layer.request();
    this.again.wanted(this.show.lacking);
  }

  /** Gives the views what they show, and frames a body that is new before a picture is made of it. */
  private look(): void {
    this.show.refresh();
    this.framing.first(this.show.shownFrame);
  }

  private resized(): void {
    const { clientWidth: width, clientHeight: height } = this.element;
    this.layer.size(width, height);
    this.screen.size(width, height);
    this.framing.resized();
    onViewLayout.emit();
  }

  private draw(): void {
    const marks = [composeNow(this, this.selection, this.hand, this.pulse), composeResult(this)];
    this.hand.brush.mark(marks, this.hand.gesture);
    const far = this.app.project?.size ?? 1;
    this.visible.forEach((pane, i) => {
      const dots = this.layer.within(pane, (context) => inkMarks(context, this.lens(i), marks[i], far));
      if (i === 0) this.hand.dots = dots;
    });
    this.rim.say(this.pulse, this.show.shownFrame, this.panes[0].seen);
  }

  private simpler(): void {
    const restore = (): void => (this.screen.pace.restore(), this.screen.afford());
    if (this.screen.pace.level === 1) tellSimpler(this.app, restore);
  }

  // --- what gestures see

  lens(pane: number): Lens {
    const { seen, width, height } = this.panes[pane];
    return { eye: seen, width, height, middle: centreOf(this.panes[pane]) };
  }

  room(pane: number): { left: number; width: number } {
    return this.panes[pane];
  }

  figure(): Figure | null {
    return this.figureIn(0);
  }

  figureIn(pane: number): Figure | null {
    return this.panes[pane].stage?.figure ?? null;
  }

  ink(): void {
    this.layer.request();
  }

  recolour(): void {
    if (this.app.state) this.show.colour(this.app.state);
    this.all();
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

  private hooked(): Hooked {
    return {
      lens: () => this.lens(0),
      box: () => this.element.getBoundingClientRect(),
      vertex: (node) => this.placeOf(node),
      middle: () => this.selection.middle,
      hover: () => this.hand.hover,
      drawn: () => this.screen.drawn,
      applied: () => this.show.applied,
      fps: () => this.screen.fps,
      quality: () => this.screen.pace.level,
      idle: () => this.screen.idle,
    };
  }

  dispose(): void {
    this.again.dispose();
    for (const end of this.ends) end();
    this.rim.dispose();
    this.hand.dispose();
    this.layout.dispose();
    this.show.forget();
    this.screen.dispose();
  }
}
