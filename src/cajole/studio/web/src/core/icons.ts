/** Icons on a 16 px grid: strokes of 1.5 px with round caps in the text color. */

import { svg } from "./dom";

/** Paths by name. "dot:" draws a disc x y r, "fill:" fills a path, "thin:" strokes at 1.2; all else is stroked. */
const ICON_PATHS = {
  select: ["M4 2.8l8 4.3-3.6 1-1.5 3.9z"],
  move: [
    "M8 1.8v12.4M1.8 8h12.4M6.2 3.6L8 1.8l1.8 1.8M6.2 12.4L8 14.2l1.8-1.8M3.6 6.2L1.8 8l1.8 1.8M12.4 6.2L14.2 8l-1.8 1.8",
  ],
  marquee: ["M2.5 5.5v-3h3M10.5 2.5h3v3M13.5 10.5v3h-3M5.5 13.5h-3v-3"],
  pin: ["M8 9.2v4.6", "M11 5.9a3 3 0 1 1-6 0 3 3 0 0 1 6 0z"],
  measure: ["M2.2 10.6l8.4-8.4 3.2 3.2-8.4 8.4z", "M5 7.8l1.3 1.3M7 5.8l1.8 1.8M9 3.8l1.3 1.3"],
  pull: ["M5 11l6.6-6.6M8.4 4h3.6v3.6", "M5.4 12a1.6 1.6 0 1 1-3.2 0 1.6 1.6 0 0 1 3.2 0z"],
  push: ["M2 8h8.5M7.2 4.7L10.5 8l-3.3 3.3M13.6 3v10"],
  brush: ["M9.6 8.8l4-6.2-6.2 4", "M7.4 6.6l2.2 2.2", "M6.6 7.6c-1.8-.2-2.6 1-2.8 2.4-.2 1.2-.8 2-2 2.4 2.6 1.4 6.6.8 6.8-2.4z"],
  erase: ["M6 13.4h7.6", "M9.4 2.8l4 4-6.6 6.6H5L2.6 11z", "M6.2 6l4 4"],
  impulse: ["M9 1.8L3.6 9h3.6l-.6 5.2L12.2 7H8.4z"],
  gravity: ["M8 2v9M4.8 7.8L8 11l3.2-3.2M3.5 13.8h9"],
  camera: ["M2.2 5h2.6l1-1.7h4.4l1 1.7h2.6v8H2.2z", "M10.2 8.8a2.2 2.2 0 1 1-4.4 0 2.2 2.2 0 0 1 4.4 0z"],
  key: ["M8 2.6L13.4 8 8 13.4 2.6 8z"],
  drag: [
    "M5.2 8.6V4.2a1 1 0 0 1 2 0V8M7.2 7.4V3a1 1 0 0 1 2 0v4.6M9.2 7.6V4a1 1 0 0 1 2 0v4.6",
    "M11.2 6.2a1 1 0 0 1 2 0v3.4c0 2.8-1.8 4.4-4.4 4.4-2.2 0-3.2-1-4-2.6L3 8.9c-.5-1 .7-1.8 1.4-1l.8.9",
  ],
  undo: ["M5.4 3L2.4 6l3 3M2.6 6h6.6a4 4 0 0 1 0 8H7"],
  redo: ["M10.6 3l3 3-3 3M13.4 6H6.8a4 4 0 0 0 0 8H9"],
  keyboard: ["M1.8 4.2h12.4v7.6H1.8z", "thin:M4.2 6.7h.01M6.7 6.7h.01M9.2 6.7h.01M11.7 6.7h.01M5 9.4h6"],
  help: ["M14 8A6 6 0 1 1 2 8a6 6 0 0 1 12 0z", "M6.2 6.4a1.8 1.8 0 1 1 2.7 1.6c-.6.3-.9.7-.9 1.3", "dot:8 11.3 .9"],
  export: ["M8 9.6V2.2M5.2 4.8L8 2l2.8 2.8", "M5.2 7.2H3v6.6h10V7.2h-2.2"],
  play: ["fill:M5 3.2v9.6l7.6-4.8z"],
  pause: ["M5.8 3.4v9.2M10.2 3.4v9.2"],
  first: ["M3.6 3.6v8.8M12.4 3.9v8.2L6.3 8z"],
  last: ["M12.4 3.6v8.8M3.6 3.9v8.2L9.7 8z"],
  prev: ["M9.6 4.4v7.2L4.4 8zM12.4 4.4v7.2"],
  next: ["M6.4 4.4v7.2L11.6 8zM3.6 4.4v7.2"],
  loop: ["M3 8V6.4a2.4 2.4 0 0 1 2.4-2.4h7M10.4 2l2 2-2 2M13 8v1.6a2.4 2.4 0 0 1-2.4 2.4h-7M5.6 14l-2-2 2-2"],
  plus: ["M8 2.8v10.4M2.8 8h10.4"],
  minus: ["M2.8 8h10.4"],
  fit: ["M2.5 5V2.5H5M11 2.5h2.5V5M13.5 11v2.5H11M5 13.5H2.5V11", "M10.2 8a2.2 2.2 0 1 1-4.4 0 2.2 2.2 0 0 1 4.4 0z"],
  plot: ["M2.4 2.4v11.2h11.2", "M4.6 10.4l2.8-3.6 2.2 1.8 3.6-5"],
  ghost: [
    "M3.2 13.4V7a4.8 4.8 0 0 1 9.6 0v6.4l-1.6-1.2-1.6 1.2L8 12.2l-1.6 1.2-1.6-1.2z",
    "dot:6.3 7.2 .8",
    "dot:9.7 7.2 .8",
  ],
  trail: [
    "M3.4 11.6c3.2.4 2.6-4.4 4.8-4.4 1.6 0 1.2 1.6 2.4 1.2 1.2-.4 1.2-2 2-3.4",
    "dot:2.6 11.6 1.3",
    "dot:13.2 4.2 1.3",
  ],
  wire: [
    "M14 8A6 6 0 1 1 2 8a6 6 0 0 1 12 0z",
    "thin:M2.4 6.2c3.6 1.6 7.6 1.6 11.2 0M8 2c-2.6 3.6-2.6 8.4 0 12M8 2c2.6 3.6 2.6 8.4 0 12",
  ],
  frame: ["M2.5 5V2.5H5M11 2.5h2.5V5M13.5 11v2.5H11M5 13.5H2.5V11"],
  one: ["M2 3.4h12v9.2H2z"],
  two: ["M2 3.4h12v9.2H2zM8 3.4v9.2"],
  more: ["dot:3.4 8 1", "dot:8 8 1", "dot:12.6 8 1"],
  eye: ["M1.6 8S4 3.8 8 3.8 14.4 8 14.4 8 12 12.2 8 12.2 1.6 8 1.6 8z", "M10 8a2 2 0 1 1-4 0 2 2 0 0 1 4 0z"],
  "eye-off": [
    "M3.6 5.4C2.3 6.5 1.6 8 1.6 8S4 12.2 8 12.2c1.2 0 2.2-.4 3.1-.9M6 4.1A6 6 0 0 1 8 3.8c4 0 6.4 4.2 6.4 4.2s-.5 1-1.5 2",
    "M2.6 2.6l10.8 10.8",
  ],
  x: ["M3.6 3.6l8.8 8.8M12.4 3.6l-8.8 8.8"],
  check: ["M2.8 8.6l3.4 3.4 7-7.4"],
  warn: ["M8 2.4L14.4 13.4H1.6z", "M8 6.4v3.2", "dot:8 11.5 .85"],
  error: ["M14 8A6 6 0 1 1 2 8a6 6 0 0 1 12 0z", "M8 4.8v3.8", "dot:8 11 .9"],
  info: ["M14 8A6 6 0 1 1 2 8a6 6 0 0 1 12 0z", "M8 7.4v3.8", "dot:8 5 .9"],
  folder: ["M1.8 12.8V3.6h4.4l1.4 1.8h6.6v7.4z"],
  file: ["M3.6 1.9h5.2l3.6 3.6v8.6H3.6z", "M8.8 1.9v3.6h3.6"],
  moon: ["M13.2 9.6A5.6 5.6 0 0 1 6.4 2.8a5.6 5.6 0 1 0 6.8 6.8z"],
  sun: [
    "M10.8 8a2.8 2.8 0 1 1-5.6 0 2.8 2.8 0 0 1 5.6 0z",
    "M8 1.4v1.4M8 13.2v1.4M1.4 8h1.4M13.2 8h1.4M3.3 3.3l1 1M11.7 11.7l1 1M12.7 3.3l-1 1M4.3 11.7l-1 1",
  ],
  gear: [
    "M6.8 1.8h2.4l.4 1.7 1.3.7 1.7-.6 1.2 2.1-1.3 1.2v1.6l1.3 1.2-1.2 2.1-1.7-.6-1.3.7-.4 1.7H6.8l-.4-1.7-1.3-.7-1.7.6-1.2-2.1 1.3-1.2V6.9L2.2 5.7l1.2-2.1 1.7.6 1.3-.7z",
    "M10 7.8a2 2 0 1 1-4 0 2 2 0 0 1 4 0z",
  ],
  chevron: ["M3.8 6l4.2 4.2L12.2 6"],
  "chevron-right": ["M6 3.8L10.2 8 6 12.2"],
  feather: ["M3 13.4L9.8 6.6M4.6 11.8V8.2l4.8-5a2.9 2.9 0 0 1 4 0 2.9 2.9 0 0 1 0 4l-4.9 4.6H4.6M7 9.4h3.6"],
  link: [
    "M6.6 9.4l2.8-2.8M7.4 4.8l1.4-1.4a2.7 2.7 0 0 1 3.8 3.8l-1.4 1.4M8.6 11.2l-1.4 1.4a2.7 2.7 0 0 1-3.8-3.8l1.4-1.4",
  ],
  unlink: [
    "M7.4 4.8l1.4-1.4a2.7 2.7 0 0 1 3.8 3.8l-1.4 1.4M8.6 11.2l-1.4 1.4a2.7 2.7 0 0 1-3.8-3.8l1.4-1.4M3 3l1.4 1.4M13 13l-1.4-1.4",
  ],
  lock: ["M3.4 7.2h9.2v6.4H3.4z", "M5.4 7.2V5a2.6 2.6 0 0 1 5.2 0v2.2"],
  search: ["M11.4 6.9a4.5 4.5 0 1 1-9 0 4.5 4.5 0 0 1 9 0z", "M10.2 10.2l3.6 3.6"],
  download: ["M8 2.2v7.4M5.2 7L8 9.8 10.8 7", "M2.6 10.6v3h10.8v-3"],
  wind: ["M2 6.2h7a2 2 0 1 0-2-2M2 9h9.4a2.1 2.1 0 1 1-2.1 2.1M2 11.8h3.6"],
  trash: ["M2.8 4.4h10.4M6 4.4V2.6h4v1.8M4.2 4.4l.6 9.2h6.4l.6-9.2"],
  rename: ["M3 13l.6-2.8 7.2-7.2 2.2 2.2-7.2 7.2z"],
  refresh: ["M13 8a5 5 0 1 1-1.5-3.5L13 6M13 2.6V6H9.6"],
  copy: ["M5.6 5.6h7.6v7.6H5.6z", "M10.4 5.6V2.8H2.8v7.6h2.8"],
} as const;

export type IconName = keyof typeof ICON_PATHS;
/** A name, or paths written like those above. */
export type Icon = IconName | readonly string[];

/** Create an icon of `size` px in the text color; hidden from screen readers, the button has the name. */
export function createIcon(icon: Icon, size = 16): SVGSVGElement {
  const drawing = svg("svg", {
    viewBox: "0 0 16 16",
    width: size,
    height: size,
    class: "icon",
    "aria-hidden": "true",
    focusable: "false",
  });
  for (const path of typeof icon === "string" ? ICON_PATHS[icon] : icon) drawing.append(createStroke(path));
  return drawing;
}

function createStroke(path: string): SVGElement {
  if (path.startsWith("dot:")) {
    const [cx, cy, r] = path.slice(4).split(" ") as [string, string, string];
    return svg("circle", { cx, cy, r, fill: "currentColor", stroke: "none" });
  }
  if (path.startsWith("fill:"))
    return svg("path", { d: path.slice(5), fill: "currentColor", "stroke-linejoin": "round" });
  if (path.startsWith("thin:")) return svg("path", { d: path.slice(5), "stroke-width": 1.2 });
  return svg("path", { d: path });
}
