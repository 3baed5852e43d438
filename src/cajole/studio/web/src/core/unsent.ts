/** A drag that the socket was lost under: offered again once it is back. */

import type { Studio } from "./app";
import type { Vec3 } from "./types";

interface Drag {
  gesture: number;
  node: number;
  frame: number;
  position: Vec3 | null;
}

export function unsent(app: Studio): void {
  let held: Drag | null = null; // begun, and neither kept nor called off
  let lost: (Drag & { position: Vec3; project: string }) | null = null;

  app.onAsk.on(({ what, values, answer }) => {
    if (what === "drag.begin") held = begun(values);
    else if (what === "drag.commit" || what === "drag.cancel")
      answer.then(
        () => (held = null),
        () => undefined,
      );
  });
  app.onMoved.on((moved) => {
    if (held?.gesture === moved.gesture) held = { ...held, position: moved.position };
  });
  app.onUi.on((change) => {
    if (change.connection !== "lost" || !held?.position || !app.project) return;
    lost = { ...held, position: held.position, project: app.project.id };
    held = null;
  });
  app.onState.on(() => {
    if (!lost || app.ui.connection !== "connected") return;
    const { project, gesture, node, frame, position } = lost;
    lost = null;
    if (app.project?.id !== project) return;
    void app.ask("drag.cancel", { gesture }, { quiet: true });
    app.toast({
      tone: "err",
      title: "The last drag was not kept",
      text: "The connection was lost under it. Drag again, or bring it back.",
      actions: [{ text: "Apply it again", do: () => void app.ask("place", { node, frame, position }) }],
    });
  });
}

/** A drag of one point; several at once have no place to be put back to. */
function begun(values: object): Drag | null {
  const { gesture, nodes, frame } = values as { gesture: number; nodes: number[]; frame: number };
  return nodes.length === 1 ? { gesture, node: nodes[0]!, frame, position: null } : null;
}
