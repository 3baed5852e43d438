/** Which point of the body is looked at: rows of the panel and discs of the views show each other's. */

export type Where = "panel" | "view";
interface Hover {
  node: number | null;
  from: Where;
}

/** Told to the window while the pointer is over a point somewhere; node null when it has left. */
const HOVER = "cajole-hover";

/** Say which point is looked at; from: who says so. */
export function sayHover(node: number | null, from: Where): void {
  window.dispatchEvent(new CustomEvent<Hover>(HOVER, { detail: { node, from } }));
}

/** Hear which point is looked at elsewhere; here: who hears. Returns what ends it. */
export function onHover(here: Where, hear: (node: number | null) => void): () => void {
  const listen = (event: Event): void => {
    const { node, from } = (event as CustomEvent<Hover>).detail;
    if (from !== here) hear(node);
  };
  window.addEventListener(HOVER, listen);
  return () => window.removeEventListener(HOVER, listen);
}
