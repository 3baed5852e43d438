/** Whether what was done is on the server's disk, in words. */

import { sentence } from "./format";
import type { State } from "./types";

type Saving = Pick<State, "unsaved" | "unsaved_reason">;

/** Why the last changes are not saved; null where they are, or are being saved for the first time. */
export function unsavedReason(state: Saving | null): string | null {
  return state?.unsaved && state.unsaved_reason ? sentence(state.unsaved_reason) : null;
}

/** What the dot beside the project's name means; null where it is not shown. */
export function savingLabel(state: Saving): string | null {
  if (!state.unsaved) return null;
  const reason = unsavedReason(state);
  return reason === null ? "Being saved" : `Not saved: ${reason}`;
}

/** What happens to the last changes while the connection is lost. */
export function lostLabel(state: Saving | null): string {
  return unsavedReason(state) === null ? "Your work is safe." : "The last changes were not saved yet.";
}
