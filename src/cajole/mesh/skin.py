"""Skin: a coloured surface that follows the tets in which it is embedded."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from cajole.arrays import Array, IndexArray
from cajole.checks import (
    format_value,
    require_index_array,
    require_instance,
    require_sequence,
    require_unit_interval_array,
)
from cajole.errors import InputError
from cajole.mesh.base import MeshTri, make_read_only
from cajole.mesh.embedding import Embedding

# default colour, sRGB: a blue that stands out from most backgrounds
DEFAULT_COLOR = (0.30, 0.52, 0.72)


@dataclass(frozen=True, eq=False)
class Skin:
    """A surface with colours and named parts, deformed by a cage of tets if it has an embedding.

    mesh: k vertices; colors: (k, 3) sRGB in 0..1, or one (3,) for all; parts: names; labels: (k,) part of each vertex;
    gloss: (k,) in 0..1, or one for all; embedding: of the vertices of `mesh`, or None for a static skin. Only the mesh
    is required: `Skin(mesh, embedding=embed(mesh, cage))`.
    Raises InputError for values outside of these ranges and lengths that do not match.
    """

    mesh: MeshTri
    colors: Array = field(default_factory=lambda: np.array(DEFAULT_COLOR))
    parts: tuple[str, ...] = ("surface",)
    labels: IndexArray = field(default_factory=lambda: np.array(0))
    gloss: Array = field(default_factory=lambda: np.array(0.2))
    embedding: Embedding | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.mesh, MeshTri):
            raise InputError(f"the mesh of a skin is a MeshTri, not {type(self.mesh).__name__}")
        count = len(self.mesh.vertices)
        parts = require_sequence(self.parts, "parts", "different names, at least one")
        named = not isinstance(self.parts, str) and all(isinstance(part, str) for part in parts)
        if not named or not parts or len(set(parts)) < len(parts):
            raise InputError(f"parts is {format_value(self.parts)}, but must be different names, at least one")
        colors = require_unit_interval_array(_broadcast_value(self.colors, (3,), count), "colors", (count, 3))
        gloss = require_unit_interval_array(_broadcast_value(self.gloss, (), count), "gloss", (count,))
        labels = require_index_array(_broadcast_value(self.labels, (), count), "labels", (count,), len(parts))
        for name, array in (("colors", colors), ("gloss", gloss), ("labels", labels)):
            object.__setattr__(self, name, make_read_only(array.copy()))
        object.__setattr__(self, "parts", parts)
        if self.embedding is not None:
            require_instance(self.embedding, Embedding, "embedding")
        if self.embedding is not None and len(self.embedding.weights) != count:
            raise InputError(
                f"the embedding holds {len(self.embedding.weights)} points, but the skin has {count} vertices; "
                "embed its mesh"
            )

    def deform(self, cage_positions: ArrayLike) -> Array:
        """The skin vertices for positions of the cage: (n, 3) -> (k, 3), or (frames, n, 3) -> (frames, k, 3) [m].

        Raises InputError if the skin has no embedding, or for positions of another cage.
        """
        if self.embedding is None:
            raise InputError("this skin has no embedding and follows nothing; give it one with embed(mesh, cage)")
        return self.embedding.apply(cage_positions)

    def find_part_vertices(self, name: str) -> IndexArray:
        """The vertices of the part called `name`. Raises InputError for a name that is not among the parts."""
        if not isinstance(name, str) or name not in self.parts:
            raise InputError(
                f"the skin has no part {format_value(name)}; its parts are {', '.join(map(repr, self.parts))}"
            )
        return np.flatnonzero(self.labels == self.parts.index(name))


def _broadcast_value(value: ArrayLike, item_shape: tuple[int, ...], count: int) -> ArrayLike:
    """A value of shape `item_shape` repeated `count` times; other values unchanged."""
    try:
        return np.broadcast_to(np.asarray(value), (count, *item_shape)) if np.shape(value) == item_shape else value
    except ValueError:  # ragged, which the check explains
        return value
