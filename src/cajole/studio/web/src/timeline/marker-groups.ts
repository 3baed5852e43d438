/** Grouping of close markers, and label widths between them. No DOM access. */

/** Markers closer than this are grouped [px]. */
const MERGE_DISTANCE = 10;

/** Indices of grouped markers in time order, and the pixel of the first. */
interface MarkerGroup { x: number; members: number[] }

/** Group markers at pixels `xs` (any order) that are within `distance` of the first of a group. */
export function groupMarkers(xs: readonly number[], distance = MERGE_DISTANCE): MarkerGroup[] {
  const order = xs.map((_, i) => i).sort((a, b) => xs[a] - xs[b] || a - b);
  const groups: MarkerGroup[] = [];
  for (const index of order) {
    const last = groups[groups.length - 1];
    if (last && xs[index] - last.x < distance) last.members.push(index);
    else groups.push({ x: xs[index], members: [index] });
  }
  return groups;
}

/** Widths [px] of labels that do not reach the next marker; 0: no label.
 *
 * `xs`: ascending pixels of markers; `from`: start of a label right of its marker; `gap`: before the next marker;
 * `edge`: end of the canvas; `minWidth`: of a label.
 */
export function computeLabelWidths(xs: readonly number[], edge: number, from = 14, gap = 10, minWidth = 18): number[] {
  return xs.map((x, i) => {
    const room = (i + 1 < xs.length ? xs[i + 1] - gap : edge - 4) - (x + from);
    return room >= minWidth ? room : 0;
  });
}

/** Truncate a text with an ellipsis to a width [px]; empty if too short. measure: pixels of a text. */
export function truncateText(text: string, width: number, measure: (text: string) => number): string {
  if (width <= 0) return "";
  if (measure(text) <= width) return text;
  let low = 0;
  let high = text.length;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (measure(`${text.slice(0, middle).trimEnd()}…`) <= width) low = middle;
    else high = middle - 1;
  }
  return low >= 2 ? `${text.slice(0, low).trimEnd()}…` : "";
}
