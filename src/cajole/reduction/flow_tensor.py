"""What a fluid does in its modes: the advection tensor and the diffusion matrix, eq. (11)."""

from __future__ import annotations

import numpy as np

from cajole.arrays import Array
from cajole.flow import Flow
from cajole.flow import kernels as flow_kernels
from cajole.linalg import blas_threads
from cajole.progress import Progress, report
from cajole.reduction import kernels_flow as kernels


def advection(flow: Flow, basis: Array, progress: Progress | None = None) -> Array:
    """A (r, r, r): A[j] is the matrix of advection by mode j, -⟨u_i, ∇·(u_j ⊗ u_k)⟩, skew in (i, k).

    It is so to rounding because the modes have no divergence; what rounding leaves is taken away.
    """
    r = basis.shape[1]
    modes, fluxes, A = np.ascontiguousarray(basis.T), np.zeros((r, flow.count)), np.empty((r, r, r))
    for j in range(r):
        for k in range(r):
            kernels.convect(*flow.faces(modes[j]), *flow.faces(modes[k]), *flow.faces(fluxes[k]))
        # an inner product weighs cell², and fluxes are differences across one cell
        with blas_threads():
            A[j] = -flow.cell * (modes @ fluxes.T)
        report(progress, (j + 1) / r, "advection between modes")
    return 0.5 * (A - A.transpose(0, 2, 1))


def diffusion(flow: Flow, basis: Array) -> Array:
    """D (r, r) = ⟨u_i, Δ u_k⟩, symmetric, with free slip along the walls."""
    modes, second = np.ascontiguousarray(basis.T), np.empty((basis.shape[1], flow.count))
    for mode, out in zip(modes, second):
        flow_kernels.laplacian(*flow.faces(mode), *flow.faces(out))
    D = modes @ second.T
    return 0.5 * (D + D.T)


def packed(A: Array) -> Array:
    """A (r, r, r) as `kernels_flow.rates` takes it: the entries i > k, row after row, of each matrix (r, r(r-1)/2)."""
    i, k = np.tril_indices(A.shape[1], -1)
    return np.ascontiguousarray(A[:, i, k])
