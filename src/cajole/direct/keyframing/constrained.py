"""What must hold exactly: hard keys and the seam of a loop, by multiplier columns in the same Riccati sweep.

A step minimises the quadratic model of the cost under linearised constraints c + J d = 0. Its multipliers ν and the
change dx₀ of a free start come from one small dense system, whose blocks the backward passes leave behind.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg

from cajole.arrays import Array
from cajole.direct import kernels
from cajole.direct.keyframing.problem import Problem
from cajole.reduction.trajectory import Trajectory

# The least curvature of a free start, in units of a state: some states are seen by no key.
UNSEEN = 1e-8


@dataclass
class Sweep:
    """What one backward pass leaves behind."""

    gains: Array
    moves: Array
    inverse: Array
    P0: Array
    p0: Array
    slope: float


@dataclass(frozen=True)
class Step:
    """A direction: feedback gains and moves, the change of the start (2r,), multipliers, and the slope of the merit."""

    gains: Array
    moves: Array
    start: Array
    nu: Array
    slope: float


def constrained_step(problem: Problem, path: Trajectory, sweep: Sweep, mu: float) -> Step | None:
    """The Newton step that meets the linearised constraints; None when it is not a descent direction."""
    kc, S11, S10, G = _columns(problem, sweep)
    c = problem.constraints(path)
    solved = _small_system(problem, sweep, S11, S10, G, c, path, mu)
    if solved is None:
        return None
    start, nu = solved
    moves = sweep.moves + kc @ nu
    dW, end = linear_motion(problem.plan, path, sweep.gains, moves, start)
    seam = problem.seam(path)
    if len(seam):
        # the sweep carried the value ½ dx_Tᵀ unit dx_T, whose slope is no part of the multiplier of the seam
        nu[len(problem.rows) :] += problem.unit * end
    gradient = problem.gradient(path, nu)
    slope = float((gradient.controls * dW).sum() + gradient.start @ start - seam @ (problem.unit[: len(seam)] * seam))
    return Step(sweep.gains, moves, start, nu, slope) if slope < 0 or np.abs(slope) < 1e-300 else None


def _columns(problem: Problem, sweep: Sweep) -> tuple[Array, Array, Array, Array]:
    """kc (T, r, M), S11 (M, M) = -J H⁻¹ Jᵀ, S10 (M,) and G (M, 2r) of all constraints."""
    (T, r), M, held = sweep.moves.shape, problem.multipliers, len(problem.rows)
    rows, step, start = np.zeros((M, r)), np.full(M, -1), np.zeros((2 * r, M))
    rows[:held], step[:held] = problem.rows, problem.row_step
    if held < M:
        start[:, held:] = np.eye(2 * r)
    kc, S11, S10, G = np.empty((T, r, M)), np.empty((M, M)), np.empty(M), np.empty((M, 2 * r))
    kernels.columns(problem.plan, sweep.gains, sweep.moves, sweep.inverse, rows, step, start, kc, S11, S10, G)
    if held < M:
        G[held:] -= np.eye(2 * r)
    return kc, S11, S10, G


def _small_system(
    problem: Problem, sweep: Sweep, S11: Array, S10: Array, G: Array, c: Array, path: Trajectory, mu: float
) -> tuple[Array, Array] | None:
    """(dx₀, ν); None when a matrix that must be definite is not."""
    x0, seam = np.concatenate([path.P[0], path.V[0]]), problem.seam(path)
    if problem.ending == "open":
        nu = _definite_solve(-S11, S10 + c)
        return None if nu is None else (np.zeros(len(problem.unit)), nu)
    P0, p0 = sweep.P0 + problem.calm, sweep.p0 + problem.calm @ x0
    if problem.ending == "free":
        P0 = _positive(P0, problem.unit)
    P0 += mu * np.diag(problem.unit)
    if problem.ending == "free" and len(c) == 0:
        start = _definite_solve(P0, -p0)
        return None if start is None else (start, np.empty(0))
    if len(seam):
        P0, p0 = P0 - np.diag(problem.unit), p0 + problem.unit * seam
    solved = _symmetric_solve(np.block([[P0, G.T], [G, S11]]), -np.concatenate([p0, S10 + c]))
    return None if solved is None else (solved[: len(p0)], solved[len(p0) :])


def _positive(P0: Array, unit: Array) -> Array:
    """P0 with every curvature made positive, measured in the units of a state: away from a saddle, not towards it."""
    if not np.isfinite(P0).all():
        return P0
    root = np.sqrt(unit)
    values, vectors = np.linalg.eigh(P0 / np.outer(root, root))
    return (vectors * np.maximum(np.abs(values), UNSEEN)) @ vectors.T * np.outer(root, root)


def _definite_solve(A: Array, b: Array) -> Array | None:
    diagonal = np.diag(A)
    if not (np.isfinite(A).all() and (diagonal > 0).all()):
        return None
    scale = 1.0 / np.sqrt(diagonal)
    try:
        factor = scipy.linalg.cho_factor(A * np.outer(scale, scale))
    except np.linalg.LinAlgError:
        return None
    return scale * scipy.linalg.cho_solve(factor, scale * b)


def _symmetric_solve(A: Array, b: Array) -> Array | None:
    largest = np.abs(A).max(axis=1)
    if not (np.isfinite(A).all() and (largest > 0).all()):
        return None
    scale = 1.0 / np.sqrt(largest)
    try:
        x = scale * np.linalg.solve(A * np.outer(scale, scale), scale * b)
    except np.linalg.LinAlgError:
        return None
    return x if np.isfinite(x).all() else None


def linear_motion(plan: Array, path: Trajectory, gains: Array, moves: Array, start: Array) -> tuple[Array, Array]:
    """dW (T, r) and dx_T (2r,) of the linearised closed loop from dx₀ = start."""
    r = path.W.shape[1]
    dP, dV = start[:r].copy(), start[r:].copy()
    dW = np.empty_like(path.W)
    for n, (bh, gh, hp, c1, c2) in enumerate(plan):
        da = moves[n] + gains[n] @ np.concatenate([dP, dV])
        dW[n] = da + path.Gq[n] @ (dP + bh * da) + path.Gv[n] @ (dV + gh * da)
        dP, dV = dP + hp * dV + c1 * da, dV + c2 * da
    return dW, np.concatenate([dP, dV])
