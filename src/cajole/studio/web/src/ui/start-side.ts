/** The sidebar of the start page: files, what was open before, help and theme. */

import { setChildren, h, setText } from "../core/dom";
import { createIcon } from "../core/icons";
import { getShortcut, formatModeName } from "../core/commands";
import { formatDate } from "../core/format";
import { saveSetting, loadSetting } from "../core/storage";
import { getSystemTheme } from "../core/theme";
import { openMenu } from "./menu";
import { forgetSteps } from "./coach";
import { picture } from "./start-cards";
import { iconButton } from "./parts/button";
import type { StudioApp } from "../core/app";
import type { Catalogue, Component, RecentProject } from "../core/types";

export interface Side extends Component {
  show(catalogue: Catalogue): void;
}

export function sidebar(app: StudioApp): Side {
  const formats = h("p", { class: "drop-formats" });
  const recent = h("section", { class: "recent", "aria-label": "Recent" });
  const version = h("span", { class: "version" });
  const drop = h(
    "section",
    { class: "drop", "aria-label": "Open a file" },
    createIcon("file", 24),
    h("b", null, "Drop a file here"),
    h("p", null, "mesh, animation or project"),
    h(
      "button",
      { type: "button", class: "p-button", onclick: () => app.runCommand("open") },
      createIcon("folder"),
      h("span", null, "Open file…"),
      h("kbd", null, getShortcut("open")),
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
    setText(formats, catalogue.formats.read.join(" "));
    setText(version, catalogue.version);
    recent.hidden = catalogue.recent.length === 0;
    setChildren(
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

function row(app: StudioApp, project: RecentProject, remove: (row: HTMLElement) => void): HTMLElement {
  const words = [project.recovered ? "recovered" : "", formatModeName(project.mode), project.text, formatDate(project.when)]
    .filter(Boolean)
    .join(" · ");
  const open = h(
    "button",
    { type: "button", class: "recent-open", onclick: () => void app.request("open", { project: project.id }) },
    picture(project.picture),
    h("span", null, h("b", null, project.name), h("span", { class: "recent-text" }, words)),
  );
  const forget = iconButton({
    name: `Forget ${project.name}`,
    tip: "Forget it: the project is deleted",
    icon: "x",
    size: 24,
    onPress: () => void app.request("forget", { project: project.id }).then(() => remove(element)),
  });
  const element = h("li", { class: project.recovered ? "recent-row recovered" : "recent-row" }, open, forget.element);
  return element;
}

function foot(app: StudioApp): HTMLElement {
  const theme = iconButton({
    name: "Dark or light",
    icon: app.ui.theme === "dark" ? "moon" : "sun",
    size: 28,
    onPress: () => app.runCommand("theme"),
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
          { text: "As the system", checked: loadSetting("theme", null) === null, do: () => follow(app) },
          { text: "Dark", checked: loadSetting("theme", null) === "dark", do: () => app.setUi({ theme: "dark" }) },
          { text: "Light", checked: loadSetting("theme", null) === "light", do: () => app.setUi({ theme: "light" }) },
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
      key: getShortcut("help") ?? "",
      onPress: () => app.runCommand("help"),
    }).element,
    iconButton({
      name: "Find a command",
      icon: "help",
      size: 28,
      key: getShortcut("palette") ?? "",
      onPress: () => app.runCommand("palette"),
    }).element,
    theme.element,
    gear.element,
  );
}

/** From now on as the system has it. */
function follow(app: StudioApp): void {
  app.setUi({ theme: getSystemTheme() });
  saveSetting("theme", undefined);
}
