"""What is asked of an edited motion: a vertex somewhere at a frame, or two vertices at an offset."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from cajole import checks
from cajole.arrays import Array
from cajole.errors import InputError

# (vertex, frame), or (vertex, frame, other) for an offset between two vertices
ConstraintKey = tuple[int, ...]

AXES = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}
# Directions closer to those before them than this are the same again.
PARALLEL_TOLERANCE = 1e-6


@dataclass(frozen=True, eq=False)
class VertexConstraint:
    """n·x_v = n·target for every direction n (k, 3); with another vertex, n·(x_v - x_other) = n·target.

    way: the farthest that it was ever taken from the input [m]; after a full turn it is back, and still far.
    """

    vertex: int
    frame: int
    target: Array
    directions: Array
    other_vertex: int = -1
    peak_distance: float = 0.0

    @property
    def key(self) -> ConstraintKey:
        return (self.vertex, self.frame) if self.other_vertex < 0 else (self.vertex, self.frame, self.other_vertex)

    @property
    def has_all_directions(self) -> bool:
        """Whether it holds all three directions."""
        return len(self.directions) == 3

    def moved_to(self, target: Array, distance: float) -> VertexConstraint:
        """The same hold, taken elsewhere, so far from the input."""
        return replace(self, target=target, peak_distance=max(self.peak_distance, distance))

    def __str__(self) -> str:
        what = f"vertex {self.vertex}" + ("" if self.other_vertex < 0 else f" from vertex {self.other_vertex}")
        return f"{what} at frame {self.frame}"


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
    # directions only: of any length, that squares can be taken of
    given = given / np.maximum(np.abs(given).max(axis=1, keepdims=True), np.finfo(float).tiny)
    rows = list[Array]()
    for k, vector in enumerate(given):
        length = float(np.linalg.norm(vector))
        rest = vector - sum((row * (row @ vector) for row in rows), np.zeros(3))
        left = float(np.linalg.norm(rest))
        if left <= PARALLEL_TOLERANCE * length or length == 0.0:
            raise InputError(f"directions[{k}] is zero or follows from those before it; leave it out")
        rows.append(rest / left)
    if not rows:
        raise InputError("directions is empty; name at least one, or leave it out for all three")
    return np.stack(rows)
