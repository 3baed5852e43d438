"""Steps with an old tangent, corrected by what the steps since have shown of its change (L-BFGS, Nocedal 1980)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from cajole.arrays import Array

# Corrections kept; each is two vectors.
MOST_PAIRS = 12
# Steps that do not halve the least residual so far, after which a new tangent is cheaper.
PATIENCE = 8
# Cosine between a step and its change of force below which the body did not resist it.
RESISTED = 1e-12


class Secants:
    """Pairs of steps s (n, 3) and changes of force y (n, 3) since a tangent K was factorised."""

    def __init__(self) -> None:
        self._pairs: list[tuple[Array, Array, float]] = []
        self.begin()

    def begin(self) -> None:
        """Count progress from here, with the pairs there are: another load, whose residuals are others."""
        self._least, self._waited = np.inf, 0

    def forget(self) -> None:
        """Begin again, with a new tangent."""
        self._pairs = []
        self.begin()

    def pay(self, error: float) -> bool:
        """Whether further steps do, after one that left the residual `error`: slow ones would go on for hundreds."""
        halved = error <= 0.5 * self._least
        self._waited = 0 if halved else self._waited + 1
        self._least = error if halved else self._least
        return self._waited < PATIENCE

    def learn(self, step: Array, change: Array) -> None:
        """Keep a pair if sᵀy > 0: with any other the corrected tangent would not be positive definite."""
        product = float((step * change).sum())
        if product > RESISTED * float(np.linalg.norm(step) * np.linalg.norm(change)):
            self._pairs = [*self._pairs, (step, change, product)][-MOST_PAIRS:]

    def solve(self, right: Array, tangent: Callable[[Array], Array]) -> Array:
        """H right, where H is the inverse of K corrected so that H y = s for every pair; tangent(b): K⁻¹ b."""
        shares = []
        for step, change, product in reversed(self._pairs):
            shares.append(float((step * right).sum()) / product)
            right = right - shares[-1] * change
        out = tangent(right)
        for (step, change, product), share in zip(self._pairs, reversed(shares)):
            out = out + (share - float((change * out).sum()) / product) * step
        return out
