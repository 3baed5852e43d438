/** Design tokens of tokens.css for canvas and WebGL. */

import { createSignal } from "./signal";

/** Emitted after the theme and its tokens have changed. */
export const onTheme = createSignal<void>();

let cache = new Map<string, string>();

/** Value of a token: getToken("asked") is "#5aa2ff" in the dark theme. */
export function getToken(name: string): string {
  const found = cache.get(name);
  if (found !== undefined) return found;
  const value = getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  cache.set(name, value);
  return value;
}

/** Theme of the operating system. */
export function getSystemTheme(): "dark" | "light" {
  return matchMedia("(prefers-color-scheme: light)").matches ? "light" : "dark";
}

/** True if the system asks for reduced motion. */
export function prefersReducedMotion(): boolean {
  return matchMedia("(prefers-reduced-motion: reduce)").matches;
}

/** Switch the theme and notify canvas and WebGL views. */
export function applyTheme(theme: "dark" | "light"): void {
  document.documentElement.dataset["theme"] = theme;
  cache = new Map();
  onTheme.emit();
}
