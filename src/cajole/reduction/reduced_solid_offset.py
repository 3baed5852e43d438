"""A reduced solid around a shape that is not at rest: u = u₀ + U z.

The polynomial of the columns (U, u₀) together, with the last coordinate held at one, is again a cubic in z; only a
constant force f(u₀) is new. So vertices can be held anywhere: where u₀ puts them, with no column of U moving them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from cajole import checks
from cajole.arrays import Array
from cajole.body import BodySolid
from cajole.dynamics import modes
from cajole.dynamics.restricted_system import RestrictedSystem
from cajole.reduction import kernels_polynomial
from cajole.reduction.bases import orthonormalise, require_zero_at_fixed_dofs
from cajole.reduction.polynomial import StVKPolynomial, build_polynomial, pack_quartic, unpack_quartic
from cajole.reduction.reduced_solid import ReducedSolid

# How a pose follows its moved feet: as a body shaken at this many times its first frequency, that is, only near them.
LOCALITY_FREQUENCY_RATIO = 10.0


class ReducedSolidOffset(ReducedSolid):
    """St. Venant-Kirchhoff in u = u₀ + U z; offset: u₀ (n, 3); constant: Uᵀf(u₀) (r,)."""

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
        return self.offset + super().lift(state)

    def energy(self, state: ArrayLike) -> float:
        """W(u₀ + Uz) [J]."""
        return self._offset_energy + float(self.constant_force @ np.asarray(state)) + super().energy(state)

    def force(self, state: ArrayLike) -> Array:
        """Uᵀ f(u₀ + Uz) (r,)."""
        return self.constant_force + super().force(state)


def reduce_with_offset(body: BodySolid, offset: ArrayLike, basis: ArrayLike) -> ReducedSolidOffset:
    """`body` in u = u₀ + U z with u₀ = offset (n, 3) and U spanning `basis` (3n, r), which leaves fixed vertices alone.

    Raises InputError for dependent columns, or columns that move fixed vertices.
    """
    checks.require_instance(body, BodySolid, "body")
    u0 = body.check_vertex_vectors(offset, "offset")
    columns = checks.require_real_array(basis, "basis", (3 * body.vertex_count, None))
    require_zero_at_fixed_dofs(body, columns)
    U = orthonormalise(body, columns)
    tables, constant = _fix_last_coordinate(build_polynomial(body, np.column_stack([U, u0.ravel()])), U.shape[1])
    return ReducedSolidOffset(body, U, tables, u0, constant)


def _fix_last_coordinate(joint: StVKPolynomial, r: int) -> tuple[StVKPolynomial, Array]:
    """The tables of the first r coordinates with the last one held at one, and the constant force."""
    pairs = (r + 1) * (r + 2) // 2
    work = np.empty((3, pairs))
    at = np.zeros(r + 1)
    at[r] = 1.0
    f, K, H = np.empty(r + 1), np.empty((r + 1, r + 1)), np.empty((r + 1, r + 1))
    kernels_polynomial.evaluate_polynomial(at, joint.K0, joint.C1, joint.C2, *work, f, K)
    i, j = np.triu_indices(r)
    C1 = np.empty((len(i), r))
    for k, direction in enumerate(np.eye(r + 1)[:r]):
        kernels_polynomial.compute_stiffness_derivative(at, direction, joint.C1, joint.C2, *work, H)
        C1[:, k] = H[i, j]
    inner = np.flatnonzero(np.triu_indices(r + 1)[1] < r)
    C2 = unpack_quartic(joint.C2, r + 1)[np.ix_(inner, inner)]
    return StVKPolynomial(K[:r, :r].copy(), C1, pack_quartic(C2, r)), f[:r].copy()


def move_fixed_vertices(body: BodySolid, displacement: Array, targets: Array) -> Array:
    """`displacement` (n, 3) with the fixed vertices moved to where `held` (n, 3) has them; what is near gives way.

    The change δ minimises ½ δᵀ(K(u) + κM)δ. Without κ a foot that turned a little would turn the whole body with it.
    """
    d = np.zeros_like(displacement)
    d[body.fixed] = targets[body.fixed] - displacement[body.fixed]
    if not d.any():
        return displacement
    kappa = LOCALITY_FREQUENCY_RATIO**2 * float(modes(body, 1).eigenvalues[0])
    system = RestrictedSystem(body, body.free_dofs)
    body.assemble_system(displacement, np.zeros_like(displacement), kappa, 0.0, system.values)
    system.factorise_as("symmetric")
    pull = body.stiffness(displacement) @ d.ravel() + kappa * (body.mass @ d.ravel())
    return displacement + d + system.solve(-pull.reshape(-1, 3))
