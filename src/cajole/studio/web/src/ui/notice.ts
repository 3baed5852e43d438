/** A page of words in place of the studio, when it cannot work at all. */

import { h } from "../core/dom";

/** Replaces all that is shown. lines: sentences; command: what to type, if something is to be typed. */
export function notice(title: string, lines: readonly string[], command?: string): void {
  const words = lines.map((line) => h("p", null, line));
  document.body.replaceChildren(
    h(
      "main",
      { class: "notice", role: "alert" },
      h("img", { src: "/static/icon.svg", width: 40, height: 40, alt: "" }),
      h("h1", null, title),
      words,
      command ? h("code", null, command) : null,
    ),
  );
}

/** The server was started again, with another token, or was never entered. */
export function restarted(): void {
  notice(
    "This studio was restarted",
    [
      "The address that it printed when it started holds the key to it, and this page has another.",
      "Open the new address from the terminal, or start the studio again:",
    ],
    "cajole studio",
  );
  // the new address may differ behind the hash only, for which a browser loads nothing
  window.addEventListener("hashchange", () => location.reload());
}

/** Why the browser cannot draw in three dimensions, null when it can. */
export function undrawable(): string | null {
  const canvas = document.createElement("canvas");
  let reason = "";
  canvas.addEventListener(
    "webglcontextcreationerror",
    (event) => (reason = (event as WebGLContextEvent).statusMessage),
  );
  const context = canvas.getContext("webgl2");
  if (!context) return reason || "The browser gives no reason.";
  context.getExtension("WEBGL_lose_context")?.loseContext();
  return null;
}

export function noWebGL(reason: string): void {
  notice("This browser does not draw in three dimensions", [
    reason,
    "Allow WebGL 2 and hardware acceleration in its settings, or open the studio in another browser.",
  ]);
}
