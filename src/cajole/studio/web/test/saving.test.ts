import assert from "node:assert/strict";
import { test } from "node:test";
import { failureToast } from "../src/core/failures";
import { lostLabel, savingLabel, unsavedReason } from "../src/core/saving";
import { WireError } from "../src/core/wire";

const FULL = "cannot write project.json: No space left on device; free some space";
const saved = { unsaved: false, unsaved_reason: null };
const saving = { unsaved: true, unsaved_reason: null };
const failed = { unsaved: true, unsaved_reason: FULL };

test("changes that are not on the disk are called not saved, with the reason", () => {
  assert.equal(savingLabel(saved), null);
  assert.equal(savingLabel(saving), "Being saved");
  assert.match(savingLabel(failed)!, /^Not saved: Cannot write project.json: No space left on device; free some space/);
  assert.equal(unsavedReason(null), null);
  assert.equal(unsavedReason(saved), null);
  assert.equal(unsavedReason(saving), null);
  assert.match(unsavedReason(failed)!, /No space left/);
});

test("work is called safe only where it is saved", () => {
  assert.equal(lostLabel(null), "Your work is safe.");
  assert.equal(lostLabel(saved), "Your work is safe.");
  assert.equal(lostLabel(failed), "The last changes were not saved yet.");
});

test("a project that another studio has open can be opened as a copy", () => {
  const asked: [string, object][] = [];
  const ask = (what: string, values: object): number => asked.push([what, values]);
  const locked = new WireError("locked", "the project is open in another studio", "open a copy of it");
  const toast = failureToast(locked, { what: "open", values: { project: "p1" }, ask });
  assert.equal(toast.title, "The project is open in another studio.");
  assert.equal(toast.actions![0]!.text, "Open a copy");
  toast.actions![0]!.do();
  assert.deepEqual(asked, [["open", { project: "p1", copy: true }]]);
  assert.equal(failureToast(locked, { what: "forget", values: {}, ask }).actions, undefined);
  assert.equal(failureToast({ is: "error", code: "input", text: "no" }).actions, undefined);
});
