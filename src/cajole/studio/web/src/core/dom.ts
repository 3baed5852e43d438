/** Elements without a framework. */

export type Child = Node | string | number | null | undefined | false | Child[];
export type Props = Record<string, unknown>;

/**
 * An element. props: `class`, `style` (an object), `data` (an object), `on…` (listeners, by the event's name in lower
 * case), properties such as `value` or `checked`, and attributes: null, undefined and false leave one out, true sets it
 * empty.
 */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  props?: Props | null,
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  if (props) apply(element, props);
  append(element, children);
  return element;
}

const SVG = "http://www.w3.org/2000/svg";

/** An element of a drawing. */
export function s<K extends keyof SVGElementTagNameMap>(
  tag: K,
  attributes: Record<string, string | number> = {},
  ...children: Child[]
): SVGElementTagNameMap[K] {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  append(element, children);
  return element;
}

/** What an element holds, anew. */
export function fill(element: Element, ...children: Child[]): void {
  element.replaceChildren();
  append(element, children);
}

const PROPERTIES = new Set([
  "value",
  "checked",
  "disabled",
  "hidden",
  "tabIndex",
  "textContent",
  "className",
  "selected",
]);

function apply(element: HTMLElement, props: Props): void {
  for (const [name, value] of Object.entries(props)) {
    if (name.startsWith("on") && typeof value === "function") {
      element.addEventListener(name.slice(2), value as EventListener);
    } else if (name === "style") {
      style(element, value as Record<string, string>);
    } else if (name === "data") {
      Object.assign(element.dataset, value);
    } else if (PROPERTIES.has(name)) {
      if (value !== undefined) Object.assign(element, { [name]: value });
    } else {
      attribute(element, name, value);
    }
  }
}

/** Sets properties of the style by script, which the page's content policy allows, custom ones too. */
function style(element: HTMLElement, values: Record<string, string>): void {
  for (const [name, value] of Object.entries(values)) {
    if (name.startsWith("--")) element.style.setProperty(name, value);
    else Object.assign(element.style, { [name]: value });
  }
}

/** An attribute that is absent when its value is null, undefined or false; one that is so already is left alone. */
export function attribute(element: Element, name: string, value: unknown): void {
  if (value === null || value === undefined || (value === false && !name.startsWith("aria-")))
    return element.removeAttribute(name);
  const text = value === true && !name.startsWith("aria-") ? "" : String(value);
  if (element.getAttribute(name) !== text) element.setAttribute(name, text);
}

function append(element: Element, children: Child[]): void {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    if (Array.isArray(child)) append(element, child);
    else element.append(child instanceof Node ? child : String(child));
  }
}

/** Writes a text only when it differs, so that nothing is laid out for nothing. */
export function write(element: Element, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}
