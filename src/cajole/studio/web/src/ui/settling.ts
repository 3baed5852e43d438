/** Puts a card over the views where it covers the bodies least, and makes it small where it covers them anyhow. */

import { getViewPoints } from "../core/view-points";
import { type Box, covered, roomiest } from "./placing";

const RIM = 12; // px between a card and the edge of a view, …
const BESIDE = 68; // … where the tool column stands, …
const [HEAD, FOOT] = [52, 46]; // … and above and below, where chips and legends are
const SOLID =
  ".view-chip, .view-tools, .view-options, .view-legend, .view-pose button, .view-ball, .banner, .strip, .toast";

/** A card in the element that holds the views; data-small: its small form. */
export function settle(card: HTMLElement): void {
  const views = card.parentElement;
  if (card.hidden || !views) return;
  const { left, top } = views.getBoundingClientRect();
  const { offsetWidth: width, offsetHeight: height } = card;
  // not by its own box, which moves while it appears
  const here: Box = { left: left + card.offsetLeft, top: top + card.offsetTop, width, height };
  const before = card.style.left === "" ? null : here;
  card.removeAttribute("data-small");
  if (put(card, views, before) === 0) return;
  card.dataset["small"] = "";
  put(card, views, before);
}

/** Puts it in a corner of a view, clear of what else lies there; says what it covers. */
function put(card: HTMLElement, views: HTMLElement, before: Box | null): number {
  const area = views.getBoundingClientRect();
  const size = { width: card.offsetWidth, height: card.offsetHeight };
  const places = boxes(views, ".view-pane").flatMap((pane, i) => corners(pane, size, i === 0));
  if (places.length === 0) return 0;
  // one of another size would reach elsewhere, and a view may have become smaller
  const fits = before?.width === size.width && before.height === size.height && within(before, area);
  const now = fits ? before : null;
  const [spots, solid] = [getViewPoints(), boxes(views, SOLID)];
  const place = roomiest(places, now, spots, solid);
  card.style.left = `${place.left - area.left}px`;
  card.style.top = `${place.top - area.top}px`;
  return covered(place, spots, solid);
}

/** Where in a view a card may be. */
function corners(pane: Box, size: { width: number; height: number }, tools: boolean): Box[] {
  const across = [pane.left + (tools ? BESIDE : RIM), pane.left + pane.width - RIM - size.width];
  const down = [pane.top + HEAD, pane.top + pane.height - FOOT - size.height];
  return across.flatMap((left) => down.map((top) => ({ left, top, ...size })));
}

const within = (box: Box, area: DOMRect): boolean =>
  box.left + box.width <= area.right && box.top + box.height <= area.bottom;

/** Those of some elements that are seen. */
function boxes(views: HTMLElement, which: string): DOMRect[] {
  return [...views.querySelectorAll(which)]
    .map((each) => each.getBoundingClientRect())
    .filter(({ width }) => width > 0);
}
