/** Start page: choose a mode and a scene, open a file or a recent project. */

import "../style/start.css";
import type { StudioApp } from "../core/app";
import { getShortcut } from "../core/commands";
import { h, setAttribute, setChildren, setText } from "../core/dom";
import { formatDate } from "../core/format";
import { createIcon } from "../core/icons";
import { getMode, getModes, type ModeDefinition, type ModeName } from "../core/modes";
import { loadSetting, saveSetting } from "../core/storage";
import { getSystemTheme } from "../core/theme";
import type { Catalogue, CatalogueScene, Component, RecentProject } from "../core/types";
import { createIconButton } from "./controls/button";
import { createCommandButton } from "./controls/command-button";
import { openMenu } from "./menu";
import { resetOnboarding } from "./onboarding";

const SCENE_GROUPS = ["all", "creatures", "plants", "structures", "characters", "flows"] as const;
type SceneFilter = (typeof SCENE_GROUPS)[number];

interface StartPage extends Component { readonly mode: ModeName }

export function createStartPage(app: StudioApp): StartPage {
  const modes = getModes();
  const [tourMode] = modes;
  let selectedMode = modes.find(({ name }) => name === loadSetting("verb", "")) ?? tourMode;
  let group: SceneFilter = "all";
  let catalogue: Catalogue | null = null;

  const side = createSidebar(app);
  const tiles = modes.map((mode) => createTile(mode, () => choose(mode)));
  const heading = h("h2", { class: "start-scenes" });
  const chips = h("div", { class: "filter", role: "group", "aria-label": "Kinds of scenes" });
  const grid = createSceneCards(app, () => selectedMode.name);
  const tour = h("button", { type: "button", class: "p-button tour", onclick: () => startTour() },
    createIcon("play"),
    "60-second tour",
  );
  const verbs = h("div", { class: "verbs", role: "radiogroup", "aria-label": "What to do" }, tiles);
  const main = h("main", { class: "start-main", tabIndex: -1 },
    h("div", { class: "start-inner" },
      h("div", { class: "start-head" },
        h("div", null,
          h("h1", null, "What should the body do?"),
          h("p", null, "Choose a mode, then a scene. Everything runs on this computer."),
        ),
        tour,
      ),
      verbs,
      h("div", { class: "start-bar" }, heading, chips),
      grid.element,
    ),
  );
  const element = h("div", { class: "start" }, side.element, main);

  const scenes = (): CatalogueScene[] => (catalogue?.scenes ?? []).filter((scene) => scene.modes.includes(selectedMode.name));
  const listTourScenes = (): CatalogueScene[] => catalogue?.scenes.filter((scene) => scene.modes.includes(tourMode.name)) ?? [];
  const draw = (): void => {
    modes.forEach((mode, at) => {
      setAttribute(tiles[at]!, "aria-checked", mode === selectedMode);
      tiles[at]!.tabIndex = mode === selectedMode ? 0 : -1;
    });
    setText(heading, selectedMode.scenesHeading);
    const available = SCENE_GROUPS.filter((each) => each === "all" || scenes().some((scene) => scene.group === each));
    if (!available.includes(group)) group = "all";
    setChildren(
      chips,
      available.length > 2 ? available.map((each) => createChip(each, each === group, () => ((group = each), draw()))) : null,
    );
    grid.show(catalogue && scenes().filter((scene) => group === "all" || scene.group === group));
    tour.hidden = listTourScenes().length === 0;
  };
  const choose = (mode: ModeDefinition): void => {
    selectedMode = mode;
    saveSetting("verb", mode.name);
    draw();
  };
  const startTour = (): void => {
    const found = listTourScenes();
    const scene = found.find(({ ready }) => ready) ?? found[0];
    if (!scene) return;
    resetOnboarding();
    void app.request("open", { scene: scene.name, mode: tourMode.name });
  };
  verbs.addEventListener("keydown", (event) => handleTileKey(event, tiles, (at) => choose(modes[at]!)));

  const load = async (): Promise<void> => {
    ({ catalogue } = await app.request("catalogue", {}, { quiet: true }));
    side.show(catalogue);
    draw();
  };
  const update = (): void => {
    element.hidden = app.ui.page !== "start";
    if (!element.hidden && app.ui.connection === "connected") load().catch(() => undefined);
  };
  app.onUi.on((change) => ("page" in change || "connection" in change) && update());
  draw();
  update();
  return {
    element,
    get mode() {
      return selectedMode.name;
    },
  };
}

function createTile({ icon, title, text }: ModeDefinition, choose: () => void): HTMLElement {
  return h("button", { type: "button", class: "verb", role: "radio", onclick: choose },
    h("span", { class: "verb-name" }, createIcon(icon), title),
    h("span", { class: "verb-text" }, text),
  );
}

function createChip(name: SceneFilter, on: boolean, choose: () => void): HTMLElement {
  return h("button", { type: "button", class: "filter-chip", "aria-pressed": on, onclick: choose },
    name[0]!.toUpperCase() + name.slice(1),
  );
}

/** Arrow keys move through the modes. */
function handleTileKey(event: KeyboardEvent, tiles: readonly HTMLElement[], choose: (at: number) => void): void {
  const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!step) return;
  event.preventDefault();
  const now = tiles.indexOf(document.activeElement as HTMLElement);
  const next = (now + step + tiles.length) % tiles.length;
  tiles[next]!.focus();
  choose(next);
}

const RETRY_DELAY = 4000; // ms until a thumbnail that is not ready is requested again
const MAX_RETRIES = 45;

interface SceneCards extends Component { show(scenes: readonly CatalogueScene[] | null): void }

function createSceneCards(app: StudioApp, getMode: () => ModeName): SceneCards {
  const element = h("div", { class: "cards" });
  let opening: HTMLElement | null = null;
  const open = (scene: CatalogueScene, card: HTMLElement): void => {
    if (opening) return;
    opening = card;
    setAttribute(card, "aria-busy", "true");
    app.request("open", { scene: scene.name, mode: getMode() }).catch(clearBusy);
  };
  const clearBusy = (): void => {
    opening?.removeAttribute("aria-busy");
    opening = null;
  };
  app.onJob.on((job) => job.state !== "running" && job.state !== "done" && clearBusy());
  app.onUi.on((change) => ("page" in change || "connection" in change) && clearBusy());
  const cache = new Map<string, HTMLElement>(); // reused, so that loaded thumbnails stay
  const getCard = (scene: CatalogueScene): HTMLElement => {
    const key = JSON.stringify(scene);
    const element = cache.get(key) ?? createCard(scene, open);
    cache.set(key, element);
    return element;
  };
  return {
    element,
    show: (scenes) => {
      const waiting = Array.from({ length: 6 }, () => h("div", { class: "card waiting", "aria-hidden": "true" }));
      setChildren(element, scenes === null ? waiting : scenes.map(getCard));
      if (scenes?.length === 0)
        setChildren(element, h("p", { class: "cards-none" }, "No scene of this kind. Drop your own file."));
    },
  };
}

function createCard(scene: CatalogueScene, open: (scene: CatalogueScene, card: HTMLElement) => void): HTMLElement {
  const facts = scene.facts.map((fact) => h("span", { class: "fact" }, fact));
  if (!scene.ready)
    facts.push(
      h("span", { class: "fact", "data-tip": "Preprocessed when first opened, then cached" }, "computed on first use"),
    );
  const element = h(
    "button",
    {
      type: "button", class: "card", "aria-label": `${scene.title}: ${scene.text}`,
      onclick: () => open(scene, element),
      data: { scene: scene.name },
    },
    createThumbnail(scene.picture),
    h("span", { class: "card-body" },
      h("b", null, scene.title),
      h("span", { class: "card-text" }, scene.text),
      h("span", { class: "card-facts" }, facts),
    ),
    h("span", { class: "card-open", "aria-hidden": "true" }, h("span", { class: "spinner" }), "Open"),
  );
  return element;
}

/** Thumbnail that may not be ready yet: requested again while it is visible. */
function createThumbnail(url: string | null): HTMLElement {
  const frame = h("span", { class: "picture" }, createIcon("camera", 20));
  if (!url) return frame;
  const image = h("img", { alt: "", loading: "lazy", decoding: "async", draggable: "false" });
  let tries = 0;
  const retry = (): void => {
    if (tries >= MAX_RETRIES) return;
    if (frame.isConnected && frame.checkVisibility()) image.src = `${url}?again=${++tries}`;
    else setTimeout(retry, RETRY_DELAY);
  };
  image.addEventListener("load", () => frame.classList.add("there"));
  image.addEventListener("error", () => setTimeout(retry, RETRY_DELAY));
  image.src = url;
  frame.append(image);
  return frame;
}

interface Sidebar extends Component { show(catalogue: Catalogue): void }

function createSidebar(app: StudioApp): Sidebar {
  const formats = h("p", { class: "drop-formats" });
  const recent = h("section", { class: "recent", "aria-label": "Recent" });
  const version = h("span", { class: "version" });
  const drop = h("section", { class: "drop", "aria-label": "Open a file" },
    createIcon("file", 24),
    h("b", null, "Drop a file here"),
    h("p", null, "mesh, animation or project"),
    h("button", { type: "button", class: "p-button", onclick: () => app.runCommand("open") },
      createIcon("folder"),
      h("span", null, "Open file…"),
      h("kbd", null, getShortcut("open")),
    ),
    formats,
  );
  const brand = h("div", { class: "brand" },
    h("img", { src: "/static/icon.svg", width: 24, height: 24, alt: "" }),
    h("b", null, "Cajole Studio"),
  );
  const element = h("aside", { class: "start-side" },
    brand,
    drop,
    recent,
    h("div", { class: "start-foot" }, createFooter(app), version),
  );
  const show = (catalogue: Catalogue): void => {
    setText(formats, catalogue.formats.read.join(" "));
    setText(version, catalogue.version);
    recent.hidden = catalogue.recent.length === 0;
    setChildren(
      recent,
      h("h2", null, "Recent"),
      h("ul", null, catalogue.recent.map((project) => createRecentRow(app, project, (gone) => gone.remove()))),
    );
  };
  return { element, show };
}

function createRecentRow(app: StudioApp, project: RecentProject, remove: (row: HTMLElement) => void): HTMLElement {
  const words = [project.recovered ? "recovered" : "", getMode(project.mode).title, project.text, formatDate(project.when)]
    .filter(Boolean)
    .join(" · ");
  const open = h(
    "button",
    { type: "button", class: "recent-open", onclick: () => void app.request("open", { project: project.id }) },
    createThumbnail(project.picture),
    h("span", null, h("b", null, project.name), h("span", { class: "recent-text" }, words)),
  );
  const forget = createIconButton({
    name: `Delete ${project.name}`, tip: "Delete this project", icon: "x", size: 24,
    onPress: () => void app.request("forget", { project: project.id }).then(() => remove(element)),
  });
  const element = h("li", { class: project.recovered ? "recent-row recovered" : "recent-row" }, open, forget.element);
  return element;
}

function createFooter(app: StudioApp): HTMLElement {
  const theme = createCommandButton(app, "theme", "Dark or light", app.ui.theme === "dark" ? "moon" : "sun");
  app.onUi.on((change) => change.theme && theme.setIcon(change.theme === "dark" ? "moon" : "sun", "Dark or light"));
  const gear = createIconButton({
    name: "Settings",
    icon: "gear",
    size: 28,
    onPress: () =>
      openMenu(
        gear.element,
        [
          "Theme",
          { text: "System", checked: loadSetting("theme", null) === null, onSelect: () => followSystemTheme(app) },
          { text: "Dark", checked: loadSetting("theme", null) === "dark", onSelect: () => app.setUi({ theme: "dark" }) },
          { text: "Light", checked: loadSetting("theme", null) === "light", onSelect: () => app.setUi({ theme: "light" }) },
          null,
          { text: "Show the first steps again", icon: "info", onSelect: () => resetOnboarding() },
        ],
        "Settings",
      ),
  });
  return h("div", { class: "start-tools" },
    createCommandButton(app, "help", "Keyboard and mouse", "keyboard").element,
    createCommandButton(app, "palette", "Find a command", "help").element,
    theme.element,
    gear.element,
  );
}

/** Follow the theme of the operating system. */
function followSystemTheme(app: StudioApp): void {
  app.setUi({ theme: getSystemTheme() });
  saveSetting("theme", undefined);
}
