/** Export menu and downloads. */

import { formatBytes } from "../core/format";
import { registerHandler } from "../core/commands";
import { getMode } from "../core/modes";
import { openMenu, type MenuEntry } from "./menu";
import type { StudioApp } from "../core/app";
import type { FileMessage, Project } from "../core/types";

const FORMAT_NAMES: Record<string, string> = {
  npz: "NumPy archive", usd: "Universal Scene Description", usda: "USD, text", usdc: "USD, binary", usdz: "USD, zip",
  glb: "glTF, binary", gltf: "glTF", pc2: "Point Cache 2", mdd: "Lightwave MDD", obj: "OBJ sequence",
  html: "HTML page with player", zip: "OBJ sequence", abc: "Alembic", json: "JSON", cajole: "Cajole project",
  mp4: "Video", gif: "Animated GIF", webp: "Animated WebP", png: "Image", jpg: "Image",
};
/** Headings of the menu; other kinds of export belong to modes. */
const EXPORT_HEADINGS: Record<string, string> = { result: "Motion", project: "Project" };

/** Menu of the export formats, grouped by kind: the result first, the project last. */
function buildExportMenu(app: StudioApp, formats: Project["formats"]): MenuEntry[] {
  const { result = [], project = [], ...ofModes } = formats;
  return Object.entries({ result, ...ofModes, project }).flatMap(([kind, suffixes]): MenuEntry[] => {
    if (suffixes.length === 0) return [];
    const heading = EXPORT_HEADINGS[kind] ?? `${getMode(kind).title}, for reuse`;
    const rows = suffixes.map((format): MenuEntry => ({
      text: FORMAT_NAMES[format] ?? format.toUpperCase(), detail: `.${format}`, icon: "download",
      onSelect: () => void app.request("export", { format, what: kind }),
    }));
    return [heading, ...rows];
  });
}

/** Register the export commands, and download files when they are ready. */
export function installExport(app: StudioApp, button: HTMLElement): void {
  registerHandler("export", () => app.project && openMenu(button, buildExportMenu(app, app.project.formats), "Export"));
  registerHandler("save", () => {
    const format = app.project?.formats.project[0];
    if (format) void app.request("export", { format, what: "project" });
  });
  app.onFile.on((file) => {
    downloadFile(file);
    app.showToast({
      tone: "ok", title: `${file.name} is ready`, text: `${formatBytes(file.bytes)}, in the browser's downloads.`,
      actions: [{ text: "Download again", onClick: () => downloadFile(file) }],
    });
  });
}

function downloadFile({ url, name }: FileMessage): void {
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  document.body.append(link);
  link.click();
  link.remove();
}
