/** What the parts of the page are given: the server's word, the page's own choices, and ways to say something. */

import { beginning, beginningOf, remember } from "./choices";
import { provide, run } from "./commands";
import { failureToast, type Toast } from "./failures";
import { frames } from "./frames";
import { signal } from "./signal";
import { onTheme, preferred, still, wear } from "./theme";
import { recall } from "./store";
import type {
  App,
  BinaryFrame,
  Failure,
  FileMade,
  Iterate,
  Job,
  Moved,
  Notice,
  Project,
  Pulse,
  State,
  Ui,
} from "./types";
import { drags } from "./wanted";
import { type Message, type Status, Wire, type WireError } from "./wire";

export type { Toast };

export class Studio implements App {
  project: Project | null = null;
  state: State | null = null;
  ui: Ui = beginning();
  readonly onProject = signal<Project | null>();
  readonly onState = signal<State>();
  readonly onUi = signal<Partial<Ui>>();
  readonly onFrame = signal<BinaryFrame>();
  readonly onMoved = signal<Moved>();
  readonly onPulse = signal<Pulse>();
  readonly onJob = signal<Job>();
  readonly onIterate = signal<Iterate>();
  readonly onTheme = onTheme;
  readonly onToast = signal<Toast>();
  readonly onHint = signal<[string, string][] | null>();
  readonly onStatus = signal<Status>();
  readonly onFile = signal<FileMade>();
  readonly onAsk = signal<{ what: string; values: object; answer: Promise<Message> }>();
  leading = true; // to what is open already: the start page is seen for a moment only
  private fresh = false; // a project was opened and its first state has not come

  constructor(readonly wire = new Wire()) {
    wire.onText.on((message) => this.hear(message));
    wire.onBinary.on((message) => this.onFrame.emit(message));
    wire.onStatus.on((status) => this.connected(status));
    matchMedia("(prefers-color-scheme: light)").addEventListener("change", () => {
      if (recall("theme", null) === null) this.change({ theme: preferred() });
    });
    provide("close", () => void this.ask("close").then(() => this.leave()));
    frames.attach(this);
    wear(this.ui.theme);
  }

  set(change: Partial<Ui>): void {
    remember(change, this.state?.mode);
    this.change(change);
  }

  /** Changes the page's choices without keeping them for the next visit. */
  private change(change: Partial<Ui>): void {
    const differs = Object.entries(change).filter(([name, value]) => !same(this.ui[name as keyof Ui], value));
    if (differs.length === 0) return;
    const real = Object.fromEntries(differs) as Partial<Ui>;
    this.ui = { ...this.ui, ...real };
    if (real.theme) wear(real.theme);
    this.onUi.emit(real);
  }

  ask(what: string, values: object = {}, options: { quiet?: boolean } = {}): Promise<Message> {
    const answer = this.wire.ask(what, values);
    const question = { what, values, ask: this.ask.bind(this) };
    answer.catch((failure: WireError) => options.quiet || this.toast(failureToast(failure, question)));
    this.onAsk.emit({ what, values, answer });
    return answer;
  }

  stream(what: string, values: object): void {
    this.wire.stream(what, values);
  }

  run(name: string): void {
    run(this, name);
  }

  toast(notice: Toast): void {
    this.onToast.emit(notice);
  }

  hint(hints: [string, string][] | null): void {
    this.onHint.emit(hints);
  }

  /** Back to the start page. */
  leave(): void {
    this.leading = false;
    this.project = null;
    this.state = null;
    this.change({ page: "start", playing: false });
    this.onProject.emit(null);
  }

  private connected(status: Status): void {
    this.change({ connection: status.at });
    this.onStatus.emit(status);
  }

  private hear(message: Message): void {
    const word = message as { is: string };
    switch (word.is) {
      case "welcome":
        return this.welcomed(message["project"] as string | null);
      case "project":
        return this.opened(message as unknown as Project);
      case "state":
        return this.stated(message as unknown as State);
      case "moved":
        return this.onMoved.emit(message as unknown as Moved);
      case "pulse":
        return this.onPulse.emit(message as unknown as Pulse);
      case "job":
        return this.onJob.emit(message as unknown as Job);
      case "iterate":
        return this.onIterate.emit(message as unknown as Iterate);
      case "notice":
        return this.toast(message as unknown as Notice);
      case "file":
        return this.onFile.emit(message as unknown as FileMade);
      case "seat":
        return this.change({ pilot: message["pilot"] === true });
      case "error":
        return this.toast(failureToast(message as unknown as Failure));
      default:
        return;
    }
  }

  /** Comes back to what was open, here or at the server. */
  private welcomed(open: string | null): void {
    const id = this.project?.id ?? open;
    this.leading = id !== null;
    if (id !== null) this.ask("open", { project: id }, { quiet: !this.project }).catch(() => this.leave());
    frames.again();
  }

  private opened(project: Project): void {
    const known = this.project?.id === project.id;
    this.leading = false;
    this.project = project;
    if (!known) {
      this.state = null;
      this.fresh = true;
    }
    this.onProject.emit(project);
    this.change({ page: "project" });
  }

  private stated(state: State): void {
    const before = this.state;
    this.state = state;
    if (before?.mode !== state.mode) this.change({ ...beginningOf(state.mode), playing: false });
    if (before?.frames !== state.frames || before.mode !== state.mode)
      this.change({ loopRange: [0, Math.max(0, state.frames - 1)] });
    if (this.ui.playhead > state.frames - 1) this.change({ playhead: 0 });
    if (state.steer) this.change({ playing: state.steer.running });
    this.onState.emit(state);
    if (this.fresh) this.begin(state);
  }

  /** The first look at what was opened: its motion plays, and what a first drag would move is in hand. */
  private begin(state: State): void {
    this.fresh = false;
    if (drags(state) && this.ui.views === 2 && !still()) this.change({ playing: true });
    const { reroute } = state;
    if (reroute && reroute.pilot_frames === null && !reroute.net.own && this.ui.pilot) void this.ask("pilot");
    const hint = this.project?.suggestion;
    if (!hint || !state.edit || state.edit.drags.length > 0 || state.selection.length > 0 || !this.ui.pilot) return;
    void this.ask("frame", { frame: hint.frame }, { quiet: true });
    void this.ask("select", { nodes: [hint.node] }, { quiet: true });
  }
}

function same(one: unknown, other: unknown): boolean {
  if (Array.isArray(one) && Array.isArray(other))
    return one.length === other.length && one.every((value, at) => value === other[at]);
  return one === other;
}
