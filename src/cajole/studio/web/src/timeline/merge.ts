/** Markers that stand too close become one with a count; labels take the room that is left. No DOM here. */

/** Markers closer than this become one [px]. */
export const CLOSE = 10;

/** Some markers drawn as one: their indices in order of time, and the pixel of the first. */
export interface Group { x: number; members: number[] }

/** Groups of the markers at pixels `xs` (any order): one joins a group while it is within CLOSE of its first. */
export function merged(xs: readonly number[], close = CLOSE): Group[] {
  const order = xs.map((_, i) => i).sort((a, b) => xs[a] - xs[b] || a - b);
  const groups: Group[] = [];
  for (const index of order) {
    const last = groups[groups.length - 1];
    if (last && xs[index] - last.x < close) last.members.push(index);
    else groups.push({ x: xs[index], members: [index] });
  }
  return groups;
}

/** How wide each label may be so that none reaches the next marker [px]; 0: no room for it.
 *
 * `xs`: ascending pixels of what is drawn; `from`: where a label starts right of its marker; `gap`: kept free before
 * the next marker; `edge`: where the canvas ends; `least`: a shorter piece of a word helps nobody.
 */
export function labelRoom(xs: readonly number[], edge: number, from = 14, gap = 10, least = 18): number[] {
  return xs.map((x, i) => {
    const room = (i + 1 < xs.length ? xs[i + 1] - gap : edge - 4) - (x + from);
    return room >= least ? room : 0;
  });
}

/** A text that fits `room`: whole, cut with an ellipsis, or nothing. `measure`: pixels of a text. */
export function fitted(text: string, room: number, measure: (text: string) => number): string {
  if (room <= 0) return "";
  if (measure(text) <= room) return text;
  let low = 0;
  let high = text.length;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (measure(`${text.slice(0, middle).trimEnd()}…`) <= room) low = middle;
    else high = middle - 1;
  }
  return low >= 2 ? `${text.slice(0, low).trimEnd()}…` : "";
}
