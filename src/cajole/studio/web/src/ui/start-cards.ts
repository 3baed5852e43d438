/** Cards of the start page, one a scene. */

import { setAttribute, setChildren, h } from "../core/dom";
import { createIcon } from "../core/icons";
import type { StudioApp } from "../core/app";
import type { CatalogueScene, ModeName, Component } from "../core/types";

const AGAIN = 4000; // ms until a picture that is still being made is asked for again
const TRIES = 45;

export interface Cards extends Component {
  show(scenes: readonly CatalogueScene[] | null): void;
}

export function cards(app: StudioApp, verb: () => ModeName): Cards {
  const element = h("div", { class: "cards" });
  let opening: HTMLElement | null = null;
  const open = (scene: CatalogueScene, card: HTMLElement): void => {
    if (opening) return;
    opening = card;
    setAttribute(card, "aria-busy", "true");
    app.request("open", { scene: scene.name, mode: verb() }).catch(stop);
  };
  const stop = (): void => {
    opening?.removeAttribute("aria-busy");
    opening = null;
  };
  app.onJob.on((job) => job.state !== "running" && job.state !== "done" && stop());
  app.onUi.on((change) => ("page" in change || "connection" in change) && stop());
  const made = new Map<string, HTMLElement>(); // a card that has its picture keeps it while it goes and comes
  const keep = (scene: CatalogueScene): HTMLElement => {
    const key = JSON.stringify(scene);
    const element = made.get(key) ?? card(scene, open);
    made.set(key, element);
    return element;
  };
  return {
    element,
    show: (scenes) => {
      const waiting = Array.from({ length: 6 }, () => h("div", { class: "card waiting", "aria-hidden": "true" }));
      setChildren(element, scenes === null ? waiting : scenes.map(keep));
      if (scenes?.length === 0)
        setChildren(element, h("p", { class: "cards-none" }, "No scene of this kind. Drop a file of your own."));
    },
  };
}

function card(scene: CatalogueScene, open: (scene: CatalogueScene, card: HTMLElement) => void): HTMLElement {
  const facts = scene.facts.map((fact) => h("span", { class: "fact" }, fact));
  if (!scene.ready)
    facts.push(
      h("span", { class: "fact", "data-tip": "Made ready when it is first opened, and kept" }, "prepares once"),
    );
  const element = h(
    "button",
    {
      type: "button",
      class: "card",
      "aria-label": `${scene.title}: ${scene.text}`,
      onclick: () => open(scene, element),
      data: { scene: scene.name },
    },
    picture(scene.picture),
    h(
      "span",
      { class: "card-body" },
      h("b", null, scene.title),
      h("span", { class: "card-text" }, scene.text),
      h("span", { class: "card-facts" }, facts),
    ),
    h("span", { class: "card-open", "aria-hidden": "true" }, h("span", { class: "spinner" }), "Open"),
  );
  return element;
}

/** A picture that may still be in the making: its place stays, and it is asked for again while it is looked at. */
export function picture(url: string | null): HTMLElement {
  const frame = h("span", { class: "picture" }, createIcon("camera", 20));
  if (!url) return frame;
  const image = h("img", { alt: "", loading: "lazy", decoding: "async", draggable: "false" });
  let tries = 0;
  const again = (): void => {
    if (tries >= TRIES) return;
    if (frame.isConnected && frame.checkVisibility()) image.src = `${url}?again=${++tries}`;
    else setTimeout(again, AGAIN);
  };
  image.addEventListener("load", () => frame.classList.add("there"));
  image.addEventListener("error", () => setTimeout(again, AGAIN));
  image.src = url;
  frame.append(image);
  return frame;
}
