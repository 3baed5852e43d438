/** DOM helpers: element factories in hyperscript style, and setters that skip unchanged values. */

export type Child = Node | string | number | null | undefined | false | Child[];
type Props = Record<string, unknown>;

/**
 * Create an HTML element. props: `class`, `style` (an object), `data` (an object), `on…` (listeners, event name in
 * lower case), properties such as `value` or `checked`, and attributes: null, undefined and false omit an attribute,
 * true sets it to "".
 */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  props?: Props | null,
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  if (props) applyProps(element, props);
  appendChildren(element, children);
  return element;
}

const SVG_NAMESPACE = "http://www.w3.org/2000/svg";

/** Create an SVG element. */
export function svg<K extends keyof SVGElementTagNameMap>(
  tag: K,
  attributes: Record<string, string | number> = {},
  ...children: Child[]
): SVGElementTagNameMap[K] {
  const element = document.createElementNS(SVG_NAMESPACE, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  appendChildren(element, children);
  return element;
}

/** Replace the children of an element. */
export function setChildren(element: Element, ...children: Child[]): void {
  element.replaceChildren();
  appendChildren(element, children);
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

function applyProps(element: HTMLElement, props: Props): void {
  for (const [name, value] of Object.entries(props)) {
    if (name.startsWith("on") && typeof value === "function") {
      element.addEventListener(name.slice(2), value as EventListener);
    } else if (name === "style") {
      applyStyle(element, value as Record<string, string>);
    } else if (name === "data") {
      Object.assign(element.dataset, value);
    } else if (PROPERTIES.has(name)) {
      if (value !== undefined) Object.assign(element, { [name]: value });
    } else {
      setAttribute(element, name, value);
    }
  }
}

/** Set style properties, custom ones too, by script: the content security policy forbids style attributes. */
function applyStyle(element: HTMLElement, values: Record<string, string>): void {
  for (const [name, value] of Object.entries(values)) {
    if (name.startsWith("--")) element.style.setProperty(name, value);
    else Object.assign(element.style, { [name]: value });
  }
}

/** Set an attribute if it differs; null, undefined and false remove it. */
export function setAttribute(element: Element, name: string, value: unknown): void {
  if (value === null || value === undefined || (value === false && !name.startsWith("aria-")))
    return element.removeAttribute(name);
  const text = value === true && !name.startsWith("aria-") ? "" : String(value);
  if (element.getAttribute(name) !== text) element.setAttribute(name, text);
}

function appendChildren(element: Element, children: Child[]): void {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    if (Array.isArray(child)) appendChildren(element, child);
    else element.append(child instanceof Node ? child : String(child));
  }
}

/** Set the text content if it differs, to avoid needless layout. */
export function setText(element: Element, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}
