"""Bases of reduced models: modes, principal components, modal derivatives and tangents of keys.

Every function takes and returns displacement vectors as columns (3n, k); results are mass-orthonormal, UᵀMU = I.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from cajole import checks
from cajole.arrays import Array
from cajole.body import Body, flatten_to_columns
from cajole.dynamics import Modes, modes
from cajole.dynamics.restricted_system import RestrictedSystem
from cajole.errors import InputError

# Keys and tangents below this share of the largest key count as the rest shape.
REST_POSE_SHARE = 1e-9
# Eigenvalues of a Gram matrix below this share of the largest are rounding.
GRAM_ROUNDING = 1e-14


def orthonormalise(body: Body, vectors: ArrayLike, *, drop_dependent: bool = False) -> Array:
    """Mass Gram-Schmidt, iterated twice, in the order given: span unchanged, UᵀMU = I to rounding.

    drop_dependent: leave out columns that depend on those before them, instead of raising InputError.
    """
    V = checks.require_real_array(vectors, "basis", (3 * body.vertex_count, None))
    columns: list[Array] = []
    for index, column in enumerate(V.T):
        before, out = compute_mass_norm(body, column), column
        if columns:
            U = np.stack(columns, axis=1)
            MU = body.mass @ U
            for _ in range(2):  # twice against rounding
                out = out - U @ (MU.T @ out)
        after = compute_mass_norm(body, out)
        if after <= 1e-9 * before or before == 0.0:
            if drop_dependent:
                continue
            raise InputError(
                f"column {index} of the basis is {'zero' if before == 0 else 'a combination of those before it'}; "
                "leave it out"
            )
        columns.append(out / after)
    if not columns:
        raise InputError("the basis is empty: give at least one column that is not zero")
    return np.stack(columns, axis=1)


def require_zero_at_fixed_dofs(body: Body, columns: Array) -> None:
    """Raise InputError where columns (3n, k) move a vertex that the body fixes."""
    moved = np.abs(columns.reshape(body.vertex_count, 3, -1)[body.fixed]).max(axis=(1, 2), initial=0.0)
    if (moved > 0).any():
        vertex = body.fixed[int(np.argmax(moved > 0))]
        raise InputError(f"the basis moves vertex {vertex}, which the body fixes; set its rows to zero or free it")


def compute_mass_norm(body: Body, vector: Array) -> float:
    """√(vᵀMv) of v (3n,)."""
    return float(np.sqrt(max(vector @ (body.mass @ vector), 0.0)))


def compute_mass_pca(
    body: Body, snapshots: ArrayLike, *, size: int | None = None, energy_share: float = 0.9999
) -> Array:
    """Mass-PCA: the directions that hold most of the snapshots (3n, k), `size` of them or an `energy_share` of Σ|q|²_M.

    Through the Gram matrix QᵀMQ of the snapshots (the method of snapshots).
    """
    Q = checks.require_real_array(snapshots, "snapshots", (3 * body.vertex_count, None))
    values, vectors = np.linalg.eigh(Q.T @ (body.mass @ Q))
    values, vectors = values[::-1], vectors[:, ::-1]
    kept = values > GRAM_ROUNDING * max(values[0], 0.0)
    if not kept.any():
        raise InputError("the snapshots are all zero: there is nothing to take components of")
    values, vectors = values[kept], vectors[:, kept]
    if size is None:
        if not 0.0 < checks.require_real_number(energy_share, "energy") <= 1.0:
            raise InputError(f"energy is {energy_share}, but must be a share above 0 and at most 1")
        share = np.cumsum(values) / values.sum()
        size = int(np.searchsorted(share, energy_share - 1e-15)) + 1
    size = min(checks.require_integer(size, "size"), len(values))
    return orthonormalise(body, Q @ (vectors[:, :size] / np.sqrt(values[:size])))


def compute_modal_derivatives(body: Body, linear_modes: Modes | ArrayLike) -> Array:
    """Ψ_ab = -K⁻¹ (H:φ_a) φ_b for a <= b (3n, k(k+1)/2): how linear modes bend as they grow (Barbič and James 2005).

    Free bodies: the right side is projected to the range of K, the solution kept mass-orthogonal to rigid motions.
    """
    shapes = (
        linear_modes.shapes
        if isinstance(linear_modes, Modes)
        else checks.require_real_array(linear_modes, "modes", (3 * body.vertex_count, None))
    )
    solver = _TangentSolver(body, np.zeros((body.vertex_count, 3)))
    columns = []
    rest = np.zeros((body.vertex_count, 3))
    for a in range(shapes.shape[1]):
        change = body.stiffness_derivative(rest, shapes[:, a].reshape(-1, 3))
        columns += [solver.solve(-(change @ shapes[:, b])) for b in range(a, shapes.shape[1])]
    return np.stack(columns, axis=1)


class _TangentSolver:
    """Solver of K(u) x = b projected to the range of K, with xᵀM r = 0 for its null space r.

    At rest a free body's null space has the rigid motions; deformed, translations (eq. (7)-(8), Barbič 2009). The mass
    product keeps the centre of mass in place.
    reuse: a solver of the same body at another u, whose symbolic factorisation is reused if K is regular; it can no
    longer solve.
    """

    def __init__(self, body: Body, u: Array, *, reuse: _TangentSolver | None = None):
        rigid = body.compute_unconstrained_rigid_modes(np.empty(0, dtype=np.int64))
        if rigid.shape[1]:
            # Euclidean-orthonormal rigid motions along which the force at u does not change, K(u) x = 0
            K = body.stiffness(u)
            Q, _ = np.linalg.qr(rigid)
            values, turn = np.linalg.eigh(Q.T @ (K @ Q))
            rigid = np.asarray(Q @ turn[:, abs(values) <= 1e-9 * K.diagonal().max()])
        self.null_space = rigid
        self._rigid_basis = orthonormalise(body, self.null_space) if self.null_space.shape[1] else self.null_space
        self._mass_rigid_basis = body.mass @ self._rigid_basis
        held = self.null_space.shape[1]
        self._system: RestrictedSystem
        if reuse is not None and held == reuse.null_space.shape[1] == 0:
            self._system = reuse._system
        else:
            self._system = RestrictedSystem(body, body.free_dofs, border=self.null_space if held else None)
        body.assemble_system(u, np.zeros_like(u), 0.0, 0.0, self._system.values)
        self._system.factorise_as("kkt" if held else "symmetric")

    def solve(self, rhs: Array) -> Array:
        b = rhs - self.null_space @ (self.null_space.T @ rhs)
        x = self._system.solve(b.reshape(-1, 3)).ravel()
        return np.asarray(x - self._rigid_basis @ (self._mass_rigid_basis.T @ x))


@dataclass(frozen=True)
class BasisReport:
    """Sizes of the parts of a keyframe basis, and the projection error |q - UUᵀMq| / |q| of each pose.

    projection_errors: of the poses in order of time, the start first; 0 for the rest shape.
    """

    key_columns: int
    tangent_columns: int
    extra_columns: int
    projection_errors: tuple[float, ...]

    def __repr__(self) -> str:
        return (
            f"BasisReport({self.key_columns} from keys, {self.tangent_columns} from tangents, {self.extra_columns} "
            f"added)"
        )

    def __str__(self) -> str:
        total = self.key_columns + self.tangent_columns + self.extra_columns
        rows = [
            f"basis of {total}: {self.key_columns} from keys, {self.tangent_columns} from tangents, "
            f"{self.extra_columns} added"
        ]
        rows += [
            f"  pose {i}: missed {e:.1e} of its size"
            for i, e in enumerate(self.projection_errors)
            if e > 1e-6  # below is rounding
        ]
        return "\n".join(rows)


def compute_key_tangents(body: Body, poses: Array) -> Array:
    """Tangents of the keyframe deformation curve (eq. (6)): K(q_i) T⁰ = K(q_{i+1}) T¹ = f_{i+1} - f_i, (3n, 2(k-1)).

    poses: (k, n, 3) in order of time, the start first; f_i is the force that holds pose i.
    """
    forces = [body.force(pose).ravel() for pose in poses]
    jumps = np.diff(forces, axis=0)
    columns = np.empty((3 * body.vertex_count, 2 * len(jumps)))
    at: _TangentSolver | None = None
    for i, pose in enumerate(poses):
        at = _TangentSolver(body, pose, reuse=at)
        if i > 0:
            columns[:, 2 * i - 1] = at.solve(jumps[i - 1])
        if i < len(jumps):
            columns[:, 2 * i] = at.solve(jumps[i])
    return columns


def build_keyframe_basis(
    body: Body,
    poses: ArrayLike,
    *,
    tangents: bool = True,
    extras: ArrayLike | None = None,
    extra_size: int = 10,
    size: int | None = None,
) -> tuple[Array, BasisReport]:
    """The basis of §4.3: keys, tangents, and the most significant `extra_size` directions of `extras` beside them.

    poses: (k, n, 3) in order of time, the start first (rest may be among them); extras: (3n, m) modes or recorded
    deformations, of which what the keys already span is removed first (eq. (9)). Keys and tangents below 1e-9 of the
    largest key count as rest.
    size: compress keys and tangents together to this many by mass-PCA, as the paper allows.
    """
    checks.require_bool(tangents, "tangents")
    keys = checks.require_real_array(poses, "poses", (None, body.vertex_count, 3))
    flat = flatten_to_columns(keys)
    # what rounding left of a key at rest, or of a jump between equal keys, is no direction
    least = REST_POSE_SHARE * max((compute_mass_norm(body, column) for column in flat.T), default=0.0)
    own = normalise_columns(body, flat, least)
    if own.shape[1] == 0:
        raise InputError("every key is the rest shape: there is no motion to make a basis for")
    ahead = normalise_columns(body, compute_key_tangents(body, keys), least) if tangents else np.empty((len(flat), 0))
    core = orthonormalise(body, own, drop_dependent=True)
    count = core.shape[1]
    core = orthonormalise(body, np.hstack([own, ahead]), drop_dependent=True)
    if size is not None and size < core.shape[1]:
        core = compute_mass_pca(body, np.hstack([own, ahead]), size=size)
    U = core if extras is None else np.hstack([core, _select_new_directions(body, core, extras, extra_size)])
    missed = []
    for q in flat.T:
        norm = compute_mass_norm(body, q)
        missed.append(0.0 if norm <= least else compute_mass_norm(body, q - U @ (U.T @ (body.mass @ q))) / norm)
    kept = min(count, core.shape[1])
    return U, BasisReport(kept, core.shape[1] - kept, U.shape[1] - core.shape[1], tuple(missed))


def extend_basis(body: Body, basis: Array, extras: ArrayLike, *, size: int) -> Array:
    """`basis` and the `size` most significant directions of `extras` that it lacks (eq. (9)); its own stay."""
    return np.hstack([basis, _select_new_directions(body, basis, extras, size)])


def _select_new_directions(body: Body, basis: Array, extras: ArrayLike, size: int) -> Array:
    examples = checks.require_real_array(extras, "extras", (3 * body.vertex_count, None))
    MU = body.mass @ basis
    rest = examples
    for _ in range(2):
        rest = rest - basis @ (MU.T @ rest)
    found = compute_mass_pca(body, rest, size=size)
    found = found - basis @ (MU.T @ found)
    return orthonormalise(body, found)


def normalise_columns(body: Body, columns: Array, min_norm: float) -> Array:
    """Columns longer than `min_norm`, scaled to mass norm one."""
    lengths = np.array([compute_mass_norm(body, column) for column in columns.T])
    return np.asarray(columns[:, lengths > min_norm] / lengths[lengths > min_norm])


def compute_mode_shapes(body: Body, count: int) -> Array:
    """Lowest elastic modes (3n, count)."""
    return modes(body, count).shapes
