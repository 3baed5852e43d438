// What is wrong with the page as it is drawn now: a list of sentences, empty when nothing is.
() => {
  const TEXT = 4.5; // contrast that text must have
  const LEAST = 24; // px that a target must have
  const wrong = [];
  const name = (element) => {
    const word = element.getAttribute("aria-label") ?? element.textContent.trim().slice(0, 30);
    return `${element.tagName.toLowerCase()}.${[...element.classList].join(".")} "${word}"`;
  };
  const shown = (element) => {
    if (!element.checkVisibility({ opacityProperty: true, visibilityProperty: true })) return false;
    const box = element.getBoundingClientRect();
    return box.width > 1 && box.height > 1;
  };
  const all = [...document.body.querySelectorAll("*")].filter((element) => !element.closest("svg") && shown(element));
  const sheet = document.querySelector("dialog:modal");
  const able = (element) => !element.closest("[aria-disabled=true], :disabled, [inert], [data-muted]");

  // --- sizes and places
  const page = document.documentElement;
  if (page.scrollWidth > innerWidth) wrong.push(`the page is ${page.scrollWidth} px wide in a window of ${innerWidth}`);
  const scroller = (element) => {
    for (let up = element.parentElement; up; up = up.parentElement) {
      const { overflowX, overflowY } = getComputedStyle(up);
      if (/auto|scroll/.test(overflowX + overflowY) && (up.scrollHeight > up.clientHeight || up.scrollWidth > up.clientWidth)) return up;
    }
    return null;
  };
  for (const element of all) {
    const style = getComputedStyle(element);
    const sideways = element.scrollWidth > element.clientWidth + 1 && element.clientWidth > 0;
    if (sideways && /auto|scroll/.test(style.overflowX)) wrong.push(`${name(element)} scrolls sideways`);
    if (sideways && style.overflowX === "hidden" && style.textOverflow !== "ellipsis" && element.children.length === 0) wrong.push(`${name(element)} is cut off`);
    const box = element.getBoundingClientRect();
    const out = box.left < -1 || box.top < -1 || box.right > innerWidth + 1 || box.bottom > innerHeight + 1;
    if (out && !scroller(element)) wrong.push(`${name(element)} is off screen: ${[box.left, box.top, box.right, box.bottom].map(Math.round)}`);
  }

  // --- what can be pressed
  const pressed = "button, a[href], [role=button], [role=tab], [role=switch], [role=radio], [role=menuitem], input, select";
  /** Whether a press beside a small control, but within LEAST of its middle, still means it. */
  const reached = (element) => {
    element.scrollIntoView({ block: "center" });
    const box = element.getBoundingClientRect();
    const [x, y] = [(box.left + box.right) / 2, (box.top + box.bottom) / 2];
    const far = LEAST / 2 - 0.5;
    return [[0, far], [0, -far], [far, 0], [-far, 0]].every(([dx, dy]) => element.contains(document.elementFromPoint(x + dx, y + dy)));
  };
  for (const element of document.querySelectorAll(pressed)) {
    if (!shown(element) || (sheet && !sheet.contains(element))) continue;
    const box = (element.matches("input") ? element.parentElement : element).getBoundingClientRect();
    if (Math.min(box.width, box.height) < LEAST - 0.01 && !reached(element)) wrong.push(`${name(element)} is ${box.width.toFixed(1)} x ${box.height.toFixed(1)} px, under ${LEAST}`);
    const labels = element.labels ? [...element.labels].map((label) => label.textContent).join("") : "";
    const said = element.getAttribute("aria-label") || element.textContent || labels || element.title;
    if (!said.trim()) wrong.push(`${name(element)} has no name`);
  }

  // --- what lies over a view must not lie over itself
  const rim = [...document.querySelectorAll(".viewport > *, .banner, .coach, .toast, .strip")].filter((element) =>
    shown(element) && !element.matches("canvas, .view-surface, .view-pane, .view-divider, .hidden-text, [role=status]:not(.toast)"));
  rim.forEach((one, i) => rim.slice(i + 1).forEach((other) => {
    const [a, b] = [one.getBoundingClientRect(), other.getBoundingClientRect()];
    const [wide, high] = [Math.min(a.right, b.right) - Math.max(a.left, b.left), Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top)];
    if (wide > 1 && high > 1 && !one.contains(other) && !other.contains(one)) wrong.push(`${name(one)} lies over ${name(other)}`);
  }));

  // --- contrast
  const probe = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const known = new Map();
  const rgba = (text) => {
    if (!known.has(text)) {
      probe.clearRect(0, 0, 1, 1);
      probe.fillStyle = "#000";
      probe.fillStyle = text;
      probe.fillRect(0, 0, 1, 1);
      const [r, g, b, a] = probe.getImageData(0, 0, 1, 1).data;
      known.set(text, [r, g, b, a / 255]);
    }
    return known.get(text);
  };
  const over = ([r, g, b, a], [x, y, z]) => [a * r + (1 - a) * x, a * g + (1 - a) * y, a * b + (1 - a) * z, 1];
  const token = (word) => rgba(getComputedStyle(page).getPropertyValue(word).trim());
  const skies = ["--sky1", "--sky2", "--sky3"].map(token);
  /** The colours that may be behind the text of an element: several where a gradient is. */
  const behind = (element) => {
    const layers = [];
    let base = [rgba(getComputedStyle(page).backgroundColor)];
    if (base[0][3] === 0) base = [token("--bg0")];
    for (let up = element; up; up = up.parentElement) {
      if (up.matches(".viewport")) {
        base = skies;
        break;
      }
      const layer = rgba(getComputedStyle(up).backgroundColor);
      if (layer[3] > 0) layers.unshift(layer);
      if (layer[3] === 1) break;
    }
    return base.map((ground) => layers.reduce((under, layer) => over(layer, under), ground));
  };
  const light = ([r, g, b]) => {
    const part = (value) => ((value /= 255) <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
    return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
  };
  const contrast = (one, other) => {
    const [high, low] = [light(one), light(other)].sort((a, b) => b - a);
    return (high + 0.05) / (low + 0.05);
  };
  const faded = (element) => {
    let left = 1;
    for (let up = element; up; up = up.parentElement) left *= Number(getComputedStyle(up).opacity);
    return left;
  };
  for (const element of all) {
    const own = [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim());
    if (!own || !able(element) || element.matches(".hidden-text, .hidden-text *, [aria-hidden=true] *")) continue;
    const ink = rgba(getComputedStyle(element).color);
    const grounds = behind(element);
    const worst = Math.min(...grounds.map((ground) => contrast(over([...ink.slice(0, 3), ink[3] * faded(element)], ground), ground)));
    if (worst < TEXT - 0.005) wrong.push(`${name(element)} has a contrast of ${worst.toFixed(2)}`);
    const size = parseFloat(getComputedStyle(element).fontSize);
    if (size < 11) wrong.push(`${name(element)} is ${size} px, under 11`);
  }
  return [...new Set(wrong)];
}
