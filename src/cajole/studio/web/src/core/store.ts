/** Small things that the browser keeps for this page; where it keeps nothing, the page works all the same. */

const PREFIX = "cajole.";

/** What was kept under a name, else `otherwise`. */
export function recall<T>(name: string, otherwise: T): T {
  try {
    const text = localStorage.getItem(PREFIX + name);
    return text === null ? otherwise : (JSON.parse(text) as T);
  } catch {
    return otherwise;
  }
}

/** Keeps a value; undefined forgets it. */
export function keep(name: string, value: unknown): void {
  try {
    if (value === undefined) localStorage.removeItem(PREFIX + name);
    else localStorage.setItem(PREFIX + name, JSON.stringify(value));
  } catch {
    // a private window, or a full store: the choice holds until the page is closed
  }
}
