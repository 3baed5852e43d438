/** Numbers as the page writes them: thin spaces in thousands, a true minus, the unit after a space. */

const THIN = "\u2009";
const MINUS = "\u2212";

/** 16904 -> "16 904" with a thin space; digits: how many after the point. */
export function number(value: number, digits = 0): string {
  if (!Number.isFinite(value)) return "–";
  const [whole, rest] = Math.abs(value).toFixed(digits).split(".") as [string, string | undefined];
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, THIN);
  const text = rest === undefined ? grouped : `${grouped}.${rest}`;
  const zero = !/[1-9]/.test(text);
  return value < 0 && !zero ? MINUS + text : text;
}

/** A value with as many digits after the point as make `figures` in all, at most four. */
export function figures(value: number, figures = 3): string {
  if (!Number.isFinite(value)) return "–";
  if (value === 0) return "0";
  const size = Math.floor(Math.log10(Math.abs(value)));
  if (size < -4 || size > 6) return power(value);
  return number(value, Math.max(0, Math.min(4, figures - 1 - size)));
}

/** 0.0001 -> "1e−4". */
export function power(value: number): string {
  if (!Number.isFinite(value)) return "–";
  const [front, back] = value.toExponential(1).split("e") as [string, string];
  return `${front.replace(/\.0$/, "").replace("-", MINUS)}e${back.replace("+", "").replace("-", MINUS)}`;
}

/** 0.084 -> "8.4 %". */
export function percent(share: number): string {
  const value = 100 * share;
  return `${number(value, Math.abs(value) < 9.95 && value !== 0 ? 1 : 0)} %`;
}

/** Metres, in the unit that reads best. */
export function metres(value: number): string {
  const size = Math.abs(value);
  if (size !== 0 && size < 0.001) return `${figures(1000 * value, 2)} mm`;
  if (size !== 0 && size < 0.1) return `${number(100 * value, 1)} cm`;
  return `${number(value, size < 10 ? 2 : 1)} m`;
}

/** Newtons. */
export function newtons(value: number): string {
  const size = Math.abs(value);
  if (size >= 1000) return `${figures(value / 1000, 2)} kN`;
  return `${size !== 0 && size < 0.095 ? figures(value, 2) : number(value, size < 9.95 ? 1 : 0)} N`;
}

/** Seconds. */
export function seconds(value: number, digits = 2): string {
  return `${number(value, digits)} s`;
}

/** Milliseconds of work. */
export function milliseconds(value: number): string {
  return `${number(value, value < 9.95 ? 1 : 0)} ms`;
}

/** minutes:seconds:frames. */
export function timecode(frame: number, fps: number): string {
  const rate = Math.max(1, Math.round(fps));
  const whole = Math.floor(frame);
  const two = (value: number): string => String(value).padStart(2, "0");
  return `${two(Math.floor(whole / rate / 60))}:${two(Math.floor(whole / rate) % 60)}:${two(whole % rate)}`;
}

/** Bytes of a file. */
export function bytes(count: number): string {
  if (count < 1e3) return `${count} B`;
  if (count < 1e6) return `${number(count / 1e3)} kB`;
  return `${number(count / 1e6, count < 1e7 ? 1 : 0)} MB`;
}

/** 1 drag, 3 drags. */
export function count(amount: number, one: string, many = `${one}s`): string {
  return `${number(amount)} ${amount === 1 ? one : many}`;
}

/** With a capital at its head and a stop at its end. */
export function sentence(text: string): string {
  const trimmed = text.trim();
  if (!trimmed) return "";
  const isFile = /^\S*\.\w/.test(trimmed); // a name of a file stays as it is
  return (isFile ? trimmed[0]! : trimmed[0]!.toUpperCase()) + trimmed.slice(1) + (/[.!?…”]$/.test(trimmed) ? "" : ".");
}

const DAY = 86_400_000;

/** When something was, as people say it. when: seconds since 1970. */
export function ago(when: number, now = Date.now()): string {
  const day = new Date(when * 1000);
  const midnight = new Date(now).setHours(0, 0, 0, 0);
  if (day.getTime() >= midnight) return "today";
  if (day.getTime() >= midnight - DAY) return "yesterday";
  if (day.getTime() >= midnight - 6 * DAY) return day.toLocaleDateString("en-GB", { weekday: "short" });
  return day.toLocaleDateString("en-GB", { day: "numeric", month: "short" });
}
