"""Springs in a basis: f(z) = Uᵀ f(Uz), summed over all springs, or over a few weighted ones (`cubature`)."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from cajole import checks
from cajole.arrays import Array, IndexArray
from cajole.body import BodySprings
from cajole.errors import InputError
from cajole.reduction import kernels_springs as kernels
from cajole.reduction.base import ReducedModel
from cajole.reduction.cubature import CubatureReport, chosen_springs, training_states

# What cubature=True asks for: the force error to reach, and the springs it may take.
CUBATURE_ERROR, CUBATURE_SPRINGS = 0.01, 1000


class ReducedSprings(ReducedModel):
    """Σ_s weight_s W_s(Uz) over `springs` of the body in a mass-orthonormal basis; f and K are its derivatives.

    springs: (m,) indices of the springs that are summed, all of the body's when None; weights: (m,), ones when None.
    Springs whose both ends the body fixes never change; their energy is left out.
    report: how the springs were chosen, None when all are there; draft: fewer of them in the same basis, for searches
    that end here.
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
        draft: ReducedSprings | None = None,
    ):
        super().__init__(basis)
        self.body, self.report, self.draft = body, report, draft
        chosen = moving_springs(body) if springs is None else springs
        self.springs = chosen
        self.weights = np.ones(len(chosen)) if weights is None else weights

    @cached_property
    def system(self) -> tuple:
        none, body, chosen = np.empty((0, 0)), self.body, self.springs
        X, U, edges = _compact(body.vertices, self.basis, body.edges[chosen])
        k, c = self.weights * body.spring_stiffness[chosen], self.weights * body.spring_damping[chosen]
        rows = np.stack([k, body.rest_lengths[chosen], c], axis=1)
        return (none, none, none, 0.0, 0.0, X, U, rows, edges)

    def energy(self, state: ArrayLike) -> float:
        z = self._checked(state)
        total = kernels.energy_springs(*self.system[5:], z, self._workspace[2][0])
        return float(checks.finite_result(np.asarray(total), "the reduced energy"))

    def arrays(self) -> dict[str, Array]:
        return {"springs": self.springs.astype(np.float64), "weights": self.weights}


def _compact(vertices: Array, basis: Array, edges: IndexArray) -> tuple[Array, Array, IndexArray]:
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


def moving_springs(body: BodySprings) -> IndexArray:
    """Springs with an end that may move (m,)."""
    held = np.zeros(body.count, dtype=bool)
    held[body.fixed] = True
    return np.flatnonzero(~held[body.edges].all(axis=1))


def reduced_springs(
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
    most, error = _wanted(cubature)
    random = np.random.default_rng(0) if generator is None else generator
    shapes = np.empty((0, body.count, 3)) if poses is None else checks.real_array(poses, "poses", (None, body.count, 3))
    states = training_states(full, full.project(shapes), random)
    chosen, fewer, report = chosen_springs(full, states, most=most, error=error, generator=random)
    draft = None if fewer is None else ReducedSprings(body, basis, springs=fewer[0], weights=fewer[1])
    return ReducedSprings(body, basis, springs=chosen[0], weights=chosen[1], report=report, draft=draft)


def _wanted(cubature: bool | float) -> tuple[int, float]:
    """How many springs at most, and the error at which fewer do."""
    if cubature is True:
        return CUBATURE_SPRINGS, CUBATURE_ERROR
    if isinstance(cubature, int | np.integer):
        return checks.count(int(cubature), "cubature"), 0.0
    error = checks.positive(cubature, "cubature")
    if error >= 1:
        raise InputError(f"cubature is {error}: give how many springs as a whole number, or a force error below one")
    return CUBATURE_SPRINGS, error


def restored_springs(body: BodySprings, basis: Array, springs: Array, weights: Array) -> ReducedSprings:
    """A model from what `arrays` gave. Raises ValueError for numbers that cannot be."""
    chosen = springs.astype(np.int64)
    fits = chosen.shape == weights.shape and ((chosen >= 0) & (chosen < len(body.edges))).all() and (weights > 0).all()
    if not fits or basis.shape[:1] != (3 * body.count,):
        raise ValueError("springs, weights or basis do not fit the body")
    return ReducedSprings(body, basis, springs=chosen, weights=weights)
