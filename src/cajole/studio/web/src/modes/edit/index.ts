/** Edit: drag points of a finished animation to target positions. */

import { formatNumber } from "../../core/format";
import type { ModeDefinition } from "../../core/modes";
import { createShotPlots } from "../../plots/shot-plots";
import { getTargetPosition } from "../../view/hover";
import { DISC_SIZE, SMALL_DISC_SIZE } from "../../view/mark-composition";
import { POINT_TOOLS } from "../tools";
import { canPlayDemo, playDemo } from "./drag-demo";
import { createEditPanel } from "./panel";

export const edit: ModeDefinition = {
  name: "edit",
  title: "Edit",
  key: "1",
  icon: [
    "M5 9.4L3.9 8a.95.95 0 0 0-1.5 1.1l2 3.2c.8 1.2 1.9 1.9 3.7 1.9 2.7 0 4.5-1.6 4.5-4.4V5.4a.9.9 0 0 0-1.8 0V8",
    "M10.8 7.4V3.6a.9.9 0 0 0-1.8 0v3.6M9 7V2.7a.9.9 0 0 0-1.8 0V7M7.2 7.2V3.6a.9.9 0 0 0-1.8 0v5.8",
  ],
  text: "Drag points of a finished animation where you want them",
  scenesHeading: "Scenes to edit",
  handOverText: "Edit it",
  defaults: { tool: "move", views: 2, plots: false },
  allowsVertexDrag: true,
  hasMovableMarkers: true,
  showsClay: true,
  createPanel: createEditPanel,
  createPlots: (app, sources) => createShotPlots(app, sources, "Drag a point of the body to see the added force."),
  commands: [
    {
      id: "moves", title: "Make the suggested drags", icon: "drag",
      getDisabledReason: (app) => (app.state?.edit?.suggested ? null : "This scene suggests none."),
      run: (app) => void app.request("moves"),
    },
  ],
  tools: POINT_TOOLS,
  getOnboarding: () => [
    {
      title: "Drag the blue arrow",
      text: "The point moves where you drag it. The frames before and after follow.",
      done: (now, then) => now.edit!.drags.length > then.edit!.drags.length,
    },
    {
      title: "Scrub the timeline", text: "Yellow is the input, clay is your edit.",
      done: (now, then) => now.frame !== then.frame,
    },
    {
      title: "Increase the reach",
      text: "Reach in time, at the right: a longer reach needs less force. The violet lane shows the added force.",
      done: (now, then) => now.edit!.h !== then.edit!.h,
    },
  ],
  demo: { canPlay: canPlayDemo, play: playDemo },
  emptyLaneHint: "Click a point of the body, then drag it.",
  getMarkerRange: (state) => state.edit!.editable,
  getEditWindow: (state) => state.edit!.window,
  setEditWindow: (app, window) => app.request("tune", { window }),
  getTargets: (state) => state.edit!.drags,
  getLegend: () => [["given", "Input"], ["got", "Output"], ["asked", "Target"]],

  /** Select the vertex that the scene suggests for a first drag. */
  onOpen: (app, state) => {
    const hint = app.project?.suggestion;
    if (!hint || state.edit!.drags.length > 0 || state.selection.length > 0) return;
    void app.request("frame", { frame: hint.frame }, { quiet: true });
    void app.request("select", { nodes: [hint.node] }, { quiet: true });
  },

  /** Pin the selected vertices at a frame. */
  addMarker: (app, frame) => {
    const nodes = app.state!.selection.map(({ node }) => node);
    if (nodes.length) return void app.request("pin", { nodes, frame });
    app.showToast({
      tone: "warn", title: "No point is selected",
      text: "Click a point of the body first, then double-click here to pin it.",
    });
  },

  togglePins: (app, nodes, frame) => void app.request("pin", { nodes, frame }),

  addMarks: (marks, view, pane, { hoveredTarget }) => {
    const { contacts, contact_points: points, drags } = view.app.state!.edit!;
    if (pane !== 0) return;
    if (contacts) marks.contacts = points;
    for (const drag of drags) {
      const at = getTargetPosition(view, drag);
      if (at === null) continue;
      const label = hoveredTarget === drag.id ? `${drag.name} · f ${formatNumber(drag.frame)}` : null;
      const isCurrent = drag.frame === view.getFrame() && !drag.pin;
      marks.discs.push({ at, size: isCurrent ? DISC_SIZE : SMALL_DISC_SIZE + 1, warn: drag.warn !== null, label });
    }
  },
};
