"""The cost J of a motion (see `keyframe`), its exact gradient, and what it must obey, in reduced coordinates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cajole.arrays import Array, IndexArray
from cajole.reduction.trajectory import Trajectory, adjoint


@dataclass(frozen=True, eq=False)
class Gradient:
    """Derivatives of the Lagrangian: controls (T, r), their part `s` through the dynamics, and start (2r,)."""

    controls: Array
    s: Array
    start: Array


@dataclass(frozen=True, eq=False)
class Problem:
    """system: as in reduction.kernels_motion; plan: (T, 5); start: predictor state of the first step.

    key (T,): row of H (K, r, r) and t (K, r) at each step, or -1; effort (T,): what |w|² of each step costs; bias (r,):
    the force of an offset, which trajectories leave out, so that controls are w = W + bias.
    rows (M, r), row_step (M,), wanted (M,): what must hold exactly, rows·q = wanted.
    ending: "open" from `start`; "free" from any state; "loop" ends in the state it began with.
    calm (2r, 2r): what a free start costs, ½ x₀ᵀ calm x₀, zero for other endings;
    unit (2r,): squared inverse units of a state, key weight per position² and velocity²; reach: the body size in z.
    """

    system: tuple
    plan: Array
    start: tuple[Array, Array]
    key: IndexArray
    H: Array
    t: Array
    effort: Array
    bias: Array
    rows: Array
    row_step: IndexArray
    wanted: Array
    ending: str
    calm: Array
    unit: Array
    reach: float

    @property
    def plain(self) -> bool:
        """Whether only the controls are unknown and nothing must hold exactly."""
        return self.ending == "open" and len(self.rows) == 0

    @property
    def multipliers(self) -> int:
        """How many scalar constraints there are, the seam's last."""
        return len(self.rows) + (len(self.unit) if self.ending == "loop" else 0)

    def cost(self, path: Trajectory) -> float:
        steps = np.flatnonzero(self.key >= 0)
        miss = path.Q[steps] - self.t[self.key[steps]]
        keys = 0.5 * np.einsum("ki,kij,kj->", miss, self.H[self.key[steps]], miss)
        start = np.concatenate([path.P[0], path.V[0]])
        keys += 0.5 * start @ self.calm @ start
        return float(keys + 0.5 * (self.effort * ((path.W + self.bias) ** 2).sum(axis=1)).sum())

    def constraints(self, path: Trajectory) -> Array:
        """c (M,): by how much the rows, and then the seam x_T - x_0, miss."""
        held = np.einsum("mr,mr->m", self.rows, path.Q[self.row_step]) - self.wanted
        return np.concatenate([held, self.seam(path)])

    def seam(self, path: Trajectory) -> Array:
        """x_T - x_0 (2r,) of a loop, else nothing."""
        if self.ending != "loop":
            return np.empty(0)
        return np.concatenate([path.P[-1] - path.P[0], path.V[-1] - path.V[0]])

    def broken(self, path: Trajectory) -> float:
        """The largest violation of what must hold, in body sizes (and body sizes times √(unit ratio) a second)."""
        seam = self.seam(path) * np.sqrt(self.unit / self.unit[0])[: 2 * len(self.bias) * (self.ending == "loop")]
        rows = self.constraints(path)[: len(self.rows)]
        return float(np.abs(np.concatenate([rows, seam])).max(initial=0.0) / self.reach)

    def merit(self, path: Trajectory, nu: Array) -> float:
        """Cost + ν·c + ½ cᵀ unit c over the seam: falls along a Newton step with its multipliers ν."""
        seam = self.seam(path)
        extra = 0.5 * float(seam @ (self.unit[: len(seam)] * seam))
        return self.cost(path) + float(nu @ self.constraints(path)) + extra

    def key_gradient(self, path: Trajectory) -> Array:
        """∂E/∂q (T, r)."""
        Eq = np.zeros_like(path.Q)
        for n in np.flatnonzero(self.key >= 0):
            k = self.key[n]
            Eq[n] = self.H[k] @ (path.Q[n] - self.t[k])
        return Eq

    def gradient(self, path: Trajectory, nu: Array | None = None) -> Gradient:
        """Of cost + ν·c, exact for the discrete steps (eq. (11)-(12))."""
        Eq, end, count = self.key_gradient(path), None, len(self.rows)
        if nu is not None:
            np.add.at(Eq, self.row_step, nu[:count, None] * self.rows)
            end = nu[count:] if self.ending == "loop" else None
        s, first = adjoint(self.plan, path, Eq, end)
        first = first if end is None else first - end
        first = first + self.calm @ np.concatenate([path.P[0], path.V[0]])
        return Gradient(s + self.effort[:, None] * (path.W + self.bias), s, first)

    def norm(self, gradient: Gradient) -> float:
        """Size of a gradient, each part in the unit of what it differentiates by."""
        total = (gradient.controls**2 / self.effort[:, None]).sum()
        if self.ending != "open":
            total += (gradient.start**2 / self.unit).sum()
        return float(np.sqrt(total))
