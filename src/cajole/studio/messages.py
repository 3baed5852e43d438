"""Messages that all modes share: commands from the page, and answers, events and state from the server.

The docstring of a class and the comments behind its fields are their descriptions in docs/studio-protocol.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal

from msgspec import UNSET, Meta, Struct, UnsetType, field

from cajole.studio.protocol import (
    Answer,
    Command,
    GestureMove,
    Name,
    Names,
    Nodes,
    Real,
    RealVector,
    RequestId,
    ServerMessage,
    SomeNodes,
    StreamName,
    Vec3,
    Whole,
)

MAX_REQUESTED_FRAMES = 32

# --- the start page


class CatalogueScene(Struct, frozen=True):
    """A scene on the start page."""

    name: str
    title: str
    text: str
    group: str  # "creatures", "plants", "structures", "characters" or "flows"
    modes: tuple[str, ...]
    picture: str  # URL
    facts: tuple[str, ...]  # "240 frames", "17k tets"
    ready: bool  # nothing of it takes long to compute


class RecentProject(Struct, frozen=True):
    """A stored project on the start page."""

    id: str
    name: str
    mode: str
    text: str  # "3 drags"
    when: float  # of the last change [s since 1970]
    picture: str | None  # URL
    recovered: bool  # the studio that had it open ended without closing it


class FileFormats(Struct, frozen=True):
    """Suffixes without dot that the studio opens and writes."""

    read: tuple[str, ...]
    write: tuple[str, ...]


class Catalogue(Struct, frozen=True):
    """Contents of the start page."""

    scenes: tuple[CatalogueScene, ...]
    recent: tuple[RecentProject, ...]
    formats: FileFormats
    version: str


class CatalogueAnswer(Answer, frozen=True, kw_only=True, tag="done"):
    """Answer with the start page."""

    catalogue: Catalogue


class OpenAnswer(Answer, frozen=True, kw_only=True, tag="done"):
    """Answer with the id of the project that opens."""

    project: str


class Hello(Command, frozen=True, kw_only=True, tag="hello"):
    """Start the conversation; the first message of all. `welcome` follows."""

    proto: int  # version of the protocol that the page speaks
    token: str | UnsetType = UNSET  # authentication of clients without cookie


class GetCatalogue(Command, frozen=True, kw_only=True, tag="catalogue"):
    """Ask for the start page."""

    answer: ClassVar[type[Answer]] = CatalogueAnswer


class Open(Command, frozen=True, kw_only=True, tag="open"):
    """Open a scene, an upload or a project. `job` and then `project` follow."""

    answer: ClassVar[type[Answer]] = OpenAnswer
    scene: Name | UnsetType = UNSET  # with `mode`
    upload: Name | UnsetType = UNSET  # with `mode`
    project: Name | UnsetType = UNSET  # id of a stored project
    mode: Name | UnsetType = UNSET
    copy: bool = False  # open a copy of the project, for example while another studio has it open


class Close(Command, frozen=True, kw_only=True, tag="close"):
    """Go back to the start page."""


class TakeOver(Command, frozen=True, kw_only=True, tag="takeover"):
    """Make this page the one that may change the project."""


class Forget(Command, frozen=True, kw_only=True, tag="forget"):
    """Delete a stored project; an error while a page has it open."""

    project: Name


# --- frames and jobs


class RequestFrames(Command, frozen=True, kw_only=True, tag="frames"):
    """Ask for frames of a stream, nearest first; replaces what was asked for before."""

    stream: StreamName
    frames: Annotated[tuple[Annotated[int, Meta(ge=0, le=10_000_000)], ...], Meta(max_length=MAX_REQUESTED_FRAMES)] = (
        field(name="list")
    )


class Acknowledge(Command, frozen=True, kw_only=True, tag="ack"):
    """Confirm that a live frame was drawn."""

    seq: RequestId  # of the frame


class ConfirmFrame(Command, frozen=True, kw_only=True, tag="got"):
    """Confirm that a requested frame came. The server keeps less than half a megabyte under way, or one frame."""


class FoundAnswer(Answer, frozen=True, kw_only=True, tag="done"):
    """Answer that tells if there is such a job."""

    found: bool


class CancelJob(Command, frozen=True, kw_only=True, tag="cancel"):
    """Cancel a job; what was there before is kept."""

    answer: ClassVar[type[Answer]] = FoundAnswer
    job: Name


class StopJob(Command, frozen=True, kw_only=True, tag="stop"):
    """Stop a job and keep what it has so far."""

    answer: ClassVar[type[Answer]] = FoundAnswer
    job: Name


# --- the project


class SwitchMode(Command, frozen=True, kw_only=True, tag="mode"):
    """Switch to another mode."""

    mode: Name
    hand: bool = False  # give it the result of the present mode


class SetFrame(Command, frozen=True, kw_only=True, tag="frame"):
    """Set the edit frame. A live frame follows."""

    frame: Whole


class RenameProject(Command, frozen=True, kw_only=True, tag="rename"):
    """Rename the project."""

    name_: Name = field(name="name")


class Export(Command, frozen=True, kw_only=True, tag="export"):
    """Write a file, as a job. `file` follows, to this page alone. Pages that only watch may export, too."""

    format: Name
    what: Name  # "result", "project", or a kind of the mode


class Select(Command, frozen=True, kw_only=True, tag="select"):
    """Select vertices."""

    nodes: Nodes


class Undo(Command, frozen=True, kw_only=True, tag="undo"):
    """Undo the last step."""


class Redo(Command, frozen=True, kw_only=True, tag="redo"):
    """Redo the step that was undone last."""


class MoveMarkers(Command, frozen=True, kw_only=True, tag="marker.move"):
    """Move markers in time."""

    lane: Name
    ids: Names
    frames: SomeNodes  # one for each marker
    final: bool  # false while the drag goes on; newer messages replace those that wait

    @property
    def coalescing_key(self) -> tuple[object, ...] | None:
        return None if self.final else (self.name, self.lane, self.ids)


class CopyMarkers(Command, frozen=True, kw_only=True, tag="marker.copy"):
    """Copy markers to other frames."""

    lane: Name
    ids: Names
    frames: SomeNodes  # one for each marker


class DeleteMarkers(Command, frozen=True, kw_only=True, tag="marker.delete"):
    """Delete markers."""

    lane: Name
    ids: Names


class RenameMarker(Command, frozen=True, kw_only=True, tag="marker.rename"):
    """Rename one marker."""

    lane: Name
    ids: Annotated[tuple[Name, ...], Meta(min_length=1, max_length=1)]
    name_: Name = field(name="name")


# --- commands of several modes


class DragBeginAnswer(Answer, frozen=True, kw_only=True, tag="done"):
    """Answer to the begin of a drag."""

    position: Vec3  # of the first vertex [m]


class DragCommitAnswer(Answer, frozen=True, kw_only=True, tag="done"):
    """Answer to the end of a drag."""

    moved: float  # distance of the first vertex from where it was [m]
    missed: float | UnsetType = UNSET  # distance from its target, as a share of the drag


class CancelDrag(Command, frozen=True, kw_only=True, tag="drag.cancel"):
    """End the drag and restore what was there before."""

    ends_gesture: ClassVar[bool] = True
    gesture: Whole


class BeginDrag(Command, frozen=True, kw_only=True, tag="drag.begin"):
    """Begin to drag vertices at a frame."""

    answer: ClassVar[type[Answer]] = DragBeginAnswer
    cancel_command: ClassVar[type[Command] | None] = CancelDrag
    gesture: Whole
    nodes: SomeNodes
    frame: Whole
    directions: Annotated[str, Meta(min_length=1, max_length=3, pattern="^[xyz]+$")] | None = None  # axes that follow


class MoveDrag(GestureMove, frozen=True, kw_only=True, tag="drag.move"):
    """Move the dragged vertices."""

    delta: RealVector  # [m] from where the first vertex was at the begin


class CommitDrag(Command, frozen=True, kw_only=True, tag="drag.commit"):
    """End the drag; one undo step."""

    answer: ClassVar[type[Answer]] = DragCommitAnswer
    ends_gesture: ClassVar[bool] = True
    gesture: Whole


class PlaceVertex(Command, frozen=True, kw_only=True, tag="place"):
    """Drag a vertex to a position in one step, as typed into fields."""

    node: Whole
    frame: Whole
    position: RealVector  # [m]


class AddSuggestedTargets(Command, frozen=True, kw_only=True, tag="moves"):
    """Make the drags that the scene suggests (edit), or take its goals (reroute)."""


class PinVertices(Command, frozen=True, kw_only=True, tag="pose.pin"):
    """Pin vertices of the pose (keyframe), or hold vertices of one's own mesh (reroute)."""

    nodes: SomeNodes


class UnpinVertices(Command, frozen=True, kw_only=True, tag="pose.unpin"):
    """Unpin vertices."""

    nodes: SomeNodes


class SetDials(Command, frozen=True, kw_only=True, tag="dials"):
    """Change settings (keyframe: effort, detail, frames, dt, loop; steer: tracking, final, effort)."""

    effort: Real | UnsetType = UNSET
    detail: Whole | UnsetType = UNSET  # number of modes
    frames: Whole | UnsetType = UNSET
    dt: Real | UnsetType | None = UNSET  # time between frames [s]; null: natural
    loop: bool | UnsetType = UNSET
    tracking: Real | UnsetType = UNSET
    final: Real | UnsetType = UNSET


class Compare(Command, frozen=True, kw_only=True, tag="compare"):
    """Choose what the result is compared with.

    keyframe: "rest", "spline"; enrich: "led", "free"; reroute: "pattern", "least-force", "paper". A run that is
    missing is made as a job.
    """

    with_: Name = field(name="with")


# --- events


class Limits(Struct, frozen=True):
    """Limits of this server."""

    text: int  # characters of a message
    frames: int  # requested at once
    upload: int  # bytes of a file


class WelcomeMessage(ServerMessage, frozen=True, kw_only=True, tag="welcome"):
    """Answer to `hello`."""

    proto: int
    version: str  # of Cajole
    project: str | None  # id of the project that is open
    limits: Limits


class SeatMessage(ServerMessage, frozen=True, kw_only=True, tag="seat"):
    """Tells if this page may change the project."""

    pilot: bool


class NoticeMessage(ServerMessage, frozen=True, kw_only=True, tag="notice"):
    """A notification for the user."""

    tone: Literal["ok", "warn", "err"]
    title: str
    text: str


class JobMessage(ServerMessage, frozen=True, kw_only=True, tag="job"):
    """Progress of a job."""

    job: str
    title: str
    fraction: float | None  # null: unknown
    text: str
    state: Literal["running", "done", "failed", "cancelled"]
    stoppable: bool  # `stop` keeps what it has so far
    reason: str | UnsetType = UNSET  # why it failed
    remedy: str | UnsetType = UNSET


class FileMessage(ServerMessage, frozen=True, kw_only=True, tag="file"):
    """A file that an export wrote."""

    id: str
    name: str
    url: str
    bytes: int


class ForceMeter(Struct, frozen=True, kw_only=True):
    """Added force, in body weights."""

    share: float  # root mean square over the frames
    peak: float
    frame: int | None  # of the peak
    curve: Sequence[float] | None  # one value a frame
    cure: str | None  # one sentence: how to lower the peak
    of: str | UnsetType = UNSET  # unit, where it is not body weights


class MovedMessage(ServerMessage, frozen=True, kw_only=True, tag="moved"):
    """Progress of the active gesture."""

    gesture: int
    seq: int
    position: Vec3  # of the first vertex [m]
    miss: float  # distance from the target as a share of the drag
    ms: float  # duration of the computation
    meter: ForceMeter | None


# --- the project and its state


class PropInfo(Struct, frozen=True):
    """An object around the body."""

    name: str
    color: Vec3
    opacity: float
    frames: int  # 1 for one that does not move


class ModeAvailability(Struct, frozen=True):
    """Tells if a mode can be entered, and why not."""

    possible: bool
    why: str | None = None


class CameraInfo(Struct, frozen=True, kw_only=True):
    """Direction of the first view; what is missing is fitted."""

    azimuth: float | UnsetType = UNSET  # degrees
    elevation: float | UnsetType = UNSET  # degrees


class SuggestedDrag(Struct, frozen=True):
    """Where a first drag has a visible effect."""

    node: int
    frame: int


class FieldInfo(Struct, frozen=True):
    """The box of a flow."""

    size: tuple[float, float]  # [m] along x and z, from the origin
    cells: tuple[int, int]  # columns and rows


class ProjectMessage(ServerMessage, frozen=True, kw_only=True, tag="project"):
    """Description of the open project, valid until the next one. Meshes follow as binary messages."""

    id: str
    name: str
    vertices: int  # drawn
    triangles: int
    nodes: int  # of the body
    size: float  # diagonal at rest [m]
    bounds: tuple[Vec3, Vec3]  # over all frames [m]
    weight: float  # [N]; of a flow the acceleration that pushes are measured by [m/s²]
    ground: float  # height of the floor [m]
    painted: bool  # has colours of its own
    props: tuple[PropInfo, ...]
    camera: CameraInfo
    parts: dict[str, tuple[int, ...]]  # a few vertices of each named region
    modes: dict[str, ModeAvailability]
    formats: dict[str, tuple[str, ...]]  # suffixes by kind of export
    suggestion: SuggestedDrag | None
    guide: int | None  # vertices of the first view's own mesh, where it has one
    field: FieldInfo | None  # the box of a flow


class Marker(Struct, frozen=True, kw_only=True):
    """Something at a frame, or over a range of frames, of the timeline."""

    id: str
    frame: int
    text: str
    movable: bool = True
    end: int | UnsetType = UNSET  # last frame of a bar
    hollow: bool | UnsetType = UNSET  # soft
    reach: tuple[int, int] | UnsetType = UNSET  # frames between which it has an effect
    warn: str | UnsetType = UNSET  # why it needs attention
    selected: bool | UnsetType = UNSET
    detail: str | UnsetType = UNSET  # tooltip: "1.60 s · 0.42 m"


class Lane(Struct, frozen=True, kw_only=True):
    """A row of the timeline."""

    id: str
    name: str
    shape: Literal["disc", "diamond", "triangle", "bar", "curve"]
    tone: Literal["given", "asked", "got", "added", "world", "quiet"]
    markers: Sequence[Marker] = ()
    curve: Sequence[float] | UnsetType = UNSET  # one value a frame
    peak: float | UnsetType = UNSET  # scale of the curve
    add: str | UnsetType = UNSET  # action of a double click


class SelectedVertex(Struct, frozen=True, kw_only=True):
    """A selected vertex."""

    node: int
    name: str
    position: Vec3  # [m]
    given: Vec3  # in the input [m]
    fixed: bool


class Trail(Struct, frozen=True, kw_only=True):
    """Path of a selected vertex: x y z of each frame, flat [m]."""

    node: int
    given: Sequence[float] | None  # in the input
    result: Sequence[float]


class ViewLabels(Struct, frozen=True):
    """Titles of the two views."""

    now: str
    result: str


class PositionTarget(Struct, frozen=True, kw_only=True):
    """Target position of a vertex at a frame: a drag of Edit, a goal of Reroute."""

    id: str  # also of its marker
    node: int
    frame: int
    name: str
    position: Vec3  # [m]
    given: Vec3  # where the vertex was before [m]
    moved: float  # [m]
    warn: str | None


class StateMessage(ServerMessage, frozen=True, kw_only=True, tag="state"):
    """Everything that changes, as a whole. Each mode adds a field of its own name."""

    rev: int = 0  # revision of the frames
    mode: str = ""
    frame: int = 0  # the edit frame
    frames: int = 0
    fps: float = 0.0
    unsaved: bool = False  # not all of it is on the server's disk
    unsaved_reason: str | None = None  # why saving failed; the server tries again
    undo: str | None = None  # label of the step that undo takes back
    redo: str | None = None
    lanes: Sequence[Lane] = ()
    meter: ForceMeter
    selection: Sequence[SelectedVertex] = ()
    trails: Sequence[Trail] = ()
    labels: ViewLabels
    ready: int | UnsetType | None = UNSET  # frames of the result that exist; null or absent: all


class UploadAnswer(Struct, frozen=True, kw_only=True):
    """Answer of `POST /upload`."""

    upload: str  # id for `open`
    name: str
    kind: Literal["mesh", "animation", "project"]
    text: str  # "a solid mesh, 1200 tets"
    modes: dict[str, ModeAvailability]
