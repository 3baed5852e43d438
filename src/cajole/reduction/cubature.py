"""Cubature: a few weighted springs that pull like all of them (after An, Kim and James 2008).

Weights are not negative, so energy, force and stiffness stay those of one spring body: f = dW/dz and K = df/dz hold
exactly for the weighted sum, and its stiffness has no negative part that the springs do not have.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from cajole.arrays import Array, IndexArray
from cajole.errors import NotConverged
from cajole.linalg import blas_threads

if TYPE_CHECKING:
    from cajole.reduction.springs import ReducedSprings

Choice = tuple[IndexArray, Array]

# Springs among which to choose. Too few, and no weights above zero fit large bends: on a bridge of 32 524 springs, the
# best of 4000 leave 4 % on new poses, of 8000 1.6 %, of 16 000 0.9 %; their table takes 150 MB.
POOL = 16_000
# More candidates than this for each spring to be chosen no longer lower the error of few.
POOL_PER_SPRING = 25
# Springs of a draft, kept on the way to at least twice as many: on that bridge they leave 4 % in a quarter of the time.
DRAFT = 250
# States to fit and states to judge by.
TRAINING, HELD_OUT = 120, 40
# Newly added in a round, as a share of those at hand: fewer choose better, more choose faster.
GROWTH = 0.1
FEWEST_ADDED = 8
# Energy of disturbances as powers of ten of the keys' own: from vibrations hardly seen to a body thrown about.
DISTURBANCE = (-3.0, -0.3)
# Share of the largest stiffness below which a direction counts as one without stiffness.
SOFTEST = 1e-8
# Newton steps to an equilibrium that only serves as an example; one that needs more is not worth them.
MOST_NEWTON = 12
# Share of the load by which such an equilibrium may be missed.
EXAMPLE_ERROR = 1e-3
# Rounds without progress after which the pool has no more to give.
MOST_STILL = 10
# Of the springs asked for, those that are not worth rounds which add and drop a few at a time.
SPARE = 0.05
# Rows that nearly repeat others share their weight instead of taking opposite ones.
RIDGE = 1e-10


@dataclass(frozen=True)
class CubatureReport:
    """springs chosen out of `total`; error: relative force error √mean(|Δf|²/|f|²) over states that were not fitted,
    with |f|² = fᵀK(0)⁻¹f, so that soft directions count as much as stiff ones; fitted: over those that were."""

    springs: int
    total: int
    error: float
    fitted: float
    seconds: float

    def __repr__(self) -> str:
        return f"CubatureReport({self.springs} of {self.total} springs, force error {100 * self.error:.2g} %)"

    def __str__(self) -> str:
        return (
            f"cubature: {self.springs} of {self.total} springs, force error {100 * self.error:.2g} % on new poses "
            f"({100 * self.fitted:.2g} % on fitted ones), {self.seconds:.1f} s"
        )


def chosen_springs(
    model: ReducedSprings, states: Array, *, most: int, error: float, generator: np.random.Generator
) -> tuple[Choice, Choice | None, CubatureReport]:
    """Springs (m,) of `model` and their weights (m,): at most `most`, fewer once the fit is below `error`.

    states: (s, r) to fit; one in four is held out to judge by. Also fewer springs as a draft, where these are many.
    """
    begin = time.perf_counter()
    judged = np.arange(len(states)) % (1 + TRAINING // HELD_OUT) == 0
    pool, largest = model.springs, min(POOL, POOL_PER_SPRING * most)
    if len(pool) > largest:
        pool = np.sort(generator.choice(pool, largest, replace=False))
    scale = soft_metric(model)
    with blas_threads():
        A, b = _table(model, states[~judged], pool, scale)
        fits = list(growing_fits(A, b, most=most, error=error, generator=generator))
        places, weights = fits[-1]
        fitted = np.linalg.norm(weights @ A[places] - b) / np.linalg.norm(b)
        A, b = _table(model, states[judged], pool[places], scale)
        missed = np.linalg.norm(weights @ A - b) / np.linalg.norm(b)
    seconds = time.perf_counter() - begin
    report = CubatureReport(len(places), len(model.springs), float(missed), float(fitted), seconds)
    rough, shares = [fit for fit in fits if len(fit[0]) <= DRAFT][-1]
    draft = (pool[rough], shares) if len(places) >= 2 * DRAFT else None
    return (pool[places], weights), draft, report


def soft_metric(model: ReducedSprings) -> Array:
    """R (r, r) with RᵀR = K(0)⁻¹: measured with it, forces along soft and stiff directions count alike."""
    values, turn = _spectrum(model.stiffness(), _least(model))
    return (turn / np.sqrt(values)).T


def _least(model: ReducedSprings) -> float:
    """The least stiffness that counts: that of the softest direction at rest, unless it has none."""
    values = abs(np.linalg.eigvalsh(model.stiffness()))
    return float(max(values.min(), SOFTEST * values.max()))


def _spectrum(K: Array, least: float) -> tuple[Array, Array]:
    """Eigenvalues of K, none smaller than `least`, and eigenvectors."""
    values, turn = np.linalg.eigh(0.5 * (K + K.T))
    return np.maximum(abs(values), least), turn


def _table(
    model: ReducedSprings, states: Array, springs: IndexArray, scale: Array
) -> tuple[NDArray[np.float32], Array]:
    """A (m, s r): the force of each spring at each state, and b (s r,): that of all; every state scaled to |b| = 1.

    A is kept in single precision, far finer than the fit, and half the size.
    """
    pulls = np.empty((len(springs), len(states), 3), dtype=np.float32)
    b = np.empty((len(states), model.size))
    for k, state in enumerate(states):
        b[k] = scale @ model.project_force(model.body.force(model.lift(state)))
        size = np.linalg.norm(b[k])
        b[k] /= size
        pulls[:, k] = spring_pulls(model, state, springs) / size
    A = pulls @ (_differences(model, springs) @ scale.T).astype(np.float32)
    return A.reshape(len(springs), -1), b.ravel()


def _differences(model: ReducedSprings, springs: IndexArray) -> Array:
    """B (m, 3, r): how the basis moves one end of each spring against the other."""
    U = model.basis.reshape(model.body.count, 3, -1)
    i, j = model.body.edges[springs].T
    return U[i] - U[j]


def spring_pulls(model: ReducedSprings, state: Array, springs: IndexArray) -> Array:
    """k (l - rest) n (m, 3) [N] of each of `springs` at one state."""
    body = model.body
    i, j = body.edges[springs].T
    p = body.vertices + model.lift(state)
    x = p[i] - p[j]
    length = np.linalg.norm(x, axis=1)
    pull = body.spring_stiffness[springs] * (length - body.rest_lengths[springs])
    return (pull / np.where(length > 0, length, 1.0))[:, None] * x


def growing_fits(
    A: NDArray[np.floating], b: Array, *, most: int, error: float, generator: np.random.Generator
) -> Iterator[Choice]:
    """Rows of A (m, k) and weights >= 0 with Σ w_i A_i ≈ b (k,), ever more, until within `error` |b| or at `most`.

    Grown greedily: in each round the row that lies best along what is missing in each of several random groups joins,
    and rows whose weight would fall to zero leave.
    """
    norms = np.sqrt(np.einsum("ij,ij->i", A, A))
    norms[norms <= 1e-12 * norms.max(initial=0.0)] = np.inf
    active, gram = np.empty(0, dtype=np.int64), np.empty((0, 0))
    residual, size, still = b, float(np.linalg.norm(b)), 0
    enough = max(1, most - max(FEWEST_ADDED, int(SPARE * most)))
    while len(active) < enough and np.linalg.norm(residual) > error * size and still < MOST_STILL:
        wanted = min(max(FEWEST_ADDED, int(GROWTH * len(active))), most - len(active))
        new = _best_of_groups((A @ residual.astype(A.dtype)) / norms, active, wanted, generator)
        if len(new) == 0:
            break
        active = np.concatenate([active, new])
        rows = A[active].astype(np.float64)
        cross = rows[: -len(new)] @ rows[-len(new) :].T
        gram = np.block([[gram, cross], [cross.T, rows[-len(new) :] @ rows[-len(new) :].T]])
        kept, weights = _positive_solution(gram, rows @ b)
        active, gram = active[kept], gram[np.ix_(kept, kept)]
        yield active, weights
        before, residual = np.linalg.norm(residual), b - weights @ rows[kept]
        still = still + 1 if np.linalg.norm(residual) > 0.999 * before else 0
    if len(active) == 0:
        raise NotConverged("no spring lowers the error of the cubature: is there any force in these poses?")


def _best_of_groups(scores: Array, active: IndexArray, count: int, generator: np.random.Generator) -> IndexArray:
    """The row of highest positive score in each of `count` random groups, those at hand left out."""
    order = generator.permutation(np.setdiff1d(np.arange(len(scores)), active))
    best = [group[np.argmax(scores[group])] for group in np.array_split(order, count) if len(group)]
    return np.array([place for place in best if scores[place] > 0], dtype=np.int64)


def _positive_solution(gram: Array, right: Array) -> tuple[IndexArray, Array]:
    """Least squares by normal equations over the rows whose weights stay positive; the others go."""
    kept = np.arange(len(right))
    while True:
        G = gram[np.ix_(kept, kept)]
        G[np.diag_indices_from(G)] *= 1.0 + RIDGE
        weights = scipy.linalg.solve(G, right[kept], assume_a="pos", check_finite=False)
        if (weights > 0).all():
            return kept, weights
        kept = kept[weights > 0]


def training_states(model: ReducedSprings, poses: Array, generator: np.random.Generator) -> Array:
    """States (s, r) near the ways between `poses` (k, r): on the curves of equilibrium, disturbed.

    Disturbances have the same energy in every direction of the stiffness there, so that stiff ones are small.
    """
    energy = max((model.energy(pose) for pose in poses), default=0.0) or _unit_energy(model)
    least = _least(model)
    ways = _ways(model, np.vstack([np.zeros(model.size), poses]), least)
    spectra = [_spectrum(model.stiffness(state), least) for state in ways]
    out = []
    for place in generator.integers(len(ways), size=TRAINING + HELD_OUT):
        values, turn = spectra[place]
        share = 10.0 ** generator.uniform(*DISTURBANCE)
        size = np.sqrt(2.0 * share * energy / (model.size * values))
        out.append(ways[place] + turn @ (size * generator.standard_normal(model.size)))
    return np.array(out)


def _unit_energy(model: ReducedSprings) -> float:
    """Of the softest direction grown to a tenth of the body's size."""
    return 0.5 * _least(model) * model.body.total_mass * (0.1 * model.body.size) ** 2


def _ways(model: ReducedSprings, poses: Array, least: float, count: int = 5) -> Array:
    """Equilibria under loads between those of consecutive poses, the poses included."""
    out = [poses[0]]
    for start, end in pairwise(poses):
        f0, f1 = model.force(start), model.force(end)
        state = start
        for t in np.linspace(0, 1, count + 1)[1:-1]:
            guess = start + t * (end - start)
            state = _equilibrium(model, state, (1 - t) * f0 + t * f1, guess, least)
            out.append(state)
        out.append(end)
    return np.array(out)


def _equilibrium(model: ReducedSprings, state: Array, load: Array, otherwise: Array, least: float) -> Array:
    """z with f(z) = load by Newton from `state`; `otherwise` where that does not come close in a few steps."""
    for _ in range(MOST_NEWTON):
        f, K, _ = model.motion(state, np.zeros(model.size))
        if np.linalg.norm(f - load) <= EXAMPLE_ERROR * np.linalg.norm(load):
            return state
        values, turn = _spectrum(K, least)
        state = state - turn @ ((turn.T @ (f - load)) / values)
    return otherwise
