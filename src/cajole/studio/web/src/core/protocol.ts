// Generated from the message classes of the server by `python -m cajole.studio.protocol_codegen`.

export const PROTOCOL_VERSION = 1;
export const MAX_TEXT_LENGTH = 1000000;
export const MAX_REQUESTED_FRAMES = 32;

// --- binary messages: a header of little-endian u32, then the data

export const MAGIC = 0x314c4a43;
export const HEADER_FIELDS = ["magic", "kind", "seq", "frame", "count", "flags", "rev", "extra"] as const;
export enum BinaryKind { Triangles = 1, VertexColors = 2, VertexNodes = 3, Prop = 4, RegionLabels = 5, LiveFrame = 10, ResultFrame = 11, InputFrame = 12, ComparisonFrame = 13 }
export type StreamName = "result" | "given" | "other";
export const STREAM_KINDS: Readonly<Record<StreamName, BinaryKind>> = { result: BinaryKind.ResultFrame, given: BinaryKind.InputFrame, other: BinaryKind.ComparisonFrame };

// --- messages from the server and their parts

export type Vec3 = [number, number, number];

/** The answer to a command that succeeded, or that became a job. */
export interface Answer {
  is: "done";
  id: number | null; // of the command
  unsaved?: string; // why the change could not be written to the disk
  job?: string; // the job that the command became
  cancelled?: boolean; // the job was cancelled
  overtaken?: boolean; // a newer message of the same stream replaced this one
}

/** The answer to a command that failed; without `id`, an error that concerns no single command. */
export interface ErrorMessage {
  is: "error";
  code: "cancelled" | "input" | "internal" | "locked" | "missing" | "solve";
  text: string; // what is wrong
  remedy?: string;
  id?: number; // of the command
}

/** A scene on the start page. */
export interface CatalogueScene {
  name: string;
  title: string;
  text: string;
  group: string; // "creatures", "plants", "structures", "characters" or "flows"
  modes: string[];
  picture: string; // URL
  facts: string[]; // "240 frames", "17k tets"
  ready: boolean; // nothing of it takes long to compute
}

/** A stored project on the start page. */
export interface RecentProject {
  id: string;
  name: string;
  mode: string;
  text: string; // "3 drags"
  when: number; // of the last change [s since 1970]
  picture: string | null; // URL
  recovered: boolean; // the studio that had it open ended without closing it
}

/** Suffixes without dot that the studio opens and writes. */
export interface FileFormats {
  read: string[];
  write: string[];
}

/** Contents of the start page. */
export interface Catalogue {
  scenes: CatalogueScene[];
  recent: RecentProject[];
  formats: FileFormats;
  version: string;
}

/** Answer with the start page. */
export interface CatalogueAnswer extends Answer {
  catalogue: Catalogue;
}

/** Answer with the id of the project that opens. */
export interface OpenAnswer extends Answer {
  project: string;
}

/** Answer that tells if there is such a job. */
export interface FoundAnswer extends Answer {
  found: boolean;
}

/** Answer to the begin of a drag. */
export interface DragBeginAnswer extends Answer {
  position: Vec3; // of the first vertex [m]
}

/** Answer to the end of a drag. */
export interface DragCommitAnswer extends Answer {
  moved: number; // distance of the first vertex from where it was [m]
  missed?: number; // distance from its target, as a share of the drag
}

/** Limits of this server. */
export interface Limits {
  text: number; // characters of a message
  frames: number; // requested at once
  upload: number; // bytes of a file
}

/** Answer to `hello`. */
export interface WelcomeMessage {
  is: "welcome";
  proto: number;
  version: string; // of Cajole
  project: string | null; // id of the project that is open
  limits: Limits;
}

/** Tells if this page may change the project. */
export interface SeatMessage {
  is: "seat";
  pilot: boolean;
}

/** A notification for the user. */
export interface NoticeMessage {
  is: "notice";
  tone: "err" | "ok" | "warn";
  title: string;
  text: string;
}

/** Progress of a job. */
export interface JobMessage {
  is: "job";
  job: string;
  title: string;
  fraction: number | null; // null: unknown
  text: string;
  state: "cancelled" | "done" | "failed" | "running";
  stoppable: boolean; // `stop` keeps what it has so far
  reason?: string; // why it failed
  remedy?: string;
}

/** A file that an export wrote. */
export interface FileMessage {
  is: "file";
  id: string;
  name: string;
  url: string;
  bytes: number;
}

/** Added force, in body weights. */
export interface ForceMeter {
  share: number; // root mean square over the frames
  peak: number;
  frame: number | null; // of the peak
  curve: number[] | null; // one value a frame
  cure: string | null; // one sentence: how to lower the peak
  of?: string; // unit, where it is not body weights
}

/** Progress of the active gesture. */
export interface MovedMessage {
  is: "moved";
  gesture: number;
  seq: number;
  position: Vec3; // of the first vertex [m]
  miss: number; // distance from the target as a share of the drag
  ms: number; // duration of the computation
  meter: ForceMeter | null;
}

/** An object around the body. */
export interface PropInfo {
  name: string;
  color: Vec3;
  opacity: number;
  frames: number; // 1 for one that does not move
}

/** Tells if a mode can be entered, and why not. */
export interface ModeAvailability {
  possible: boolean;
  why: string | null;
}

/** Direction of the first view; what is missing is fitted. */
export interface CameraInfo {
  azimuth?: number; // degrees
  elevation?: number; // degrees
}

/** Where a first drag has a visible effect. */
export interface SuggestedDrag {
  node: number;
  frame: number;
}

/** The box of a flow. */
export interface FieldInfo {
  size: [number, number]; // [m] along x and z, from the origin
  cells: [number, number]; // columns and rows
}

/** Description of the open project, valid until the next one. Meshes follow as binary messages. */
export interface ProjectMessage {
  is: "project";
  id: string;
  name: string;
  vertices: number; // drawn
  triangles: number;
  nodes: number; // of the body
  size: number; // diagonal at rest [m]
  bounds: [Vec3, Vec3]; // over all frames [m]
  weight: number; // [N]; of a flow the acceleration that pushes are measured by [m/s²]
  ground: number; // height of the floor [m]
  painted: boolean; // has colours of its own
  props: PropInfo[];
  camera: CameraInfo;
  parts: Record<string, number[]>; // a few vertices of each named region
  modes: Record<string, ModeAvailability>;
  formats: Record<string, string[]>; // suffixes by kind of export
  suggestion: SuggestedDrag | null;
  guide: number | null; // vertices of the first view's own mesh, where it has one
  field: FieldInfo | null; // the box of a flow
}

/** Something at a frame, or over a range of frames, of the timeline. */
export interface Marker {
  id: string;
  frame: number;
  text: string;
  movable: boolean;
  end?: number; // last frame of a bar
  hollow?: boolean; // soft
  reach?: [number, number]; // frames between which it has an effect
  warn?: string; // why it needs attention
  selected?: boolean;
  detail?: string; // tooltip: "1.60 s · 0.42 m"
}

/** A row of the timeline. */
export interface Lane {
  id: string;
  name: string;
  shape: "bar" | "curve" | "diamond" | "disc" | "triangle";
  tone: "added" | "asked" | "given" | "got" | "quiet" | "world";
  markers: Marker[];
  curve?: number[]; // one value a frame
  peak?: number; // scale of the curve
  add?: string; // action of a double click
}

/** A selected vertex. */
export interface SelectedVertex {
  node: number;
  name: string;
  position: Vec3; // [m]
  given: Vec3; // in the input [m]
  fixed: boolean;
}

/** Path of a selected vertex: x y z of each frame, flat [m]. */
export interface Trail {
  node: number;
  given: number[] | null; // in the input
  result: number[];
}

/** Titles of the two views. */
export interface ViewLabels {
  now: string;
  result: string;
}

/** Target position of a vertex at a frame: a drag of Edit, a goal of Reroute. */
export interface PositionTarget {
  id: string; // also of its marker
  node: number;
  frame: number;
  name: string;
  position: Vec3; // [m]
  given: Vec3; // where the vertex was before [m]
  moved: number; // [m]
  warn: string | null;
}

/** Everything that changes, as a whole. Each mode adds a field of its own name. */
export interface StateMessage {
  is: "state";
  rev: number; // revision of the frames
  mode: string;
  frame: number; // the edit frame
  frames: number;
  fps: number;
  unsaved: boolean; // not all of it is on the server's disk
  unsaved_reason: string | null; // why saving failed; the server tries again
  undo: string | null; // label of the step that undo takes back
  redo: string | null;
  lanes: Lane[];
  meter: ForceMeter;
  selection: SelectedVertex[];
  trails: Trail[];
  labels: ViewLabels;
  ready?: number | null; // frames of the result that exist; null or absent: all
}

/** Answer of `POST /upload`. */
export interface UploadAnswer {
  upload: string; // id for `open`
  name: string;
  kind: "animation" | "mesh" | "project";
  text: string; // "a solid mesh, 1200 tets"
  modes: Record<string, ModeAvailability>;
}

/** A drag. */
export interface DragInfo extends PositionTarget {
  missed: number; // distance from the target as a share of the body's size
  pin: boolean; // holds the vertex where it was
  directions: string; // "xyz" or some of it
}

/** Settings that a reset restores. */
export interface EditDefaults {
  h: number;
  alpha: number;
  beta: number;
  modes: number;
}

/** A contact of the input at the edit frame. */
export interface ContactPoint {
  point: Vec3; // [m]
  normal: Vec3;
}

/** State of Edit. */
export interface EditModeState {
  drags: DragInfo[];
  h: number; // [s]
  alpha: number; // [1/s]
  beta: number; // [s]
  defaults: EditDefaults;
  ends: "fixed" | "free";
  energy: "forces" | "smooth";
  smoothness: number;
  window: [number, number] | null;
  editable: [number, number]; // first and last frame
  modes: number;
  most_modes: number;
  warp: "additive" | "composition" | "none";
  contacts: boolean; // contacts of the input constrain the edit
  contacts_found: number;
  contacts_kept: number;
  contact_points: ContactPoint[];
  suggested: number; // drags that the scene suggests and that are not made
}

/** Answer to the begin of a pull. */
export interface PullBeginAnswer extends Answer {
  position: Vec3; // of the vertex [m]
  load: number; // id of the load
  stiffness: number; // [N/m] force per metre of the pointer under which the body follows about as far
}

/** Answer to the end of a pull. */
export interface PullCommitAnswer extends Answer {
  load: number;
}

/** Answer with the id of the key. */
export interface KeyAnswer extends Answer {
  key: string;
}

/** An iteration of the optimisation. */
export interface IterateMessage {
  is: "iterate";
  job: string;
  iteration: number;
  cost: number;
  gradient: number; // norm
  seconds: number;
}

/** Settings of the search. */
export interface KeyframeModeSettings {
  effort: number;
  detail: number; // number of modes
  frames: number;
  dt: number | null; // time between frames [s]; null: natural
  loop: boolean;
}

/** A load on the pose. */
export interface LoadInfo {
  id: number;
  kind: "gravity" | "pull";
  name: string;
  nodes: number[];
  force: Vec3; // [N]
  strength: number; // [N]
  at: Vec3; // point of application in the present pose [m]
  muted: boolean;
  frozen: boolean;
  stiffness: number | null; // [N/m] of the pull gesture; null: unknown
}

/** Pinned vertices of one region. */
export interface PinInfo {
  name: string;
  nodes: number[];
  places: Vec3[]; // [m]
}

/** A key. */
export interface KeyInfo {
  id: string;
  frame: number;
  name: string;
  hard: boolean;
  weight: number;
  missed: number | null; // distance of the motion from the pose, as a share of the body's size
  picture: string | null; // data URL
  current: boolean; // its pose is the present one
}

/** Report of the last optimisation. */
export interface OptimisedMotion {
  cost: number;
  worst: number; // largest distance from a key, as a share of the body's size
  iterations: number;
  seconds: number;
  text: string;
  stale: boolean; // keys or settings have changed since
}

/** State of Keyframe. */
export interface KeyframeModeState {
  loads: LoadInfo[];
  pins: PinInfo[];
  gravity: boolean;
  moved: number; // largest displacement of the present pose [m]
  keys: KeyInfo[];
  effort: number;
  detail: number;
  frames: number;
  dt: number | null; // [s]; null: natural
  loop: boolean;
  natural_dt: number | null; // [s]
  optimising: string | null; // job
  result: OptimisedMotion | null;
  ghost: "rest" | "spline";
}

/** Answer with the id of the push. */
export interface PushAnswer extends Answer {
  push: string;
}

/** The aim of the scene. */
export interface Outcome {
  text: string; // "the bee finds the bloom"
  good: boolean | null; // null: open
}

/** The running motion, up to 60 times a second. */
export interface PulseMessage {
  is: "pulse";
  time: number; // [s]
  lap: number;
  frame: number;
  error: number; // body sizes; in a flow cells
  effort: number; // body weights; in a flow shares of its momentum
  astray: boolean; // outside the linear range of the controller
  ms: number; // duration of the computation
  push: Vec3 | null; // the force that acts now [N]; in a flow [m/s²]
  at: Vec3 | null; // where it acts [m]
  arrows: number[][]; // node x y z [m], force x y z [N] of the largest controller forces
  outcome?: Outcome;
}

/** A push that was made. */
export interface PushInfo {
  id: string;
  time: number; // [s]
  frame: number;
  node: number | null; // null in a flow
  at?: Vec3; // of a flow [m]
  name: string;
  force: Vec3; // [N]; in a flow [m/s²]
  strength: number;
  duration: number; // [s]
}

/** The wind. */
export interface WindInfo {
  strength: number; // body weights; in a flow [m/s²]
  pace: number; // gusts a second
}

/** A push that the scene offers. */
export interface KickInfo {
  name: string;
  text: string;
}

/** State that only flows have. */
export interface FlowState {
  kicks: KickInfo[];
  smoke: boolean;
  seed: number; // selects the wind
}

/** State of Steer. */
export interface SteerModeState {
  control: boolean;
  tracking: number;
  final: number;
  effort: number;
  retuning: boolean; // gains of changed settings are being computed
  wind: WindInfo;
  running: boolean;
  speed: number;
  dt: number; // time step [s]
  steps: number;
  loop: boolean;
  pushes: PushInfo[];
  ghost: "reference" | "uncontrolled";
  outcome: Outcome | null;
  model: string; // "24 coordinates"
  flow?: FlowState;
  notes: string[];
}

/** Answer with the painted region. */
export interface PaintAnswer extends Answer {
  region: number; // -1: erased
}

/** Material of the shell, its loads, and the simulation. */
export interface EnrichDials {
  material: string;
  young: number; // [Pa]
  poisson: number;
  thickness: number; // [m]
  density: number; // [kg/m³]
  bending: number; // factor of the bending stiffness
  mass: number; // damping [1/s]
  membrane: number; // damping [s]
  ripple: number; // damping of bending [s]
  curvature: number; // folds of more stay [1/m]; 0: none
  hardening: number; // of folds that stay [m]
  shape: "accordion" | "crinkle" | "flat" | "own" | "ridges";
  amplitude: number; // of the rest shape [m]
  wavelength: number; // of the rest shape [m]
  along: "x" | "y" | "z"; // direction of the folds
  gravity: number; // times that of the Earth
  wind: number; // [m/s]
  heading: number; // of the wind [degrees]
  rise: number; // of the wind [degrees]
  gusts: number; // [m/s]
  lumps: number; // size of the gusts [m]
  pressure: number; // [Pa]
  own: boolean; // loads and shapes over time of the scene
  hold: boolean; // vertices that never move are fixed
  collisions: "exact" | "fast" | "none";
  friction: number;
  substeps: number; // steps a frame
  frames: number;
  seed: number;
}

/** The guide. */
export interface GuideInfo {
  vertices: number;
  frames: number;
}

/** The shell. */
export interface ShellInfo {
  vertices: number;
  triangles: number;
  levels: number | null; // subdivisions of the guide; null: the scene's own mesh
  most_levels: number;
  own: boolean; // the scene has a mesh that is no subdivision
  lies: boolean; // the shell lies on the guide, so that paint can go to both
  still: number; // vertices that never move
}

/** A region. */
export interface RegionInfo {
  id: number;
  guide: number; // vertices
  shell: number; // vertices
}

/** The regions. */
export interface RegionsInfo {
  kind: "clusters" | "hats" | "paint" | "scene";
  kinds: ("clusters" | "hats" | "paint" | "scene")[]; // available
  count: number;
  asked: number; // requested number of clusters
  most: number;
  seed: number;
  list: RegionInfo[]; // the first of them
  covered: number; // share of the shell's vertices
  problem: string | null; // why they cannot be tracked
}

/** A material to choose. */
export interface MaterialInfo {
  name: string;
  text: string;
}

/** Report of the last simulation. */
export interface EnrichRunReport {
  frames: number;
  stale: boolean; // something has changed since
  cut: boolean; // stopped before the end
  text: string;
  off: number; // largest distance of a region from the guide, in sizes of the shell
  report: string;
  seconds: number | null;
  collisions: string | null;
  intersections: number | null;
}

/** Triangles in which the start intersects itself. */
export interface CrossedTriangles {
  shell: number[];
  guide: number[];
}

/** State of Enrich. */
export interface EnrichModeState {
  guide: GuideInfo;
  shell: ShellInfo;
  regions: RegionsInfo;
  dials: EnrichDials;
  materials: MaterialInfo[];
  extras: boolean; // the material has loads or shapes over time
  collidable: boolean; // the scene has obstacles
  running: string | null; // job
  result: EnrichRunReport | null;
  sight: "free" | "led"; // what the second view shows
  free: number | null; // `off` of the shell without its guide, where it is shown
  crossed: CrossedTriangles;
}

/** Outcome of a goal in the second run. */
export interface GoalOutcome {
  id: string; // of the goal
  reached: boolean;
  error: number; // distance at its frame [m]
  closest: number; // smallest distance [m]
  closest_frame: number;
  why: string; // why it was missed
  notes: string[];
  shape: number; // distance of the path from that of the pilot [m]
  stepping: number; // variation of the step length
  turning: number | null; // correlation of the turning
  speed: number; // at arrival [m/s]
  pilot_speed: number; // [m/s]
}

/** A goal. */
export interface GoalInfo extends PositionTarget {
  window: number | null; // frames; null: in proportion to the distance
  start: number; // first frame that it changes
  asked: number; // frames that its window would have
  report: GoalOutcome | null;
  pilot: number[]; // path of the pilot over the window, flat x y z a frame [m]
  led: number[] | null; // path of the second run
}

/** Settings. */
export interface RerouteDials {
  method: "least-force" | "paper" | "pattern";
  alpha: number; // frames a size
  reach: number; // [m]
  limit: number | null; // of the force [N]
  within: number; // tolerance [m]
  stiffness: number; // [N/m]
  mass: number; // of all vertices [kg]
  damping: number; // [N s/m]
  frames: number;
}

/** The net of springs. */
export interface NetInfo {
  vertices: number;
  springs: number;
  weight: number; // [N]
  own: boolean; // made from the user's mesh
  usual_reach: number; // [m]
}

/** Report of a second run. */
export interface RerouteRunReport {
  method: "least-force" | "paper" | "pattern";
  reached: number;
  count: number;
  effort: number; // [N² s]
  peak: number; // [N]
  error: number; // largest distance from a goal [m]
  shape: number; // largest distance of a path from that of the pilot [m]
  seconds: number;
  text: string;
  report: string;
  stale: boolean; // something has changed since
}

/** State of Reroute. */
export interface RerouteModeState {
  goals: GoalInfo[];
  pilot_frames: number | null; // null: it was not run yet
  dials: RerouteDials;
  net: NetInfo;
  held: number[]; // vertices of one's own mesh
  suggested: boolean; // the scene has goals of its own
  running: string | null; // job
  making: "pilot" | "run" | null;
  result: RerouteRunReport | null;
  compared: RerouteRunReport[];
  sight: "least-force" | "paper" | "pattern"; // the method that is shown
}

/** Parts of the state that the modes add under their names. */
export interface ModeStates {
  edit: EditModeState;
  keyframe: KeyframeModeState;
  steer: SteerModeState;
  enrich: EnrichModeState;
  reroute: RerouteModeState;
}
export interface ProjectState extends StateMessage, Partial<ModeStates> {}
export type ServerMessage =
  | Answer
  | ProjectState
  | ErrorMessage
  | WelcomeMessage
  | SeatMessage
  | NoticeMessage
  | JobMessage
  | FileMessage
  | MovedMessage
  | ProjectMessage
  | IterateMessage
  | PulseMessage
  ;

// --- commands to the server

/** Fields of each command, beside `v`, `do` and `id`. */
export interface Commands {
  /** Start the conversation; the first message of all. `welcome` follows. */
  "hello": {
    proto: number; // version of the protocol that the page speaks
    token?: string; // authentication of clients without cookie
  };
  /** Ask for the start page. */
  "catalogue": Record<string, never>;
  /** Open a scene, an upload or a project. `job` and then `project` follow. */
  "open": {
    scene?: string; // with `mode`
    upload?: string; // with `mode`
    project?: string; // id of a stored project
    mode?: string;
    copy?: boolean; // open a copy of the project, for example while another studio has it open
  };
  /** Go back to the start page. */
  "close": Record<string, never>;
  /** Make this page the one that may change the project. */
  "takeover": Record<string, never>;
  /** Delete a stored project; an error while a page has it open. */
  "forget": { project: string; };
  /** Ask for frames of a stream, nearest first; replaces what was asked for before. */
  "frames": { stream: "given" | "other" | "result"; list: number[]; };
  /** Confirm that a live frame was drawn. */
  "ack": {
    seq: number; // of the frame
  };
  /** Confirm that a requested frame came. The server keeps less than half a megabyte under way, or one frame. */
  "got": Record<string, never>;
  /** Cancel a job; what was there before is kept. */
  "cancel": { job: string; };
  /** Stop a job and keep what it has so far. */
  "stop": { job: string; };
  /** Switch to another mode. */
  "mode": {
    mode: string;
    hand?: boolean; // give it the result of the present mode
  };
  /** Set the edit frame. A live frame follows. */
  "frame": { frame: number; };
  /** Rename the project. */
  "rename": { name: string; };
  /** Write a file, as a job. `file` follows, to this page alone. Pages that only watch may export, too. */
  "export": {
    format: string;
    what: string; // "result", "project", or a kind of the mode
  };
  /** Select vertices. */
  "select": { nodes: number[]; };
  /** Undo the last step. */
  "undo": Record<string, never>;
  /** Redo the step that was undone last. */
  "redo": Record<string, never>;
  /** Move markers in time. */
  "marker.move": {
    lane: string;
    ids: string[];
    frames: number[]; // one for each marker
    final: boolean; // false while the drag goes on; newer messages replace those that wait
  };
  /** Copy markers to other frames. */
  "marker.copy": {
    lane: string;
    ids: string[];
    frames: number[]; // one for each marker
  };
  /** Delete markers. */
  "marker.delete": { lane: string; ids: string[]; };
  /** Rename one marker. */
  "marker.rename": { lane: string; ids: string[]; name: string; };
  /** End the drag and restore what was there before. */
  "drag.cancel": { gesture: number; };
  /** Begin to drag vertices at a frame. */
  "drag.begin": {
    gesture: number;
    nodes: number[];
    frame: number;
    directions?: string | null; // axes that follow
  };
  /** Move the dragged vertices. */
  "drag.move": {
    gesture: number;
    seq: number; // counts the movements of the gesture
    delta: Vec3; // [m] from where the first vertex was at the begin
  };
  /** End the drag; one undo step. */
  "drag.commit": { gesture: number; };
  /** Drag a vertex to a position in one step, as typed into fields. */
  "place": {
    node: number;
    frame: number;
    position: Vec3; // [m]
  };
  /** Make the drags that the scene suggests (edit), or take its goals (reroute). */
  "moves": Record<string, never>;
  /** Pin vertices of the pose (keyframe), or hold vertices of one's own mesh (reroute). */
  "pose.pin": { nodes: number[]; };
  /** Unpin vertices. */
  "pose.unpin": { nodes: number[]; };
  /** Change settings (keyframe: effort, detail, frames, dt, loop; steer: tracking, final, effort). */
  "dials": {
    effort?: number;
    detail?: number; // number of modes
    frames?: number;
    dt?: number | null; // time between frames [s]; null: natural
    loop?: boolean;
    tracking?: number;
    final?: number;
  };
  /** Choose what the result is compared with. */
  "compare": { with: string; };
  /** Hold vertices at a frame where they are. */
  "pin": { nodes: number[]; frame: number; };
  /** Change settings of the edit; takes effect at once. */
  "tune": {
    h?: number; // time step of the edit energy [s]
    alpha?: number; // mass damping [1/s]
    beta?: number; // stiffness damping [s]
    ends?: "fixed" | "free";
    energy?: "forces" | "smooth";
    smoothness?: number;
    window?: [number, number] | null; // first and last frame that may change; null: all
  };
  /** Prepare the editor again with other options, as a job; drags are kept. */
  "reopen": { modes?: number; warp?: "additive" | "composition" | "none"; contacts?: boolean; };
  /** End the pull and restore the pose from before. */
  "pull.cancel": { gesture: number; };
  /** Begin to pull a vertex. */
  "pull.begin": {
    gesture: number;
    node: number;
    add: boolean; // false: the load replaces all that are not frozen
  };
  /** Change the force of the pull. */
  "pull.move": {
    gesture: number;
    seq: number; // counts the movements of the gesture
    force: Vec3; // [N]
  };
  /** End the pull and keep its load. */
  "pull.commit": { gesture: number; };
  /** Change or remove a load. */
  "load": {
    load: number;
    strength?: number; // [N]
    muted?: boolean;
    remove?: boolean;
  };
  /** Freeze all loads. */
  "freeze": Record<string, never>;
  /** Reset the pose to the rest shape. */
  "pose.reset": Record<string, never>;
  /** Switch gravity on or off. */
  "gravity": { on: boolean; };
  /** Make a key of the present pose. */
  "key.capture": { frame: number; name?: string | null; };
  /** Change a key. */
  "key.set": { key: string; hard?: boolean; weight?: number; name?: string; };
  /** Restore the pose of a key. */
  "key.load": { key: string; };
  /** Find the motion through the keys, as a job with `iterate` messages. */
  "optimise": Record<string, never>;
  /** End the push. */
  "push.end": { gesture: number; };
  /** Begin to push at a vertex, or at a point of a flow. */
  "push.begin": {
    gesture: number;
    node?: number;
    at?: Vec3; // of a flow [m]
  };
  /** Change the force of the push. */
  "push.move": {
    gesture: number;
    seq: number; // counts the movements of the gesture
    force: Vec3; // [N]; in a flow an acceleration [m/s²]
  };
  /** Push at a vertex, or at a point of a flow, for a given time. */
  "impulse": {
    node?: number;
    at?: Vec3; // of a flow [m]
    force: Vec3; // [N]; in a flow an acceleration [m/s²]
    duration?: number | null; // [s]; null: one step
  };
  /** Repeat the last push. */
  "push.repeat": Record<string, never>;
  /** Apply one of the scene's pushes, where its particle is now (flows). */
  "kick": { number: number; };
  /** Restart the motion. */
  "restart": Record<string, never>;
  /** Switch the controller on or off. */
  "control": { on: boolean; };
  /** Set the wind. */
  "wind": {
    strength: number; // body weights; in a flow [m/s²]
    pace?: number | null; // gusts a second (bodies)
    seed?: number; // selects the wind (flows)
  };
  /** Run or pause. */
  "run": {
    play: boolean;
    speed: number; // 0.25, 0.5, 1 or 2
  };
  /** Choose what is drawn beside the body. */
  "ghost": { of: "reference" | "uncontrolled"; };
  /** Switch smoke on or off (flows). */
  "smoke": { on: boolean; };
  /** Choose the mesh of the shell, as a job; its triangles are sent again. */
  "shell": {
    levels: number | null; // subdivisions of the guide; null: the scene's own mesh
  };
  /** Find regions, as a job. */
  "regions": {
    kind?: "clusters" | "hats" | "paint" | "scene";
    count?: number; // of clusters
    seed?: number; // of clusters
  };
  /** Paint vertices with one stroke of the brush. */
  "paint": {
    on: "guide" | "shell";
    region: number | null; // null: a new one; -1: erase
    nodes: number[]; // of that side
    both?: boolean; // paint the same place of the other side, too
  };
  /** Remove a region. */
  "region.remove": { region: number; };
  /** Change the material of the shell, its loads, or the simulation; fields as in `EnrichDials`. */
  "cloth": { material?: string; young?: number; poisson?: number; thickness?: number; density?: number; bending?: number; mass?: number; membrane?: number; ripple?: number; curvature?: number; hardening?: number; shape?: "accordion" | "crinkle" | "flat" | "own" | "ridges"; amplitude?: number; wavelength?: number; along?: "x" | "y" | "z"; gravity?: number; wind?: number; heading?: number; rise?: number; gusts?: number; lumps?: number; pressure?: number; own?: boolean; hold?: boolean; collisions?: "exact" | "fast" | "none"; friction?: number; substeps?: number; frames?: number; seed?: number; };
  /** Simulate the shell, as a job that can be stopped; `state.ready` counts the frames so far. */
  "enrich": Record<string, never>;
  /** Simulate the pilot, where no motion was opened, as a job; `state.ready` counts the frames so far. */
  "pilot": Record<string, never>;
  /** Simulate again so that the goals are met, as a job. */
  "reroute": Record<string, never>;
  /** Change settings, as in `RerouteDials`; the last four are for one's own mesh, and the pilot must run again. */
  "route": { method?: "least-force" | "paper" | "pattern"; alpha?: number; reach?: number; limit?: number | null; within?: number; stiffness?: number; mass?: number; damping?: number; frames?: number; };
  /** Set the number of frames over which a goal acts. */
  "goal.set": {
    goal: string;
    window: number | null; // null: in proportion to the distance
  };
}
export type CommandName = keyof Commands;
/** Answers with fields of their own. */
export interface Answers {
  "catalogue": CatalogueAnswer;
  "open": OpenAnswer;
  "cancel": FoundAnswer;
  "stop": FoundAnswer;
  "drag.begin": DragBeginAnswer;
  "drag.commit": DragCommitAnswer;
  "pull.begin": PullBeginAnswer;
  "pull.commit": PullCommitAnswer;
  "key.capture": KeyAnswer;
  "push.end": PushAnswer;
  "impulse": PushAnswer;
  "push.repeat": PushAnswer;
  "kick": PushAnswer;
  "paint": PaintAnswer;
}
export type AnswerTo<Name extends CommandName> = Name extends keyof Answers ? Answers[Name] : Answer;
