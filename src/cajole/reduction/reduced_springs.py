"""Springs in a basis: f(z) = Uᵀ f(Uz), summed over all springs, or over a few weighted ones (`cubature`)."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike, NDArray

from cajole import checks
from cajole.arrays import Array, IndexArray
from cajole.body import BodySprings
from cajole.errors import InputError, NotConverged
from cajole.linalg import limit_blas_threads
from cajole.reduction import kernels_springs as kernels
from cajole.reduction.reduced_model import ReducedModel

WeightedSprings = tuple[IndexArray, Array]


@dataclass(frozen=True)
class CubatureOptions:
    """Limits and tolerances of the choice of springs."""

    # Springs among which to choose. Too few, and no positive weights fit large bends: on a bridge of 32 524 springs,
    # the best of 4000 leave 4 % on new poses, of 8000 1.6 %, of 16 000 0.9 %; their table takes 150 MB.
    max_candidates: int = 16_000
    # more candidates than this per chosen spring no longer lower the error of few springs
    candidates_per_spring: int = 25
    # springs of a draft, stored if the result has at least twice as many: on that bridge they leave 4 % in a quarter of
    # the time
    coarse_springs: int = 250
    # states that are fitted, and states that are held out to measure the error
    training_states: int = 120
    validation_states: int = 40
    # added in a round, as a share of the present springs, and at least: fewer choose better, more choose faster
    growth_share: float = 0.1
    min_added: int = 8
    # energy of disturbances of training states as powers of ten of the keys' own: from small vibrations to large bends
    perturbation_exponents: tuple[float, float] = (-3.0, -0.3)
    # share of the largest stiffness below which a direction counts as one without stiffness
    min_stiffness_share: float = 1e-8
    # Newton steps to an equilibrium that serves as a training state, and the share of the load that it may miss
    max_newton_iterations: int = 12
    equilibrium_tolerance: float = 1e-3
    # rounds without progress after which the candidates are exhausted
    max_stalled_rounds: int = 10
    # the last springs, as a share of those asked for, are not worth rounds that add and drop a few at a time
    early_stop_share: float = 0.05
    # rows that nearly repeat others share their weight instead of taking opposite ones
    ridge_regularisation: float = 1e-10
    # of cubature=True: the force error to reach, and the maximal number of springs
    force_error: float = 0.01
    max_springs: int = 1000


OPTIONS = CubatureOptions()


@dataclass(frozen=True)
class CubatureReport:
    """springs chosen out of `total`; error: relative force error √mean(|Δf|²/|f|²) over states that were not fitted,
    with |f|² = fᵀK(0)⁻¹f, so that soft directions count as much as stiff ones; fitted: over those that were."""

    selected_springs: int
    spring_count: int
    validation_error: float
    training_error: float
    seconds: float

    def __repr__(self) -> str:
        return (
            f"CubatureReport({self.selected_springs} of {self.spring_count} springs, force error "
            f"{100 * self.validation_error:.2g} %)"
        )

    def __str__(self) -> str:
        return (
            f"cubature: {self.selected_springs} of {self.spring_count} springs, force error "
            f"{100 * self.validation_error:.2g} % on new poses "
            f"({100 * self.training_error:.2g} % on fitted ones), {self.seconds:.1f} s"
        )


def select_springs(
    model: ReducedSprings, states: Array, *, max_springs: int, tolerance: float, generator: np.random.Generator
) -> tuple[WeightedSprings, WeightedSprings | None, CubatureReport]:
    """Springs (m,) of `model` and their weights (m,): at most `max_springs`, fewer once the fit is below `tolerance`.

    states: (s, r), of which one in four is held out to measure the error. Returns also a draft of fewer springs, if the
    result has many, and the report.
    """
    begin = time.perf_counter()
    judged = np.arange(len(states)) % (1 + OPTIONS.training_states // OPTIONS.validation_states) == 0
    pool, largest = model.springs, min(OPTIONS.max_candidates, OPTIONS.candidates_per_spring * max_springs)
    if len(pool) > largest:
        pool = np.sort(generator.choice(pool, largest, replace=False))
    # R (r, r) with RᵀR = K(0)⁻¹: measured with it, forces along soft and stiff directions count alike
    values, turn = _compute_clamped_spectrum(model.stiffness(), _find_min_stiffness(model))
    scale = (turn / np.sqrt(values)).T
    with limit_blas_threads():
        A, b = _tabulate_spring_forces(model, states[~judged], pool, scale)
        fits = list(fit_nonnegative_weights(A, b, max_rows=max_springs, tolerance=tolerance, generator=generator))
        places, weights = fits[-1]
        fitted = np.linalg.norm(weights @ A[places] - b) / np.linalg.norm(b)
        A, b = _tabulate_spring_forces(model, states[judged], pool[places], scale)
        missed = np.linalg.norm(weights @ A - b) / np.linalg.norm(b)
    seconds = time.perf_counter() - begin
    report = CubatureReport(len(places), len(model.springs), float(missed), float(fitted), seconds)
    rough, shares = [fit for fit in fits if len(fit[0]) <= OPTIONS.coarse_springs][-1]
    draft = (pool[rough], shares) if len(places) >= 2 * OPTIONS.coarse_springs else None
    return (pool[places], weights), draft, report


def _find_min_stiffness(model: ReducedSprings) -> float:
    """Stiffness of the softest direction at rest, bounded below by a share of the largest."""
    values = abs(np.linalg.eigvalsh(model.stiffness()))
    return float(max(values.min(), OPTIONS.min_stiffness_share * values.max()))


def _compute_clamped_spectrum(K: Array, min_stiffness: float) -> tuple[Array, Array]:
    """Absolute eigenvalues of K, none smaller than `min_stiffness`, and eigenvectors."""
    values, turn = np.linalg.eigh(0.5 * (K + K.T))
    return np.maximum(abs(values), min_stiffness), turn


def _tabulate_spring_forces(
    model: ReducedSprings, states: Array, springs: IndexArray, metric: Array
) -> tuple[NDArray[np.float32], Array]:
    """A (m, s r): the force of each spring at each state, and b (s r,): that of all; every state scaled to |b| = 1.

    A is kept in single precision, far finer than the fit, and half the size.
    """
    pulls = np.empty((len(springs), len(states), 3), dtype=np.float32)
    b = np.empty((len(states), model.size))
    for k, state in enumerate(states):
        b[k] = metric @ model.project_force(model.body.force(model.lift(state)))
        size = np.linalg.norm(b[k])
        b[k] /= size
        pulls[:, k] = compute_spring_forces(model, state, springs) / size
    # the basis moves one end of each spring against the other by U_i - U_j (m, 3, r)
    U, (i, j) = model.basis.reshape(model.body.vertex_count, 3, -1), model.body.edges[springs].T
    A = pulls @ ((U[i] - U[j]) @ metric.T).astype(np.float32)
    return A.reshape(len(springs), -1), b.ravel()


def compute_spring_forces(model: ReducedSprings, state: Array, springs: IndexArray) -> Array:
    """k (l - rest) n (m, 3) [N] of each of `springs` at one state."""
    body = model.body
    i, j = body.edges[springs].T
    p = body.vertices + model.lift(state)
    x = p[i] - p[j]
    length = np.linalg.norm(x, axis=1)
    pull = body.spring_stiffness[springs] * (length - body.rest_lengths[springs])
    return np.asarray((pull / np.where(length > 0, length, 1.0))[:, None] * x)


def fit_nonnegative_weights(
    A: NDArray[np.floating], b: Array, *, max_rows: int, tolerance: float, generator: np.random.Generator
) -> Iterator[WeightedSprings]:
    """Rows of A (m, k) and weights >= 0 with Σ w_i A_i ≈ b (k,), until within `tolerance` |b| or at `max_rows`.

    Greedy: each round adds the row of several random groups that is best aligned with the residual, and drops rows
    whose weight would become zero. Yields the rows and weights of every round.
    """
    norms = np.sqrt(np.einsum("ij,ij->i", A, A))
    norms[norms <= 1e-12 * norms.max(initial=0.0)] = np.inf
    active, gram = np.empty(0, dtype=np.int64), np.empty((0, 0))
    residual, size, still = b, float(np.linalg.norm(b)), 0
    enough = max(1, max_rows - max(OPTIONS.min_added, int(OPTIONS.early_stop_share * max_rows)))
    while len(active) < enough and np.linalg.norm(residual) > tolerance * size and still < OPTIONS.max_stalled_rounds:
        wanted = min(max(OPTIONS.min_added, int(OPTIONS.growth_share * len(active))), max_rows - len(active))
        # the row of highest positive score in each of several random groups of inactive rows
        scores = (A @ residual.astype(A.dtype)) / norms
        order = generator.permutation(np.setdiff1d(np.arange(len(scores)), active))
        best = [group[np.argmax(scores[group])] for group in np.array_split(order, wanted) if len(group)]
        new = np.array([place for place in best if scores[place] > 0], dtype=np.int64)
        if len(new) == 0:
            break
        active = np.concatenate([active, new])
        rows = A[active].astype(np.float64)
        cross = rows[: -len(new)] @ rows[-len(new) :].T
        gram = np.block([[gram, cross], [cross.T, rows[-len(new) :] @ rows[-len(new) :].T]])
        kept, weights = _solve_positive(gram, rows @ b)
        active, gram = active[kept], gram[np.ix_(kept, kept)]
        yield active, weights
        before, residual = np.linalg.norm(residual), b - weights @ rows[kept]
        still = still + 1 if np.linalg.norm(residual) > 0.999 * before else 0
    if len(active) == 0:
        raise NotConverged("no spring lowers the error of the cubature: is there any force in these poses?")


def _solve_positive(gram: Array, rhs: Array) -> tuple[IndexArray, Array]:
    """Least squares by normal equations over the rows whose weights stay positive; the others are dropped."""
    kept = np.arange(len(rhs))
    while True:
        G = gram[np.ix_(kept, kept)]
        G[np.diag_indices_from(G)] *= 1.0 + OPTIONS.ridge_regularisation
        weights = scipy.linalg.solve(G, rhs[kept], assume_a="pos", check_finite=False)
        if (weights > 0).all():
            return kept, weights
        kept = kept[weights > 0]


def sample_training_states(model: ReducedSprings, poses: Array, generator: np.random.Generator) -> Array:
    """States (s, r) near the paths between `poses` (k, r): equilibria, disturbed.

    Disturbances have the same energy in every direction of the stiffness there, so that stiff ones are small.
    """
    least = _find_min_stiffness(model)
    # without poses: the energy of the softest direction at a tenth of the body's size
    reference_energy = 0.5 * least * model.body.total_mass * (0.1 * model.body.size) ** 2
    energy = max((model.energy(pose) for pose in poses), default=0.0) or reference_energy
    ways = _trace_equilibria(model, np.vstack([np.zeros(model.size), poses]), least)
    spectra = [_compute_clamped_spectrum(model.stiffness(state), least) for state in ways]
    out = []
    for place in generator.integers(len(ways), size=OPTIONS.training_states + OPTIONS.validation_states):
        values, turn = spectra[place]
        share = 10.0 ** generator.uniform(*OPTIONS.perturbation_exponents)
        size = np.sqrt(2.0 * share * energy / (model.size * values))
        out.append(ways[place] + turn @ (size * generator.standard_normal(model.size)))
    return np.array(out)


def _trace_equilibria(model: ReducedSprings, poses: Array, min_stiffness: float, count: int = 5) -> Array:
    """Equilibria under loads between those of consecutive poses, the poses included."""
    out = [poses[0]]
    for start, end in pairwise(poses):
        f0, f1 = model.force(start), model.force(end)
        state = start
        for t in np.linspace(0, 1, count + 1)[1:-1]:
            guess = start + t * (end - start)
            state = _solve_equilibrium(model, state, (1 - t) * f0 + t * f1, guess, min_stiffness)
            out.append(state)
        out.append(end)
    return np.array(out)


def _solve_equilibrium(
    model: ReducedSprings, state: Array, load: Array, fallback: Array, min_stiffness: float
) -> Array:
    """z with f(z) = load by Newton from `state`; `fallback` if it does not converge in a few steps."""
    for _ in range(OPTIONS.max_newton_iterations):
        f, K, _ = model.evaluate_dynamics(state, np.zeros(model.size))
        if np.linalg.norm(f - load) <= OPTIONS.equilibrium_tolerance * np.linalg.norm(load):
            return state
        values, turn = _compute_clamped_spectrum(K, min_stiffness)
        state = state - turn @ ((turn.T @ (f - load)) / values)
    return fallback


class ReducedSprings(ReducedModel):
    """Σ_s weight_s W_s(Uz) over `springs` of the body in a mass-orthonormal basis; f and K are its derivatives.

    springs: (m,) indices of the springs that are summed, all of the body's when None; weights: (m,), ones when None.
    The energy of springs with two fixed ends is constant and left out.
    report: of the cubature, None for all springs; coarse_model: fewer springs in the same basis, for the first steps of
    a search.
    """

    body: BodySprings

    def __init__(
        self,
        body: BodySprings,
        basis: Array,
        *,
        springs: IndexArray | None = None,
        weights: Array | None = None,
        report: CubatureReport | None = None,
        coarse_model: ReducedSprings | None = None,
    ):
        super().__init__(basis)
        self.body, self.report, self.coarse_model = body, report, coarse_model
        if springs is None:
            held = np.zeros(body.vertex_count, dtype=bool)
            held[body.fixed] = True
            springs = np.flatnonzero(~held[body.edges].all(axis=1))
        self.springs = springs
        self.weights = np.ones(len(springs)) if weights is None else weights

    @cached_property
    def kernel_data(self) -> tuple[Any, ...]:
        none, body, chosen = np.empty((0, 0)), self.body, self.springs
        X, U, edges = _compact_points(body.vertices, self.basis, body.edges[chosen])
        k, c = self.weights * body.spring_stiffness[chosen], self.weights * body.spring_damping[chosen]
        rows = np.stack([k, body.rest_lengths[chosen], c], axis=1)
        return (none, none, none, 0.0, 0.0, X, U, rows, edges)

    def energy(self, state: ArrayLike) -> float:
        z = self._check_state(state)
        total = kernels.compute_energy_springs(*self.kernel_data[5:], z, self._workspace[2][0])
        return float(checks.require_finite_result(np.asarray(total), "the reduced energy"))

    def get_table_arrays(self) -> dict[str, Array]:
        return {"springs": self.springs.astype(np.float64), "weights": self.weights}


def _compact_points(vertices: Array, basis: Array, edges: IndexArray) -> tuple[Array, Array, IndexArray]:
    """Rest positions (p, 3), basis rows (3p, r) and ends (m, 2) of the same springs on as few points as do.

    Many springs share vertices. A few far apart do not: then each has a point of its own, the difference of its ends,
    tied to one last point at the origin, which nearly halves the points, and with them the time of an evaluation.
    """
    used, ends = np.unique(edges, return_inverse=True)
    U = basis.reshape(len(vertices), 3, -1)
    if len(used) <= len(edges) + 1:
        return vertices[used], U[used].reshape(-1, U.shape[2]), ends.reshape(-1, 2).astype(np.int64)
    i, j = edges.T
    apart, moved = np.zeros((len(edges) + 1, 3)), np.zeros((len(edges) + 1, *U.shape[1:]))
    apart[:-1], moved[:-1] = vertices[i] - vertices[j], U[i] - U[j]
    own = np.arange(len(edges), dtype=np.int64)
    return apart, moved.reshape(-1, U.shape[2]), np.stack([own, np.full_like(own, len(edges))], axis=1)


def reduce_springs(
    body: BodySprings,
    basis: Array,
    *,
    cubature: bool | float = False,
    poses: ArrayLike | None = None,
    generator: np.random.Generator | None = None,
) -> ReducedSprings:
    """`body` in the mass-orthonormal `basis`, with all its springs or a cubature of them; see `reduce`."""
    full = ReducedSprings(body, basis)
    if cubature is False:
        return full
    most, error = OPTIONS.max_springs, OPTIONS.force_error
    if isinstance(cubature, int | np.integer) and cubature is not True:
        most, error = checks.require_integer(int(cubature), "cubature"), 0.0
    elif cubature is not True:
        error = checks.require_positive(cubature, "cubature")
        if error >= 1:
            raise InputError(
                f"cubature is {error}: give how many springs as a whole number, or a force error below one"
            )
    random = np.random.default_rng(0) if generator is None else generator
    shapes = (
        np.empty((0, body.vertex_count, 3))
        if poses is None
        else checks.require_real_array(poses, "poses", (None, body.vertex_count, 3))
    )
    states = sample_training_states(full, full.project(shapes), random)
    chosen, fewer, report = select_springs(full, states, max_springs=most, tolerance=error, generator=random)
    draft = None if fewer is None else ReducedSprings(body, basis, springs=fewer[0], weights=fewer[1])
    return ReducedSprings(body, basis, springs=chosen[0], weights=chosen[1], report=report, coarse_model=draft)
