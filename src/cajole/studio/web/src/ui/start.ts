/** The start page: what should the body do, and which body. */

import "../style/start.css";
import { setAttribute, setChildren, h, setText } from "../core/dom";
import { createIcon } from "../core/icons";
import { formatModeName } from "../core/commands";
import { saveSetting, loadSetting } from "../core/storage";
import { cards } from "./start-cards";
import { sidebar } from "./start-side";
import { forgetSteps } from "./coach";
import type { StudioApp } from "../core/app";
import type { Catalogue, CatalogueScene, ModeName, Component } from "../core/types";

const VERBS: readonly { mode: ModeName; text: string }[] = [
  { mode: "edit", text: "Drag a finished animation where you want it" },
  { mode: "keyframe", text: "Pose a body, get a motion through the poses" },
  { mode: "steer", text: "Push a live body, watch it recover" },
  { mode: "enrich", text: "Give a coarse motion fine folds" },
  { mode: "reroute", text: "Lead points along new paths" },
];
const SCENES: Partial<Record<ModeName, string>> = {
  edit: "Scenes to edit",
  keyframe: "Bodies to pose",
  steer: "Bodies to steer",
  enrich: "Guides to enrich",
  reroute: "Runs to bend",
};
const GROUPS = ["all", "creatures", "plants", "structures", "characters", "flows"] as const;
type Shown = (typeof GROUPS)[number];

export interface Start extends Component {
  readonly verb: ModeName;
}

export function start(app: StudioApp): Start {
  let verb = loadSetting<ModeName>("verb", "edit");
  let group: Shown = "all";
  let catalogue: Catalogue | null = null;

  const side = sidebar(app);
  const tiles = VERBS.map((each) => tile(each, () => choose(each.mode)));
  const heading = h("h2", { class: "start-scenes" });
  const chips = h("div", { class: "filter", role: "group", "aria-label": "Kinds of scenes" });
  const grid = cards(app, () => verb);
  const tour = h(
    "button",
    { type: "button", class: "p-button tour", onclick: () => begin() },
    createIcon("play"),
    "60-second tour",
  );
  const verbs = h("div", { class: "verbs", role: "radiogroup", "aria-label": "What to do" }, tiles);
  const main = h(
    "main",
    { class: "start-main", tabIndex: -1 },
    h(
      "div",
      { class: "start-inner" },
      h(
        "div",
        { class: "start-head" },
        h(
          "div",
          null,
          h("h1", null, "What should the body do?"),
          h("p", null, "Pick a verb, then a scene. Everything runs on this computer."),
        ),
        tour,
      ),
      verbs,
      h("div", { class: "start-bar" }, heading, chips),
      grid.element,
    ),
  );
  const element = h("div", { class: "start" }, side.element, main);

  const scenes = (): CatalogueScene[] => (catalogue?.scenes ?? []).filter((scene) => scene.modes.includes(verb));
  const draw = (): void => {
    VERBS.forEach(({ mode }, at) => {
      setAttribute(tiles[at]!, "aria-checked", mode === verb);
      tiles[at]!.tabIndex = mode === verb ? 0 : -1;
    });
    setText(heading, SCENES[verb] ?? "");
    const there = GROUPS.filter((each) => each === "all" || scenes().some((scene) => scene.group === each));
    if (!there.includes(group)) group = "all";
    setChildren(
      chips,
      there.length > 2 ? there.map((each) => chip(each, each === group, () => ((group = each), draw()))) : null,
    );
    grid.show(catalogue && scenes().filter((scene) => group === "all" || scene.group === group));
    tour.hidden = !catalogue?.scenes.some((scene) => scene.modes.includes("edit"));
  };
  const choose = (mode: ModeName): void => {
    verb = mode;
    saveSetting("verb", mode);
    draw();
  };
  const begin = (): void => {
    const scene =
      catalogue?.scenes.find((each) => each.modes.includes("edit") && each.ready) ??
      catalogue?.scenes.find((each) => each.modes.includes("edit"));
    if (!scene) return;
    forgetSteps();
    void app.request("open", { scene: scene.name, mode: "edit" });
  };
  verbs.addEventListener("keydown", (event) => arrows(event, tiles, (at) => choose(VERBS[at]!.mode)));

  const load = async (): Promise<void> => {
    const answer = await app.request("catalogue", {}, { quiet: true });
    catalogue = answer["catalogue"] as unknown as Catalogue;
    side.show(catalogue);
    draw();
  };
  const look = (): void => {
    element.hidden = app.ui.page !== "start";
    if (!element.hidden && app.ui.connection === "connected") load().catch(() => undefined);
  };
  app.onUi.on((change) => ("page" in change || "connection" in change) && look());
  draw();
  look();
  return {
    element,
    get verb() {
      return verb;
    },
  };
}

function tile({ mode, text }: (typeof VERBS)[number], choose: () => void): HTMLElement {
  return h(
    "button",
    { type: "button", class: "verb", role: "radio", onclick: choose },
    h("span", { class: "verb-name" }, createIcon(mode), formatModeName(mode)),
    h("span", { class: "verb-text" }, text),
  );
}

function chip(name: Shown, on: boolean, choose: () => void): HTMLElement {
  return h(
    "button",
    { type: "button", class: "filter-chip", "aria-pressed": on, onclick: choose },
    name[0]!.toUpperCase() + name.slice(1),
  );
}

/** Arrows move through the verbs. */
function arrows(event: KeyboardEvent, tiles: readonly HTMLElement[], choose: (at: number) => void): void {
  const way = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!way) return;
  event.preventDefault();
  const now = tiles.indexOf(document.activeElement as HTMLElement);
  const next = (now + way + tiles.length) % tiles.length;
  tiles[next]!.focus();
  choose(next);
}
