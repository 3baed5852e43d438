"""The step of the least-force search: least squares to a linear goal, every force within its limit.

min ½σ|y - c|² + ½κ|J y - b|²,  |y_i| ≤ ρ. Its dual has three unknowns a goal, λ, with y(λ) = Π(c + Jᵀλ/σ), Π cutting
each vector to its limit. κ is finite, so that a goal that the limit cannot reach gives the nearest approach instead of
no answer. Solved by semismooth Newton steps on the concave dual.
"""

from __future__ import annotations

import numpy as np

from cajole.arrays import Array
from cajole.direct.rerouting.spread import limited

MOST_ITERATIONS = 60
# the equation's residual, as a share of what was there to be done
TOLERANCE = 1e-9


def nearest(J: Array, b: Array, c: Array, sigma: float, kappa: float, limit: float | None) -> tuple[Array, Array]:
    """y (m, 3) and λ (k,) for J (k, 3m), b (k,), c (m, 3)."""
    lam: Array
    if limit is None:
        lam = _solved(J @ J.T / sigma + np.eye(len(b)) / kappa, b - J @ c.ravel())
        return c + (J.T @ lam).reshape(-1, 3) / sigma, lam
    lam = np.zeros(len(b))
    y, left, value = _dual(J, b, c, sigma, kappa, limit, lam)
    enough = TOLERANCE * max(float(np.linalg.norm(left)), np.finfo(float).tiny)
    for _ in range(MOST_ITERATIONS):
        if float(np.linalg.norm(left)) <= enough:
            break
        step = _solved(_curvature(J, c, sigma, kappa, limit, lam), left)
        slope, length = float(left @ step), 1.0
        while length > 1e-10:
            trial = lam + length * step
            y_new, left_new, new = _dual(J, b, c, sigma, kappa, limit, trial)
            if new >= value + 1e-4 * length * slope:
                break
            length *= 0.5
        else:
            break
        lam, y, left, value = trial, y_new, left_new, new
    return y, lam


def _solved(A: Array, b: Array) -> Array:
    return np.asarray(np.linalg.solve(A, b), dtype=np.float64)


def _dual(
    J: Array, b: Array, c: Array, sigma: float, kappa: float, limit: float, lam: Array
) -> tuple[Array, Array, float]:
    """y(λ), the gradient b - J y - λ/κ of the dual, and the dual itself."""
    y = limited(c + (J.T @ lam).reshape(-1, 3) / sigma, limit)
    left = b - J @ y.ravel() - lam / kappa
    value = (
        0.5 * sigma * float(((y - c) ** 2).sum()) + float(lam @ (b - J @ y.ravel())) - 0.5 * float(lam @ lam) / kappa
    )
    return y, left, value


def _curvature(J: Array, c: Array, sigma: float, kappa: float, limit: float, lam: Array) -> Array:
    """Σ J_i D_i J_iᵀ/σ + I/κ; D_i = I within the limit and (ρ/|z|)(I - zzᵀ/|z|²) beyond."""
    z = c + (J.T @ lam).reshape(-1, 3) / sigma
    size = np.linalg.norm(z, axis=1)
    beyond = size > limit
    share = np.where(beyond, limit / np.maximum(size, np.finfo(float).tiny), 1.0)
    blocks = J.reshape(len(J), -1, 3)
    scaled = blocks * share[:, None]
    unit = z[beyond] / size[beyond, None]
    along = np.einsum("kia,ia->ki", blocks[:, beyond], unit)
    H = scaled.reshape(len(J), -1) @ J.T - (along * share[beyond]) @ along.T
    return np.asarray(H / sigma + np.eye(len(J)) / kappa)
