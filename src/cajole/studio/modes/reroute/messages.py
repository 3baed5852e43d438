"""Messages of Reroute alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from cajole.studio.messages import PositionTarget, StateMessage
from cajole.studio.protocol import Command, Name, NonNegative, Whole

RerouteMethod = Literal["pattern", "least-force", "paper"]
# ranges of the settings
Alpha = Annotated[float, Meta(ge=1.0, le=5000.0)]
ForceLimit = Annotated[float, Meta(ge=1e-9, le=1e9)]
Stiffness = Annotated[float, Meta(ge=1e-3, le=1e7)]
TotalMass = Annotated[float, Meta(ge=1e-6, le=1e6)]
SpringDamping = Annotated[float, Meta(ge=0.0, le=1e4)]
PilotFrames = Annotated[int, Meta(ge=2, le=2000)]


class RunPilot(Command, frozen=True, kw_only=True, tag="pilot"):
    """Simulate the pilot, where no motion was opened, as a job; `state.ready` counts the frames so far."""


class Reroute(Command, frozen=True, kw_only=True, tag="reroute"):
    """Simulate again so that the goals are met, as a job."""


class SetRoute(Command, frozen=True, kw_only=True, tag="route"):
    """Change settings, as in `RerouteDials`; the last four are for one's own mesh, and the pilot must run again."""

    method: RerouteMethod | UnsetType = UNSET
    alpha: Alpha | UnsetType = UNSET
    reach: NonNegative | UnsetType = UNSET
    limit: ForceLimit | UnsetType | None = UNSET
    within: NonNegative | UnsetType = UNSET
    stiffness: Stiffness | UnsetType = UNSET
    mass: TotalMass | UnsetType = UNSET
    damping: SpringDamping | UnsetType = UNSET
    frames: PilotFrames | UnsetType = UNSET


class SetGoalWindow(Command, frozen=True, kw_only=True, tag="goal.set"):
    """Set the number of frames over which a goal acts."""

    goal: Name
    window: Whole | None  # null: in proportion to the distance


class GoalOutcome(Struct, frozen=True, kw_only=True):
    """Outcome of a goal in the second run."""

    id: str  # of the goal
    reached: bool
    error: float  # distance at its frame [m]
    closest: float  # smallest distance [m]
    closest_frame: int
    why: str  # why it was missed
    notes: Sequence[str]
    shape: float  # distance of the path from that of the pilot [m]
    stepping: float  # variation of the step length
    turning: float | None  # correlation of the turning
    speed: float  # at arrival [m/s]
    pilot_speed: float  # [m/s]


class GoalInfo(PositionTarget, frozen=True, kw_only=True):
    """A goal."""

    window: int | None  # frames; null: in proportion to the distance
    start: int  # first frame that it changes
    asked: int  # frames that its window would have
    report: GoalOutcome | None
    pilot: Sequence[float]  # path of the pilot over the window, flat x y z a frame [m]
    led: Sequence[float] | None  # path of the second run


class RerouteDials(Struct, frozen=True, kw_only=True):
    """Settings."""

    method: RerouteMethod
    alpha: Alpha  # frames a size
    reach: NonNegative  # [m]
    limit: ForceLimit | None  # of the force [N]
    within: NonNegative  # tolerance [m]
    stiffness: Stiffness = 100.0  # [N/m]
    mass: TotalMass = 1.0  # of all vertices [kg]
    damping: SpringDamping = 0.05  # [N s/m]
    frames: PilotFrames = 120


class NetInfo(Struct, frozen=True, kw_only=True):
    """The net of springs."""

    vertices: int
    springs: int
    weight: float  # [N]
    own: bool  # made from the user's mesh
    usual_reach: float  # [m]


class RerouteRunReport(Struct, frozen=True, kw_only=True):
    """Report of a second run."""

    method: RerouteMethod
    reached: int
    count: int
    effort: float  # [N² s]
    peak: float  # [N]
    error: float  # largest distance from a goal [m]
    shape: float  # largest distance of a path from that of the pilot [m]
    seconds: float
    text: str
    report: str
    stale: bool  # something has changed since


class RerouteModeState(Struct, frozen=True, kw_only=True):
    """State of Reroute."""

    goals: Sequence[GoalInfo]
    pilot_frames: int | None  # null: it was not run yet
    dials: RerouteDials
    net: NetInfo
    held: Sequence[int]  # vertices of one's own mesh
    suggested: bool  # the scene has goals of its own
    running: str | None  # job
    making: Literal["pilot", "run"] | None
    result: RerouteRunReport | None
    compared: Sequence[RerouteRunReport]
    sight: RerouteMethod  # the method that is shown


class RerouteStateMessage(StateMessage, frozen=True, kw_only=True, tag="state"):
    """State message while Reroute is active."""

    reroute: RerouteModeState
