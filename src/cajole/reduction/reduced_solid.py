"""Reduced St. Venant-Kirchhoff solids, u = U z or u = u₀ + U z, and `reduce`, which makes every reduced model.

The forces are an exact cubic polynomial (Barbič and James 2005), computed by one Gram matrix: the strain of u = U z is
E = Σ z_i sym(G_i) + ½ Σ z_i z_j sym(G_iᵀG_j), linear in the features y = [z_i; z_i z_j]. So the energy is ½ yᵀ A y with
A = Σ_e B_eᵀ B_e, a symmetric rank-k update at BLAS-3 speed; its symmetrised derivatives are the tables.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypedDict, Unpack, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg.blas import dsyrk

from cajole import checks
from cajole.arrays import Array
from cajole.body import Body, BodySolid, BodySprings
from cajole.dynamics import Modes, modes
from cajole.dynamics.restricted_system import RestrictedSystem
from cajole.errors import FileError, InputError, ModelMismatch
from cajole.flow import Flow
from cajole.linalg import limit_blas_threads
from cajole.progress import ProgressCallback, report_progress
from cajole.reduction import kernels_polynomial
from cajole.reduction import kernels_solid as kernels
from cajole.reduction.bases import compute_mode_shapes, orthonormalise, require_zero_at_fixed_dofs
from cajole.reduction.reduced_flow import FlowSnapshots, ReducedFlow, reduce_flow
from cajole.reduction.reduced_model import ReducedModel
from cajole.reduction.reduced_springs import ReducedSprings, reduce_springs
from cajole.storage import read_arrays

# From this size on the quartic table is stored as its upper triangle: half the memory is half the time.
PACKED_SIZE = 40
# Modes of a fluid, unless given.
DEFAULT_FLOW_SIZE = 64

# --- tables


@dataclass(frozen=True, eq=False)
class StVKPolynomial:
    """Tables of K(z) = K0 + C1 z + C2 (z z), see `kernels_polynomial`.

    K0 (r, r), C1 (P, r), C2 (P, P) or packed (1, P(P+1)/2), with P = r(r+1)/2 pairs of coordinates.
    """

    K0: Array
    C1: Array
    C2: Array


def build_polynomial(body: BodySolid, basis: Array, *, progress: ProgressCallback | None = None) -> StVKPolynomial:
    """The tables of `body` in `basis` (3n, r)."""
    r = basis.shape[1]
    width = r + r * (r + 1) // 2
    tets, grads, volumes, lam, mu = body.element_arrays
    U = np.ascontiguousarray(basis.reshape(-1, 3, r))
    # six rows per tet: enough of them at once for full BLAS-3 speed, few enough for the cache
    block = 96
    rows, gram = np.zeros((6 * block, width)), np.zeros((width, width), order="F")
    with limit_blas_threads():
        for first in range(0, len(tets), block):
            last = min(first + block, len(tets))
            kernels_polynomial.fill_strain_rows(U, tets, grads, volumes, lam, mu, first, last, rows)
            gram = dsyrk(1.0, rows[: 6 * (last - first)].T, beta=1.0, c=gram, overwrite_c=1)
            report_progress(progress, last / len(tets), "reduced polynomial")
    A = np.triu(gram) + np.triu(gram, 1).T
    # derivatives of ½ yᵀ A y, symmetrised over all orders of the indices
    i, j = np.triu_indices(r)
    number = np.empty((r, r), dtype=np.int64)
    number[i, j] = number[j, i] = np.arange(len(i))
    h = np.where(i == j, 1.0, 0.5)
    linear = A[:r, r:] * h
    pairs = A[r:, r:] * np.outer(h, h)
    k = np.arange(r)
    ik, jk = number[i][:, k], number[j][:, k]
    C1 = 2.0 * (linear[i[:, None], jk] + linear[j[:, None], ik] + linear[k[None, :], number[i, j][:, None]])
    ki, kj = number[i[:, None], i[None, :]], number[j[:, None], j[None, :]]
    mix, xim = number[i[:, None], j[None, :]], number[j[:, None], i[None, :]]
    S4 = 4.0 * (pairs + pairs[ki, kj] + pairs[mix, xim])
    return StVKPolynomial(A[:r, :r].copy(), np.ascontiguousarray(C1), _pack_quartic(0.5 * S4, r))


def _pack_quartic(C2: Array, r: int) -> Array:
    """A symmetric quartic table (P, P) as StVKPolynomial stores it: times its columns' multiplicity, or packed."""
    table = C2[np.triu_indices(len(C2))][None, :] if r >= PACKED_SIZE else C2 * _compute_pair_multiplicity(r)
    return np.ascontiguousarray(table)


def _compute_pair_multiplicity(r: int) -> Array:
    """Number of times a pair (i <= j) occurs in z zᵀ (P,)."""
    i, j = np.triu_indices(r)
    return np.where(i == j, 1.0, 2.0)


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
    columns = np.concatenate([pairs[: (k + 1) * (k + 2) // 2] for k in range(r)])
    rows, C2, size = number[:, first], polynomial.C2, len(upper[0])
    if C2.shape[0] == size > 1:
        entries = C2[rows, columns] / _compute_pair_multiplicity(r)[columns]
    else:
        low, high = np.minimum(rows, columns), np.maximum(rows, columns)
        entries = C2[0, low * size - low * (low - 1) // 2 + high - low]
    return np.ascontiguousarray(polynomial.C1[pairs].T), np.ascontiguousarray(2.0 * entries)


# --- models


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
        (_, C1, C3), (k1, k2, T) = self.kernel_data[:3], self._workspace[0]
        out = np.zeros((self.size, self.size))
        kernels.combine_rows(C3, z, T)
        kernels.add_stiffness_derivative(v, C1, T, k1, k2, 1.0, out)
        return out

    @cached_property
    def kernel_data(self) -> tuple[Any, ...]:
        none, no_ends = np.empty((0, 0)), np.empty((0, 2), dtype=np.int64)
        tables = self.polynomial.K0, *build_derivative_tables(self.polynomial)
        return (*tables, self.alpha, self.beta, none, none, none, no_ends)

    def get_table_arrays(self) -> dict[str, Array]:
        return {"K0": self.polynomial.K0, "C1": self.polynomial.C1, "C2": self.polynomial.C2}

    def _evaluate(self, state: ArrayLike) -> tuple[float, Array, Array]:
        z = self._check_state(state)
        f, K = np.empty(self.size), np.empty((self.size, self.size))
        W = kernels.compute_force_and_stiffness(z, *self.kernel_data[:3], *self._workspace[0], f, K)
        checks.require_finite_result(f, "the reduced force")
        return float(W), f, K


class ReducedSolidOffset(ReducedSolid):
    """St. Venant-Kirchhoff in u = u₀ + U z; offset: u₀ (n, 3); constant_force: Uᵀf(u₀) (r,).

    Vertices may be held anywhere: where u₀ has them, with no column of U moving them.
    """

    def __init__(self, body: BodySolid, basis: Array, polynomial: StVKPolynomial, offset: Array, constant_force: Array):
        super().__init__(body, basis, polynomial, constant_force)
        self.offset = offset
        self._offset_energy = body.energy(offset)

    def project(self, displacement: ArrayLike) -> Array:
        """z = UᵀM (u - u₀)."""
        u = np.asarray(displacement, dtype=np.float64)
        return super().project(u - self.offset if u.shape[-2:] == self.offset.shape else u)

    def lift(self, state: ArrayLike) -> Array:
        """u = u₀ + U z."""
        return np.asarray(self.offset + super().lift(state))

    def energy(self, state: ArrayLike) -> float:
        """W(u₀ + Uz) [J]."""
        return self._offset_energy + float(self.constant_force @ np.asarray(state)) + super().energy(state)

    def force(self, state: ArrayLike) -> Array:
        """Uᵀ f(u₀ + Uz) (r,)."""
        return np.asarray(self.constant_force + super().force(state))


def reduce_with_offset(body: BodySolid, offset: ArrayLike, basis: ArrayLike) -> ReducedSolidOffset:
    """`body` in u = u₀ + U z with u₀ = offset (n, 3) and U spanning `basis` (3n, r), which leaves fixed vertices alone.

    The polynomial of the columns (U, u₀) with the last coordinate held at one is again a cubic in z, with a constant.
    Raises InputError for dependent columns, or columns that move fixed vertices; ModelMismatch as `reduce` does.
    """
    checks.require_instance(body, BodySolid, "body")
    u0 = body.check_vertex_vectors(offset, "offset")
    columns = checks.require_real_array(basis, "basis", (3 * body.vertex_count, None))
    require_zero_at_fixed_dofs(body, columns)
    U = orthonormalise(body, columns)
    r = U.shape[1]
    joint = build_polynomial(body, np.column_stack([U, u0.ravel()]))
    size = (r + 1) * (r + 2) // 2
    work, at = np.empty((3, size)), np.eye(r + 1)[r]
    f, K, H = np.empty(r + 1), np.empty((r + 1, r + 1)), np.empty((r + 1, r + 1))
    kernels_polynomial.evaluate_polynomial(at, joint.K0, joint.C1, joint.C2, *work, f, K)
    i, j = np.triu_indices(r)
    C1 = np.empty((len(i), r))
    for k, direction in enumerate(np.eye(r + 1)[:r]):
        kernels_polynomial.compute_stiffness_derivative(at, direction, joint.C1, joint.C2, *work, H)
        C1[:, k] = H[i, j]
    if joint.C2.shape[0] == size:
        C2 = joint.C2 / _compute_pair_multiplicity(r + 1)
    else:
        C2 = np.zeros((size, size))
        C2[np.triu_indices(size)] = joint.C2[0]
        C2 = C2 + np.triu(C2, 1).T
    inner = np.flatnonzero(np.triu_indices(r + 1)[1] < r)
    tables = StVKPolynomial(K[:r, :r].copy(), C1, _pack_quartic(C2[np.ix_(inner, inner)], r))
    model = ReducedSolidOffset(body, U, tables, u0, f[:r].copy())
    require_matching_forces(model)
    return model


def move_fixed_vertices(body: BodySolid, displacement: Array, targets: Array) -> Array:
    """`displacement` (n, 3) with the fixed vertices moved to `targets` (n, 3); vertices near them follow.

    The change δ minimises ½ δᵀ(K(u) + κM)δ. Without κ a foot that turns a little would turn the whole body with it.
    """
    d = np.zeros_like(displacement)
    d[body.fixed] = targets[body.fixed] - displacement[body.fixed]
    if not d.any():
        return displacement
    # as a body shaken at ten times its first frequency, which moves only near the support
    kappa = 10.0**2 * float(modes(body, 1).eigenvalues[0])
    system = RestrictedSystem(body, body.free_dofs)
    body.assemble_system(displacement, np.zeros_like(displacement), kappa, 0.0, system.values)
    system.factorise_as("symmetric")
    pull = body.stiffness(displacement) @ d.ravel() + kappa * (body.mass @ d.ravel())
    return np.asarray(displacement + d + system.solve(-pull.reshape(-1, 3)))


# --- reduce


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

    A whole number in place of a basis means that many of the body's lowest modes.
    cubature: of springs, sum only a few weighted ones: True, or their maximal number, or below one the force error to
    reach; poses: (k, n, 3) between which the body will move, for which they are chosen. See `model.report`.
    A Flow takes snapshots in place of a basis, FlowMotions or (k, n) [m/s], and `size` (64) divergence-free modes that
    hold most of them.
    The forces of the model are compared with the projected forces of the body at one random state.
    Raises InputError for dependent columns, columns that move fixed vertices, and snapshots too few for the size;
    ModelMismatch for a body whose forces the model does not reproduce, a subclass with another force law for example.
    """
    if isinstance(body, Flow):
        return reduce_flow(body, basis, DEFAULT_FLOW_SIZE if size is None else size, progress)  # type: ignore[arg-type]
    if size is not None:
        raise InputError("size is for a Flow; a body has as many coordinates as its basis has columns")
    if not isinstance(body, BodySolid | BodySprings):
        raise InputError(f"body must be a BodySolid, a BodySprings or a Flow, not {type(body).__name__}")
    if isinstance(basis, int | np.integer) and not isinstance(basis, bool):
        columns = compute_mode_shapes(body, checks.require_integer(int(basis), "basis (a number of modes)"))
    elif isinstance(basis, Modes):
        columns = basis.shapes
    else:
        columns = checks.require_real_array(basis, "basis", (3 * body.vertex_count, None))  # type: ignore[arg-type]
    require_zero_at_fixed_dofs(body, columns)
    if isinstance(body, BodySolid) and cubature is not False:
        raise InputError("cubature is for springs; the reduced forces of a solid are exact and fast without it")
    U = orthonormalise(body, columns)
    if isinstance(body, BodySprings):
        require_matching_forces(ReducedSprings(body, U))
        return reduce_springs(body, U, cubature=cubature, poses=poses)
    model = ReducedSolid(body, U, build_polynomial(body, U, progress=progress))
    require_matching_forces(model)
    return model


def require_matching_forces(model: ReducedModel) -> None:
    """Compare force and damping of a model with those of its body, projected, at one random state.

    Raises ModelMismatch if they differ by more than rounding: the body then has another force law than its class.
    """
    body, random = model.body, np.random.default_rng(0)
    z, v = random.standard_normal((2, model.size))
    columns = (z @ model.basis.T).reshape(-1, 3)
    # a tenth of the body's size, far enough for every term of the force law; velocities as of the first vibration
    z *= 0.1 * body.size / max(float(np.linalg.norm(columns, axis=1).max()), 1e-300)
    u, rates = model.lift(z), model.lift_velocity(v)
    full = body.force(u) + body.damping_force(u, rates)
    expected, found = model.project_force(full), model.constant_force + model.evaluate_dynamics(z, v)[0]
    off, scale = float(np.linalg.norm(found - expected)), float(np.linalg.norm(expected))
    # stiff elements cancel in the projection: their rounding is relative to the sum of magnitudes
    rounding = float(np.linalg.norm(np.abs(full).ravel() @ np.abs(model.basis)))
    if not off <= 1e-7 * scale + 1e-10 * rounding:
        raise ModelMismatch(
            f"the reduced forces of {type(model).__name__} differ by {100 * off / max(scale, 1e-300):.2g} % from the "
            f"projected forces of {type(body).__name__}: this class of body has another force law than the model; "
            "write a ReducedModel for it, or use the body unreduced"
        )


def load_model(path: str | os.PathLike[str], body: Body) -> ReducedModel:
    """A model written by `save`, for the body it was made from. Raises FileError otherwise."""
    checks.require_instance(body, (BodySolid, BodySprings), "body")
    names = ("body", "basis", "K0", "C1", "C2", "springs", "weights")
    try:
        data = read_arrays(path, lambda name: name in names)
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
    if not error <= 1e-8:
        raise FileError(f"the basis in {path} is not mass-orthonormal (by {error:.1e}); the file is damaged")
    return model


def _restore_model(body: Body, basis: Array, data: dict[str, NDArray[Any]]) -> ReducedModel:
    if isinstance(body, BodySprings):
        springs, weights = (checks.require_real_array(data[name], name, (None,)) for name in ("springs", "weights"))
        chosen = springs.astype(np.int64)
        fits = chosen.shape == weights.shape and ((chosen >= 0) & (chosen < len(body.edges))).all()
        if not fits or not (weights > 0).all():
            raise ValueError("springs, weights or basis do not fit the body")
        return ReducedSprings(body, basis, springs=chosen, weights=weights)
    assert isinstance(body, BodySolid)
    r = basis.shape[1]
    tables = StVKPolynomial(*(checks.require_real_array(data[name], name, (None, None)) for name in ("K0", "C1", "C2")))
    pairs = r * (r + 1) // 2
    whole = tables.C2.shape in ((pairs, pairs), (1, pairs * (pairs + 1) // 2))
    if not whole or tables.K0.shape != (r, r) or tables.C1.shape != (pairs, r):
        raise ValueError("the tables do not fit the basis")
    return ReducedSolid(body, basis, tables)
