/** Formatting of numbers and texts: thin spaces between thousands, a true minus, the unit after a space. */

const THIN = "\u2009";
const MINUS = "\u2212";

/** 16904 -> "16 904" with a thin space; digits: how many after the point. */
export function formatNumber(value: number, digits = 0): string {
  if (!Number.isFinite(value)) return "–";
  const [whole, rest] = Math.abs(value).toFixed(digits).split(".") as [string, string | undefined];
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, THIN);
  const text = rest === undefined ? grouped : `${grouped}.${rest}`;
  const zero = !/[1-9]/.test(text);
  return value < 0 && !zero ? MINUS + text : text;
}

/** Format with `digits` significant digits, at most four of them after the point. */
export function formatDigits(value: number, digits = 3): string {
  if (!Number.isFinite(value)) return "–";
  if (value === 0) return "0";
  const size = Math.floor(Math.log10(Math.abs(value)));
  if (size < -4 || size > 6) return formatExponent(value);
  return formatNumber(value, Math.max(0, Math.min(4, digits - 1 - size)));
}

/** 0.0001 -> "1e−4". */
export function formatExponent(value: number): string {
  if (!Number.isFinite(value)) return "–";
  const [front, back] = value.toExponential(1).split("e") as [string, string];
  return `${front.replace(/\.0$/, "").replace("-", MINUS)}e${back.replace("+", "").replace("-", MINUS)}`;
}

/** 0.084 -> "8.4 %". */
export function formatPercent(share: number): string {
  const value = 100 * share;
  return `${formatNumber(value, Math.abs(value) < 9.95 && value !== 0 ? 1 : 0)} %`;
}

/** Format a length [m] in mm, cm or m. */
export function formatLength(value: number): string {
  const size = Math.abs(value);
  if (size !== 0 && size < 0.001) return `${formatDigits(1000 * value, 2)} mm`;
  if (size !== 0 && size < 0.1) return `${formatNumber(100 * value, 1)} cm`;
  return `${formatNumber(value, size < 10 ? 2 : 1)} m`;
}

/** Format a force [N] in N or kN. */
export function formatForce(value: number): string {
  const size = Math.abs(value);
  if (size >= 1000) return `${formatDigits(value / 1000, 2)} kN`;
  return `${size !== 0 && size < 0.095 ? formatDigits(value, 2) : formatNumber(value, size < 9.95 ? 1 : 0)} N`;
}

/** Format a time [s]. */
export function formatSeconds(value: number, digits = 2): string {
  return `${formatNumber(value, digits)} s`;
}

/** Format a duration [ms]. */
export function formatMilliseconds(value: number): string {
  return `${formatNumber(value, value < 9.95 ? 1 : 0)} ms`;
}

/** Format a frame as minutes:seconds:frames. */
export function formatTimecode(frame: number, fps: number): string {
  const rate = Math.max(1, Math.round(fps));
  const whole = Math.floor(frame);
  const two = (value: number): string => String(value).padStart(2, "0");
  return `${two(Math.floor(whole / rate / 60))}:${two(Math.floor(whole / rate) % 60)}:${two(whole % rate)}`;
}

/** Format a file size. */
export function formatBytes(count: number): string {
  if (count < 1e3) return `${count} B`;
  if (count < 1e6) return `${formatNumber(count / 1e3)} kB`;
  return `${formatNumber(count / 1e6, count < 1e7 ? 1 : 0)} MB`;
}

/** 1 drag, 3 drags. */
export function formatCount(amount: number, one: string, many = `${one}s`): string {
  return `${formatNumber(amount)} ${amount === 1 ? one : many}`;
}

/** Capitalize the first letter and add a full stop. */
export function toSentence(text: string): string {
  const trimmed = text.trim();
  if (!trimmed) return "";
  const isFile = /^\S*\.\w/.test(trimmed); // a name of a file stays as it is
  return (isFile ? trimmed[0]! : trimmed[0]!.toUpperCase()) + trimmed.slice(1) + (/[.!?…”]$/.test(trimmed) ? "" : ".");
}

const DAY = 86_400_000;

/** Format a date relative to today. when: seconds since 1970. */
export function formatDate(when: number, now = Date.now()): string {
  const day = new Date(when * 1000);
  const midnight = new Date(now).setHours(0, 0, 0, 0);
  if (day.getTime() >= midnight) return "today";
  if (day.getTime() >= midnight - DAY) return "yesterday";
  if (day.getTime() >= midnight - 6 * DAY) return day.toLocaleDateString("en-GB", { weekday: "short" });
  return day.toLocaleDateString("en-GB", { day: "numeric", month: "short" });
}
