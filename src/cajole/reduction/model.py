"""`reduce`: a body in a basis, u = U z; the questions a body answers, answered in microseconds."""

from __future__ import annotations

import os
from functools import cached_property
from typing import Any, TypedDict, Unpack, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cajole import checks
from cajole.arrays import Array
from cajole.body import Body, BodySolid, BodySprings
from cajole.dynamics import Modes
from cajole.errors import FileError, InputError
from cajole.flow import Flow
from cajole.progress import Progress
from cajole.reduction import kernels_solid as kernels
from cajole.reduction.base import ReducedModel
from cajole.reduction.bases import mode_shapes, orthonormal, refuse_fixed
from cajole.reduction.flow import ReducedFlow, reduced_flow
from cajole.reduction.flow_basis import Snapshots
from cajole.reduction.polynomial import Polynomial, polynomial
from cajole.reduction.springs import ReducedSprings, reduced_springs, restored_springs
from cajole.storage import read_arrays

Index = NDArray[np.signedinteger[Any]]

# How far UᵀMU may be from the identity before a loaded basis is refused.
ORTHONORMAL = 1e-8
# what is read of a file
MEMBERS = ("body", "basis", "K0", "C1", "C2", "springs", "weights")
# Modes of a fluid, unless told otherwise.
FLOW_SIZE = 64


class ReducedSolid(ReducedModel):
    """St. Venant-Kirchhoff in a mass-orthonormal basis: reduced mass is the identity, forces are an exact cubic.

    basis: (3n, r); size: r. Damping is the body's, D(z) = αI + βK(z).
    """

    body: BodySolid

    def __init__(self, body: BodySolid, basis: Array, tables: Polynomial, constant: Array | None = None):
        super().__init__(basis, constant)
        self.body, self.tables = body, tables
        self.alpha, self.beta = body.alpha, body.beta

    def energy(self, state: ArrayLike) -> float:
        return self._evaluate(state)[0]

    def force(self, state: ArrayLike) -> Array:
        return self._evaluate(state)[1]

    def stiffness(self, state: ArrayLike | None = None) -> Array:
        return self._evaluate(np.zeros(self.size) if state is None else state)[2]

    def stiffness_change(self, state: ArrayLike, direction: ArrayLike) -> Array:
        z, v = self._checked(state), self._checked(direction, "direction")
        (_, C1, C3), (k1, k2, T) = self.system[:3], self._work
        out = np.zeros((self.size, self.size))
        kernels.combine(C3, z, T)
        kernels.tangent_change(v, C1, T, k1, k2, 1.0, out)
        return out

    @cached_property
    def system(self) -> tuple:
        none, no_ends = np.empty((0, 0)), np.empty((0, 2), dtype=np.int64)
        return (self.tables.K0, *by_triples(self.tables), self.alpha, self.beta, none, none, none, no_ends)

    def arrays(self) -> dict[str, Array]:
        return {"K0": self.tables.K0, "C1": self.tables.C1, "C2": self.tables.C2}

    @property
    def _work(self) -> tuple[Array, Array, Array]:
        """Scratch arrays, new for each call: kernels release the interpreter lock, and threads may share a model."""
        C1, C3 = self.system[1:3]
        return np.empty(C1.shape[1]), np.empty(C1.shape[1]), np.empty(C3.shape[1])

    def _evaluate(self, state: ArrayLike) -> tuple[float, Array, Array]:
        z = self._checked(state)
        f, K = np.empty(self.size), np.empty((self.size, self.size))
        W = kernels.tangent(z, *self.system[:3], *self._work, f, K)
        checks.finite_result(f, "the reduced force")
        return float(W), f, K


def by_triples(tables: Polynomial) -> tuple[Array, Array]:
    """C1 (r, P) and C3 (r, N), the third and fourth derivatives of the energy in the order of `kernels_solid`."""
    r = len(tables.K0)
    number = np.empty((r, r), dtype=np.int64)
    upper = np.triu_indices(r)
    number[upper] = number[upper[::-1]] = np.arange(len(upper[0]))
    i, j = np.tril_indices(r)
    pairs = number[i, j]
    # the triples (i, j, k) of an i are all pairs (j, k) of the coordinates up to it
    first = np.repeat(np.arange(r), (np.arange(r) + 1) * (np.arange(r) + 2) // 2)
    rest = np.concatenate([pairs[: (k + 1) * (k + 2) // 2] for k in range(r)])
    C3 = 2.0 * _quartic(tables.C2, number[:, first], rest, upper)
    return np.ascontiguousarray(tables.C1[pairs].T), np.ascontiguousarray(C3)


def _quartic(C2: Array, rows: Index, columns: Index, upper: tuple[Index, Index]) -> Array:
    """Entries of the symmetric quartic table by pairs, from either way of storing it."""
    size = len(upper[0])
    if C2.shape[0] == size > 1:
        return C2[rows, columns] / np.where(upper[0] == upper[1], 1.0, 2.0)[columns]
    low, high = np.minimum(rows, columns), np.maximum(rows, columns)
    return C2[0, low * size - low * (low - 1) // 2 + high - low]


class _Options(TypedDict, total=False):
    cubature: bool | float
    poses: ArrayLike | None
    progress: Progress | None


@overload
def reduce(body: Flow, basis: Snapshots, *, size: int = FLOW_SIZE, progress: Progress | None = None) -> ReducedFlow: ...
@overload
def reduce(body: BodySolid, basis: int | Modes | ArrayLike, **options: Unpack[_Options]) -> ReducedSolid: ...
@overload
def reduce(body: BodySprings, basis: int | Modes | ArrayLike, **options: Unpack[_Options]) -> ReducedSprings: ...
@overload
def reduce(body: Body, basis: int | Modes | ArrayLike, **options: Unpack[_Options]) -> ReducedModel: ...
def reduce(
    body: Body | Flow,
    basis: int | Modes | Snapshots,
    *,
    cubature: bool | float = False,
    poses: ArrayLike | None = None,
    size: int | None = None,
    progress: Progress | None = None,
) -> ReducedModel | ReducedFlow:
    """`body` in `basis` (3n, r), or in the shapes of Modes; the basis is made mass-orthonormal, its span kept.

    A whole number in place of a basis means so many of the body's lowest modes.
    cubature: of springs, sum only a few weighted ones: True, or how many at most, or below one the force error to
    reach; poses: (k, n, 3) between which the body will move, for which they are chosen. See `model.report`.
    A Flow goes with snapshots in place of a basis, FlowMotions or (k, n) [m/s], and takes the `size` (64)
    divergence-free modes that hold most of them.
    Raises InputError for dependent columns, columns that move fixed vertices, and snapshots too few for the size.
    """
    if isinstance(body, Flow):
        return reduced_flow(body, basis, FLOW_SIZE if size is None else size, progress)  # type: ignore[arg-type]
    if size is not None:
        raise InputError("size is for a Flow; a body has as many coordinates as its basis has columns")
    if not isinstance(body, BodySolid | BodySprings):
        raise InputError(f"body must be a BodySolid, a BodySprings or a Flow, not {type(body).__name__}")
    columns = _columns(body, basis)  # type: ignore[arg-type]
    refuse_fixed(body, columns)
    if isinstance(body, BodySolid) and cubature is not False:
        raise InputError("cubature is for springs; the reduced forces of a solid are exact and fast without it")
    U = orthonormal(body, columns)
    if isinstance(body, BodySprings):
        return reduced_springs(body, U, cubature=cubature, poses=poses)
    return ReducedSolid(body, U, polynomial(body, U, progress=progress))


def _columns(body: Body, basis: int | Modes | ArrayLike) -> Array:
    if isinstance(basis, int | np.integer) and not isinstance(basis, bool):
        return mode_shapes(body, checks.count(int(basis), "basis (a number of modes)"))
    return basis.shapes if isinstance(basis, Modes) else checks.real_array(basis, "basis", (3 * body.count, None))


def load_model(path: str | os.PathLike[str], body: Body) -> ReducedModel:
    """A model written by `save`, for the body it was made from. Raises FileError otherwise."""
    checks.require_instance(body, (BodySolid, BodySprings), "body")
    try:
        data = read_arrays(path, lambda name: name in MEMBERS)
        if missing := [name for name in ("body", "basis") if name not in data]:
            raise InputError(f"there is no array {missing[0]!r} in it")
        same = str(data["body"]) == body.content()
        basis = checks.real_array(data["basis"], "basis", (3 * body.count if same else None, None))
        model = _restored(body, basis, data) if same else None
    except (ValueError, KeyError, IndexError) as reason:
        file = path if isinstance(path, str | os.PathLike) else checks.shown(path)
        raise FileError(f"cannot read a reduced model from {file}: {reason}; write it again with model.save") from None
    if model is None:
        raise FileError(f"{path} holds a model of another body (mesh, material, fixed vertices or damping differ)")
    with np.errstate(over="ignore", invalid="ignore"):  # a damaged basis overflows, and fails the comparison
        error = np.abs(basis.T @ (body.mass @ basis) - np.eye(basis.shape[1])).max()
    if not error <= ORTHONORMAL:
        raise FileError(f"the basis in {path} is not mass-orthonormal (by {error:.1e}); the file is damaged")
    return model


def _restored(body: Body, basis: Array, data: dict[str, Any]) -> ReducedModel:
    if isinstance(body, BodySprings):
        springs, weights = (checks.real_array(data[name], name, (None,)) for name in ("springs", "weights"))
        return restored_springs(body, basis, springs, weights)
    assert isinstance(body, BodySolid)
    r = basis.shape[1]
    tables = Polynomial(*(checks.real_array(data[name], name, (None, None)) for name in ("K0", "C1", "C2")))
    pairs = r * (r + 1) // 2
    whole = tables.C2.shape in ((pairs, pairs), (1, pairs * (pairs + 1) // 2))
    if not whole or tables.K0.shape != (r, r) or tables.C1.shape != (pairs, r):
        raise ValueError("the tables do not fit the basis")
    return ReducedSolid(body, basis, tables)
