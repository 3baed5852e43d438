/** Files that come in: chosen, or dropped anywhere on the page. */

import { h } from "../core/dom";
import { registerHandler, formatModeName } from "../core/commands";
import { toSentence } from "../core/format";
import type { StudioApp } from "../core/app";
import type { ModeInfo, ModeName } from "../core/types";

const LARGE = 413;

interface Upload {
  upload: string;
  name: string;
  kind: string;
  text: string; // what was read: "a surface mesh, 12 004 triangles"
  modes: Record<ModeName, ModeInfo>;
}

/** Takes files in; wanted: the verb that the person has chosen. */
export function uploading(app: StudioApp, wanted: () => ModeName): void {
  const take = (file: File): void => void bring(app, file, app.state?.mode ?? wanted());
  const field = h("input", {
    type: "file",
    hidden: true,
    "aria-hidden": "true",
    tabIndex: -1,
    onchange: () => {
      const file = field.files?.[0];
      field.value = "";
      if (file) take(file);
    },
  });
  document.body.append(field);
  registerHandler("open", () => field.click());
  dropping(take);
}

/** Shows over the whole page that a file may be let go. */
function dropping(take: (file: File) => void): void {
  const over = (on: boolean): void => void document.body.classList.toggle("dropping", on);
  const files = (event: DragEvent): boolean => event.dataTransfer?.types.includes("Files") ?? false;
  window.addEventListener("dragover", (event) => {
    if (!files(event)) return;
    event.preventDefault();
    over(true);
  });
  window.addEventListener("dragleave", (event) => event.relatedTarget === null && over(false));
  window.addEventListener("drop", (event) => {
    over(false);
    if (!files(event)) return;
    event.preventDefault();
    const file = event.dataTransfer?.files[0];
    if (file) take(file);
  });
}

/** Sends a file and opens it, in the wanted mode or the first that can use it. */
async function bring(app: StudioApp, file: File, wanted: ModeName): Promise<void> {
  const upload = await send(app, file);
  if (!upload) return;
  const able = (Object.keys(upload.modes) as ModeName[]).filter((mode) => upload.modes[mode].possible);
  const mode = able.includes(wanted) ? wanted : able[0];
  if (!mode)
    return void app.showToast({
      tone: "err",
      title: `${upload.name} cannot be directed`,
      text: reasons(upload, wanted),
    });
  if (mode !== wanted)
    app.showToast({ tone: "warn", title: `Opened for ${formatModeName(mode)}`, text: reasons(upload, wanted) });
  void app.request("open", { upload: upload.upload, mode });
}

function reasons({ text, modes }: Upload, wanted: ModeName): string {
  return [text, modes[wanted]?.why ?? ""].map(toSentence).join(" ").trim();
}

async function send(app: StudioApp, file: File): Promise<Upload | null> {
  try {
    const answer = await fetch(`/upload?name=${encodeURIComponent(file.name)}`, { method: "POST", body: file });
    if (answer.ok) return (await answer.json()) as Upload;
    app.showToast({ tone: "err", title: `${file.name} was not taken`, text: toSentence(await why(answer)) });
  } catch {
    app.showToast({
      tone: "err",
      title: `${file.name} was not sent`,
      text: "The studio cannot be reached; try again once it is back.",
    });
  }
  return null;
}

async function why(answer: Response): Promise<string> {
  const text = await answer.text();
  try {
    const { text: said, remedy } = JSON.parse(text) as { text: string; remedy?: string };
    return [said, remedy ?? ""].map(toSentence).filter(Boolean).join(" ");
  } catch {
    return answer.status === LARGE ? "it is too large" : text.slice(0, 200) || `the studio answered ${answer.status}`;
  }
}
