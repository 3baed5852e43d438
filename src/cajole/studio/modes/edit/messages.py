"""Messages of Edit alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from cajole.studio.messages import PositionTarget, StateMessage
from cajole.studio.protocol import Command, NonNegative, Real, SomeNodes, Vec3, Whole

EndCondition = Literal["fixed", "free"]
EnergyKind = Literal["forces", "smooth"]
WarpName = Literal["composition", "additive", "none"]


class PinDraggedVertices(Command, frozen=True, kw_only=True, tag="pin"):
    """Hold vertices at a frame where they are."""

    nodes: SomeNodes
    frame: Whole


class Tune(Command, frozen=True, kw_only=True, tag="tune"):
    """Change settings of the edit; takes effect at once."""

    h: Real | UnsetType = UNSET  # time step of the edit energy [s]
    alpha: NonNegative | UnsetType = UNSET  # mass damping [1/s]
    beta: NonNegative | UnsetType = UNSET  # stiffness damping [s]
    ends: EndCondition | UnsetType = UNSET
    energy: EnergyKind | UnsetType = UNSET
    smoothness: Real | UnsetType = UNSET
    window: tuple[Whole, Whole] | UnsetType | None = UNSET  # first and last frame that may change; null: all


class Reopen(Command, frozen=True, kw_only=True, tag="reopen"):
    """Prepare the editor again with other options, as a job; drags are kept."""

    modes: Annotated[int, Meta(ge=1, le=2**31 - 1)] | UnsetType = UNSET
    warp: WarpName | UnsetType = UNSET
    contacts: bool | UnsetType = UNSET


class DragInfo(PositionTarget, frozen=True, kw_only=True):
    """A drag."""

    missed: float  # distance from the target as a share of the body's size
    pin: bool  # holds the vertex where it was
    directions: str  # "xyz" or some of it


class EditDefaults(Struct, frozen=True, kw_only=True):
    """Settings that a reset restores."""

    h: float
    alpha: float
    beta: float
    modes: int


class ContactPoint(Struct, frozen=True):
    """A contact of the input at the edit frame."""

    point: Vec3  # [m]
    normal: Vec3


class EditModeState(Struct, frozen=True, kw_only=True):
    """State of Edit."""

    drags: Sequence[DragInfo]
    h: float  # [s]
    alpha: float  # [1/s]
    beta: float  # [s]
    defaults: EditDefaults
    ends: EndCondition
    energy: EnergyKind
    smoothness: float
    window: tuple[int, int] | None
    editable: tuple[int, int]  # first and last frame
    modes: int
    most_modes: int
    warp: WarpName
    contacts: bool  # contacts of the input constrain the edit
    contacts_found: int
    contacts_kept: int
    contact_points: Sequence[ContactPoint]
    suggested: int  # drags that the scene suggests and that are not made


class EditStateMessage(StateMessage, frozen=True, kw_only=True, tag="state"):
    """State message while Edit is active; without `edit` the motion can only be played."""

    edit: EditModeState
