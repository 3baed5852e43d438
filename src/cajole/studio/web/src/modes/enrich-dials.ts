/** Sliders of Enrich: each sets one number of the shell, live, and all of them in one message of the server. */

import type { App, EnrichDials, EnrichState, Part } from "../core/types";
import { row } from "../ui/parts/common";
import type { Scale } from "../ui/parts/scale";
import { slider } from "../ui/parts/slider";
import { live } from "./mode-panel";

/** A part of the panel that goes by the state of this mode. */
export interface EnrichPart extends Part {
  update(part: EnrichState): void;
}

type Numbers = { [K in keyof EnrichDials]: EnrichDials[K] extends number ? K : never }[keyof EnrichDials];

export interface DialOptions {
  name: Numbers;
  title: string;
  scale: Scale;
  text: (value: number) => string;
  tip: string;
  unit?: string;
  factor?: number; // what is typed and shown, for each of the server's units
  usual?: number; // in the server's units
}

export interface DialLine {
  element: HTMLElement;
  update(dials: EnrichDials): void;
  show(on: boolean): void;
}

/** A row with a slider for one number. */
export function dialLine(app: App, options: DialOptions): DialLine {
  const { name, title, scale, text, tip, factor = 1 } = options;
  const send = live(app, "cloth", name);
  const say = (value: number): Promise<unknown> => send(value / factor);
  const part = slider({
    name: title,
    value: scale.low,
    scale,
    text,
    tip,
    plain: (value) => String(Number(value.toPrecision(4))),
    onInput: say,
    onChange: say,
    ...(options.unit ? { unit: options.unit } : {}),
    ...(options.usual === undefined ? {} : { usual: options.usual * factor }),
  });
  const { element } = row(title, part.element);
  return {
    element,
    update: (dials) => part.set(dials[name] * factor),
    show: (on) => void (element.hidden = !on),
  };
}
