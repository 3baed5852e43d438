/** Files that leave the studio. */

import { formatBytes } from "../core/format";
import { registerHandler } from "../core/commands";
import { openMenu, type MenuEntry } from "./menu";
import type { StudioApp } from "../core/app";
import type { ExportedFile, Project } from "../core/types";

const NAMES: Record<string, string> = {
  npz: "NumPy archive",
  usd: "Universal Scene Description",
  usda: "USD, as text",
  usdc: "USD, packed",
  usdz: "USD in a zip",
  glb: "glTF, binary",
  gltf: "glTF",
  pc2: "Point Cache 2",
  mdd: "Lightwave MDD",
  obj: "OBJ sequence",
  html: "Page that plays",
  zip: "OBJ sequence",
  abc: "Alembic",
  json: "JSON",
  cajole: "Cajole project",
  mp4: "Film",
  gif: "Animated GIF",
  webp: "Animated WebP",
  png: "Picture",
  jpg: "Picture",
};
const HEADS = { result: "Motion", edit: "Edit, to apply again", project: "Project" } as const;
type What = keyof typeof HEADS;

/** What can be exported, under its headings. */
export function entries(app: StudioApp, formats: Project["formats"]): MenuEntry[] {
  return (Object.keys(HEADS) as What[])
    .filter((what) => formats[what].length > 0)
    .flatMap((what) => [
      HEADS[what],
      ...formats[what].map((format) => ({
        text: NAMES[format] ?? format.toUpperCase(),
        detail: `.${format}`,
        icon: "download" as const,
        do: () => send(app, format, what),
      })),
    ]);
}

function send(app: StudioApp, format: string, what: What): void {
  void app.request("export", { format, what });
}

/** Offers the exports under a button, and fetches files once they are made. */
export function exporting(app: StudioApp, button: HTMLElement): void {
  registerHandler("export", () => app.project && openMenu(button, entries(app, app.project.formats), "Export"));
  registerHandler("save", () => {
    const format = app.project?.formats.project[0];
    if (format) send(app, format, "project");
  });
  app.onFile.on((file) => {
    fetchFile(file);
    app.showToast({
      tone: "ok",
      title: `${file.name} is ready`,
      text: `${formatBytes(file.bytes)}, in the browser's downloads.`,
      actions: [{ text: "Fetch it again", onClick: () => fetchFile(file) }],
    });
  });
}

function fetchFile({ url, name }: ExportedFile): void {
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  document.body.append(link);
  link.click();
  link.remove();
}
