"""Contacts: which vertices touched something, when, and whether they slid."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cajole.checks import index_array, real_array
from cajole.errors import InputError
from cajole.mesh.base import Mesh

KINDS = ("sliding", "sticking")
# the largest error of a normal's length; single precision files keep it well below
UNIT_TOLERANCE = 1e-4
_LIMIT = np.iinfo(np.int64).max


@dataclass(frozen=True, eq=False, repr=False)
class Contacts:
    """Contacts of an animation, one row each.

    frame, vertex: (k,) indices from 0; normal: (k, 3) unit vectors out of what is touched; kind: (k,) of 'sliding' or
    'sticking'; other: (k,) the vertex touched in a contact of the body with itself, -1 where it is something else
    (everywhere, when left out). Raises InputError where the columns do not fit together.
    """

    frame: NDArray[np.int64]
    vertex: NDArray[np.int64]
    normal: NDArray[np.float64]
    kind: NDArray[np.str_]
    other: NDArray[np.int64] = None  # type: ignore[assignment]  # filled in at construction

    def __post_init__(self) -> None:
        frame = index_array(self.frame, "contacts.frame", (None,), _LIMIT)
        k = len(frame)
        columns = {
            "frame": frame,
            "vertex": index_array(self.vertex, "contacts.vertex", (k,), _LIMIT),
            "normal": _units(self.normal, k),
            "kind": _kinds(self.kind, k),
            "other": _others(self.other, k),
        }
        for name, column in columns.items():
            own = column.copy()
            own.flags.writeable = False
            object.__setattr__(self, name, own)

    def __len__(self) -> int:
        return len(self.frame)

    def __repr__(self) -> str:
        if not len(self):
            return "Contacts(none)"
        sliding, own = int((self.kind == "sliding").sum()), int((self.other >= 0).sum())
        return (
            f"Contacts({len(self)} in frames {self.frame.min()}..{self.frame.max()}: {sliding} sliding, "
            f"{len(self) - sliding} sticking, {own} of the body with itself)"
        )

    def at(self, frame: int) -> Contacts:
        """The contacts of one frame."""
        return self.chosen(self.frame == frame)

    def chosen(self, rows: NDArray[np.bool_] | NDArray[np.int64]) -> Contacts:
        """Some of the rows, by mask or by index."""
        return Contacts(self.frame[rows], self.vertex[rows], self.normal[rows], self.kind[rows], self.other[rows])

    def renumbered(self, frame: ArrayLike) -> Contacts:
        """The same contacts at other frames, (k,)."""
        return Contacts(np.asarray(frame), self.vertex, self.normal, self.kind, self.other)

    def clustered(self, mesh: Mesh, *, longest: int | None = None, widest: float | None = None) -> Contacts:
        """One contact for each connected cluster, in space on `mesh` and in time; see `cajole.animation.clustering`.

        longest [frames], widest [m]: larger clusters are cut into equal parts.
        """
        from cajole.animation.clustering import clustered

        return clustered(self, mesh, longest=longest, widest=widest)

    def require_within(self, frames: int, n: int) -> None:
        """Raise InputError unless every contact lies within `frames` frames of `n` vertices."""
        index_array(self.frame, "contacts.frame", (None,), frames)
        index_array(self.vertex, "contacts.vertex", (None,), n)
        if (self.other >= n).any():
            row = int(np.argmax(self.other >= n))
            raise InputError(f"contacts.other[{row}] is {self.other[row]}, but the mesh has {n} vertices")


def _units(value: ArrayLike, k: int) -> NDArray[np.float64]:
    normal = real_array(value, "contacts.normal", (k, 3))
    lengths = np.linalg.norm(normal, axis=1)
    wrong = np.abs(lengths - 1) > UNIT_TOLERANCE
    if wrong.any():
        row = int(np.argmax(wrong))
        raise InputError(f"contacts.normal[{row}] has length {lengths[row]:.3g}; divide it by its length")
    return normal


def _kinds(value: ArrayLike, k: int) -> NDArray[np.str_]:
    try:
        kind = np.asarray(value, dtype=np.str_) if np.size(value) else np.empty(0, dtype="<U8")
    except (TypeError, ValueError):  # ragged
        raise InputError(f"contacts.kind must be one of {', '.join(map(repr, KINDS))} for each contact") from None
    if kind.shape != (k,):
        raise InputError(f"contacts.kind has shape {kind.shape}, but ({k},) is needed")
    wrong = ~np.isin(kind, KINDS)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise InputError(
            f"contacts.kind[{row}] is {str(kind[row])!r}, but must be one of {', '.join(map(repr, KINDS))}"
        )
    return kind.astype("<U8")


def _others(value: ArrayLike | None, k: int) -> NDArray[np.int64]:
    if value is None:
        return np.full(k, -1, dtype=np.int64)
    try:
        array = np.asarray(value)
    except (TypeError, ValueError) as reason:
        raise InputError(f"contacts.other must be vertex indices, one for each contact: {reason}") from None
    if array.size and (array.dtype.kind not in "iu" or array.min() < -1):
        found = array.dtype if array.dtype.kind not in "iu" else array.min()
        raise InputError(f"contacts.other must be vertex indices, or -1 for what is not the body itself, not {found}")
    if array.shape != (k,):
        raise InputError(f"contacts.other has shape {array.shape}, but ({k},) is needed")
    return array.astype(np.int64)
