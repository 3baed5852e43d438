"""Messages of Steer alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from cajole.studio.messages import StateMessage
from cajole.studio.protocol import Answer, Command, GestureMove, RealVector, ServerMessage, Vec3, Whole

GhostSource = Literal["reference", "uncontrolled"]


class PushAnswer(Answer, frozen=True, kw_only=True, tag="done"):
    """Answer with the id of the push."""

    push: str


class EndPush(Command, frozen=True, kw_only=True, tag="push.end"):
    """End the push."""

    answer: ClassVar[type[Answer]] = PushAnswer
    ends_gesture: ClassVar[bool] = True
    gesture: Whole


class BeginPush(Command, frozen=True, kw_only=True, tag="push.begin"):
    """Begin to push at a vertex, or at a point of a flow."""

    cancel_command: ClassVar[type[Command] | None] = EndPush
    gesture: Whole
    node: Whole | UnsetType = UNSET
    at: RealVector | UnsetType = UNSET  # of a flow [m]


class MovePush(GestureMove, frozen=True, kw_only=True, tag="push.move"):
    """Change the force of the push."""

    force: RealVector  # [N]; in a flow an acceleration [m/s²]


class ApplyImpulse(Command, frozen=True, kw_only=True, tag="impulse"):
    """Push at a vertex, or at a point of a flow, for a given time."""

    answer: ClassVar[type[Answer]] = PushAnswer
    node: Whole | UnsetType = UNSET
    at: RealVector | UnsetType = UNSET  # of a flow [m]
    force: RealVector  # [N]; in a flow an acceleration [m/s²]
    duration: Annotated[float, Meta(ge=1e-3, le=20.0)] | None = None  # [s]; null: one step


class RepeatPush(Command, frozen=True, kw_only=True, tag="push.repeat"):
    """Repeat the last push."""

    answer: ClassVar[type[Answer]] = PushAnswer


class ApplyKick(Command, frozen=True, kw_only=True, tag="kick"):
    """Apply one of the scene's pushes, where its particle is now (flows)."""

    answer: ClassVar[type[Answer]] = PushAnswer
    number: Annotated[int, Meta(ge=1, le=2**31 - 1)]


class Restart(Command, frozen=True, kw_only=True, tag="restart"):
    """Restart the motion."""


class SetControl(Command, frozen=True, kw_only=True, tag="control"):
    """Switch the controller on or off."""

    on: bool


class SetWind(Command, frozen=True, kw_only=True, tag="wind"):
    """Set the wind."""

    strength: Annotated[float, Meta(ge=0.0, le=100.0)]  # body weights; in a flow [m/s²]
    pace: Annotated[float, Meta(ge=0.0, le=100.0)] | None = None  # gusts a second (bodies)
    seed: Annotated[int, Meta(ge=0, le=9999)] | UnsetType = UNSET  # selects the wind (flows)


class SetPlayback(Command, frozen=True, kw_only=True, tag="run"):
    """Run or pause."""

    play: bool
    speed: Annotated[float, Meta(ge=0.25, le=2.0)]  # 0.25, 0.5, 1 or 2


class SetGhost(Command, frozen=True, kw_only=True, tag="ghost"):
    """Choose what is drawn beside the body."""

    of: GhostSource


class SetSmoke(Command, frozen=True, kw_only=True, tag="smoke"):
    """Switch smoke on or off (flows)."""

    on: bool


class Outcome(Struct, frozen=True, kw_only=True):
    """The aim of the scene."""

    text: str  # "the bee finds the bloom"
    good: bool | None  # null: open


class PulseMessage(ServerMessage, frozen=True, kw_only=True, tag="pulse"):
    """The running motion, up to 60 times a second."""

    time: float  # [s]
    lap: int
    frame: int
    error: float  # body sizes; in a flow cells
    effort: float  # body weights; in a flow shares of its momentum
    astray: bool  # outside the linear range of the controller
    ms: float  # duration of the computation
    push: Vec3 | None  # the force that acts now [N]; in a flow [m/s²]
    at: Vec3 | None  # where it acts [m]
    arrows: Sequence[Sequence[float]]  # node x y z [m], force x y z [N] of the largest controller forces
    outcome: Outcome | UnsetType = UNSET


class PushInfo(Struct, frozen=True, kw_only=True):
    """A push that was made."""

    id: str
    time: float  # [s]
    frame: int
    node: int | None  # null in a flow
    at: Vec3 | UnsetType = UNSET  # of a flow [m]
    name: str
    force: Vec3  # [N]; in a flow [m/s²]
    strength: float
    duration: float  # [s]


class WindInfo(Struct, frozen=True, kw_only=True):
    """The wind."""

    strength: float  # body weights; in a flow [m/s²]
    pace: float  # gusts a second


class KickInfo(Struct, frozen=True, kw_only=True):
    """A push that the scene offers."""

    name: str
    text: str


class FlowState(Struct, frozen=True, kw_only=True):
    """State that only flows have."""

    kicks: Sequence[KickInfo]
    smoke: bool
    seed: int  # selects the wind


class SteerModeState(Struct, frozen=True, kw_only=True):
    """State of Steer."""

    control: bool
    tracking: float
    final: float
    effort: float
    retuning: bool  # gains of changed settings are being computed
    wind: WindInfo
    running: bool
    speed: float
    dt: float  # time step [s]
    steps: int
    loop: bool
    pushes: Sequence[PushInfo]
    ghost: GhostSource
    outcome: Outcome | None
    model: str  # "24 coordinates"
    flow: FlowState | UnsetType = UNSET
    notes: Sequence[str]


class SteerStateMessage(StateMessage, frozen=True, kw_only=True, tag="state"):
    """State message while Steer is active."""

    steer: SteerModeState
