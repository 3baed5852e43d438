/** Upload of files, chosen or dropped anywhere on the page. */

import { h } from "../core/dom";
import { registerHandler } from "../core/commands";
import { toSentence } from "../core/format";
import type { StudioApp } from "../core/app";
import { getMode, type ModeName } from "../core/modes";
import type { UploadAnswer } from "../core/types";

const PAYLOAD_TOO_LARGE = 413;

/** Register the open command and the drop zone; getMode: mode chosen on the start page. */
export function installUpload(app: StudioApp, getMode: () => ModeName): void {
  const open = (file: File): void => void uploadAndOpen(app, file, app.state?.mode ?? getMode());
  const field = h("input", {
    type: "file",
    hidden: true,
    "aria-hidden": "true",
    tabIndex: -1,
    onchange: () => {
      const file = field.files?.[0];
      field.value = "";
      if (file) open(file);
    },
  });
  document.body.append(field);
  registerHandler("open", () => field.click());
  installDropZone(open);
}

/** Accept files dropped on the page. */
function installDropZone(open: (file: File) => void): void {
  const highlight = (on: boolean): void => void document.body.classList.toggle("dropping", on);
  const hasFiles = (event: DragEvent): boolean => event.dataTransfer?.types.includes("Files") ?? false;
  window.addEventListener("dragover", (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    highlight(true);
  });
  window.addEventListener("dragleave", (event) => event.relatedTarget === null && highlight(false));
  window.addEventListener("drop", (event) => {
    highlight(false);
    if (!hasFiles(event)) return;
    event.preventDefault();
    const file = event.dataTransfer?.files[0];
    if (file) open(file);
  });
}

/** Upload a file and open it in the preferred mode, else in the first possible one. */
async function uploadAndOpen(app: StudioApp, file: File, preferred: ModeName): Promise<void> {
  const upload = await uploadFile(app, file);
  if (!upload) return;
  const possible = Object.keys(upload.modes).filter((mode) => upload.modes[mode].possible);
  const mode = possible.includes(preferred) ? preferred : possible[0];
  if (!mode)
    return void app.showToast({
      tone: "err", title: `${upload.name} cannot be used in any mode`, text: formatReasons(upload, preferred),
    });
  if (mode !== preferred)
    app.showToast({ tone: "warn", title: `Opened for ${getMode(mode).title}`, text: formatReasons(upload, preferred) });
  void app.request("open", { upload: upload.upload, mode });
}

function formatReasons({ text, modes }: UploadAnswer, mode: ModeName): string {
  return [text, modes[mode]?.why ?? ""].map(toSentence).join(" ").trim();
}

async function uploadFile(app: StudioApp, file: File): Promise<UploadAnswer | null> {
  try {
    const answer = await fetch(`/upload?name=${encodeURIComponent(file.name)}`, { method: "POST", body: file });
    if (answer.ok) return await answer.json();
    app.showToast({ tone: "err", title: `${file.name} was rejected`, text: toSentence(await readErrorText(answer)) });
  } catch {
    app.showToast({
      tone: "err", title: `${file.name} was not uploaded`,
      text: "The studio cannot be reached. Try again when it is connected.",
    });
  }
  return null;
}

async function readErrorText(answer: Response): Promise<string> {
  const text = await answer.text();
  try {
    const { text: message, remedy } = JSON.parse(text) as { text: string; remedy?: string };
    return [message, remedy ?? ""].map(toSentence).filter(Boolean).join(" ");
  } catch {
    return answer.status === PAYLOAD_TOO_LARGE ? "it is too large" : text.slice(0, 200) || `the studio answered ${answer.status}`;
  }
}
