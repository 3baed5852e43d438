/** Entries of the tool column that several modes share. */

import type { Icon } from "../core/icons";
import type { ToolEntry } from "../core/modes";
import type { UiState } from "../core/types";

export const createToolEntry = (tool: UiState["tool"], icon: Icon = tool): ToolEntry => ({
  command: `tool.${tool}`, icon,
  isPressed: (app) => app.ui.tool === tool,
});

/** Tools of modes that drag vertices. */
export const POINT_TOOLS: readonly ToolEntry[] = [
  createToolEntry("select"),
  createToolEntry("move"),
  createToolEntry("marquee"),
  null,
  createToolEntry("pin"),
  createToolEntry("measure"),
];
