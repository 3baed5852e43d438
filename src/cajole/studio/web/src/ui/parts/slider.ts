/** A slider with its value at its right: drag, arrows, double click for the default, or press the value and type. */

import { h } from "../../core/dom";
import type { Component, Tone } from "../../core/types";
import { refuse, refused } from "./common";
import { stepped, type Scale } from "./scale";
import { Shown, type Told } from "./shown";
import { typed } from "./typed";

export interface SliderOptions {
  name: string;
  scale: Scale;
  value: number;
  usual?: number; // the default: a tick, and where a double click goes
  tone?: Tone;
  unit?: string; // that typed numbers are in
  text: (value: number) => string;
  plain?: (value: number) => string;
  /** While the hand is on it; leave out where a change takes long. */
  onInput?: (value: number) => Told;
  /** When the hand lets go. */
  onChange: (value: number) => Told;
  tip?: string;
}
export interface Slider extends Component {
  /** The server's word; waits while the hand is on the slider. */
  set(value: number): void;
  scale(next: Scale, usual?: number): void;
  refuse(why: string | null): void;
}

/** Shift makes the hand this much finer. */
const FINE = 0.1;

export function slider(options: SliderOptions): Slider {
  let scale = options.scale;
  let usual = options.usual;
  let value = options.value;
  const tick = h("span", { class: "p-tick" });
  const track = h("span", { class: "p-track" }, h("span", { class: "p-fill" }), tick, h("span", { class: "p-thumb" }));
  const grip = h(
    "div",
    { class: "p-grip", role: "slider", tabIndex: 0, "aria-label": options.name, "data-tip": options.tip },
    track,
  );
  const face = typed(value, {
    name: options.name,
    unit: options.unit ?? "",
    get low() {
      return scale.low;
    },
    get high() {
      return scale.high;
    },
    text: options.text,
    plain: options.plain ?? String,
    onValue: (next) => tell(next, true),
  });
  const element = h("div", { class: "p-slider" }, grip, face.element, face.complaint);
  element.style.setProperty("--tone", `var(--${options.tone ?? "asked"})`);

  const show = (next: number): void => {
    value = next;
    face.set(next);
    grip.style.setProperty("--share", String(scale.share(next)));
    grip.setAttribute("aria-valuenow", String(next));
    grip.setAttribute("aria-valuetext", options.text(next));
  };
  const shown = new Shown(value, show);
  const measure = (): void => {
    grip.setAttribute("aria-valuemin", String(scale.low));
    grip.setAttribute("aria-valuemax", String(scale.high));
    tick.hidden = usual === undefined;
    if (usual !== undefined) tick.style.setProperty("--share", String(scale.share(usual)));
    show(value);
  };
  /** Says a new value, and keeps it in sight until it is answered. */
  const tell = (next: number, final: boolean): void => {
    show(next);
    shown.hold();
    shown.release((final ? options.onChange : options.onInput)?.(next));
  };
  const reset = (): void => {
    if (usual !== undefined && usual !== value) tell(usual, true);
  };
  dragging(grip, {
    value: () => value,
    scale: () => scale,
    hold: () => shown.hold(),
    input: (next) => {
      if (next === value) return;
      if (options.onInput) tell(next, false);
      else show(next);
    },
    done: (before) => {
      shown.release(value === before ? undefined : options.onChange(value));
    },
  });
  grip.addEventListener("dblclick", reset);
  grip.addEventListener("keydown", (event) => {
    const next = keyed(event, scale, value);
    if (next === null || refused(grip)) return;
    event.preventDefault();
    event.stopPropagation();
    if (next !== value) tell(next, true);
  });
  measure();
  return {
    element,
    set: (next) => shown.hear(next),
    scale: (next, start) => {
      if (next.low === scale.low && next.high === scale.high && start === usual) return;
      [scale, usual] = [next, start];
      measure();
    },
    refuse: (why) => {
      refuse(grip, why);
      refuse(face.element, why);
      grip.tabIndex = why === null ? 0 : -1;
    },
  };
}

/** What a key on a slider or dial means, null when nothing. */
export function keyed(event: KeyboardEvent, scale: Scale, value: number): number | null {
  if (event.ctrlKey || event.metaKey || event.altKey) return null;
  const fine = event.shiftKey ? 0.2 : 1;
  switch (event.key) {
    case "ArrowRight":
    case "ArrowUp":
      return stepped(scale, value, fine);
    case "ArrowLeft":
    case "ArrowDown":
      return stepped(scale, value, -fine);
    case "PageUp":
      return stepped(scale, value, 10);
    case "PageDown":
      return stepped(scale, value, -10);
    case "Home":
      return scale.value(0);
    case "End":
      return scale.value(1);
    default:
      return null;
  }
}

interface Dragged {
  value(): number;
  scale(): Scale;
  hold(): void;
  input(value: number): void;
  done(before: number): void;
}

/** Moves the value with the pointer: from where the thumb is when it is taken, else from where the track is pressed. */
function dragging(grip: HTMLElement, hand: Dragged): void {
  grip.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || refused(grip)) return;
    const before = hand.value();
    const box = grip.querySelector(".p-track")!.getBoundingClientRect();
    const width = Math.max(1, box.width);
    const pressed = (event.clientX - box.left) / width;
    const held = hand.scale().share(before);
    let share = Math.abs(pressed - held) * width <= THUMB ? held : pressed;
    let last = event.clientX;
    grip.setPointerCapture(event.pointerId);
    grip.focus({ preventScroll: true });
    hand.hold();
    grip.toggleAttribute("data-held", true);
    hand.input(share === held ? before : hand.scale().value(share));
    const end = new AbortController();
    const finish = (): void => {
      end.abort();
      grip.removeAttribute("data-held");
      hand.done(before);
    };
    const on = { signal: end.signal };
    grip.addEventListener(
      "pointermove",
      (move) => {
        if (move.clientX === last) return;
        share += ((move.clientX - last) / width) * (move.shiftKey ? FINE : 1);
        last = move.clientX;
        hand.input(hand.scale().value(share));
      },
      on,
    );
    grip.addEventListener("lostpointercapture", finish, on);
    grip.addEventListener(
      "keydown",
      (key) => {
        if (key.key !== "Escape") return;
        key.stopPropagation();
        hand.input(before);
        grip.releasePointerCapture(event.pointerId);
      },
      on,
    );
  });
}

/** Half the thumb and a little more [px]. */
const THUMB = 9;
