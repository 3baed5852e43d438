/** The effort dial: from exact to gentle, with one sentence of what it costs. */

import { h, svg, setText } from "../../core/dom";
import type { Component } from "../../core/types";
import { refused } from "./common";
import { stepped, type Scale } from "./scale";
import { Shown, type Told } from "./shown";
import { keyed } from "./slider";
import { typed } from "./typed";

export interface DialOptions {
  name: string;
  scale: Scale;
  value: number;
  usual: number;
  ends: [string, string]; // words under its two ends
  text: (value: number) => string;
  onChange: (value: number) => Told;
  tip?: string;
}
export interface Dial extends Component {
  set(value: number): void;
  consequence(text: string): void;
}

const SIZE = 88;
const RADIUS = 39;
const KNOB = 28;
/** The arc leaves a quarter open, at the bottom. */
const SWEEP = 270;
const FIRST = 135;
/** So many pixels of vertical dragging are the whole scale. */
const TRAVEL = 180;
/** A wheel that is turned is told of once it rests this long [ms]. */
const REST = 160;

export function dial(options: DialOptions): Dial {
  let value = options.value;
  const arc = svg("path", { class: "p-dial-arc", d: path(0) });
  const pointer = svg("line", {
    class: "p-dial-pointer",
    x1: SIZE / 2,
    y1: SIZE / 2 - 13,
    x2: SIZE / 2,
    y2: SIZE / 2 - 23,
  });
  const drawing = svg(
    "svg",
    { width: SIZE, height: SIZE, viewBox: `0 0 ${SIZE} ${SIZE}`, "aria-hidden": "true" },
    svg("path", { class: "p-dial-rail", d: path(1) }),
    arc,
    svg("circle", { class: "p-dial-knob", cx: SIZE / 2, cy: SIZE / 2, r: KNOB }),
    pointer,
  );
  const knob = h(
    "div",
    {
      class: "p-dial-face",
      role: "slider",
      tabIndex: 0,
      "aria-label": options.name,
      "aria-valuemin": String(options.scale.low),
      "aria-valuemax": String(options.scale.high),
      "data-tip": options.tip,
    },
    drawing as unknown as HTMLElement,
  );
  const face = typed(value, {
    name: options.name,
    unit: "",
    low: options.scale.low,
    high: options.scale.high,
    text: options.text,
    plain: (x) => String(x),
    onValue: (next) => tell(next),
  });
  const words = h("p", { class: "p-dial-words" });
  const element = h(
    "div",
    { class: "p-dial" },
    h(
      "div",
      { class: "p-dial-left" },
      knob,
      h(
        "div",
        { class: "p-dial-ends", "aria-hidden": "true" },
        h("span", null, options.ends[0]),
        h("span", null, options.ends[1]),
      ),
    ),
    h("div", { class: "p-dial-right" }, face.element, face.complaint, words),
  );

  const show = (next: number): void => {
    value = next;
    const share = options.scale.share(next);
    arc.setAttribute("d", path(share));
    pointer.setAttribute("transform", `rotate(${FIRST + SWEEP * share - 270} ${SIZE / 2} ${SIZE / 2})`);
    face.set(next);
    knob.setAttribute("aria-valuenow", String(next));
    knob.setAttribute("aria-valuetext", `${options.text(next)}, ${options.ends[share < 0.5 ? 0 : 1]}`);
  };
  const shown = new Shown(value, show);
  const tell = (next: number): void => {
    show(next);
    shown.hold();
    shown.release(options.onChange(next));
  };
  turning(knob, {
    share: () => options.scale.share(value),
    hold: () => {
      shown.hold();
      return value;
    },
    turn: (share) => show(options.scale.value(share)),
    done: (before) => shown.release(value === before ? undefined : options.onChange(value)),
  });
  wheeling(
    knob,
    (notches) => show(stepped(options.scale, value, notches)),
    () => shown.hold(),
    () => shown.release(options.onChange(value)),
  );
  knob.addEventListener("dblclick", () => tell(options.usual));
  knob.addEventListener("keydown", (event) => {
    const next = keyed(event, options.scale, value);
    if (next === null || refused(knob)) return;
    event.preventDefault();
    event.stopPropagation();
    if (next !== value) tell(next);
  });
  show(value);
  return { element, set: (next) => shown.hear(next), consequence: (text) => setText(words, text) };
}

/** The arc from the first end to a share of the scale. */
function path(share: number): string {
  const at = (degrees: number): string => {
    const angle = (degrees * Math.PI) / 180;
    return `${(SIZE / 2 + RADIUS * Math.cos(angle)).toFixed(2)} ${(SIZE / 2 + RADIUS * Math.sin(angle)).toFixed(2)}`;
  };
  const sweep = Math.max(0.01, SWEEP * share);
  return `M${at(FIRST)}A${RADIUS} ${RADIUS} 0 ${sweep > 180 ? 1 : 0} 1 ${at(FIRST + sweep)}`;
}

interface Turned {
  share(): number;
  hold(): number;
  turn(share: number): void;
  done(before: number): void;
}

/** Up is more; shift is finer; Escape puts back. */
function turning(knob: HTMLElement, hand: Turned): void {
  knob.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || refused(knob)) return;
    event.preventDefault();
    knob.setPointerCapture(event.pointerId);
    knob.focus({ preventScroll: true });
    const before = hand.hold();
    const first = hand.share();
    let [share, last] = [first, event.clientY - event.clientX];
    const end = new AbortController();
    const on = { signal: end.signal };
    knob.addEventListener(
      "pointermove",
      (move) => {
        const now = move.clientY - move.clientX;
        share = Math.min(1, Math.max(0, share + ((last - now) / TRAVEL) * (move.shiftKey ? 0.1 : 1)));
        last = now;
        hand.turn(share);
      },
      on,
    );
    knob.addEventListener(
      "keydown",
      (key) => {
        if (key.key !== "Escape") return;
        key.stopPropagation();
        hand.turn(first);
        knob.releasePointerCapture(event.pointerId);
      },
      on,
    );
    knob.addEventListener(
      "lostpointercapture",
      () => {
        end.abort();
        hand.done(before);
      },
      on,
    );
  });
}

/** One notch is one step of an arrow key; what it came to is told once it rests. */
function wheeling(knob: HTMLElement, turn: (notches: number) => void, hold: () => void, rest: () => void): void {
  let timer = 0;
  knob.addEventListener(
    "wheel",
    (event) => {
      if (refused(knob) || event.ctrlKey || event.deltaY === 0) return;
      event.preventDefault();
      if (timer === 0) hold();
      clearTimeout(timer);
      turn(-Math.sign(event.deltaY));
      timer = window.setTimeout(() => {
        timer = 0;
        rest();
      }, REST);
    },
    { passive: false },
  );
}
