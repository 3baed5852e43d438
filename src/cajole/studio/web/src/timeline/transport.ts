/** Transport bar: frame counter, playback, loop, snapping, zoom. */

import { clamp } from "../core/math";
import { setAttribute, h, setText } from "../core/dom";
import { formatNumber, formatSeconds } from "../core/format";
import type { Component } from "../core/types";
import { createIconButton } from "../ui/controls/button";
import { createCommandButton } from "../ui/controls/command-button";
import { createSegmentedControl } from "../ui/controls/choice";
import { focusViewport } from "../ui/controls/common";
import { fitView } from "./drags";
import type { TimelineModel } from "./timeline-model";
import { parseFrame, frameToX, zoomed } from "./time-scale";

const ZOOM_STEP = 1.5; // factor of the zoom buttons

interface Transport extends Component { update(): void }

export function createTransport(model: TimelineModel): Transport {
  const { app } = model;
  const counter = createFrameField(model);
  const time = h("span", { class: "timeline-time" });
  const play = createCommandButton(app, "play", "Play", "play");
  play.element.classList.add("timeline-play");
  const loop = createCommandButton(app, "loop", "Loop", "loop");
  const snap = createSegmentedControl({
    name: "Snap", value: app.ui.snap, onChange: (value: "frame" | "marker") => app.setUi({ snap: value }),
    choices: [
      { value: "frame", text: "Frame", tip: "Snap markers to frames" },
      { value: "marker", text: "Marker", tip: "Snap markers to other markers, cursors and ends of the loop" },
    ],
  });
  const plots = createCommandButton(app, "plots", "Plots", "plot");
  const bar = h("span", { class: "timeline-rule" });
  const element = h("div", { class: "timeline-transport", role: "toolbar", "aria-label": "Playing" },
    h("div", { class: "timeline-left" }, counter.element, time),
    h("div", { class: "timeline-middle" },
      createCommandButton(app, "frame.first", "First frame", "first").element,
      createCommandButton(app, "frame.prev", "Previous frame", "prev").element,
      play.element,
      createCommandButton(app, "frame.next", "Next frame", "next").element,
      createCommandButton(app, "frame.last", "Last frame", "last").element,
      bar,
      loop.element,
    ),
    h("div", { class: "timeline-right" },
      h("span", { class: "timeline-word" }, "Snap"),
      snap.element,
      bar.cloneNode(),
      createIconButton({ name: "Zoom out", icon: "minus", onPress: () => zoomView(model, 1 / ZOOM_STEP) }).element,
      createIconButton({ name: "Show the whole shot", icon: "fit", onPress: () => fitView(model) }).element,
      createIconButton({ name: "Zoom in", icon: "plus", onPress: () => zoomView(model, ZOOM_STEP) }).element,
      plots.element,
    ),
  );
  return {
    element,
    update: () => {
      const live = model.mode?.live;
      const isPlaying = live ? live.isRunning(model.state!) : app.ui.playing;
      play.setIcon(isPlaying ? "pause" : "play", isPlaying ? "Pause" : "Play");
      loop.setPressed(app.ui.loop);
      plots.setPressed(app.ui.plots);
      snap.set(app.ui.snap);
      counter.update();
      setText(time, formatTime(model));
    },
  };
}

/** "1.60 s · 60 fps", and in a live run "lap 7 · 0.68 s". */
function formatTime(model: TimelineModel): string {
  const { edit, play } = model.cursors;
  const now = formatSeconds(Math.floor(edit ?? play) / model.fps);
  if (model.mode?.live) return model.lap === null ? now : `lap ${formatNumber(model.lap)} · ${now}`;
  return `${now} · ${formatNumber(model.fps, Number.isInteger(model.fps) ? 0 : 2)} fps`;
}

/** Zoom about the cursor if it is visible, else about the center. */
function zoomView(model: TimelineModel, factor: number): void {
  const x = frameToX(model.scale, model.cursors.edit ?? model.cursors.play);
  const inSight = x >= 0 && x <= model.scale.width;
  model.setScale(zoomed(model.scale, factor, inSight ? x : model.scale.width / 2));
}

/** Frame counter that accepts frames, seconds ("1.6 s") and timecode. */
function createFrameField(model: TimelineModel): { element: HTMLElement; update(): void } {
  const input = h("input", {
    class: "timeline-frame", inputmode: "text", autocomplete: "off", spellcheck: "false", "aria-label": "Frame",
    "data-tip": "Type a frame, seconds (1.6 s) or a timecode",
  });
  const total = h("span", { class: "timeline-total" });
  const element = h("label", { class: "timeline-counter" }, input, total);
  const getFrame = (): number => Math.floor(model.cursors.edit ?? model.cursors.play);
  const setInvalid = (on: boolean): void => {
    element.classList.toggle("timeline-wrong", on);
    setAttribute(input, "aria-invalid", String(on));
  };
  const fitWidth = (): void => void (input.style.width = `${Math.max(input.value.length, 1) + 0.2}ch`);
  const showFrame = (): void => {
    input.value = String(getFrame());
    fitWidth();
    setInvalid(false);
  };
  const commit = (): boolean => {
    const frame = parseFrame(input.value, model.fps);
    setInvalid(frame === null);
    if (frame !== null && frame !== getFrame()) model.seekAndReveal(clamp(frame, 0, model.last));
    return frame !== null;
  };
  input.addEventListener("focus", () => input.select());
  input.addEventListener("input", () => {
    fitWidth();
    setInvalid(parseFrame(input.value, model.fps) === null);
  });
  input.addEventListener("blur", () => {
    commit();
    showFrame();
  });
  input.addEventListener("keydown", (event) => {
    event.stopPropagation();
    const by = event.key === "ArrowUp" ? 1 : event.key === "ArrowDown" ? -1 : 0;
    if (by) {
      event.preventDefault();
      model.seekAndReveal(clamp(getFrame() + by * (event.shiftKey ? 10 : 1), 0, model.last));
      showFrame();
    } else if (event.key === "Escape") {
      showFrame();
      input.blur();
    } else if (event.key === "Enter" && commit()) focusViewport(input);
  });
  return {
    element,
    update: () => {
      setText(total, `/ ${model.last}`);
      if (document.activeElement !== input) showFrame();
      // wide enough for the last frame, to avoid layout shifts during playback
      element.style.minWidth = `calc(${2 * String(model.last).length + 3}ch + 24px)`;
    },
  };
}
