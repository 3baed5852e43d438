/** Sections of Enrich for the shell mesh and the regions. */

import { activateBrush, brush, type BrushMode, getRegionColor, onBrush, RADIUS_RANGE, setBrush } from "../core/brush";
import { h, setChildren, setText } from "../core/dom";
import type { EnrichState, RegionInfo, RegionKind } from "../core/enrich-types";
import { formatNumber, formatPercent } from "../core/format";
import { createIcon } from "../core/icons";
import type { App } from "../core/types";
import { createIconButton } from "../ui/controls/button";
import { createSegmentedControl, createSwitch, type SegmentedControl } from "../ui/controls/choice";
import { createKeyedList, createRow } from "../ui/controls/common";
import { createLatestSender } from "../ui/controls/latest-sender";
import { createList, createListRow, type ListRow } from "../ui/controls/list";
import { createSection } from "../ui/controls/section";
import { createSlider } from "../ui/controls/slider";
import { createLinearScale, createLogScale } from "../ui/controls/slider-scale";
import type { EnrichSection } from "./enrich-panel";
import { createSender, send } from "./mode-panel";

/** Subdivision levels when the mesh of the scene is replaced. */
const DEFAULT_LEVELS = 3;

export function createShellSection(app: App): EnrichSection {
  const levels = createSlider({
    name: "Levels",
    value: 3,
    scale: createLinearScale(0, 5, 1),
    text: (value) => formatNumber(value),
    tip: "Subdivision levels of the guide. Applied on release",
    onChange: createSender(app, "shell", "levels"),
  });
  const own = createSegmentedControl({
    name: "Mesh of the shell",
    value: "own" as "own" | "cut",
    choices: [
      { value: "own", text: "Scene", tip: "The mesh of the scene" },
      { value: "cut", text: "Subdivided", tip: "The triangles of the guide, subdivided" },
    ],
    onChange: (value) => {
      const most = app.state?.enrich?.shell.most_levels ?? DEFAULT_LEVELS;
      return app.request("shell", { levels: value === "own" ? null : Math.min(DEFAULT_LEVELS, most) });
    },
  });
  const mesh = createRow("Mesh", own.element);
  const line = createRow("Levels", levels.element);
  const section = createSection({ title: "Shell" }, mesh.element, line.element);
  return {
    element: section.element,
    update: ({ shell }) => {
      mesh.element.hidden = !shell.own;
      own.set(shell.levels === null ? "own" : "cut");
      line.element.hidden = shell.levels === null;
      levels.setScale(createLinearScale(0, Math.max(1, shell.most_levels), 1));
      levels.set(shell.levels ?? 0);
      section.setNote(`${formatNumber(shell.vertices)} vertices`);
    },
  };
}

const REGION_KINDS: Record<RegionKind, { text: string; tip: string }> = {
  hats: { text: "Hats", tip: "One region around each vertex of the guide" },
  clusters: { text: "Clusters", tip: "Patches that move rigidly over the whole motion" },
  scene: { text: "Scene", tip: "The regions of the scene" },
  paint: { text: "Painted", tip: "Regions painted with the brush" },
};

export function createRegionsSection(app: App): EnrichSection & { dispose(): void } {
  const kinds = createKindControl(app);
  const clusters = createClusterRow(app);
  const brushed = createBrushRows(app);
  const rows = createRegionList(app);
  const problem = h("p", { class: "panel-outcome enrich-problem", role: "status", hidden: true });
  const uncovered = h("p", { class: "p-quiet" });
  const shown = createIconButton({
    name: "Colours of regions",
    icon: "eye",
    key: "O",
    onPress: () => setBrush({ shown: !brush.shown }),
  });
  const section = createSection(
    { title: "Regions", actions: [shown.element] },
    kinds.element,
    clusters.element,
    brushed.element,
    rows.element,
    problem,
    uncovered,
  );
  const updateBrush = (): void => {
    if (brush.shown) shown.setIcon("eye", "Hide the colours of regions");
    else shown.setIcon("eye-off", "Show the colours of regions");
    shown.setPressed(brush.shown);
    brushed.updateBrush();
    rows.updateBrush();
  };
  const end = onBrush(updateBrush);
  updateBrush();
  return {
    element: section.element,
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
      uncovered.hidden = !loose;
      setText(uncovered, `${formatPercent(1 - regions.covered)} of the shell belongs to no region and moves freely.`);
      section.setNote(formatNumber(regions.count));
    },
  };
}

function createKindControl(app: App): EnrichSection {
  const element = h("div", { class: "enrich-kinds" });
  let current: { mark: string; part: SegmentedControl<RegionKind> } | null = null;
  return {
    element,
    update: ({ regions }) => {
      const signature = regions.kinds.join();
      if (current?.mark !== signature) {
        const choices = regions.kinds.map((value) => ({ value, ...REGION_KINDS[value] }));
        const onChange = createSender<RegionKind>(app, "regions", "kind");
        current = { mark: signature, part: createSegmentedControl({ name: "Regions", value: regions.kind, choices, onChange }) };
        setChildren(element, current.part.element);
      }
      current.part.set(regions.kind);
    },
  };
}

function createClusterRow(app: App): EnrichSection {
  const sendCount = createLatestSender((count: number) => app.request("regions", { kind: "clusters", count }));
  const count = createSlider({
    name: "Number of regions",
    value: 24,
    scale: createLogScale(1, 400, { whole: true }),
    text: (value) => formatNumber(value),
    tip: "More regions track the guide more closely; fewer leave the shell more freedom",
    onInput: sendCount,
    onChange: sendCount,
  });
  const reclusterButton = createIconButton({
    name: "Cluster again",
    icon: "refresh",
    tip: "Another random seed",
    onPress: () => send(app, "regions", { kind: "clusters", seed: (app.state?.enrich?.regions.seed ?? 0) + 1 }),
  });
  const line = createRow("Number", [count.element, reclusterButton.element]);
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

function createBrushRows(app: App): EnrichSection & { updateBrush(): void } {
  const use = createSegmentedControl({
    name: "Brush",
    value: brush.mode,
    choices: [
      { value: "add" as BrushMode, text: "Add", tip: "Paint the region selected below, or picked with Alt click" },
      { value: "new" as BrushMode, text: "New", tip: "The next stroke creates a region (R)" },
      { value: "erase" as BrushMode, text: "Erase", tip: "Remove vertices from regions (E)" },
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
    tip: "Percent of the shell size",
    onInput: (value) => setBrush({ radius: value / 100 }),
    onChange: (value) => setBrush({ radius: value / 100 }),
  });
  const both = createSwitch({
    name: "Both sides",
    value: brush.both,
    tip: "Also paint the corresponding vertices of the other mesh",
    onChange: (on) => setBrush({ both: on }),
  });
  const sides = createRow("Both sides", both.element);
  const element = h("div", null, createRow("Brush", use.element).element, createRow("Size", radius.element).element, sides.element);
  return {
    element,
    updateBrush: () => {
      use.set(brush.mode);
      radius.set(100 * brush.radius);
      both.set(brush.both);
    },
    update: ({ shell }) => void (sides.element.hidden = shell.levels !== null || !shell.lies),
  };
}

type RegionRow = ListRow & { region: RegionInfo; marker: HTMLElement };

function createRegionList(app: App): EnrichSection & { updateBrush(): void } {
  const container = createList("Regions");
  container.classList.add("enrich-regions");
  const more = h("p", { class: "p-quiet", hidden: true });
  const make = (region: RegionInfo): RegionRow => {
    const marker = h("span", { class: "enrich-swatch" });
    const remove = createIconButton({
      name: `Remove region ${region.id}`,
      icon: "x",
      size: 24,
      onPress: () => send(app, "region.remove", { region: region.id }),
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
  const update = (part: RegionRow, region: RegionInfo): void => {
    part.marker.style.background = `var(--${getRegionColor(region.id)})`;
    const emptySide = region.guide === 0 && paired ? "guide" : region.shell === 0 ? "shell" : null;
    part.set({
      name: `Region ${region.id}`,
      value: formatNumber(region.shell),
      selected: brush.mode === "add" && region.id === brush.region,
      warn: emptySide && `Empty on the ${emptySide}: paint it there, too, or remove it`,
      tip: `${formatNumber(region.guide)} vertices of the guide, ${formatNumber(region.shell)} of the shell`,
    });
  };
  const updateRows = createKeyedList<RegionInfo, RegionRow>(container, ({ id }) => String(id), make, update);
  let listed: RegionInfo[] = [];
  let paired = false;
  return {
    element: h("div", null, container, more),
    updateBrush: () => updateRows(listed),
    update: ({ regions, shell }: EnrichState) => {
      listed = regions.list;
      paired = shell.levels === null;
      updateRows(listed);
      more.hidden = regions.count <= listed.length;
      setText(more, `and ${formatNumber(regions.count - listed.length)} more`);
    },
  };
}
