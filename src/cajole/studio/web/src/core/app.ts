/** The application object that every component gets: server state, UI state, requests and signals. */

import { registerHandler, runCommand } from "./commands";
import { Connection, type ConnectionStatus, type Message, RequestError } from "./connection";
import { toSentence } from "./format";
import { frameCache } from "./frame-cache";
import { getMode } from "./modes";
import { loadModeUi, loadUi, savePreferences } from "./preferences";
import { createSignal } from "./signal";
import { loadSetting } from "./storage";
import { applyTheme, getSystemTheme, onTheme, prefersReducedMotion } from "./theme";
import type {
  App,
  BinaryFrame,
  DragUpdate,
  ErrorMessage,
  ExportedFile,
  IterationUpdate,
  Job,
  Notice,
  Project,
  ProjectState,
  SteerUpdate,
  Toast,
  UiState,
} from "./types";



export class StudioApp implements App {
  project: Project | null = null;
  state: ProjectState | null = null;
  ui: UiState = loadUi();
  readonly onProject = createSignal<Project | null>();
  readonly onState = createSignal<ProjectState>();
  readonly onUi = createSignal<Partial<UiState>>();
  readonly onFrame = createSignal<BinaryFrame>();
  readonly onMoved = createSignal<DragUpdate>();
  readonly onPulse = createSignal<SteerUpdate>();
  readonly onJob = createSignal<Job>();
  readonly onIterate = createSignal<IterationUpdate>();
  readonly onTheme = onTheme;
  readonly onToast = createSignal<Toast>();
  readonly onHints = createSignal<[string, string][] | null>();
  readonly onStatus = createSignal<ConnectionStatus>();
  readonly onFile = createSignal<ExportedFile>();
  readonly onRequest = createSignal<{ name: string; values: object; reply: Promise<Message> }>();
  isRestoring = true; // until the server has said whether a project is open already
  private awaitsFirstState = false; // a project was opened and its first state has not arrived

  constructor(readonly connection = new Connection()) {
    connection.onText.on((message) => this.handleMessage(message));
    connection.onBinary.on((message) => this.onFrame.emit(message));
    connection.onStatus.on((status) => this.handleStatus(status));
    matchMedia("(prefers-color-scheme: light)").addEventListener("change", () => {
      if (loadSetting("theme", null) === null) this.updateUi({ theme: getSystemTheme() });
    });
    registerHandler("close", () => void this.request("close").then(() => this.showStartPage()));
    frameCache.attach(this);
    applyTheme(this.ui.theme);
  }

  setUi(change: Partial<UiState>): void {
    savePreferences(change, this.state?.mode);
    this.updateUi(change);
  }

  /** Change the UI state without storing it for the next visit. */
  private updateUi(change: Partial<UiState>): void {
    const changed = Object.entries(change).filter(([name, value]) => !isShallowEqual(this.ui[name as keyof UiState], value));
    if (changed.length === 0) return;
    const changes = Object.fromEntries(changed) as Partial<UiState>;
    this.ui = { ...this.ui, ...changes };
    if (changes.theme) applyTheme(changes.theme);
    this.onUi.emit(changes);
  }

  request(name: string, values: object = {}, options: { quiet?: boolean } = {}): Promise<Message> {
    const reply = this.connection.request(name, values);
    const failed = { name, values, request: this.request.bind(this) };
    reply.catch((failure: RequestError) => options.quiet || this.showToast(createErrorToast(failure, failed)));
    this.onRequest.emit({ name, values, reply });
    return reply;
  }

  stream(name: string, values: object): void {
    this.connection.stream(name, values);
  }

  runCommand(name: string): void {
    runCommand(this, name);
  }

  showToast(notice: Toast): void {
    this.onToast.emit(notice);
  }

  setHints(hints: [string, string][] | null): void {
    this.onHints.emit(hints);
  }

  /** Forget the open project and show the start page. */
  showStartPage(): void {
    this.isRestoring = false;
    this.project = null;
    this.state = null;
    this.updateUi({ page: "start", playing: false });
    this.onProject.emit(null);
  }

  private handleStatus(status: ConnectionStatus): void {
    this.updateUi({ connection: status.at });
    this.onStatus.emit(status);
  }

  private handleMessage(message: Message): void {
    const typed = message as { is: string };
    switch (typed.is) {
      case "welcome":
        return this.handleWelcome(message["project"] as string | null);
      case "project":
        return this.handleProject(message as unknown as Project);
      case "state":
        return this.handleState(message as unknown as ProjectState);
      case "moved":
        return this.onMoved.emit(message as unknown as DragUpdate);
      case "pulse":
        return this.onPulse.emit(message as unknown as SteerUpdate);
      case "job":
        return this.onJob.emit(message as unknown as Job);
      case "iterate":
        return this.onIterate.emit(message as unknown as IterationUpdate);
      case "notice":
        return this.showToast(message as unknown as Notice);
      case "file":
        return this.onFile.emit(message as unknown as ExportedFile);
      case "seat":
        return this.updateUi({ pilot: message["pilot"] === true });
      case "error":
        return this.showToast(createErrorToast(message as unknown as ErrorMessage));
      default:
        return;
    }
  }

  /** Reopen the project of this page, else the one that the server has open. */
  private handleWelcome(open: string | null): void {
    const id = this.project?.id ?? open;
    this.isRestoring = id !== null;
    if (id !== null) this.request("open", { project: id }, { quiet: !this.project }).catch(() => this.showStartPage());
    frameCache.refetch();
  }

  private handleProject(project: Project): void {
    const known = this.project?.id === project.id;
    this.isRestoring = false;
    this.project = project;
    if (!known) {
      this.state = null;
      this.awaitsFirstState = true;
    }
    this.onProject.emit(project);
    this.updateUi({ page: "project" });
  }

  private handleState(state: ProjectState): void {
    const before = this.state;
    this.state = state;
    if (before?.mode !== state.mode) this.updateUi({ ...loadModeUi(state.mode), playing: false });
    if (before?.frames !== state.frames || before.mode !== state.mode)
      this.updateUi({ loopRange: [0, Math.max(0, state.frames - 1)] });
    if (this.ui.playhead > state.frames - 1) this.updateUi({ playhead: 0 });
    const { live } = getMode(state.mode);
    if (live) this.updateUi({ playing: live.isRunning(state) });
    this.onState.emit(state);
    if (this.awaitsFirstState) this.applyOpeningDefaults(state);
  }

  /** Play a newly opened motion, and let its mode make the first requests. */
  private applyOpeningDefaults(state: ProjectState): void {
    this.awaitsFirstState = false;
    const mode = getMode(state.mode);
    if (mode.allowsVertexDrag && this.ui.views === 2 && !prefersReducedMotion()) this.updateUi({ playing: true });
    if (this.ui.pilot) mode.onOpen?.(this, state);
  }
}

function isShallowEqual(one: unknown, other: unknown): boolean {
  if (Array.isArray(one) && Array.isArray(other))
    return one.length === other.length && one.every((value, at) => value === other[at]);
  return one === other;
}

/** The request that failed, and the function that sends another one. */
interface FailedRequest {
  name: string;
  values: object;
  request(name: string, values: object): unknown;
}

export function createErrorToast(failure: RequestError | ErrorMessage, failed?: FailedRequest): Toast {
  const text = failure instanceof RequestError ? failure.message : failure.text;
  const toast: Toast = { tone: "err", title: toSentence(text), text: toSentence(failure.remedy ?? "") };
  if (failure.code !== "locked" || failed?.name !== "open") return toast;
  const openCopy = (): void => void failed.request("open", { ...failed.values, copy: true });
  return { ...toast, actions: [{ text: "Open a copy", onClick: openCopy }] };
}
