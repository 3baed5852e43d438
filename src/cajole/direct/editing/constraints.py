"""Constraints of an edit: one class per kind, each on the vertices of one frame.

A constraint on a quantity x (3,) asks for N x = N t, with orthonormal directions N (k, 3) and target t (3,). x is the
position of a vertex (`PointConstraint`, `DirectionConstraint`) or the offset of a vertex from another one
(`OffsetConstraint`). Contacts of the input keep their distance along the normal (`SlidingContacts`) or their position
(`StickingContacts`); both may be contacts of the body with itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from cajole import checks
from cajole.animation import Contacts
from cajole.arrays import Array, IndexArray
from cajole.errors import InputError

AXES = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}
# Sine of the angle below which a direction counts as parallel to the span of those before it.
PARALLEL_TOLERANCE = 1e-6


class PointKey(NamedTuple):
    """Identifies a constraint on a vertex; equal to the tuple (vertex, frame)."""

    vertex: int
    frame: int


class OffsetKey(NamedTuple):
    """Identifies a constraint between two vertices; equal to the tuple (vertex, frame, other)."""

    vertex: int
    frame: int
    other: int


ConstraintKey = PointKey | OffsetKey


@dataclass(frozen=True, eq=False)
class VertexConstraint:
    """N x = N t for a vertex of a frame; target t (3,) [m], directions N (k, 3) orthonormal.

    drag_distance [m]: the largest distance from the input that was asked for so far. After a full turn the target is
    near the input again, but the drag was long.
    """

    vertex: int
    frame: int
    target: Array
    directions: Array
    drag_distance: float = field(default=0.0, kw_only=True)

    @property
    def key(self) -> ConstraintKey:
        return PointKey(self.vertex, self.frame)

    @property
    def vertices(self) -> tuple[int, ...]:
        """The vertices whose positions determine x."""
        return (self.vertex,)

    @property
    def is_partial(self) -> bool:
        """True if fewer than three directions are constrained."""
        return len(self.directions) < 3

    def combine(self, values: Sequence[Array] | Array) -> Array:
        """x (3,) from the values (3,) of each of its vertices."""
        return np.asarray(values[0])

    def moved_to(self, target: Array, distance: float) -> Self:
        """The same constraint with another target, at a distance [m] from the input."""
        return replace(self, target=target, drag_distance=max(self.drag_distance, distance))

    def __str__(self) -> str:
        return f"vertex {self.vertex} at frame {self.frame}"


@dataclass(frozen=True, eq=False)
class PointConstraint(VertexConstraint):
    """The position of a vertex, in all three directions."""


@dataclass(frozen=True, eq=False)
class DirectionConstraint(VertexConstraint):
    """The position of a vertex along one or two directions; the others are free."""


@dataclass(frozen=True, eq=False)
class OffsetConstraint(VertexConstraint):
    """The offset of a vertex from another one, along one to three directions."""

    other: int

    @property
    def key(self) -> ConstraintKey:
        return OffsetKey(self.vertex, self.frame, self.other)

    @property
    def vertices(self) -> tuple[int, ...]:
        return self.vertex, self.other

    def combine(self, values: Sequence[Array] | Array) -> Array:
        return np.asarray(values[0] - values[1])

    def __str__(self) -> str:
        return f"vertex {self.vertex} from vertex {self.other} at frame {self.frame}"


def build_constraint(
    key: ConstraintKey, target: Array, directions: Array, *, drag_distance: float = 0.0
) -> VertexConstraint:
    """The constraint of the kind that its key and its number of directions call for."""
    if isinstance(key, OffsetKey):
        return OffsetConstraint(key.vertex, key.frame, target, directions, key.other, drag_distance=drag_distance)
    kind = PointConstraint if len(directions) == 3 else DirectionConstraint
    return kind(key.vertex, key.frame, target, directions, drag_distance=drag_distance)


def orthonormalise_directions(directions: str | ArrayLike | None) -> Array:
    """(k, 3) orthonormal rows that span the given ones: letters of "xyz", or (k, 3) vectors; all three when None."""
    if directions is None:
        return np.eye(3)
    if isinstance(directions, str):
        if not directions or any(letter not in AXES for letter in directions) or len(set(directions)) < len(directions):
            raise InputError(f"directions {directions!r} must be some of the letters x, y and z, each once")
        return np.array([AXES[letter] for letter in directions])
    given = checks.require_real_array(
        directions, "directions", (3,) if checks.count_axes(directions) < 2 else (None, 3)
    ).reshape(-1, 3)
    # scaled first: the squares of very long vectors overflow
    given = given / np.maximum(np.abs(given).max(axis=1, keepdims=True), np.finfo(float).tiny)
    rows = list[Array]()
    for k, vector in enumerate(given):
        length = float(np.linalg.norm(vector))
        remainder = vector - sum((row * (row @ vector) for row in rows), np.zeros(3))
        remaining_length = float(np.linalg.norm(remainder))
        if remaining_length <= PARALLEL_TOLERANCE * length or length == 0.0:
            raise InputError(f"directions[{k}] is zero or follows from those before it; leave it out")
        rows.append(remainder / remaining_length)
    if not rows:
        raise InputError("directions is empty; name at least one, or leave it out for all three")
    return np.stack(rows)


@dataclass(frozen=True, eq=False)
class ContactRows:
    """Rows n·(δ_v - δ_w) = 0 on displacements δ: directions n (k, 3), vertices v (k,), others w (k,).

    w is -1 where a vertex touches an obstacle that is not part of the body.
    """

    directions: Array
    vertices: IndexArray
    others: IndexArray


@dataclass(frozen=True, eq=False)
class SlidingContacts:
    """Contacts that keep their distance along the unit normals (k, 3); others -1 for an obstacle."""

    vertices: IndexArray
    others: IndexArray
    normals: Array

    def build_rows(self, rotation: Array) -> ContactRows:
        """One row each, in the frame of reference that `rotation` R (3, 3) turns into the world: n R."""
        return ContactRows(self.normals @ rotation, self.vertices, self.others)


@dataclass(frozen=True, eq=False)
class StickingContacts:
    """Contacts that keep their position; others -1 for an obstacle."""

    vertices: IndexArray
    others: IndexArray

    def build_rows(self, rotation: Array) -> ContactRows:
        """Three rows each, one per axis: all directions together do not depend on the rotation."""
        axes = np.tile(np.eye(3), (len(self.vertices), 1))
        return ContactRows(axes, np.repeat(self.vertices, 3), np.repeat(self.others, 3))


def build_contact_rows(contacts: Contacts | None, frame: int, rotation: Array) -> ContactRows:
    """Rows of all contacts of a frame, those of the sliding ones first; rotation R (3, 3): see `SlidingContacts`."""
    if contacts is None:
        none = np.empty(0, dtype=np.int64)
        return ContactRows(np.empty((0, 3)), none, none)
    current = contacts.at(frame)
    normals = current.normal / np.linalg.norm(current.normal, axis=1, keepdims=True)
    sliding = current.kind == "sliding"
    kinds = (
        SlidingContacts(current.vertex[sliding], current.other[sliding], normals[sliding]),
        StickingContacts(current.vertex[~sliding], current.other[~sliding]),
    )
    parts = [kind.build_rows(rotation) for kind in kinds]
    return ContactRows(
        np.vstack([part.directions for part in parts]),
        np.concatenate([part.vertices for part in parts]),
        np.concatenate([part.others for part in parts]),
    )
