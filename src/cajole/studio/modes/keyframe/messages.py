"""Messages of Keyframe alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal

from msgspec import UNSET, Meta, Struct, UnsetType, field

from cajole.studio.messages import StateMessage
from cajole.studio.protocol import (
    Answer,
    Command,
    GestureMove,
    Name,
    NonNegative,
    RealVector,
    ServerMessage,
    Vec3,
    Whole,
)

GhostKind = Literal["rest", "spline"]


class PullBeginAnswer(Answer, frozen=True, kw_only=True, tag="done"):
    """Answer to the begin of a pull."""

    position: Vec3  # of the vertex [m]
    load: int  # id of the load
    stiffness: float  # [N/m] force per metre of the pointer under which the body follows about as far


class PullCommitAnswer(Answer, frozen=True, kw_only=True, tag="done"):
    """Answer to the end of a pull."""

    load: int


class CancelPull(Command, frozen=True, kw_only=True, tag="pull.cancel"):
    """End the pull and restore the pose from before."""

    ends_gesture: ClassVar[bool] = True
    gesture: Whole


class BeginPull(Command, frozen=True, kw_only=True, tag="pull.begin"):
    """Begin to pull a vertex."""

    answer: ClassVar[type[Answer]] = PullBeginAnswer
    cancel_command: ClassVar[type[Command] | None] = CancelPull
    gesture: Whole
    node: Whole
    add: bool  # false: the load replaces all that are not frozen


class MovePull(GestureMove, frozen=True, kw_only=True, tag="pull.move"):
    """Change the force of the pull."""

    force: RealVector  # [N]


class CommitPull(Command, frozen=True, kw_only=True, tag="pull.commit"):
    """End the pull and keep its load."""

    answer: ClassVar[type[Answer]] = PullCommitAnswer
    ends_gesture: ClassVar[bool] = True
    gesture: Whole


class UpdateLoad(Command, frozen=True, kw_only=True, tag="load"):
    """Change or remove a load."""

    load: Whole
    strength: NonNegative | UnsetType = UNSET  # [N]
    muted: bool | UnsetType = UNSET
    remove: bool = False


class FreezeLoads(Command, frozen=True, kw_only=True, tag="freeze"):
    """Freeze all loads."""


class ResetPose(Command, frozen=True, kw_only=True, tag="pose.reset"):
    """Reset the pose to the rest shape."""


class SetGravity(Command, frozen=True, kw_only=True, tag="gravity"):
    """Switch gravity on or off."""

    on: bool


class KeyAnswer(Answer, frozen=True, kw_only=True, tag="done"):
    """Answer with the id of the key."""

    key: str


class CaptureKey(Command, frozen=True, kw_only=True, tag="key.capture"):
    """Make a key of the present pose."""

    answer: ClassVar[type[Answer]] = KeyAnswer
    frame: Whole
    name_: Name | None = field(name="name", default=None)


class UpdateKey(Command, frozen=True, kw_only=True, tag="key.set"):
    """Change a key."""

    key: Name
    hard: bool | UnsetType = UNSET
    weight: Annotated[float, Meta(ge=1e-6, le=1e6)] | UnsetType = UNSET
    name_: Name | UnsetType = field(name="name", default=UNSET)


class LoadKey(Command, frozen=True, kw_only=True, tag="key.load"):
    """Restore the pose of a key."""

    key: Name


class Optimise(Command, frozen=True, kw_only=True, tag="optimise"):
    """Find the motion through the keys, as a job with `iterate` messages."""


class IterateMessage(ServerMessage, frozen=True, kw_only=True, tag="iterate"):
    """An iteration of the optimisation."""

    job: str
    iteration: int
    cost: float
    gradient: float  # norm
    seconds: float


class KeyframeModeSettings(Struct, frozen=True, kw_only=True):
    """Settings of the search."""

    effort: Annotated[float, Meta(ge=1e-12, le=1e6)] = 1e-4
    detail: Annotated[int, Meta(ge=0, le=200)] = 10  # number of modes
    frames: Annotated[int, Meta(ge=2, le=5000)] = 121
    dt: Annotated[float, Meta(ge=1e-5, le=10.0)] | None = None  # time between frames [s]; null: natural
    loop: bool = False


class LoadInfo(Struct, frozen=True, kw_only=True):
    """A load on the pose."""

    id: int
    kind: Literal["pull", "gravity"]
    name: str
    nodes: Sequence[int]
    force: Vec3  # [N]
    strength: float  # [N]
    at: Vec3  # point of application in the present pose [m]
    muted: bool
    frozen: bool
    stiffness: float | None  # [N/m] of the pull gesture; null: unknown


class PinInfo(Struct, frozen=True, kw_only=True):
    """Pinned vertices of one region."""

    name: str
    nodes: Sequence[int]
    places: Sequence[Vec3]  # [m]


class KeyInfo(Struct, frozen=True, kw_only=True):
    """A key."""

    id: str
    frame: int
    name: str
    hard: bool
    weight: float
    missed: float | None  # distance of the motion from the pose, as a share of the body's size
    picture: str | None  # data URL
    current: bool  # its pose is the present one


class OptimisedMotion(Struct, frozen=True, kw_only=True):
    """Report of the last optimisation."""

    cost: float
    worst: float  # largest distance from a key, as a share of the body's size
    iterations: int
    seconds: float
    text: str
    stale: bool  # keys or settings have changed since


class KeyframeModeState(Struct, frozen=True, kw_only=True):
    """State of Keyframe."""

    loads: Sequence[LoadInfo]
    pins: Sequence[PinInfo]
    gravity: bool
    moved: float  # largest displacement of the present pose [m]
    keys: Sequence[KeyInfo]
    effort: float
    detail: int
    frames: int
    dt: float | None  # [s]; null: natural
    loop: bool
    natural_dt: float | None  # [s]
    optimising: str | None  # job
    result: OptimisedMotion | None
    ghost: GhostKind


class KeyframeStateMessage(StateMessage, frozen=True, kw_only=True, tag="state"):
    """State message while Keyframe is active."""

    keyframe: KeyframeModeState
