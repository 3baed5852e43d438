/** Types that the components of the page share, and the messages of the server. */

import type { AnswerTo, BinaryKind, CommandName, Commands, IterateMessage, JobMessage, Lane, MovedMessage, NoticeMessage, ProjectMessage, ProjectState, PulseMessage } from "./protocol";

export * from "./protocol";
export type Project = ProjectMessage;
export type Tone = Lane["tone"];
/** Arguments of a request: the fields may be left out if none is required. */
export type RequestArguments<Name extends CommandName, Options> = Record<string, never> extends Commands[Name]
  ? [values?: Commands[Name], options?: Options]
  : [values: Commands[Name], options?: Options];
export interface RequestOptions { quiet?: boolean } // no toast after an error

/** Binary message: the fields of its header, and where its data begin. */
export interface BinaryFrame { kind: BinaryKind; seq: number; frame: number; count: number; flags: number; rev: number; extra: number; data: ArrayBuffer; offset: number }

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
export interface Toast extends Omit<NoticeMessage, "is"> { actions?: { text: string; onClick(): void }[] }

/** Interface that every component gets: server state, UI state, requests and signals. */
export interface App {
  readonly project: Project | null;
  readonly state: ProjectState | null;
  readonly ui: Readonly<UiState>;
  readonly onProject: Signal<Project | null>;
  readonly onState: Signal<ProjectState>;
  readonly onUi: Signal<Partial<UiState>>;
  readonly onFrame: Signal<BinaryFrame>; // every binary message
  readonly onMoved: Signal<MovedMessage>;
  readonly onPulse: Signal<PulseMessage>;
  readonly onJob: Signal<JobMessage>;
  readonly onIterate: Signal<IterateMessage>;
  readonly onTheme: Signal<void>;
  setUi(change: Partial<UiState>): void;
  /** Send a command; the promise resolves to the answer. Errors are also shown as toasts unless quiet. */
  request<Name extends CommandName>(name: Name, ...args: RequestArguments<Name, RequestOptions>): Promise<AnswerTo<Name>>;
  /** Send a command of which only the newest matters: at most one per animation frame, fewer while the socket is busy. */
  stream<Name extends CommandName>(name: Name, values: Commands[Name]): void;
  /** Run a command of the table (core/command-table.ts). */
  runCommand(command: string): void;
  showToast(toast: Toast): void;
  /** Key hints of the status bar, [key, text] each; null restores those of the tool. */
  setHints(hints: [string, string][] | null): void;
}

export interface Component { element: HTMLElement; dispose?(): void }
