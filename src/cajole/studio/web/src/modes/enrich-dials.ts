/** Rows of Enrich: each sets one number or word of the shell, and all of them in one message of the server. */

import type { EnrichDials, EnrichState } from "../core/enrich-types";
import type { App, Component } from "../core/types";
import { type Choice, type SegmentedControl, createSegmentedControl, createSwitch } from "../ui/controls/choice";
import { createRow } from "../ui/controls/common";
import type { SliderScale } from "../ui/controls/slider-scale";
import { createSlider } from "../ui/controls/slider";
import { live, once } from "./mode-panel";

/** A part of the panel that goes by the state of this mode. */
export interface EnrichPart extends Component {
  update(part: EnrichState): void;
}

type Of<T> = { [K in keyof EnrichDials]: EnrichDials[K] extends T ? K : never }[keyof EnrichDials];
type Words = Exclude<Of<string>, "material">;

export interface DialOptions {
  name: Of<number>;
  title: string;
  scale: SliderScale;
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
  const part = createSlider({
    name: title,
    value: scale.min,
    scale,
    text,
    tip,
    inputText: (value) => String(Number(value.toPrecision(4))),
    onInput: say,
    onChange: say,
    ...(options.unit ? { unit: options.unit } : {}),
    ...(options.usual === undefined ? {} : { defaultValue: options.usual * factor }),
  });
  const { element } = createRow(title, part.element);
  return {
    element,
    update: (dials) => part.set(dials[name] * factor),
    show: (on) => void (element.hidden = !on),
  };
}

/** A row with a switch for what is so or not. */
export function switchLine(app: App, name: Of<boolean>, title: string, says: string, tip: string): DialLine {
  const part = createSwitch({ name: says, value: false, tip, onChange: once(app, "cloth", name) });
  const { element } = createRow(title, part.element);
  return { element, update: (dials) => part.set(dials[name]), show: (on) => void (element.hidden = !on) };
}

/** A choice of a few words, the first of them until the server says which. */
export function wordChoice<K extends Words>(
  app: App,
  name: K,
  title: string,
  choices: readonly Choice<EnrichDials[K]>[],
): SegmentedControl<EnrichDials[K]> {
  return createSegmentedControl({ name: title, value: choices[0]!.value, choices, onChange: once(app, "cloth", name) });
}
