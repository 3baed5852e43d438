/** Recovery of drags that a lost connection interrupted: a toast offers to apply them again. */

import type { StudioApp } from "./app";
import type { CommandName, Commands, Vec3 } from "./types";

interface DragRecord { gesture: number; node: number; frame: number; position: Vec3 | null }

export function offerLostDrags(app: StudioApp): void {
  let active: DragRecord | null = null; // started, neither committed nor cancelled
  let lost: (DragRecord & { position: Vec3; project: string }) | null = null;

  app.onRequest.on(({ name: what, values, reply: answer }) => {
    if (what === "drag.begin") active = readDrag(values);
    else if (what === "drag.commit" || what === "drag.cancel")
      answer.then(() => (active = null), () => undefined);
  });
  app.onMoved.on((moved) => {
    if (active?.gesture === moved.gesture) active = { ...active, position: moved.position };
  });
  app.onUi.on((change) => {
    if (change.connection !== "lost" || !active?.position || !app.project) return;
    lost = { ...active, position: active.position, project: app.project.id };
    active = null;
  });
  app.onState.on(() => {
    if (!lost || app.ui.connection !== "connected") return;
    const { project, gesture, node, frame, position } = lost;
    lost = null;
    if (app.project?.id !== project) return;
    void app.request("drag.cancel", { gesture }, { quiet: true });
    app.showToast({
      tone: "err", title: "The last drag was not saved",
      text: "The connection was lost during the drag. Drag again, or apply it again.",
      actions: [{ text: "Apply it again", onClick: () => void app.request("place", { node, frame, position }) }],
    });
  });
}

/** Drag of a single vertex; null for several, which have no single position to restore. */
function readDrag(values: Commands[CommandName]): DragRecord | null {
  if (!("gesture" in values && "nodes" in values)) return null;
  const { gesture, nodes, frame } = values;
  return nodes.length === 1 ? { gesture, node: nodes[0]!, frame, position: null } : null;
}
