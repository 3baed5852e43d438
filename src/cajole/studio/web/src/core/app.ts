/** The application object that every component gets: server state, UI state, requests and signals. */

import { registerHandler, runCommand } from "./commands";
import { Connection, type ConnectionStatus, RequestError } from "./connection";
import { toSentence } from "./format";
import { frameCache } from "./frame-cache";
import { getMode } from "./modes";
import { loadModeUi, loadUi, savePreferences } from "./preferences";
import { createSignal } from "./signal";
import { loadSetting } from "./storage";
import { applyTheme, getSystemTheme, onTheme, prefersReducedMotion } from "./theme";
import type {
  AnswerTo, App, BinaryFrame, CommandName, Commands, ErrorMessage, FileMessage, IterateMessage, JobMessage,
  MovedMessage, Project, ProjectState, PulseMessage, RequestArguments, RequestOptions, ServerMessage, Toast, UiState,
} from "./types";

/** A command that was sent, and its answer. */
interface SentRequest { name: CommandName; values: Commands[CommandName]; reply: Promise<unknown> }

export class StudioApp implements App {
  project: Project | null = null;
  state: ProjectState | null = null;
  ui: UiState = loadUi();
  readonly onProject = createSignal<Project | null>();
  readonly onState = createSignal<ProjectState>();
  readonly onUi = createSignal<Partial<UiState>>();
  readonly onFrame = createSignal<BinaryFrame>();
  readonly onMoved = createSignal<MovedMessage>();
  readonly onPulse = createSignal<PulseMessage>();
  readonly onJob = createSignal<JobMessage>();
  readonly onIterate = createSignal<IterateMessage>();
  readonly onTheme = onTheme;
  readonly onToast = createSignal<Toast>();
  readonly onHints = createSignal<[string, string][] | null>();
  readonly onStatus = createSignal<ConnectionStatus>();
  readonly onFile = createSignal<FileMessage>();
  readonly onRequest = createSignal<SentRequest>();
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

  request<Name extends CommandName>(name: Name, ...args: RequestArguments<Name, RequestOptions>): Promise<AnswerTo<Name>> {
    const [values = {} as Commands[Name], options] = args;
    const reply = this.connection.request(name, values);
    const openCopy = (): void => void this.request("open", { ...values, copy: true });
    reply.catch(
      (failure: RequestError) => options?.quiet || this.showToast(createErrorToast(failure, name === "open" ? openCopy : undefined)),
    );
    this.onRequest.emit({ name, values, reply });
    return reply;
  }

  stream<Name extends CommandName>(name: Name, values: Commands[Name]): void {
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

  private handleMessage(message: ServerMessage): void {
    switch (message.is) {
      case "welcome":
        return this.handleWelcome(message.project);
      case "project":
        return this.handleProject(message);
      case "state":
        return this.handleState(message);
      case "moved":
        return this.onMoved.emit(message);
      case "pulse":
        return this.onPulse.emit(message);
      case "job":
        return this.onJob.emit(message);
      case "iterate":
        return this.onIterate.emit(message);
      case "notice":
        return this.showToast(message);
      case "file":
        return this.onFile.emit(message);
      case "seat":
        return this.updateUi({ pilot: message.pilot });
      case "error":
        return this.showToast(createErrorToast(message));
      case "done":
        return; // the answer of a request that has expired
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

/** Toast of an error. openCopy: opens a copy of the requested project, which another studio may have locked. */
export function createErrorToast(failure: RequestError | ErrorMessage, openCopy?: () => void): Toast {
  const text = failure instanceof RequestError ? failure.message : failure.text;
  const actions = failure.code === "locked" && openCopy ? [{ text: "Open a copy", onClick: openCopy }] : undefined;
  return { tone: "err", title: toSentence(text), text: toSentence(failure.remedy ?? ""), ...(actions && { actions }) };
}
