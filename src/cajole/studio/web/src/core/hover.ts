/** Hovered vertex, shared between panel and views: each highlights what the pointer is over in the other. */

type HoverSource = "panel" | "view";
interface Hover { node: number | null; from: HoverSource }

/** Custom event of the window; node is null when the pointer has left. */
const HOVER_EVENT = "cajole-hover";

/** Announce the hovered vertex; from: where the pointer is. */
export function emitHover(node: number | null, from: HoverSource): void {
  window.dispatchEvent(new CustomEvent<Hover>(HOVER_EVENT, { detail: { node, from } }));
}

/** Subscribe to vertices hovered elsewhere; source: events from there are ignored. Returns the unsubscribe function. */
export function onHover(source: HoverSource, listener: (node: number | null) => void): () => void {
  const handle = (event: Event): void => {
    const { node, from } = (event as CustomEvent<Hover>).detail;
    if (from !== source) listener(node);
  };
  window.addEventListener(HOVER_EVENT, handle);
  return () => window.removeEventListener(HOVER_EVENT, handle);
}
