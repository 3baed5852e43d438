"""`reduce`: a body in a basis, u = U z; the questions a body answers, answered in microseconds."""

from __future__ import annotations

import os
from functools import cached_property
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cajole import checks
from cajole.body import Body, BodySolid, BodySprings
from cajole.dynamics import Modes
from cajole.errors import FileError, InputError
from cajole.progress import Progress
from cajole.reduction import kernels
from cajole.reduction.base import ReducedModel
from cajole.reduction.bases import orthonormal
from cajole.reduction.polynomial import Polynomial, polynomial
from cajole.reduction.springs import ReducedSprings, reduced_springs, restored_springs
from cajole.storage import read_arrays

Array = NDArray[np.float64]

# How far UᵀMU may be from the identity before a loaded basis is refused.
ORTHONORMAL = 1e-8


class ReducedSolid(ReducedModel):
    """St. Venant-Kirchhoff in a mass-orthonormal basis: reduced mass is the identity, forces are an exact cubic.

    basis: (3n, r); size: r. Damping is the body's, D(z) = αI + βK(z).
    """

    body: BodySolid

    def __init__(self, body: BodySolid, basis: Array, tables: Polynomial):
        super().__init__(basis)
        self.body, self.tables = body, tables
        self.alpha, self.beta = body.alpha, body.beta
        pairs = self.size * (self.size + 1) // 2
        self._work = np.empty((3, pairs))

    def energy(self, state: ArrayLike) -> float:
        return self._evaluate(state)[0]

    def force(self, state: ArrayLike) -> Array:
        return self._evaluate(state)[1]

    def stiffness(self, state: ArrayLike | None = None) -> Array:
        return self._evaluate(np.zeros(self.size) if state is None else state)[2]

    def stiffness_change(self, state: ArrayLike, direction: ArrayLike) -> Array:
        z, v = self._checked(state), self._checked(direction, "direction")
        out = np.empty((self.size, self.size))
        kernels.stiffness_change(z, v, self.tables.C1, self.tables.C2, *self._work, out)
        return out

    @cached_property
    def system(self) -> tuple:
        none, no_ends = np.empty((0, 0)), np.empty((0, 2), dtype=np.int64)
        return (self.tables.K0, self.tables.C1, self.tables.C2, self.alpha, self.beta, none, none, none, no_ends)

    def arrays(self) -> dict[str, Array]:
        return {"K0": self.tables.K0, "C1": self.tables.C1, "C2": self.tables.C2}

    def _evaluate(self, state: ArrayLike) -> tuple[float, Array, Array]:
        z = self._checked(state)
        f, K = np.empty(self.size), np.empty((self.size, self.size))
        W = kernels.force_stiffness(z, self.tables.K0, self.tables.C1, self.tables.C2, *self._work, f, K)
        checks.finite_result(f, "the reduced force")
        return float(W), f, K


@overload
def reduce(
    body: BodySolid,
    basis: Modes | ArrayLike,
    *,
    cubature: bool | float = False,
    poses: ArrayLike | None = None,
    progress: Progress | None = None,
) -> ReducedSolid: ...
@overload
def reduce(
    body: BodySprings,
    basis: Modes | ArrayLike,
    *,
    cubature: bool | float = False,
    poses: ArrayLike | None = None,
    progress: Progress | None = None,
) -> ReducedSprings: ...
@overload
def reduce(
    body: Body,
    basis: Modes | ArrayLike,
    *,
    cubature: bool | float = False,
    poses: ArrayLike | None = None,
    progress: Progress | None = None,
) -> ReducedModel: ...
def reduce(
    body: Body,
    basis: Modes | ArrayLike,
    *,
    cubature: bool | float = False,
    poses: ArrayLike | None = None,
    progress: Progress | None = None,
) -> ReducedModel:
    """`body` in `basis` (3n, r), or in the shapes of Modes; the basis is made mass-orthonormal, its span kept.

    cubature: of springs, sum only a few weighted ones: True, or how many at most, or below one the force error to
    reach; poses: (k, n, 3) between which the body will move, for which they are chosen. See `model.report`.
    Raises InputError for dependent columns, or columns that move fixed vertices.
    """
    if not isinstance(body, BodySolid | BodySprings):
        raise InputError(f"body must be a BodySolid or a BodySprings, not {type(body).__name__}")
    columns = basis.shapes if isinstance(basis, Modes) else checks.real_array(basis, "basis", (3 * body.count, None))
    _refuse_fixed(body, columns)
    if isinstance(body, BodySprings):
        return reduced_springs(body, orthonormal(body, columns), cubature=cubature, poses=poses)
    if cubature is not False:
        raise InputError("cubature is for springs; the reduced forces of a solid are exact and fast without it")
    U = orthonormal(body, columns)
    return ReducedSolid(body, U, polynomial(body, U, progress=progress))


def load_model(path: str | os.PathLike[str], body: Body) -> ReducedModel:
    """A model written by `save`, for the body it was made from. Raises FileError otherwise."""
    try:
        data = read_arrays(path)
        basis, same = data["basis"], str(data["body"]) == body.content()
        model = _restored(body, basis, data) if same else None
    except (ValueError, KeyError, IndexError) as reason:
        raise FileError(f"cannot read a reduced model from {path}: {reason}; write it again with model.save") from None
    if model is None:
        raise FileError(f"{path} holds a model of another body (mesh, material, fixed vertices or damping differ)")
    error = np.abs(basis.T @ (body.mass @ basis) - np.eye(basis.shape[1])).max()
    if not error <= ORTHONORMAL:
        raise FileError(f"the basis in {path} is not mass-orthonormal (by {error:.1e}); the file is damaged")
    return model


def _restored(body: Body, basis: Array, data: dict[str, Any]) -> ReducedModel:
    if isinstance(body, BodySprings):
        return restored_springs(body, basis, data["springs"], data["weights"])
    if not isinstance(body, BodySolid):
        raise InputError(f"body must be a BodySolid or a BodySprings, not {type(body).__name__}")
    return ReducedSolid(body, basis, Polynomial(data["K0"], data["C1"], data["C2"]))


def _refuse_fixed(body: Body, columns: Array) -> None:
    moved = np.abs(columns.reshape(body.count, 3, -1)[body.fixed]).max(axis=(1, 2), initial=0.0)
    if (moved > 0).any():
        vertex = body.fixed[int(np.argmax(moved > 0))]
        raise InputError(f"the basis moves vertex {vertex}, which the body fixes; set its rows to zero or free it")
