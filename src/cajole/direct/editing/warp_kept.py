"""Rows of contacts that a warp keeps, with the factors of their Gram matrix d G dᵀ."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from cajole.arrays import Array, BoolArray, IndexArray

# Directions among the rows that repeat others, against the strongest.
REPEATED = 1e-12


@dataclass(frozen=True, eq=False)
class Kept:
    """Rows of contacts that a warp keeps: n_c·(δ_v - δ_w) = 0; made by `Warp.kept`.

    points (k,): unknowns in contact; first, second (r,): which of them each row joins, the last place when none;
    directions (r, 3); yielding: (c,) κ of the floating pieces. `solve` gives λ of d u₀.
    """

    points: IndexArray
    first: IndexArray
    second: IndexArray
    directions: Array
    groups: BoolArray
    yielding: Array
    scale: Array
    factor: tuple[Array, Array | None]

    def differences(self, places: Array) -> Array:
        """(r, ...) A x of values at the points (k, ...)."""
        padded = np.concatenate([places, np.zeros((1, *places.shape[1:]))])
        return np.asarray(padded[self.first] - padded[self.second])

    def spread(self, amounts: Array) -> Array:
        """(k, 3) dᵀλ at the points."""
        out = np.zeros((len(self.points) + 1, 3))
        pushes = amounts[:, None] * self.directions
        np.add.at(out, self.first, pushes)
        np.subtract.at(out, self.second, pushes)
        return out[:-1]

    def solve(self, right: Array) -> Array:
        """λ (r, q) with d G dᵀ λ = right; the least one where rows depend on one another."""
        scaled = self.scale[:, None] * right
        vectors, inverse = self.factor
        if inverse is None:
            return self.scale[:, None] * np.asarray(cho_solve((vectors, True), scaled, check_finite=False))
        return self.scale[:, None] * (vectors @ (inverse[:, None] * (vectors.T @ scaled)))


def gram(G: Array, first: IndexArray, second: IndexArray, directions: Array) -> Array:
    """d G dᵀ = (N Nᵀ) ∘ (A G Aᵀ)."""
    rows = G[first] - G[second]
    return np.asarray((directions @ directions.T) * (rows[:, first] - rows[:, second]))


def with_factors(
    G: Array,
    yielding: Array,
    points: IndexArray,
    first: IndexArray,
    second: IndexArray,
    directions: Array,
    groups: BoolArray,
) -> tuple[Kept, Array]:
    """The rows with the factors of d G dᵀ, and the combinations of rows (r, q) that have no effect."""
    S = gram(G, first, second, directions)
    scale = 1.0 / np.sqrt(S.diagonal())
    factor, idle = _factorised(scale[:, None] * S * scale)
    return Kept(points, first, second, directions, groups, yielding, scale, factor), scale[:, None] * idle


def _factorised(S: Array) -> tuple[tuple[Array, Array | None], Array]:
    """Cholesky factor of a scaled Gram matrix, or its eigenvectors with inverse eigenvalues where rows repeat others.

    And the eigenvectors left out (r, q).
    """
    try:
        lower = cho_factor(S, lower=True, check_finite=False)[0]
        if np.diagonal(lower).min() ** 2 > REPEATED:
            return (lower, None), np.empty((len(S), 0))
    except np.linalg.LinAlgError:
        pass
    values, vectors = np.linalg.eigh(S)
    good = values > REPEATED * values[-1]
    return (vectors[:, good], 1.0 / values[good]), vectors[:, ~good]
