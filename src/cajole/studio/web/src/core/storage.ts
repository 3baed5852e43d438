/** Settings in the browser's local storage; without it they last until the page closes. */

const PREFIX = "cajole.";

/** Stored value of a name, else `fallback`. */
export function loadSetting<T>(name: string, fallback: T): T {
  try {
    const text = localStorage.getItem(PREFIX + name);
    return text === null ? fallback : (JSON.parse(text) as T);
  } catch {
    return fallback;
  }
}

/** Store a value; undefined removes it. */
export function saveSetting(name: string, value: unknown): void {
  try {
    if (value === undefined) localStorage.removeItem(PREFIX + name);
    else localStorage.setItem(PREFIX + name, JSON.stringify(value));
  } catch {
    // private window or full storage
  }
}
