/** Interface of a mode, and the registered modes. Shared components ask the mode, and never test for its name. */

import type { BallMark, MarkContext, Marks } from "../view/marks";
import type { CommandSpec, GestureHelp } from "./command-table";
import type { Icon } from "./icons";
import type { App, Component, PositionTarget, Project, ProjectState, Tone, UiState, Vec3 } from "./types";
import type { ModePanel } from "../modes/panel-parts";
import type { PlotSet, PlotSources } from "../plots/plots";
import type { MenuEntry } from "../ui/menu";
import type { ViewContext, ViewTool } from "../view/gesture";
import type { LinearColor } from "../view/surface-model";

export type ModeName = string;

/** Key hints of the status bar: key or command, and text. */
export type Hints = readonly (readonly [string, string])[];

/** Button of the tool column: a command; null: a separator. */
export type ToolEntry = { command: string; icon: Icon; isPressed?(app: App): boolean } | null;

/** Card of the onboarding; it closes when `done` is true. then: state when the card appeared. */
export interface OnboardingStep {
  title: string;
  text: string;
  done(now: ProjectState, then: ProjectState): boolean;
}

/** Controls of a simulation that the server runs in real time; the playhead follows it. */
interface LiveControls {
  isRunning(state: ProjectState): boolean;
  isLoop(state: ProjectState): boolean;
  toggle(app: App): void;
  restart(app: App): void;
}

/** Everything that differs between modes. A mode is one folder of src/modes that exports one definition. */
export interface ModeDefinition {
  readonly name: ModeName; // as the server calls it
  readonly title: string;
  readonly key: string; // shortcut that switches to the mode; modes are listed in this order
  readonly icon: Icon;
  readonly text: string; // on its tile of the start page
  readonly scenesHeading: string; // above the scenes that open in it
  readonly handOverText: string; // button of another mode that opens its result in this one
  readonly defaults: Pick<UiState, "tool" | "views" | "plots">; // at the first visit

  // --- flags
  readonly allowsVertexDrag?: true; // the move tool drags vertices to target positions
  readonly hasMovableMarkers?: true; // markers can be moved, copied and deleted
  readonly ignoresVertices?: true; // a press on the body never selects a vertex
  readonly showsClay?: true; // the first view shows clay, as a contrast to the ghost
  readonly showsTrailsOfResult?: true; // with two views, trails belong to the second one
  readonly live?: LiveControls;

  // --- panel, commands, plots, help
  createPanel(app: App): ModePanel;
  createPlots(app: App, sources: PlotSources): PlotSet;
  readonly commands: readonly CommandSpec[];
  readonly gestures?: readonly GestureHelp[]; // for the help dialog
  readonly tools: readonly ToolEntry[];
  getHints?(tool: UiState["tool"], project: Project | null): Hints | undefined; // undefined: those of the tool
  getOnboarding(state: ProjectState): readonly OnboardingStep[];
  readonly demo?: { canPlay(app: App): boolean; play(app: App): Promise<void> }; // of the first onboarding step
  readonly stopText?: string; // button that ends a job and keeps its result so far
  getStallAction?(app: App): { text: string; run(): void }; // offered while a job makes no progress
  formatModelSize?(state: ProjectState): string; // in the status bar
  onOpen?(app: App, state: ProjectState): void; // first state of a newly opened project

  // --- timeline
  readonly emptyLaneHint: string; // in the first lane while it is empty
  getMarkerRange?(state: ProjectState): [number, number]; // frames that markers may move in
  getEditWindow?(state: ProjectState): [number, number] | null; // null: all frames may change
  setEditWindow?(app: App, range: [number, number] | null): Promise<unknown>;
  addMarker?(app: App, frame: number): void; // double click in the first lane
  getMarkerMenu?(app: App, marker: string): MenuEntry[];

  // --- views
  getTargets?(state: ProjectState): readonly PositionTarget[];
  createTargetBall?(state: ProjectState, position: Vec3): BallMark; // around a dragged vertex
  getDiscs?(state: ProjectState): { nodes: number[]; positions?: Vec3[] }[]; // hoverable discs besides the targets
  togglePins?(app: App, nodes: number[], frame: number): void;
  addMarks?(marks: Marks, view: ViewContext, pane: number, context: MarkContext): void;
  createTool?(view: ViewContext): ViewTool;
  /** Colors by region; base: token of vertices without one. isGuide: the view shows the guide. */
  getRegionColors?(app: App, isGuide: boolean): { base: string; palette(region: number): LinearColor };
  getColorKey?(state: ProjectState): string; // vertices are colored again when it changes
  onSettings?(listener: () => void): () => void; // settings of the page that tools and colors depend on
  getLegend?(app: App): [Tone | "err", string][];
  createViewBar?(app: App): Component; // below the first view
}

let modes: readonly ModeDefinition[] = [];

/** Register the modes; before any other component is created. */
export function registerModes(list: readonly ModeDefinition[]): void {
  modes = [...list].sort((a, b) => a.key.localeCompare(b.key));
}

export const getModes = (): readonly ModeDefinition[] => modes;

export function getMode(name: ModeName): ModeDefinition {
  const found = modes.find((mode) => mode.name === name);
  if (!found) throw new Error(`no mode is called ${name}; add it to modes/registry.ts`);
  return found;
}

/** Mode of the open project, null on the start page. */
export const getCurrentMode = ({ state }: { state: ProjectState | null }): ModeDefinition | null => (state ? getMode(state.mode) : null);

/** All targets of the current mode. */
export const getTargets = (state: ProjectState | null): readonly PositionTarget[] =>
  (state && getMode(state.mode).getTargets?.(state)) ?? [];
