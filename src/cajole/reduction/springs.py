"""Springs in a basis: f(z) = Uᵀ f(Uz), summed over all springs, or over a few weighted ones (`cubature`)."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cajole import checks
from cajole.body import BodySprings
from cajole.errors import InputError
from cajole.reduction import kernels_springs as kernels
from cajole.reduction.base import ReducedModel
from cajole.reduction.cubature import CubatureReport, chosen_springs, training_states

Array = NDArray[np.float64]
Index = NDArray[np.int64]

# What cubature=True asks for: the force error to reach, and the springs it may take.
CUBATURE_ERROR, CUBATURE_SPRINGS = 0.01, 1000


class ReducedSprings(ReducedModel):
    """Σ_s weight_s W_s(Uz) over `springs` of the body in a mass-orthonormal basis; f and K are its derivatives.

    springs: (m,) indices of the springs that are summed, all of the body's when None; weights: (m,), ones when None.
    Springs whose both ends the body fixes never change; their energy is left out.
    report: how the springs were chosen, None when all are there.
    """

    body: BodySprings

    def __init__(
        self,
        body: BodySprings,
        basis: Array,
        *,
        springs: Index | None = None,
        weights: Array | None = None,
        report: CubatureReport | None = None,
    ):
        super().__init__(basis)
        self.body, self.report = body, report
        chosen = moving_springs(body) if springs is None else springs
        self.springs = chosen
        self.weights = np.ones(len(chosen)) if weights is None else weights

    @cached_property
    def system(self) -> tuple:
        none, body, chosen = np.empty((0, 0)), self.body, self.springs
        # only the vertices that springs touch are placed: with few springs they are few
        used, ends = np.unique(body.edges[chosen], return_inverse=True)
        U = np.ascontiguousarray(self.basis.reshape(body.count, 3, -1)[used].reshape(3 * len(used), -1))
        k, c = self.weights * body.spring_stiffness[chosen], self.weights * body.spring_damping[chosen]
        rows = np.stack([k, body.rest_lengths[chosen], c], axis=1)
        edges = np.ascontiguousarray(ends.reshape(-1, 2), dtype=np.int64)
        return (none, none, none, 0.0, 0.0, np.ascontiguousarray(body.vertices[used]), U, rows, edges)

    def energy(self, state: ArrayLike) -> float:
        z = self._checked(state)
        total = kernels.energy_springs(*self._parts, z, self._work[0])
        return float(checks.finite_result(np.asarray(total), "the reduced energy"))

    def force(self, state: ArrayLike) -> Array:
        return self.motion(state, np.zeros(self.size))[0]

    def stiffness(self, state: ArrayLike | None = None) -> Array:
        z = np.zeros(self.size) if state is None else state
        return self.motion(z, np.zeros(self.size))[1]

    def stiffness_change(self, state: ArrayLike, direction: ArrayLike) -> Array:
        z, v = self._checked(state), self._checked(direction, "direction")
        out, mixed = np.empty((2, self.size, self.size))
        kernels.curvature_springs(*self._parts, z, np.zeros(self.size), v, *self._work, out, mixed)
        return out

    def motion(self, state: ArrayLike, velocity: ArrayLike) -> tuple[Array, Array, Array]:
        """F = Uᵀ[f(Uz) + d(Uz, Uv)] (r,), and its derivatives ∂F/∂z and ∂F/∂v (r, r)."""
        z, v = self._checked(state), self._checked(velocity, "velocity")
        F, (Gq, Gv) = np.empty(self.size), np.empty((2, self.size, self.size))
        kernels.evaluate_springs(*self._parts, z, v, *self._work, F, Gq, Gv)
        return checks.finite_result(F, "the reduced force"), Gq, Gv

    def arrays(self) -> dict[str, Array]:
        return {"springs": self.springs.astype(np.float64), "weights": self.weights}

    @property
    def _parts(self) -> tuple:
        return self.system[5:]

    @cached_property
    def _work(self) -> tuple:
        rows = len(self.system[6])
        return (*np.empty((3, rows)), *np.empty((2, rows, self.size)))


def moving_springs(body: BodySprings) -> Index:
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
    springs, weights, report = chosen_springs(full, states, most=most, error=error, generator=random)
    return ReducedSprings(body, basis, springs=springs, weights=weights, report=report)


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
