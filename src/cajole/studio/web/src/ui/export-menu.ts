/** Export menu and downloads. */

import { formatBytes } from "../core/format";
import { registerHandler } from "../core/commands";
import { openMenu, type MenuEntry } from "./menu";
import type { StudioApp } from "../core/app";
import type { ExportedFile, Project } from "../core/types";

const FORMAT_NAMES: Record<string, string> = {
  npz: "NumPy archive",
  usd: "Universal Scene Description",
  usda: "USD, text",
  usdc: "USD, binary",
  usdz: "USD, zip",
  glb: "glTF, binary",
  gltf: "glTF",
  pc2: "Point Cache 2",
  mdd: "Lightwave MDD",
  obj: "OBJ sequence",
  html: "HTML page with player",
  zip: "OBJ sequence",
  abc: "Alembic",
  json: "JSON",
  cajole: "Cajole project",
  mp4: "Video",
  gif: "Animated GIF",
  webp: "Animated WebP",
  png: "Image",
  jpg: "Image",
};
const EXPORT_HEADINGS = { result: "Motion", edit: "Edit, for reuse", project: "Project" } as const;
type ExportKind = keyof typeof EXPORT_HEADINGS;

/** Menu of the export formats, grouped by kind. */
function buildExportMenu(app: StudioApp, formats: Project["formats"]): MenuEntry[] {
  return (Object.keys(EXPORT_HEADINGS) as ExportKind[])
    .filter((kind) => formats[kind].length > 0)
    .flatMap((kind) => [
      EXPORT_HEADINGS[kind],
      ...formats[kind].map((format) => ({
        text: FORMAT_NAMES[format] ?? format.toUpperCase(),
        detail: `.${format}`,
        icon: "download" as const,
        onSelect: () => requestExport(app, format, kind),
      })),
    ]);
}

function requestExport(app: StudioApp, format: string, kind: ExportKind): void {
  void app.request("export", { format, what: kind });
}

/** Register the export commands, and download files when they are ready. */
export function installExport(app: StudioApp, button: HTMLElement): void {
  registerHandler("export", () => app.project && openMenu(button, buildExportMenu(app, app.project.formats), "Export"));
  registerHandler("save", () => {
    const format = app.project?.formats.project[0];
    if (format) requestExport(app, format, "project");
  });
  app.onFile.on((file) => {
    downloadFile(file);
    app.showToast({
      tone: "ok",
      title: `${file.name} is ready`,
      text: `${formatBytes(file.bytes)}, in the browser's downloads.`,
      actions: [{ text: "Download again", onClick: () => downloadFile(file) }],
    });
  });
}

function downloadFile({ url, name }: ExportedFile): void {
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  document.body.append(link);
  link.click();
  link.remove();
}
