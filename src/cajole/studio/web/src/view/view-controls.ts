/** HTML controls over the views: labels, toolbars, legend, pose buttons, axis gizmo. */

import { h, setAttribute, setChildren, setText } from "../core/dom";
import { formatNumber } from "../core/format";
import { getMode, getModes } from "../core/modes";
import type { App, Component, PulseMessage } from "../core/types";
import { AxisGizmo } from "./axis-gizmo";
import type { CameraPose } from "./camera";
import type { CameraRig } from "./camera-rig";
import { createToolColumn, createViewOptions } from "./toolbars";

/** Label of a view: its role and frame, with a colored dot. */
class ViewLabel {
  private readonly role = h("b");
  private readonly detail = h("span");
  private readonly dot = h("i");
  readonly element = h("div", { class: "view-chip" }, this.dot, this.role, this.detail);

  update(tone: "asked" | "got" | "live", role: string, detail: string): void {
    setAttribute(this.dot, "data-tone", tone);
    setText(this.role, role);
    setText(this.detail, detail);
  }
}

/** Split a server label into role and detail ("Preview · optimising"). */
function splitLabel(label: string): [string, string | undefined] {
  const [role, ...rest] = label.split(" · ");
  return [role, rest.length > 0 ? rest.join(" · ") : undefined];
}

/** Update the label of the first view; frame: the one it shows. */
function updateCurrentLabel(label: ViewLabel, app: App, update: PulseMessage | null, frame: number): void {
  const { state } = app;
  if (!state) return;
  const [role, detail] = splitLabel(state.labels.now);
  if (!getMode(state.mode).live) return label.update("asked", role, detail ?? `frame ${formatNumber(frame)}`);
  label.update(
    "live",
    role,
    detail ?? (update ? `lap ${formatNumber(update.lap)} · frame ${formatNumber(update.frame)}` : `frame ${formatNumber(frame)}`),
  );
}

/** Update the label of the second view. */
function updateResultLabel(label: ViewLabel, app: App): void {
  if (!app.state) return;
  const [role, detail] = splitLabel(app.state.labels.result);
  const frame = formatNumber(Math.floor(app.ui.playhead));
  label.update("got", role, detail ?? (app.ui.playing ? `playing · ${frame}` : `frame ${frame}`));
}

/** Legend of the colors in the current mode. */
function createLegend(app: App): Component {
  const element = h("div", { class: "view-legend" });
  let shown = "";
  const update = (): void => {
    const rows = app.state ? (getMode(app.state.mode).getLegend?.(app) ?? []) : [];
    const text = rows.join();
    if (text === shown) return;
    shown = text;
    element.hidden = rows.length === 0;
    setChildren(element, rows.map(([tone, name]) => h("span", null, h("i", { data: { tone } }), name)));
  };
  app.onState.on(update);
  element.hidden = true;
  update();
  return { element };
}

export class ViewControls {
  private readonly labels = [new ViewLabel(), new ViewLabel()];
  private readonly axisGizmo: AxisGizmo;
  private readonly parts: Component[];

  constructor(private readonly app: App, cameras: CameraRig) {
    const orbit = (dx: number, dy: number): void => cameras.orbit(0, dx, dy);
    this.axisGizmo = new AxisGizmo((azimuth, elevation) => cameras.lookFrom(azimuth, elevation), orbit);
    const linked = (): boolean => cameras.linked;
    this.parts = [
      createToolColumn(app),
      createViewOptions(app, linked, () => cameras.toggleLinked()),
      createLegend(app),
      ...getModes().flatMap((mode) => mode.createViewBar?.(app) ?? []),
    ];
  }

  /** Labels first: CSS places the second one by its order. */
  get elements(): HTMLElement[] {
    return [...this.labels, ...this.parts, this.axisGizmo].map(({ element }) => element);
  }

  /** Update labels and axis gizmo; frame and pose are those of the first view. */
  update(steerUpdate: PulseMessage | null, frame: number, pose: CameraPose): void {
    updateCurrentLabel(this.labels[0], this.app, steerUpdate, frame);
    updateResultLabel(this.labels[1], this.app);
    this.axisGizmo.update(pose);
  }
}
