"""Pushes in Steer as records that are listed and saved."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np

from cajole import checks
from cajole.studio.protocol import JsonObject

Force = tuple[float, float, float]
# a vertex of a body, or a point (2,) [m] of a flow
AnyLocation = TypeVar("AnyLocation")


@dataclass(frozen=True)
class PushRecord(Generic[AnyLocation]):
    """A push: time [s], frame of the lap, location, force (3,) [N, or m/s² in flows] and duration [s]."""

    number: int
    time: float
    frame: int
    location: AnyLocation
    force: Force
    duration: float

    @property
    def id(self) -> str:
        return f"push-{self.number}"

    @property
    def strength(self) -> float:
        return float(np.linalg.norm(self.force))


@dataclass(eq=False)
class ActivePush(Generic[AnyLocation]):
    """A push that the user holds; gesture: its number in messages."""

    gesture: int
    push: PushRecord[AnyLocation]


def pack_pushes(pushes: Sequence[PushRecord[Any]], location_key: str) -> list[JsonObject]:
    """Documents of pushes, with the location under `location_key`."""
    documents = [dict(vars(push)) for push in pushes]
    for document in documents:
        document[location_key] = document.pop("location")
        document["force"] = list(document["force"])
    return documents


def unpack_pushes(
    documents: Sequence[Mapping[str, Any]], read_location: Callable[[Mapping[str, Any]], AnyLocation]
) -> tuple[PushRecord[AnyLocation], ...]:
    """Inverse of `pack_pushes`. Raises InputError, or the errors of plain lookups."""
    pushes = []
    for each in documents:
        x, y, z = checks.require_real_array(each["force"], "a saved push", (3,)).tolist()
        pushes.append(
            PushRecord(
                checks.require_integer(each["number"], "the number of a push"),
                checks.require_real_number(each["time"], "the time of a push (s)"),
                checks.require_integer(each["frame"], "the frame of a push", minimum=0),
                read_location(each),
                (x, y, z),
                checks.require_positive(each["duration"], "the duration of a push (s)", allow_zero=True),
            )
        )
    return tuple(pushes)
