"""Averages met again after contacts: smooth moves that stretch a shell as little as they can."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from cajole.arrays import Array
from cajole.body import BodyShell
from cajole.direct.enriching.collisions import kernels_averages as kernels
from cajole.linalg import Factor

# shares of a region's own move below this are left out: what one region asks for ends a few regions away
SMALL = 1e-2
# what a mean is off by rounding, in body sizes
ROUNDED = 1e-14


class Averages:
    """Moves that put `rows` C (m, n) @ x at their targets: nearly the least ones as a step of h [s] weighs them.

    The least are P = B⁻¹Cᵀ(C B⁻¹Cᵀ)⁻¹ of what is missed, B = M + h² L, lumped masses and the membrane's stiffness in
    every direction (see `membrane_laplacian`). Masses alone would move each region as a block and tear the shell at
    their borders. P fades away from each region, so that its small shares are left out, and what is left is made to
    meet the averages again. Fixed vertices stay.
    """

    def __init__(self, rows: sp.csr_array, cloth: BodyShell, h: float):
        self._rows, free = rows, cloth.free
        if not rows.shape[0]:
            return
        B = sp.csr_array(sp.diags_array(cloth.vertex_masses) + h**2 * membrane_laplacian(cloth))
        spread = np.zeros((cloth.count, rows.shape[0]))
        spread[free] = Factor(B[free][:, free]).solve(rows.T.toarray()[free])
        P = np.linalg.solve(rows @ spread, spread.T).T
        P[np.abs(P) < SMALL * np.abs(P).max(axis=0)] = 0.0
        least = ROUNDED * cloth.size * np.asarray(rows.sum(axis=1))
        asked = np.ascontiguousarray(np.linalg.inv(rows @ P).T)
        self._parts = (*_arrays(rows), least, asked, *_arrays(sp.csc_array(P)), np.empty((3, rows.shape[0])))

    def meet(self, x: Array, target: Array) -> None:
        """Move the shell in x (n, 3), its first vertices, in place, so that rows @ x = target (m, 3)."""
        if self._rows.shape[0]:
            kernels.meet(x, np.ascontiguousarray(target), *self._parts)


def _arrays(matrix: sp.csr_array | sp.csc_array) -> tuple[NDArray[np.int32], NDArray[np.int32], Array]:
    return matrix.indptr.astype(np.int32), matrix.indices.astype(np.int32), matrix.data


def membrane_laplacian(cloth: BodyShell) -> sp.csr_array:
    """(n, n) [N/m] Σ (λ + 2μ) A ∇N_i·∇N_j over the triangles at rest: no membrane, but as stiff, and however turned."""
    t, mesh, sheets = cloth.mesh.triangles, cloth.mesh, cloth.sheets
    opposite = mesh.vertices[np.roll(t, 1, axis=1)] - mesh.vertices[np.roll(t, -1, axis=1)]
    local = np.einsum("tia,tja,t->tij", opposite, opposite, (sheets.lam + 2.0 * sheets.mu) / (4.0 * mesh.areas))
    rows, columns = np.repeat(t, 3, axis=1).ravel(), np.tile(t, (1, 3)).ravel()
    return sp.csr_array(sp.coo_array((local.ravel(), (rows, columns)), shape=(cloth.count, cloth.count)))
