/** The shell of Enrich and its regions: found, or painted with the brush. */

import { brush, type BrushMode, setBrush, getRegionColor, onBrush, RADIUS_RANGE, activateBrush } from "../core/brush";
import { setChildren, h, setText } from "../core/dom";
import type { EnrichState, RegionInfo, RegionKind } from "../core/enrich-types";
import { formatNumber, formatPercent } from "../core/format";
import { createIcon } from "../core/icons";
import type { App } from "../core/types";
import { createIconButton } from "../ui/controls/button";
import { type SegmentedControl, createSegmentedControl, createSwitch } from "../ui/controls/choice";
import { createKeyedList, createRow } from "../ui/controls/common";
import { createLatestSender } from "../ui/controls/latest-sender";
import { createList, createListRow, type ListRow } from "../ui/controls/list";
import { createLinearScale, createLogScale } from "../ui/controls/slider-scale";
import { createSection } from "../ui/controls/section";
import { createSlider } from "../ui/controls/slider";
import type { EnrichPart } from "./enrich-dials";
import { once, tell } from "./mode-panel";

/** Levels to begin with where a scene's own mesh is left. */
const USUAL_LEVELS = 3;

export function shellPart(app: App): EnrichPart {
  const levels = createSlider({
    name: "Levels",
    value: 3,
    scale: createLinearScale(0, 5, 1),
    text: (value) => formatNumber(value),
    tip: "How often every edge of the guide is halved. Applied when let go",
    onChange: once(app, "shell", "levels"),
  });
  const own = createSegmentedControl({
    name: "Mesh of the shell",
    value: "own" as "own" | "cut",
    choices: [
      { value: "own", text: "Its own", tip: "The mesh that came with the scene" },
      { value: "cut", text: "Guide, halved", tip: "The guide's triangles, subdivided" },
    ],
    onChange: (value) => {
      const most = app.state?.enrich?.shell.most_levels ?? USUAL_LEVELS;
      return app.request("shell", { levels: value === "own" ? null : Math.min(USUAL_LEVELS, most) });
    },
  });
  const mesh = createRow("Mesh", own.element);
  const line = createRow("Levels", levels.element);
  const whole = createSection({ title: "Shell" }, mesh.element, line.element);
  return {
    element: whole.element,
    update: ({ shell }) => {
      mesh.element.hidden = !shell.own;
      own.set(shell.levels === null ? "own" : "cut");
      line.element.hidden = shell.levels === null;
      levels.setScale(createLinearScale(0, Math.max(1, shell.most_levels), 1));
      levels.set(shell.levels ?? 0);
      whole.setNote(`${formatNumber(shell.vertices)} vertices`);
    },
  };
}

const KINDS: Record<RegionKind, { text: string; tip: string }> = {
  hats: { text: "Hats", tip: "One region around each vertex of the guide" },
  clusters: { text: "Found", tip: "Patches that stay together over the whole motion" },
  scene: { text: "Scene's", tip: "The regions that came with the scene" },
  paint: { text: "Painted", tip: "As the brush has painted them" },
};

export function regionsPart(app: App): EnrichPart & { dispose(): void } {
  const kinds = kindsPart(app);
  const clusters = clustersPart(app);
  const brushed = brushPart(app);
  const rows = regionRows(app);
  const problem = h("p", { class: "panel-outcome enrich-problem", role: "status", hidden: true });
  const says = h("p", { class: "p-quiet" });
  const shown = createIconButton({
    name: "Colours of regions",
    icon: "eye",
    key: "O",
    onPress: () => setBrush({ shown: !brush.shown }),
  });
  const whole = createSection(
    { title: "Regions", actions: [shown.element] },
    kinds.element,
    clusters.element,
    brushed.element,
    rows.element,
    problem,
    says,
  );
  const look = (): void => {
    if (brush.shown) shown.setIcon("eye", "Hide the colours of regions");
    else shown.setIcon("eye-off", "Show the colours of regions");
    shown.setPressed(brush.shown);
    brushed.look();
    rows.look();
  };
  const end = onBrush(look);
  look();
  return {
    element: whole.element,
    dispose: end,
    update: (part) => {
      const { regions } = part;
      kinds.update(part);
      clusters.update(part);
      brushed.update(part);
      rows.update(part);
      problem.hidden = regions.problem === null;
      problem.dataset["good"] = "false";
      setChildren(problem, createIcon("warn"), h("span", null, regions.problem ?? ""));
      const loose = regions.covered < 0.9995 && regions.problem === null;
      says.hidden = !loose;
      setText(says, `${formatPercent(1 - regions.covered)} of the shell belongs to no region: it goes as the rest pulls it.`);
      whole.setNote(formatNumber(regions.count));
    },
  };
}

function kindsPart(app: App): EnrichPart {
  const element = h("div", { class: "enrich-kinds" });
  let held: { mark: string; part: SegmentedControl<RegionKind> } | null = null;
  return {
    element,
    update: ({ regions }) => {
      const mark = regions.kinds.join();
      if (held?.mark !== mark) {
        const choices = regions.kinds.map((value) => ({ value, ...KINDS[value] }));
        const onChange = once<RegionKind>(app, "regions", "kind");
        held = { mark, part: createSegmentedControl({ name: "Regions", value: regions.kind, choices, onChange }) };
        setChildren(element, held.part.element);
      }
      held.part.set(regions.kind);
    },
  };
}

function clustersPart(app: App): EnrichPart {
  const send = createLatestSender((count: number) => app.request("regions", { kind: "clusters", count }));
  const count = createSlider({
    name: "Number of regions",
    value: 24,
    scale: createLogScale(1, 400, { whole: true }),
    text: (value) => formatNumber(value),
    tip: "More keep closer to the guide, with finer folds; fewer leave more to the shell",
    onInput: send,
    onChange: send,
  });
  const again = createIconButton({
    name: "Find other regions",
    icon: "refresh",
    tip: "Another seed, other patches",
    onPress: () => tell(app, "regions", { kind: "clusters", seed: (app.state?.enrich?.regions.seed ?? 0) + 1 }),
  });
  const line = createRow("Number", [count.element, again.element]);
  line.element.classList.add("enrich-count");
  return {
    element: line.element,
    update: ({ regions }) => {
      line.element.hidden = !regions.kinds.includes("clusters");
      count.setScale(createLogScale(1, Math.max(2, regions.most), { whole: true }));
      count.set(regions.kind === "clusters" ? regions.asked : Math.max(1, regions.count));
    },
  };
}

function brushPart(app: App): EnrichPart & { look(): void } {
  const use = createSegmentedControl({
    name: "Brush",
    value: brush.mode,
    choices: [
      { value: "add" as BrushMode, text: "Add", tip: "Paint the region that is chosen below, or picked with Alt" },
      { value: "new" as BrushMode, text: "New", tip: "The next stroke begins a region (R)" },
      { value: "erase" as BrushMode, text: "Erase", tip: "What is painted belongs to no region (E)" },
    ],
    onChange: (value) => activateBrush(app, value),
  });
  const [low, high] = RADIUS_RANGE;
  const radius = createSlider({
    name: "Size of the brush",
    value: 100 * brush.radius,
    defaultValue: 8,
    scale: createLogScale(100 * low, 100 * high),
    text: (value) => `${formatNumber(value, value < 9.95 ? 1 : 0)} %`,
    unit: "%",
    tip: "Of the shell's size",
    onInput: (value) => setBrush({ radius: value / 100 }),
    onChange: (value) => setBrush({ radius: value / 100 }),
  });
  const both = createSwitch({
    name: "Both sides",
    value: brush.both,
    tip: "What lies there on the other side is painted, too",
    onChange: (on) => setBrush({ both: on }),
  });
  const sides = createRow("Both sides", both.element);
  const element = h("div", null, createRow("Brush", use.element).element, createRow("Size", radius.element).element, sides.element);
  return {
    element,
    look: () => {
      use.set(brush.mode);
      radius.set(100 * brush.radius);
      both.set(brush.both);
    },
    update: ({ shell }) => void (sides.element.hidden = shell.levels !== null || !shell.lies),
  };
}

type Named = ListRow & { region: RegionInfo; marker: HTMLElement };

function regionRows(app: App): EnrichPart & { look(): void } {
  const holder = createList("Regions");
  holder.classList.add("enrich-regions");
  const more = h("p", { class: "p-quiet", hidden: true });
  const make = (region: RegionInfo): Named => {
    const marker = h("span", { class: "enrich-swatch" });
    const remove = createIconButton({
      name: `Remove region ${region.id}`,
      icon: "x",
      size: 24,
      onPress: () => tell(app, "region.remove", { region: region.id }),
    });
    const made = createListRow({
      marker,
      onPick: () => {
        setBrush({ region: region.id });
        activateBrush(app, "add");
      },
      actions: [remove.element],
    });
    return { ...made, region, marker };
  };
  const update = (part: Named, region: RegionInfo): void => {
    part.marker.style.background = `var(--${getRegionColor(region.id)})`;
    const lone = region.guide === 0 && paired ? "guide" : region.shell === 0 ? "shell" : null;
    part.set({
      name: `Region ${region.id}`,
      value: formatNumber(region.shell),
      selected: brush.mode === "add" && region.id === brush.region,
      warn: lone && `Empty on the ${lone}: paint it there, too, or remove it`,
      tip: `${formatNumber(region.guide)} vertices of the guide, ${formatNumber(region.shell)} of the shell`,
    });
  };
  const rows = createKeyedList<RegionInfo, Named>(holder, ({ id }) => String(id), make, update);
  let known: RegionInfo[] = [];
  let paired = false;
  return {
    element: h("div", null, holder, more),
    look: () => rows(known),
    update: ({ regions, shell }: EnrichState) => {
      known = regions.list;
      paired = shell.levels === null;
      rows(known);
      more.hidden = regions.count <= known.length;
      setText(more, `and ${formatNumber(regions.count - known.length)} more`);
    },
  };
}
