/** Colours and measures of tokens.css, for canvas and 3D; never literals in code. */

import { signal } from "./signal";

/** Told after the theme has changed and the tokens are those of the new one. */
export const onTheme = signal<void>();

let known = new Map<string, string>();

/** The value of a token, without dashes: token("asked") is "#5aa2ff" in the dark. */
export function token(name: string): string {
  const found = known.get(name);
  if (found !== undefined) return found;
  const value = getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  known.set(name, value);
  return value;
}

/** The theme that the system prefers. */
export function preferred(): "dark" | "light" {
  return matchMedia("(prefers-color-scheme: light)").matches ? "light" : "dark";
}

/** Whether the person asked for less motion. */
export function still(): boolean {
  return matchMedia("(prefers-reduced-motion: reduce)").matches;
}

/** Puts a theme in force; canvas and 3D read their tokens anew. */
export function wear(theme: "dark" | "light"): void {
  document.documentElement.dataset["theme"] = theme;
  known = new Map();
  onTheme.emit();
}
