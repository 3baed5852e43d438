/** Messages between server and page (docs/studio-protocol.md), and interfaces shared by the components of the page. */

import type { EnrichState } from "../modes/enrich/types";
import type { RerouteState } from "../modes/reroute/types";
import type { FlowState } from "../modes/steer/types";
import type { ModeName } from "./modes";

export type Vec3 = [number, number, number];
export type Tone = "given" | "asked" | "got" | "added" | "world" | "quiet";

// --- from the server: the start page

export interface CatalogueScene {
  name: string;
  title: string;
  text: string;
  group: "creatures" | "plants" | "structures" | "characters" | "flows";
  modes: ModeName[];
  picture: string; // url
  facts: string[]; // "240 frames", "17k tets"
  ready: boolean; // whether its slow parts are in the cache
}
export interface RecentProject {
  id: string;
  name: string;
  mode: ModeName;
  text: string; // "3 drags"
  when: number; // seconds since 1970
  picture: string | null;
  recovered: boolean;
}
export interface Catalogue {
  scenes: CatalogueScene[];
  recent: RecentProject[];
  formats: { read: string[]; write: string[] }; // suffixes without dot
  version: string;
}

// --- from the server: a project

export interface PropInfo { name: string; color: Vec3; opacity: number; frames: number } // frames: 1 for what stands still
export interface FieldInfo { size: [number, number]; cells: [number, number] } // box of a flow [m]: x and z from the origin; columns and rows
export interface ModeInfo { possible: boolean; why: string | null }
export interface Project {
  is: "project";
  id: string;
  name: string;
  vertices: number; // drawn
  triangles: number;
  nodes: number; // of the body
  size: number; // [m] diagonal at rest
  bounds: [Vec3, Vec3]; // over all frames [m]
  weight: number; // [N]; of a flow [m/s²], what pushes are measured by
  ground: number | null; // height of the floor [m]
  painted: boolean;
  props: PropInfo[];
  camera: { azimuth?: number; elevation?: number; target?: Vec3; distance?: number }; // degrees, m; what is left out is fitted
  parts: Record<string, number[]>; // names of regions: a few nodes of each
  modes: Record<ModeName, ModeInfo>;
  formats: { result: string[]; edit: string[]; project: string[] };
  suggestion: { node: number; frame: number } | null; // where a first drag matters
  guide: number | null; // vertices of the first view's own mesh, where it has one
  field: FieldInfo | null; // the box of a flow
}

export interface Marker {
  id: string;
  frame: number;
  end?: number; // of a bar
  text: string;
  hollow?: boolean; // soft
  reach?: [number, number]; // frames at which its effect has faded
  movable: boolean;
  warn?: string; // why it needs attention
  selected?: boolean;
  detail?: string; // for the tooltip: "1.60 s · 0.42 m"
}
export interface Lane {
  id: string;
  name: string;
  shape: "disc" | "diamond" | "triangle" | "bar" | "curve";
  tone: Tone;
  markers: Marker[];
  curve?: number[]; // one value a frame
  peak?: number; // scale of the curve
  add?: string; // what a double click does, or absent
}
export interface ForceMeter {
  share: number; // mean added force in body weights
  peak: number;
  frame: number | null; // where the peak is
  curve: number[] | null; // a frame each
  cure: string | null; // one sentence
  of?: string; // what it is a share of, where not of the body's weight
}
export interface SelectedVertex { node: number; name: string; position: Vec3 | null; given: Vec3 | null; fixed: boolean }
export interface Trail { node: number; given: number[] | null; result: number[]; rev: number } // flat x y z a frame

/** Target position of a vertex at a frame: a drag of Edit, a goal of Reroute. */
export interface PositionTarget {
  id: string; // also its marker's
  node: number;
  frame: number;
  name: string;
  position: Vec3;
  given: Vec3; // where the node was before [m]
  moved: number; // [m]
  warn: string | null;
}
export interface DragInfo extends PositionTarget {
  missed: number; // share of the body's size
  pin: boolean;
  directions: string; // "xyz" or some of it
}
export interface EditState {
  drags: DragInfo[];
  h: number; alpha: number; beta: number;
  defaults: { h: number; alpha: number; beta: number; modes: number };
  ends: "fixed" | "free";
  energy: "forces" | "smooth";
  smoothness: number;
  window: [number, number] | null;
  editable: [number, number];
  modes: number; most_modes: number;
  warp: "composition" | "additive" | "none";
  contacts: boolean; contacts_found: number; contacts_kept: number;
  contact_points: { point: Vec3; normal: Vec3 }[]; // of the edit frame
  suggested: number; // drags that the scene suggests and that were not made
}
export interface LoadInfo {
  id: number; kind: "pull" | "gravity"; name: string; nodes: number[];
  force: Vec3; strength: number; // [N]
  at: Vec3; // where it acts in the present pose
  muted: boolean; frozen: boolean;
  stiffness: number | null; // [N/m] of the pull gesture, null if unknown
}
export interface PinInfo { name: string; nodes: number[]; places: Vec3[] }
export interface KeyInfo {
  id: string; frame: number; name: string; hard: boolean; weight: number;
  missed: number | null; // share of the size, after an optimisation
  picture: string | null; // url or data url
  current: boolean; // its pose is the one in the first view, unchanged
}
export interface KeyframeState {
  loads: LoadInfo[];
  pins: PinInfo[];
  gravity: boolean;
  moved: number; // [m] the farthest of the present pose
  keys: KeyInfo[];
  effort: number; detail: number; frames: number; dt: number | null; loop: boolean;
  natural_dt: number | null;
  optimising: string | null; // job
  result: { cost: number; worst: number; iterations: number; seconds: number; stale: boolean; text: string } | null;
  ghost: "rest" | "spline";
}
export interface PushInfo { id: string; time: number; frame: number; node: number | null; at?: Vec3; name: string; force: Vec3; strength: number; duration: number }
export interface SteerState {
  control: boolean;
  tracking: number; final: number; effort: number;
  retuning: boolean;
  wind: { strength: number; pace: number };
  running: boolean; speed: number;
  dt: number; steps: number; loop: boolean;
  pushes: PushInfo[];
  ghost: "reference" | "uncontrolled";
  outcome: { text: string; good: boolean | null } | null; // "the bee finds the bloom"
  model: string; // "24 coordinates"
  notes: string[];
  flow?: FlowState; // where it is one that is steered
}
export interface ProjectState {
  is: "state";
  rev: number;
  mode: ModeName;
  frame: number; // the edit frame
  frames: number;
  fps: number;
  unsaved: boolean; // not on the server's disk yet
  unsaved_reason: string | null; // why saving failed; it is tried again
  undo: string | null; // what undo would take back
  redo: string | null;
  lanes: Lane[];
  meter: ForceMeter;
  selection: SelectedVertex[];
  trails: Trail[];
  labels: { now: string; result: string }; // chips of the two views
  ready?: number | null; // frames of the result that there are, all when absent
  edit?: EditState;
  keyframe?: KeyframeState;
  steer?: SteerState;
  enrich?: EnrichState;
  reroute?: RerouteState;
}

export interface DragUpdate { is: "moved"; gesture: number; seq: number; position: Vec3; miss: number; ms: number; meter: ForceMeter | null }
export interface Job {
  is: "job"; job: string; title: string; fraction: number | null; text: string;
  state: "running" | "done" | "failed" | "cancelled"; reason?: string; remedy?: string; stoppable?: boolean;
}
export interface IterationUpdate { is: "iterate"; job: string; iteration: number; cost: number; gradient: number; seconds: number }
export interface SteerUpdate {
  is: "pulse"; time: number; lap: number; frame: number; error: number; effort: number; astray: boolean; ms: number;
  push: Vec3 | null; at: Vec3 | null; arrows: number[][]; outcome?: { text: string; good: boolean | null };
}
export interface Notice { is: "notice"; tone: "ok" | "warn" | "err"; title: string; text: string; action?: { text: string; message: object } }
export interface ExportedFile { is: "file"; id: string; name: string; url: string; bytes: number }
export interface ErrorMessage { is: "error"; id?: number; code: string; text: string; remedy?: string }

export const MAGIC = 0x314c4a43;
export enum BinaryKind { Triangles = 1, Colors = 2, Nodes = 3, Prop = 4, Regions = 5, Current = 10, Result = 11, Input = 12, Other = 13 }
export interface BinaryFrame { kind: BinaryKind; seq: number; frame: number; count: number; flags: number; rev: number; extra: number; data: ArrayBuffer; offset: number }

// --- shared by the components of the page

/** Observer pattern; `on` returns the unsubscribe function. */
export interface Signal<T> { on(listener: (value: T) => void): () => void; emit(value: T): void }

/** State of this page only; not part of undo. */
export interface UiState {
  page: "start" | "project";
  theme: "dark" | "light";
  playing: boolean;
  playhead: number; // fractional frame of the playing view
  loop: boolean;
  loopRange: [number, number];
  views: 1 | 2;
  ghost: boolean;
  trails: boolean;
  wireframe: boolean;
  tool: "select" | "move" | "marquee" | "pin" | "measure" | "pull" | "push" | "impulse" | "brush";
  snap: "frame" | "marker";
  unit: "frames" | "seconds" | "timecode";
  panel: boolean;
  plots: boolean;
  connection: "connecting" | "connected" | "lost" | "refused";
  pilot: boolean;
}

/** A notice of the server, or a toast of the page with its own actions. */
export interface Toast extends Omit<Notice, "is"> {
  actions?: { text: string; onClick(): void }[];
}

/** Interface that every component gets: server state, UI state, requests and signals. */
export interface App {
  readonly project: Project | null;
  readonly state: ProjectState | null;
  readonly ui: Readonly<UiState>;
  readonly onProject: Signal<Project | null>;
  readonly onState: Signal<ProjectState>;
  readonly onUi: Signal<Partial<UiState>>;
  readonly onFrame: Signal<BinaryFrame>; // every binary message
  readonly onMoved: Signal<DragUpdate>;
  readonly onPulse: Signal<SteerUpdate>;
  readonly onJob: Signal<Job>;
  readonly onIterate: Signal<IterationUpdate>;
  readonly onTheme: Signal<void>;
  setUi(change: Partial<UiState>): void;
  /** Send a request; the promise resolves to the reply. Errors are also shown as toasts unless quiet. */
  request(name: string, values?: object, options?: { quiet?: boolean }): Promise<Record<string, unknown>>;
  /** Send a message of which only the newest matters: at most one per animation frame, fewer while the socket is busy. */
  stream(name: string, values: object): void;
  /** Run a command of the table (core/command-table.ts). */
  runCommand(command: string): void;
  showToast(toast: Toast): void;
  /** Key hints of the status bar, [key, text] each; null restores those of the tool. */
  setHints(hints: [string, string][] | null): void;
}

export interface Component { element: HTMLElement; dispose?(): void }
