/** Failures as toasts: what happened, then what to do, and a button where the page can do it. */

import { sentence } from "./format";
import type { Failure, Notice } from "./types";
import { WireError } from "./wire";

/** A toast: what the server may say, or with actions that the page does itself. */
export interface Toast extends Omit<Notice, "is"> {
  actions?: { text: string; do(): void }[];
}

/** What was asked when it failed, and the way to ask something else. */
interface Question {
  what: string;
  values: object;
  ask(what: string, values: object): unknown;
}

export function failureToast(failure: WireError | Failure, question?: Question): Toast {
  const text = failure instanceof WireError ? failure.message : failure.text;
  const toast: Toast = { tone: "err", title: sentence(text), text: sentence(failure.remedy ?? "") };
  if (failure.code !== "locked" || question?.what !== "open") return toast;
  const openCopy = (): void => void question.ask("open", { ...question.values, copy: true });
  return { ...toast, actions: [{ text: "Open a copy", do: openCopy }] };
}
