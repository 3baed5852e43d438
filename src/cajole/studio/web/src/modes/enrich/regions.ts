/** Sections of Enrich for the shell mesh and the regions. */

import { h, setChildren, setText } from "../../core/dom";
import { formatNumber, formatPercent } from "../../core/format";
import { createIcon } from "../../core/icons";
import type { App } from "../../core/types";
import { createIconButton } from "../../ui/controls/button";
import { createKeyedList } from "../../ui/controls/common";
import { createLatestSender } from "../../ui/controls/latest-sender";
import { createList, createListRow, type ListRow } from "../../ui/controls/list";
import { createLinearScale, createLogScale } from "../../ui/controls/slider-scale";
import {
  createChoiceRow, createPanelSection, createSliderRow, createSwitchRow, createText, type PanelPart,
} from "../panel-parts";
import { activateBrush, brush, type BrushMode, getRegionColor, onBrush, RADIUS_RANGE, setBrush } from "./brush-settings";
import type { EnrichModeState, RegionInfo } from "../../core/types";

/** Subdivision levels when the mesh of the scene is replaced. */
const DEFAULT_LEVELS = 3;

export function createShellSection(app: App): PanelPart<EnrichModeState> {
  return createPanelSection<EnrichModeState>(
    { title: "Shell", getNote: ({ shell }) => `${formatNumber(shell.vertices)} vertices` },
    createChoiceRow({
      title: "Mesh", name: "Mesh of the shell",
      choices: [
        { value: "own", text: "Scene", tip: "The mesh of the scene" },
        { value: "cut", text: "Subdivided", tip: "The triangles of the guide, subdivided" },
      ],
      isVisible: ({ shell }) => shell.own,
      get: ({ shell }) => (shell.levels === null ? "own" : "cut"),
      onChange: (value) => {
        const most = app.state?.enrich?.shell.most_levels ?? DEFAULT_LEVELS;
        return app.request("shell", { levels: value === "own" ? null : Math.min(DEFAULT_LEVELS, most) });
      },
    }),
    createSliderRow({
      title: "Levels", scale: createLinearScale(0, 5, 1),
      getScale: ({ shell }) => [createLinearScale(0, Math.max(1, shell.most_levels), 1)],
      text: (value) => formatNumber(value),
      tip: "Subdivision levels of the guide. Applied on release", isLive: false,
      isVisible: ({ shell }) => shell.levels !== null,
      get: ({ shell }) => shell.levels ?? 0,
      onChange: (levels) => app.request("shell", { levels }),
    }),
  );
}

type RegionKind = EnrichModeState["regions"]["kind"];

const REGION_KINDS: Record<RegionKind, { text: string; tip: string }> = {
  hats: { text: "Hats", tip: "One region around each vertex of the guide" },
  clusters: { text: "Clusters", tip: "Patches that move rigidly over the whole motion" },
  scene: { text: "Scene", tip: "The regions of the scene" },
  paint: { text: "Painted", tip: "Regions painted with the brush" },
};

export function createRegionsSection(app: App): PanelPart<EnrichModeState> {
  const brushed = createBrushRows(app);
  const rows = createRegionList(app);
  const problem = h("p", { class: "panel-outcome enrich-problem", role: "status", hidden: true, data: { good: "false" } });
  const shown = createIconButton({
    name: "Colours of regions", icon: "eye", key: "O", onPress: () => setBrush({ shown: !brush.shown }),
  });
  const section = createPanelSection<EnrichModeState>(
    { title: "Regions", actions: [shown.element], getNote: ({ regions }) => formatNumber(regions.count) },
    createKindControl(app),
    createClusterRow(app),
    brushed,
    rows,
    {
      element: problem,
      update: ({ regions }) => {
        problem.hidden = regions.problem === null;
        setChildren(problem, createIcon("warn"), h("span", null, regions.problem ?? ""));
      },
    },
    createText("p-quiet", ({ regions }) =>
      regions.covered < 0.9995 && regions.problem === null
        ? `${formatPercent(1 - regions.covered)} of the shell belongs to no region and moves freely.`
        : "",
    ),
  );
  const updateBrush = (): void => {
    shown.setIcon(brush.shown ? "eye" : "eye-off", brush.shown ? "Hide the colours of regions" : "Show the colours of regions");
    shown.setPressed(brush.shown);
    brushed.updateBrush();
    rows.updateBrush();
  };
  updateBrush();
  return { ...section, dispose: onBrush(updateBrush) };
}

/** Choice of the kind of regions; the choices depend on the scene. */
function createKindControl(app: App): PanelPart<EnrichModeState> {
  const element = h("div", { class: "enrich-kinds" });
  let current: { kinds: string; row: PanelPart<EnrichModeState> } | null = null;
  return {
    element,
    update: (state) => {
      const { kinds } = state.regions;
      if (current?.kinds !== kinds.join()) {
        const choices = kinds.map((value) => ({ value, ...REGION_KINDS[value] }));
        const onChange = (kind: RegionKind): Promise<unknown> => app.request("regions", { kind });
        const row = createChoiceRow<EnrichModeState, RegionKind>({ title: "", name: "Regions", choices, get: ({ regions }) => regions.kind, onChange });
        current = { kinds: kinds.join(), row };
        setChildren(element, row.element);
      }
      current.row.update(state);
    },
  };
}

function createClusterRow(app: App): PanelPart<EnrichModeState> {
  const again = createIconButton({
    name: "Cluster again", icon: "refresh", tip: "Another random seed",
    onPress: () => void app.request("regions", { kind: "clusters", seed: (app.state?.enrich?.regions.seed ?? 0) + 1 }),
  });
  const row = createSliderRow<EnrichModeState>({
    title: "Number", name: "Number of regions", scale: createLogScale(1, 400, { whole: true }),
    getScale: ({ regions }) => [createLogScale(1, Math.max(2, regions.most), { whole: true })],
    text: (value) => formatNumber(value),
    tip: "More regions track the guide more closely; fewer leave the shell more freedom",
    after: again.element,
    isVisible: ({ regions }) => regions.kinds.includes("clusters"),
    get: ({ regions }) => (regions.kind === "clusters" ? regions.asked : Math.max(1, regions.count)),
    onChange: createLatestSender((count: number) => app.request("regions", { kind: "clusters", count })),
  });
  row.element.classList.add("enrich-count");
  return row;
}

function createBrushRows(app: App): PanelPart<EnrichModeState> & { updateBrush(): void } {
  const [low, high] = RADIUS_RANGE;
  const both = createSwitchRow<void>({
    title: "Both sides", tip: "Also paint the corresponding vertices of the other mesh", get: () => brush.both, onChange: (both) => setBrush({ both }),
  });
  const rows = [
    createChoiceRow<void, BrushMode>({
      title: "Brush",
      choices: [
        { value: "add", text: "Add", tip: "Paint the region selected below, or picked with Alt click" },
        { value: "new", text: "New", tip: "The next stroke creates a region (R)" },
        { value: "erase", text: "Erase", tip: "Remove vertices from regions (E)" },
      ],
      get: () => brush.mode,
      onChange: (mode) => activateBrush(app, mode),
    }),
    createSliderRow<void>({
      title: "Size", name: "Size of the brush", defaultValue: 8, scale: createLogScale(100 * low, 100 * high),
      text: (value) => `${formatNumber(value, value < 9.95 ? 1 : 0)} %`,
      unit: "%", tip: "Percent of the shell size",
      get: () => 100 * brush.radius,
      onChange: (value) => setBrush({ radius: value / 100 }),
    }),
    both,
  ];
  return {
    element: h("div", null, rows.map(({ element }) => element)),
    updateBrush: () => rows.forEach((row) => row.update()),
    update: ({ shell }) => void (both.element.hidden = shell.levels !== null || !shell.lies),
  };
}

type RegionRow = ListRow & { marker: HTMLElement };

function createRegionList(app: App): PanelPart<EnrichModeState> & { updateBrush(): void } {
  const container = createList("Regions");
  container.classList.add("enrich-regions");
  const more = h("p", { class: "p-quiet", hidden: true });
  let listed: RegionInfo[] = [];
  let isPaired = false; // every region needs vertices of both meshes
  const make = ({ id }: RegionInfo): RegionRow => {
    const marker = h("span", { class: "enrich-swatch" });
    const onPress = (): void => void app.request("region.remove", { region: id });
    const remove = createIconButton({ name: `Remove region ${id}`, icon: "x", size: 24, onPress });
    const onPick = (): void => {
      setBrush({ region: id });
      activateBrush(app, "add");
    };
    return { ...createListRow({ marker, onPick, actions: [remove.element] }), marker };
  };
  const updateRows = createKeyedList<RegionInfo, RegionRow>(container, ({ id }) => String(id), make, (row, { id, guide, shell }) => {
    row.marker.style.background = `var(--${getRegionColor(id)})`;
    const emptySide = guide === 0 && isPaired ? "guide" : shell === 0 ? "shell" : null;
    row.set({
      name: `Region ${id}`, value: formatNumber(shell), selected: brush.mode === "add" && id === brush.region,
      warn: emptySide && `No vertices of the ${emptySide}: paint some there, too, or remove the region`,
      tip: `${formatNumber(guide)} vertices of the guide, ${formatNumber(shell)} of the shell`,
    });
  });
  return {
    element: h("div", null, container, more),
    updateBrush: () => updateRows(listed),
    update: ({ regions, shell }) => {
      listed = regions.list;
      isPaired = shell.levels === null;
      updateRows(listed);
      more.hidden = regions.count <= listed.length;
      setText(more, `and ${formatNumber(regions.count - listed.length)} more`);
    },
  };
}
