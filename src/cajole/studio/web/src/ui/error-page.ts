/** Full-page error messages, when the studio cannot work at all. */

import { h } from "../core/dom";

/** Replace the page by a message. command: shell command to run, if any. */
function showErrorPage(title: string, lines: readonly string[], command?: string): void {
  const words = lines.map((line) => h("p", null, line));
  document.body.replaceChildren(
    h("main", { class: "notice", role: "alert" },
      h("img", { src: "/static/icon.svg", width: 40, height: 40, alt: "" }),
      h("h1", null, title),
      words,
      command ? h("code", null, command) : null,
    ),
  );
}

/** The server has restarted with another token, or this tab never had one. */
export function showRestartedPage(): void {
  showErrorPage(
    "This studio was restarted",
    [
      "The studio prints an address with an access token when it starts. This page has another token.",
      "Open the new address from the terminal, or start the studio again:",
    ],
    "cajole studio",
  );
  // if only the hash differs, the browser does not reload
  window.addEventListener("hashchange", () => location.reload());
}

/** Reason why WebGL 2 is not available; null if it is. */
export function getWebGLError(): string | null {
  const canvas = document.createElement("canvas");
  let reason = "";
  canvas.addEventListener(
    "webglcontextcreationerror",
    (event) => (reason = (event as WebGLContextEvent).statusMessage),
  );
  const context = canvas.getContext("webgl2");
  if (!context) return reason || "The browser gave no reason.";
  context.getExtension("WEBGL_lose_context")?.loseContext();
  return null;
}

export function showWebGLErrorPage(reason: string): void {
  showErrorPage("WebGL 2 is not available in this browser", [
    reason,
    "Enable WebGL 2 and hardware acceleration in the browser settings, or use another browser.",
  ]);
}
