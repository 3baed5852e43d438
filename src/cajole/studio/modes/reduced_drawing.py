"""From reduced states to drawn vertices: one small product a frame, whatever the skin."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cajole.arrays import Array
from cajole.body import Body
from cajole.errors import InputError
from cajole.reduction.reduced_model import interpolate_basis
from cajole.studio.content import ProjectContent


class ReducedStateDrawing:
    """How a body that moves in `basis` (3n, r) around `rest` (n, 3) [m] is drawn."""

    def __init__(self, content: ProjectContent, rest: Array, basis: Array):
        self._rest, self._basis = rest, basis
        self._rest_positions: NDArray[Any] = rest.astype(np.float32)
        self._drawn_basis: NDArray[Any] = basis.astype(np.float32)
        if content.skin is not None and content.skin.embedding is not None:
            self._rest_positions, self._drawn_basis = interpolate_basis(rest, basis, content.skin)

    def compute_positions(self, state: Array) -> Array:
        """Drawn vertices (k, 3) [m] of a reduced state (r,), in single precision."""
        moved: Array = self._rest_positions + (self._drawn_basis @ state.astype(np.float32)).reshape(-1, 3)
        return moved

    def compute_vertex_path(self, node: int, states: Array) -> Array:
        """Where one of the body's vertices is (frames, 3) [m] in states (frames, r)."""
        return np.asarray(self._rest[node] + states @ self._basis[3 * node : 3 * node + 3].T)


def require_body(content: ProjectContent, verb: str) -> Body:
    """The body that a verb works on. Raises InputError where there is none with an inside."""
    if not isinstance(content.body, Body):
        raise InputError(
            f"{content.name} has no body of its own to {verb}; open its mesh by itself, and it is filled with tets"
        )
    return content.body
