"""The space-time problem of eq. (4), Barbič 2009: soft keys against effort, as plain arrays.

E = ½ Σ_k (q_k - t_k)ᵀ H_k (q_k - t_k) + ½ Σ_n effort_n |w_n|².
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cajole.reduction.trajectory import Trajectory, adjoint

Array = NDArray[np.float64]
Index = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Problem:
    """system: as in reduction.kernels_motion; plan: (T, 5); start: predictor state of the first step.

    key (T,): row of H (K, r, r) and t (K, r) at each step, or -1; effort (T,).
    """

    system: tuple
    plan: Array
    start: tuple[Array, Array]
    key: Index
    H: Array
    t: Array
    effort: Array

    def cost(self, path: Trajectory) -> float:
        steps = np.flatnonzero(self.key >= 0)
        miss = path.Q[steps] - self.t[self.key[steps]]
        keys = 0.5 * np.einsum("ki,kij,kj->", miss, self.H[self.key[steps]], miss)
        return float(keys + 0.5 * (self.effort * (path.W**2).sum(axis=1)).sum())

    def key_gradient(self, path: Trajectory) -> Array:
        """∂E/∂q (T, r)."""
        Eq = np.zeros_like(path.Q)
        for n in np.flatnonzero(self.key >= 0):
            k = self.key[n]
            Eq[n] = self.H[k] @ (path.Q[n] - self.t[k])
        return Eq

    def gradient(self, path: Trajectory) -> tuple[Array, Array]:
        """dE/dW (T, r), exact for the discrete steps (eq. (11)-(12)), and its part s through the dynamics."""
        s, _ = adjoint(self.plan, path, self.key_gradient(path))
        return s + self.effort[:, None] * path.W, s
