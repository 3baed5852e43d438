/** Rotary dial with an editable value and a description. */

import { h, svg, setText } from "../../core/dom";
import { clamp } from "../../core/math";
import type { Component } from "../../core/types";
import { isDisabled } from "./common";
import { stepValue, type SliderScale } from "./slider-scale";
import { SyncedValue, type ChangeResult } from "./synced-value";
import { stepByKey } from "./slider";
import { createEditableValue } from "./editable-value";
import { trackPointer } from "./pointer-drag";

interface DialOptions {
  name: string;
  scale: SliderScale;
  value: number;
  defaultValue: number;
  ends: [string, string]; // labels of its two ends
  text: (value: number) => string;
  onChange: (value: number) => ChangeResult;
  tip?: string;
}
interface Dial extends Component { set(value: number): void; setDescription(text: string): void }

const SIZE = 88;
const RADIUS = 39;
const KNOB_RADIUS = 28;
/** Arc of the dial [degrees], open at the bottom. */
const SWEEP = 270;
const START_ANGLE = 135;
/** Pixels of dragging for the whole scale. */
const TRAVEL = 180;
/** Wheel changes are committed after this pause [ms]. */
const WHEEL_DELAY = 160;

export function createDial(options: DialOptions): Dial {
  const { scale } = options;
  let value = options.value;
  const arc = svg("path", { class: "p-dial-arc", d: createArcPath(0) });
  const pointer = svg("line", {
    class: "p-dial-pointer", x1: SIZE / 2, y1: SIZE / 2 - 13, x2: SIZE / 2, y2: SIZE / 2 - 23,
  });
  const drawing = svg("svg", { width: SIZE, height: SIZE, viewBox: `0 0 ${SIZE} ${SIZE}`, "aria-hidden": "true" },
    svg("path", { class: "p-dial-rail", d: createArcPath(1) }),
    arc,
    svg("circle", { class: "p-dial-knob", cx: SIZE / 2, cy: SIZE / 2, r: KNOB_RADIUS }),
    pointer,
  );
  const knob = h("div", {
    class: "p-dial-face", role: "slider", tabIndex: 0, "aria-label": options.name,
    "aria-valuemin": String(scale.min), "aria-valuemax": String(scale.max),
    "data-tip": options.tip,
  }, drawing);
  const face = createEditableValue(value, {
    name: options.name, unit: "", getRange: () => [scale.min, scale.max], text: options.text,
    inputText: (x) => String(x),
    onValue: (next) => commit(next),
  });
  const words = h("p", { class: "p-dial-words" });
  const element = h("div", { class: "p-dial" },
    h("div", { class: "p-dial-left" },
      knob,
      h("div", { class: "p-dial-ends", "aria-hidden": "true" },
        h("span", null, options.ends[0]),
        h("span", null, options.ends[1]),
      ),
    ),
    h("div", { class: "p-dial-right" }, face.element, face.message, words),
  );

  const show = (next: number): void => {
    value = next;
    const share = scale.toFraction(next);
    arc.setAttribute("d", createArcPath(share));
    pointer.setAttribute("transform", `rotate(${START_ANGLE + SWEEP * share - 270} ${SIZE / 2} ${SIZE / 2})`);
    face.set(next);
    knob.setAttribute("aria-valuenow", String(next));
    knob.setAttribute("aria-valuetext", `${options.text(next)}, ${options.ends[share < 0.5 ? 0 : 1]}`);
  };
  const synced = new SyncedValue(value, show);
  const commit = (next: number): void => {
    if (next !== value) synced.change(next, options.onChange);
  };
  // drag up or right to increase; Shift is finer
  knob.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || isDisabled(knob)) return;
    event.preventDefault();
    knob.focus({ preventScroll: true });
    synced.lock();
    const before = value;
    let [share, last] = [scale.toFraction(before), event.clientY - event.clientX];
    trackPointer(knob, event, {
      move: ({ clientX, clientY, shiftKey }) => {
        share = clamp(share + ((last - clientY + clientX) / TRAVEL) * (shiftKey ? 0.1 : 1), 0, 1);
        last = clientY - clientX;
        show(scale.fromFraction(share));
      },
      end: () => synced.release(value === before ? undefined : options.onChange(value)),
      cancel: () => show(before),
    });
  });
  // a wheel notch is an arrow key step; the change is committed after a pause
  let timer = 0;
  const handleWheel = (event: WheelEvent): void => {
    if (isDisabled(knob) || event.ctrlKey || event.deltaY === 0) return;
    event.preventDefault();
    if (timer === 0) synced.lock();
    clearTimeout(timer);
    show(stepValue(scale, value, -Math.sign(event.deltaY)));
    timer = window.setTimeout(() => {
      timer = 0;
      synced.release(options.onChange(value));
    }, WHEEL_DELAY);
  };
  knob.addEventListener("wheel", handleWheel, { passive: false });
  knob.addEventListener("dblclick", () => commit(options.defaultValue));
  knob.addEventListener("keydown", (event) => {
    const next = stepByKey(event, scale, value);
    if (next === null || isDisabled(knob)) return;
    event.preventDefault();
    event.stopPropagation();
    commit(next);
  });
  show(value);
  return { element, set: (next) => synced.receive(next), setDescription: (text) => setText(words, text) };
}

/** SVG path of the arc from the start to a fraction of the scale. */
function createArcPath(share: number): string {
  const at = (degrees: number): string => {
    const angle = (degrees * Math.PI) / 180;
    return `${(SIZE / 2 + RADIUS * Math.cos(angle)).toFixed(2)} ${(SIZE / 2 + RADIUS * Math.sin(angle)).toFixed(2)}`;
  };
  const sweep = Math.max(0.01, SWEEP * share);
  return `M${at(START_ANGLE)}A${RADIUS} ${RADIUS} 0 ${sweep > 180 ? 1 : 0} 1 ${at(START_ANGLE + sweep)}`;
}
