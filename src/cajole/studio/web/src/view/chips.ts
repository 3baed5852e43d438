/** Words at the rim of a view: what it shows, what colours mean, and the two buttons of a pose. */

import { getShortcut } from "../core/commands";
import { setAttribute, setChildren, h, setText } from "../core/dom";
import { formatNumber } from "../core/format";
import { createIcon } from "../core/icons";
import { getEditFrame } from "../core/playback";
import type { App, Component, SteerUpdate, Tone } from "../core/types";

/** A view's role and what it is at; the dot has the colour of what it shows. */
export class Chip {
  private readonly role = h("b");
  private readonly now = h("span");
  private readonly dot = h("i");
  readonly element = h("div", { class: "view-chip" }, this.dot, this.role, this.now);

  say(tone: "asked" | "got" | "live", role: string, now: string): void {
    setAttribute(this.dot, "data-tone", tone);
    setText(this.role, role);
    setText(this.now, now);
  }
}

/** A label of the server: the view's role, and what it is at where the server says so ("Preview · optimising"). */
function parted(label: string): [string, string | undefined] {
  const [role, ...rest] = label.split(" · ");
  return [role, rest.length > 0 ? rest.join(" · ") : undefined];
}

/** What the first view is at; frame: the one that it shows. */
export function sayNow(chip: Chip, app: App, pulse: SteerUpdate | null, frame: number): void {
  const { state } = app;
  if (!state) return;
  const [role, told] = parted(state.labels.now);
  if (state.mode !== "steer") return chip.say("asked", role, told ?? `frame ${formatNumber(frame)}`);
  chip.say(
    "live",
    role,
    told ?? (pulse ? `lap ${formatNumber(pulse.lap)} · frame ${formatNumber(pulse.frame)}` : `frame ${formatNumber(frame)}`),
  );
}

/** What the second view is at. */
export function sayResult(chip: Chip, app: App): void {
  if (!app.state) return;
  const [role, told] = parted(app.state.labels.result);
  const frame = formatNumber(Math.floor(app.ui.playhead));
  chip.say("got", role, told ?? (app.ui.playing ? `playing · ${frame}` : `frame ${frame}`));
}

const MEANING: Record<string, (app: App) => [Tone | "err", string][]> = {
  edit: () => [
    ["given", "Input"],
    ["got", "Output"],
    ["asked", "Asked"],
  ],
  keyframe: () => [],
  enrich: (app) => [
    ["given", "Guide"],
    ["got", "Shell"],
    ...(app.state?.enrich?.crossed.shell.length ? [["err", "Passes through itself"] as [Tone | "err", string]] : []),
  ],
  steer: (app) => [
    ["given", app.state?.steer?.ghost === "uncontrolled" ? "No control" : "Reference"],
    ["got", app.project?.field ? "Particles" : "Live body"],
    ["world", "Your push"],
    ["added", "Control force"],
  ],
};

/** What the colours mean in this mode. */
export function legend(app: App): Component {
  const element = h("div", { class: "view-legend" });
  let shown = "";
  const update = (): void => {
    const rows = app.state ? (MEANING[app.state.mode]?.(app) ?? []) : [];
    const text = rows.join();
    if (text === shown) return;
    shown = text;
    element.hidden = rows.length === 0;
    setChildren(
      element,
      rows.map(([tone, name]) => h("span", null, h("i", { data: { tone } }), name)),
    );
  };
  const end = app.onState.on(update);
  element.hidden = true;
  update();
  return { element, dispose: end };
}

/** Keyframe: capture the pose that is seen, or go back to rest. */
export function poseBar(app: App): Component {
  const words = h("span");
  const capture = h(
    "button",
    { type: "button", class: "view-capture", onclick: () => app.runCommand("key.capture") },
    createIcon("key"),
    words,
    h("kbd", { "aria-hidden": "true" }, getShortcut("key.capture") ?? ""),
  );
  const reset = h(
    "button",
    { type: "button", class: "view-reset", onclick: () => app.runCommand("pose.reset") },
    "Reset pose",
  );
  const element = h("div", { class: "view-pose" }, capture, reset);
  const update = (): void => {
    element.hidden = app.state?.mode !== "keyframe";
    setText(words, `Capture key at ${formatNumber(getEditFrame(app))}`);
  };
  const end = app.onState.on(update);
  update();
  return { element, dispose: end };
}
