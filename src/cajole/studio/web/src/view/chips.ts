/** Words at the rim of a view: what it shows, what colours mean, and the two buttons of a pose. */

import { keyOf } from "../core/commands";
import { attribute, fill, h, write } from "../core/dom";
import { number } from "../core/format";
import { icon } from "../core/icons";
import { present } from "../core/playing";
import type { App, Part, Pulse, Tone } from "../core/types";

/** A view's role and what it is at; the dot has the colour of what it shows. */
export class Chip {
  private readonly role = h("b");
  private readonly now = h("span");
  private readonly dot = h("i");
  readonly element = h("div", { class: "view-chip" }, this.dot, this.role, this.now);

  say(tone: "asked" | "got" | "live", role: string, now: string): void {
    attribute(this.dot, "data-tone", tone);
    write(this.role, role);
    write(this.now, now);
  }
}

/** A label of the server: the view's role, and what it is at where the server says so ("Preview · optimising"). */
function parted(label: string): [string, string | undefined] {
  const [role, ...rest] = label.split(" · ");
  return [role, rest.length > 0 ? rest.join(" · ") : undefined];
}

/** What the first view is at; frame: the one that it shows. */
export function sayNow(chip: Chip, app: App, pulse: Pulse | null, frame: number): void {
  const { state } = app;
  if (!state) return;
  const [role, told] = parted(state.labels.now);
  if (state.mode !== "steer") return chip.say("asked", role, told ?? `frame ${number(frame)}`);
  chip.say(
    "live",
    role,
    told ?? (pulse ? `lap ${number(pulse.lap)} · frame ${number(pulse.frame)}` : `frame ${number(frame)}`),
  );
}

/** What the second view is at. */
export function sayResult(chip: Chip, app: App): void {
  if (!app.state) return;
  const [role, told] = parted(app.state.labels.result);
  const frame = number(Math.floor(app.ui.playhead));
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
export function legend(app: App): Part {
  const element = h("div", { class: "view-legend" });
  let shown = "";
  const update = (): void => {
    const rows = app.state ? (MEANING[app.state.mode]?.(app) ?? []) : [];
    const text = rows.join();
    if (text === shown) return;
    shown = text;
    element.hidden = rows.length === 0;
    fill(
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
export function poseBar(app: App): Part {
  const words = h("span");
  const capture = h(
    "button",
    { type: "button", class: "view-capture", onclick: () => app.run("key.capture") },
    icon("key"),
    words,
    h("kbd", { "aria-hidden": "true" }, keyOf("key.capture") ?? ""),
  );
  const reset = h(
    "button",
    { type: "button", class: "view-reset", onclick: () => app.run("pose.reset") },
    "Reset pose",
  );
  const element = h("div", { class: "view-pose" }, capture, reset);
  const update = (): void => {
    element.hidden = app.state?.mode !== "keyframe";
    write(words, `Capture key at ${number(present(app))}`);
  };
  const end = app.onState.on(update);
  update();
  return { element, dispose: end };
}
