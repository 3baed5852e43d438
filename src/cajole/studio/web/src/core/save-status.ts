/** Texts about whether the project is saved on the server. */

import { toSentence } from "./format";
import type { ProjectState } from "./types";

type SaveState = Pick<ProjectState, "unsaved" | "unsaved_reason">;

/** Reason why the last save failed; null if it did not. */
export function getUnsavedReason(state: SaveState | null): string | null {
  return state?.unsaved && state.unsaved_reason ? toSentence(state.unsaved_reason) : null;
}

/** Label of the dot beside the project name; null if the dot is hidden. */
export function formatSaveStatus(state: SaveState): string | null {
  if (!state.unsaved) return null;
  const reason = getUnsavedReason(state);
  return reason === null ? "Saving" : `Not saved: ${reason}`;
}

/** Whether the last changes are safe while the connection is lost. */
export function formatOfflineStatus(state: SaveState | null): string {
  return getUnsavedReason(state) === null ? "Your work is safe." : "The last changes were not saved yet.";
}
