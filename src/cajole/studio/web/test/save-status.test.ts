import assert from "node:assert/strict";
import { createErrorToast } from "../src/core/app";
import { RequestError } from "../src/core/connection";
import { formatOfflineStatus, formatSaveStatus, getUnsavedReason } from "../src/core/save-status";
import { test } from "node:test";

const FULL = "cannot write project.json: No space left on device; free some space";
const saved = { unsaved: false, unsaved_reason: null };
const saving = { unsaved: true, unsaved_reason: null };
const failed = { unsaved: true, unsaved_reason: FULL };

test("changes that are not on the disk are called unsaved, with the reason", () => {
  assert.equal(formatSaveStatus(saved), null);
  assert.equal(formatSaveStatus(saving), "Saving");
  assert.match(formatSaveStatus(failed)!, /^Not saved: Cannot write project.json: No space left on device; free some space/);
  assert.equal(getUnsavedReason(null), null);
  assert.equal(getUnsavedReason(saved), null);
  assert.equal(getUnsavedReason(saving), null);
  assert.match(getUnsavedReason(failed)!, /No space left/);
});

test("work is called safe only if it is saved", () => {
  assert.equal(formatOfflineStatus(null), "Your work is safe.");
  assert.equal(formatOfflineStatus(saved), "Your work is safe.");
  assert.equal(formatOfflineStatus(failed), "The last changes were not saved yet.");
});

test("a project that is locked by another studio can be opened as a copy", () => {
  let copies = 0;
  const openCopy = (): void => void copies++;
  const locked = new RequestError("locked", "the project is open in another studio", "open a copy of it");
  const toast = createErrorToast(locked, openCopy);
  assert.equal(toast.title, "The project is open in another studio.");
  assert.equal(toast.actions![0]!.text, "Open a copy");
  toast.actions![0]!.onClick();
  assert.equal(copies, 1);
  assert.equal(createErrorToast(locked).actions, undefined);
  assert.equal(createErrorToast({ is: "error", code: "input", text: "no" }, openCopy).actions, undefined);
});
