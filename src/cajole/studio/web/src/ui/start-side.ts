/** The sidebar of the start page: files, what was open before, help and theme. */

import { fill, h, write } from "../core/dom";
import { icon } from "../core/icons";
import { keyOf, titled } from "../core/commands";
import { ago } from "../core/format";
import { keep, recall } from "../core/store";
import { preferred } from "../core/theme";
import { openMenu } from "./menu";
import { forgetSteps } from "./coach";
import { picture } from "./start-cards";
import { iconButton } from "./parts/button";
import type { Studio } from "../core/app";
import type { Catalogue, Part, RecentProject } from "../core/types";

export interface Side extends Part {
  show(catalogue: Catalogue): void;
}

export function sidebar(app: Studio): Side {
  const formats = h("p", { class: "drop-formats" });
  const recent = h("section", { class: "recent", "aria-label": "Recent" });
  const version = h("span", { class: "version" });
  const drop = h(
    "section",
    { class: "drop", "aria-label": "Open a file" },
    icon("file", 24),
    h("b", null, "Drop a file here"),
    h("p", null, "mesh, animation or project"),
    h(
      "button",
      { type: "button", class: "p-button", onclick: () => app.run("open") },
      icon("folder"),
      h("span", null, "Open file…"),
      h("kbd", null, keyOf("open")),
    ),
    formats,
  );
  const brand = h(
    "div",
    { class: "brand" },
    h("img", { src: "/static/icon.svg", width: 24, height: 24, alt: "" }),
    h("b", null, "Cajole Studio"),
  );
  const element = h(
    "aside",
    { class: "start-side" },
    brand,
    drop,
    recent,
    h("div", { class: "start-foot" }, foot(app), version),
  );
  const show = (catalogue: Catalogue): void => {
    write(formats, catalogue.formats.read.join(" "));
    write(version, catalogue.version);
    recent.hidden = catalogue.recent.length === 0;
    fill(
      recent,
      h("h2", null, "Recent"),
      h(
        "ul",
        null,
        catalogue.recent.map((project) => row(app, project, (gone) => gone.remove())),
      ),
    );
  };
  return { element, show };
}

function row(app: Studio, project: RecentProject, remove: (row: HTMLElement) => void): HTMLElement {
  const words = [project.recovered ? "recovered" : "", titled(project.mode), project.text, ago(project.when)]
    .filter(Boolean)
    .join(" · ");
  const open = h(
    "button",
    { type: "button", class: "recent-open", onclick: () => void app.ask("open", { project: project.id }) },
    picture(project.picture),
    h("span", null, h("b", null, project.name), h("span", { class: "recent-text" }, words)),
  );
  const forget = iconButton({
    name: `Forget ${project.name}`,
    tip: "Forget it: the project is deleted",
    icon: "x",
    size: 24,
    onPress: () => void app.ask("forget", { project: project.id }).then(() => remove(element)),
  });
  const element = h("li", { class: project.recovered ? "recent-row recovered" : "recent-row" }, open, forget.element);
  return element;
}

function foot(app: Studio): HTMLElement {
  const theme = iconButton({
    name: "Dark or light",
    icon: app.ui.theme === "dark" ? "moon" : "sun",
    size: 28,
    onPress: () => app.run("theme"),
  });
  app.onUi.on((change) => change.theme && theme.face(change.theme === "dark" ? "moon" : "sun", "Dark or light"));
  const gear = iconButton({
    name: "Settings",
    icon: "gear",
    size: 28,
    onPress: () =>
      openMenu(
        gear.element,
        [
          "Theme",
          { text: "As the system", checked: recall("theme", null) === null, do: () => follow(app) },
          { text: "Dark", checked: recall("theme", null) === "dark", do: () => app.set({ theme: "dark" }) },
          { text: "Light", checked: recall("theme", null) === "light", do: () => app.set({ theme: "light" }) },
          null,
          { text: "Show the first steps again", icon: "info", do: () => forgetSteps() },
        ],
        "Settings",
      ),
  });
  return h(
    "div",
    { class: "start-tools" },
    iconButton({
      name: "Keyboard and mouse",
      icon: "keyboard",
      size: 28,
      key: keyOf("help") ?? "",
      onPress: () => app.run("help"),
    }).element,
    iconButton({
      name: "Find a command",
      icon: "help",
      size: 28,
      key: keyOf("palette") ?? "",
      onPress: () => app.run("palette"),
    }).element,
    theme.element,
    gear.element,
  );
}

/** From now on as the system has it. */
function follow(app: Studio): void {
  app.set({ theme: preferred() });
  keep("theme", undefined);
}
