/** Pictures took too long, and less is drawn from now on. */

import type { App } from "../core/types";

/** Says so once; restore: draws all of it again. */
export function tellSimpler(app: App, restore: () => void): void {
  const actions = [{ text: "Undo", do: restore }];
  const [title, text] = ["Drawing was simplified", "Pictures took too long on this machine."];
  const notice = { tone: "warn" as const, title, text, actions };
  app.showToast(notice);
}
