"""Averages met again after contacts: smooth moves that stretch a shell as little as they can."""

from __future__ import annotations

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray

from cajole.body import BodyShell
from cajole.linalg import Factor

Array = NDArray[np.float64]


class Averages:
    """Moves by B⁻¹Cᵀ that put `rows` (m, n) @ x at their targets: the least ones as a step of h [s] weighs them.

    B = M + h² L, lumped masses and the membrane's stiffness in every direction (see `membrane_laplacian`). Masses alone
    would move each region as a block and tear the shell at their borders. Fixed vertices stay.
    """

    def __init__(self, rows: sp.csr_array, cloth: BodyShell, h: float):
        self._rows, self._spread = rows, np.zeros((cloth.count, rows.shape[0]))
        if not rows.shape[0]:
            return
        free = cloth.free
        B = sp.csr_array(sp.diags_array(cloth.vertex_masses) + h**2 * membrane_laplacian(cloth))
        self._spread[free] = Factor(B[free][:, free]).solve(rows.T.toarray()[free])
        self._gram = scipy.linalg.cho_factor(rows @ self._spread)

    def met(self, x: Array, target: Array) -> Array:
        """x (n, 3) moved so that rows @ x = target (m, 3)."""
        if not self._rows.shape[0]:
            return x
        return np.asarray(x + self._spread @ scipy.linalg.cho_solve(self._gram, target - self._rows @ x))


def membrane_laplacian(cloth: BodyShell) -> sp.csr_array:
    """(n, n) [N/m] Σ (λ + 2μ) A ∇N_i·∇N_j over the triangles at rest: no membrane, but as stiff, and however turned."""
    t, mesh, sheets = cloth.mesh.triangles, cloth.mesh, cloth.sheets
    opposite = mesh.vertices[np.roll(t, 1, axis=1)] - mesh.vertices[np.roll(t, -1, axis=1)]
    local = np.einsum("tia,tja,t->tij", opposite, opposite, (sheets.lam + 2.0 * sheets.mu) / (4.0 * mesh.areas))
    rows, columns = np.repeat(t, 3, axis=1).ravel(), np.tile(t, (1, 3)).ravel()
    return sp.csr_array(sp.coo_array((local.ravel(), (rows, columns)), shape=(cloth.count, cloth.count)))
