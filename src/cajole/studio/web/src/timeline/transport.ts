/** The bar above the ruler: which frame, playing, looping, snapping, zooming. */

import { getShortcut } from "../core/commands";
import { setAttribute, h, setText } from "../core/dom";
import { formatNumber, formatSeconds } from "../core/format";
import type { IconName } from "../core/icons";
import type { App, Component } from "../core/types";
import { createIconButton, type IconButton } from "../ui/controls/button";
import { createSegmentedControl } from "../ui/controls/choice";
import { focusViewport } from "../ui/controls/common";
import { fit } from "./drags";
import type { Model } from "./model";
import { clamp, typedFrame, xOf, zoomed } from "./scale";

const STEP = 1.5; // of the zoom buttons

export interface Transport extends Component { update(): void }

/** A button that runs a command of the table. */
const runs = (app: App, command: string, name: string, icon: IconName): IconButton =>
  createIconButton({ name, icon, key: getShortcut(command), size: 28, onPress: () => app.runCommand(command) });

export function transport(model: Model): Transport {
  const { app } = model;
  const counter = frameField(model);
  const time = h("span", { class: "timeline-time" });
  const play = runs(app, "play", "Play", "play");
  play.element.classList.add("timeline-play");
  const loop = runs(app, "loop", "Loop", "loop");
  const snap = createSegmentedControl({
    name: "Snap", value: app.ui.snap, onChange: (value: "frame" | "marker") => app.setUi({ snap: value }),
    choices: [
      { value: "frame", text: "Frame", tip: "Markers stop on whole frames" },
      { value: "marker", text: "Marker", tip: "Markers are drawn to markers, cursors and ends of the loop" },
    ],
  });
  const plots = runs(app, "plots", "Plots", "plot");
  const bar = h("span", { class: "timeline-rule" });
  const element = h(
    "div",
    { class: "timeline-transport", role: "toolbar", "aria-label": "Playing" },
    h("div", { class: "timeline-left" }, counter.element, time),
    h(
      "div",
      { class: "timeline-middle" },
      runs(app, "frame.first", "First frame", "first").element,
      runs(app, "frame.prev", "One frame back", "prev").element,
      play.element,
      runs(app, "frame.next", "One frame on", "next").element,
      runs(app, "frame.last", "Last frame", "last").element,
      bar,
      loop.element,
    ),
    h(
      "div",
      { class: "timeline-right" },
      h("span", { class: "timeline-word" }, "Snap"),
      snap.element,
      bar.cloneNode(),
      createIconButton({ name: "Zoom out", icon: "minus", onPress: () => zoom(model, 1 / STEP) }).element,
      createIconButton({ name: "Show the whole shot", icon: "fit", onPress: () => fit(model) }).element,
      createIconButton({ name: "Zoom in", icon: "plus", onPress: () => zoom(model, STEP) }).element,
      plots.element,
    ),
  );
  return {
    element,
    update: () => {
      const live = model.state?.mode === "steer";
      const going = live ? Boolean(model.state?.steer?.running) : app.ui.playing;
      play.setIcon(going ? "pause" : "play", going ? "Pause" : "Play");
      loop.setPressed(app.ui.loop);
      plots.setPressed(app.ui.plots);
      snap.set(app.ui.snap);
      counter.update();
      setText(time, timeText(model));
    },
  };
}

/** "1.60 s · 60 fps", and in a live run "lap 7 · 0.68 s". */
function timeText(model: Model): string {
  const { edit, play } = model.cursors;
  const now = formatSeconds(Math.floor(edit ?? play) / model.fps);
  if (model.state?.mode === "steer") return model.lap === null ? now : `lap ${formatNumber(model.lap)} · ${now}`;
  return `${now} · ${formatNumber(model.fps, Number.isInteger(model.fps) ? 0 : 2)} fps`;
}

/** Zooms about the cursor when it is in sight, else about the middle. */
function zoom(model: Model, factor: number): void {
  const x = xOf(model.scale, model.cursors.edit ?? model.cursors.play);
  const inSight = x >= 0 && x <= model.scale.width;
  model.view(zoomed(model.scale, factor, inSight ? x : model.scale.width / 2));
}

/** The frame counter, which takes frames, seconds ("1.6 s") and timecode. */
function frameField(model: Model): { element: HTMLElement; update(): void } {
  const input = h("input", {
    class: "timeline-frame", inputmode: "text", autocomplete: "off", spellcheck: "false", "aria-label": "Frame",
    "data-tip": "Type a frame, seconds (1.6 s) or a timecode",
  });
  const total = h("span", { class: "timeline-total" });
  const element = h("label", { class: "timeline-counter" }, input, total);
  const shown = (): number => Math.floor(model.cursors.edit ?? model.cursors.play);
  const wrong = (on: boolean): void => {
    element.classList.toggle("timeline-wrong", on);
    setAttribute(input, "aria-invalid", String(on));
  };
  const fitWidth = (): void => void (input.style.width = `${Math.max(input.value.length, 1) + 0.2}ch`);
  const put = (): void => {
    input.value = String(shown());
    fitWidth();
    wrong(false);
  };
  const go = (): boolean => {
    const frame = typedFrame(input.value, model.fps);
    wrong(frame === null);
    if (frame !== null && frame !== shown()) model.show(clamp(frame, 0, model.last));
    return frame !== null;
  };
  input.addEventListener("focus", () => input.select());
  input.addEventListener("input", () => {
    fitWidth();
    wrong(typedFrame(input.value, model.fps) === null);
  });
  input.addEventListener("blur", () => {
    go();
    put();
  });
  input.addEventListener("keydown", (event) => {
    event.stopPropagation();
    const by = event.key === "ArrowUp" ? 1 : event.key === "ArrowDown" ? -1 : 0;
    if (by) {
      event.preventDefault();
      model.show(clamp(shown() + by * (event.shiftKey ? 10 : 1), 0, model.last));
      put();
    } else if (event.key === "Escape") {
      put();
      input.blur();
    } else if (event.key === "Enter" && go()) focusViewport(input);
  });
  return {
    element,
    update: () => {
      setText(total, `/ ${model.last}`);
      if (document.activeElement !== input) put();
      // Room for the last frame, so that nothing moves while time runs.
      element.style.minWidth = `calc(${2 * String(model.last).length + 3}ch + 24px)`;
    },
  };
}
