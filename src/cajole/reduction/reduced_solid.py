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
from cajole.progress import ProgressCallback
from cajole.reduction import kernels_solid as kernels
from cajole.reduction.bases import compute_mode_shapes, orthonormalise, require_zero_at_fixed_dofs
from cajole.reduction.polynomial import StVKPolynomial, build_polynomial
from cajole.reduction.reduced_flow import FlowSnapshots, ReducedFlow, reduce_flow
from cajole.reduction.reduced_model import ReducedModel
from cajole.reduction.reduced_springs import ReducedSprings, reduce_springs, restore_springs
from cajole.storage import read_arrays

IndexArray = NDArray[np.signedinteger[Any]]

# How far UᵀMU may be from the identity before a loaded basis is refused.
ORTHONORMALITY_TOLERANCE = 1e-8
# what is read of a file
FILE_ARRAYS = ("body", "basis", "K0", "C1", "C2", "springs", "weights")
# Modes of a fluid, unless told otherwise.
DEFAULT_FLOW_SIZE = 64


class ReducedSolid(ReducedModel):
    """St. Venant-Kirchhoff in a mass-orthonormal basis: reduced mass is the identity, forces are an exact cubic.

    basis: (3n, r); size: r. Damping is the body's, D(z) = αI + βK(z).
    """

    body: BodySolid

    def __init__(self, body: BodySolid, basis: Array, polynomial: StVKPolynomial, constant_force: Array | None = None):
        super().__init__(basis, constant_force)
        self.body, self.polynomial = body, polynomial
        self.alpha, self.beta = body.alpha, body.beta

    def energy(self, state: ArrayLike) -> float:
        return self._evaluate(state)[0]

    def force(self, state: ArrayLike) -> Array:
        return self._evaluate(state)[1]

    def stiffness(self, state: ArrayLike | None = None) -> Array:
        return self._evaluate(np.zeros(self.size) if state is None else state)[2]

    def stiffness_derivative(self, state: ArrayLike, direction: ArrayLike) -> Array:
        z, v = self._check_state(state), self._check_state(direction, "direction")
        (_, C1, C3), (k1, k2, T) = self.kernel_data[:3], self._scratch_arrays
        out = np.zeros((self.size, self.size))
        kernels.combine_rows(C3, z, T)
        kernels.add_stiffness_derivative(v, C1, T, k1, k2, 1.0, out)
        return out

    @cached_property
    def kernel_data(self) -> tuple[Any, ...]:
        none, no_ends = np.empty((0, 0)), np.empty((0, 2), dtype=np.int64)
        return (
            self.polynomial.K0,
            *build_derivative_tables(self.polynomial),
            self.alpha,
            self.beta,
            none,
            none,
            none,
            no_ends,
        )

    def get_table_arrays(self) -> dict[str, Array]:
        return {"K0": self.polynomial.K0, "C1": self.polynomial.C1, "C2": self.polynomial.C2}

    @property
    def _scratch_arrays(self) -> tuple[Array, Array, Array]:
        """Scratch arrays, new for each call: kernels release the interpreter lock, and threads may share a model."""
        C1, C3 = self.kernel_data[1:3]
        return np.empty(C1.shape[1]), np.empty(C1.shape[1]), np.empty(C3.shape[1])

    def _evaluate(self, state: ArrayLike) -> tuple[float, Array, Array]:
        z = self._check_state(state)
        f, K = np.empty(self.size), np.empty((self.size, self.size))
        W = kernels.compute_force_and_stiffness(z, *self.kernel_data[:3], *self._scratch_arrays, f, K)
        checks.require_finite_result(f, "the reduced force")
        return float(W), f, K


def build_derivative_tables(polynomial: StVKPolynomial) -> tuple[Array, Array]:
    """C1 (r, P) and C3 (r, N), the third and fourth derivatives of the energy in the order of `kernels_solid`."""
    r = len(polynomial.K0)
    number = np.empty((r, r), dtype=np.int64)
    upper = np.triu_indices(r)
    number[upper] = number[upper[::-1]] = np.arange(len(upper[0]))
    i, j = np.tril_indices(r)
    pairs = number[i, j]
    # the triples (i, j, k) of an i are all pairs (j, k) of the coordinates up to it
    first = np.repeat(np.arange(r), (np.arange(r) + 1) * (np.arange(r) + 2) // 2)
    rest = np.concatenate([pairs[: (k + 1) * (k + 2) // 2] for k in range(r)])
    C3 = 2.0 * _gather_quartic(polynomial.C2, number[:, first], rest, upper)
    return np.ascontiguousarray(polynomial.C1[pairs].T), np.ascontiguousarray(C3)


def _gather_quartic(C2: Array, rows: IndexArray, columns: IndexArray, upper: tuple[IndexArray, IndexArray]) -> Array:
    """Entries of the symmetric quartic table by pairs, from either way of storing it."""
    size = len(upper[0])
    if C2.shape[0] == size > 1:
        return C2[rows, columns] / np.where(upper[0] == upper[1], 1.0, 2.0)[columns]
    low, high = np.minimum(rows, columns), np.maximum(rows, columns)
    return np.asarray(C2[0, low * size - low * (low - 1) // 2 + high - low])


class _ReduceOptions(TypedDict, total=False):
    cubature: bool | float
    poses: ArrayLike | None
    progress: ProgressCallback | None


@overload
def reduce(
    body: Flow, basis: FlowSnapshots, *, size: int = DEFAULT_FLOW_SIZE, progress: ProgressCallback | None = None
) -> ReducedFlow: ...
@overload
def reduce(body: BodySolid, basis: int | Modes | ArrayLike, **options: Unpack[_ReduceOptions]) -> ReducedSolid: ...
@overload
def reduce(body: BodySprings, basis: int | Modes | ArrayLike, **options: Unpack[_ReduceOptions]) -> ReducedSprings: ...
@overload
def reduce(body: Body, basis: int | Modes | ArrayLike, **options: Unpack[_ReduceOptions]) -> ReducedModel: ...
def reduce(
    body: Body | Flow,
    basis: int | Modes | FlowSnapshots,
    *,
    cubature: bool | float = False,
    poses: ArrayLike | None = None,
    size: int | None = None,
    progress: ProgressCallback | None = None,
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
        return reduce_flow(body, basis, DEFAULT_FLOW_SIZE if size is None else size, progress)  # type: ignore[arg-type]
    if size is not None:
        raise InputError("size is for a Flow; a body has as many coordinates as its basis has columns")
    if not isinstance(body, BodySolid | BodySprings):
        raise InputError(f"body must be a BodySolid, a BodySprings or a Flow, not {type(body).__name__}")
    columns = _parse_basis(body, basis)  # type: ignore[arg-type]
    require_zero_at_fixed_dofs(body, columns)
    if isinstance(body, BodySolid) and cubature is not False:
        raise InputError("cubature is for springs; the reduced forces of a solid are exact and fast without it")
    U = orthonormalise(body, columns)
    if isinstance(body, BodySprings):
        return reduce_springs(body, U, cubature=cubature, poses=poses)
    return ReducedSolid(body, U, build_polynomial(body, U, progress=progress))


def _parse_basis(body: Body, basis: int | Modes | ArrayLike) -> Array:
    if isinstance(basis, int | np.integer) and not isinstance(basis, bool):
        return compute_mode_shapes(body, checks.require_integer(int(basis), "basis (a number of modes)"))
    return (
        basis.shapes
        if isinstance(basis, Modes)
        else checks.require_real_array(basis, "basis", (3 * body.vertex_count, None))
    )


def load_model(path: str | os.PathLike[str], body: Body) -> ReducedModel:
    """A model written by `save`, for the body it was made from. Raises FileError otherwise."""
    checks.require_instance(body, (BodySolid, BodySprings), "body")
    try:
        data = read_arrays(path, lambda name: name in FILE_ARRAYS)
        if missing := [name for name in ("body", "basis") if name not in data]:
            raise InputError(f"there is no array {missing[0]!r} in it")
        same = str(data["body"]) == body.compute_content_hash()
        basis = checks.require_real_array(data["basis"], "basis", (3 * body.vertex_count if same else None, None))
        model = _restore_model(body, basis, data) if same else None
    except (ValueError, KeyError, IndexError) as reason:
        file = path if isinstance(path, str | os.PathLike) else checks.format_value(path)
        raise FileError(f"cannot read a reduced model from {file}: {reason}; write it again with model.save") from None
    if model is None:
        raise FileError(f"{path} holds a model of another body (mesh, material, fixed vertices or damping differ)")
    with np.errstate(over="ignore", invalid="ignore"):  # a damaged basis overflows, and fails the comparison
        error = np.abs(basis.T @ (body.mass @ basis) - np.eye(basis.shape[1])).max()
    if not error <= ORTHONORMALITY_TOLERANCE:
        raise FileError(f"the basis in {path} is not mass-orthonormal (by {error:.1e}); the file is damaged")
    return model


def _restore_model(body: Body, basis: Array, data: dict[str, Any]) -> ReducedModel:
    if isinstance(body, BodySprings):
        springs, weights = (checks.require_real_array(data[name], name, (None,)) for name in ("springs", "weights"))
        return restore_springs(body, basis, springs, weights)
    assert isinstance(body, BodySolid)
    r = basis.shape[1]
    tables = StVKPolynomial(*(checks.require_real_array(data[name], name, (None, None)) for name in ("K0", "C1", "C2")))
    pairs = r * (r + 1) // 2
    whole = tables.C2.shape in ((pairs, pairs), (1, pairs * (pairs + 1) // 2))
    if not whole or tables.K0.shape != (r, r) or tables.C1.shape != (pairs, r):
        raise ValueError("the tables do not fit the basis")
    return ReducedSolid(body, basis, tables)
