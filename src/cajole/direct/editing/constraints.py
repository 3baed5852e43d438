"""What an edit must obey: linear rows on the modes of single frames, and the multipliers that make them hold.

A row says w·z_i = p: the change of one direction of a vertex at frame i, w = nᵀU_v, or of a difference of two. With
H z = Cᵀμ the multipliers solve S μ = p, S = C H⁻¹ Cᵀ. Neither H⁻¹ nor the Green's functions C H⁻¹ are ever stored: an
entry is S_cd = Σ_m w_c w_d g_m[i_d], g the response at the frame of c, and one sweep gives all rows of a frame.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from cajole.direct.editing.spacetime import Spacetime
from cajole.errors import InputError

Array = NDArray[np.float64]
Index = NDArray[np.int64]

# Rows whose pivot in the equilibrated S is smaller than this follow from the others to rounding.
DEPENDENT = 1e-11
# Rows that are in no mode, relative to the largest: what they ask for cannot move.
STILL = 1e-12


@dataclass
class Rows:
    """The rows of an edit in the order they were added: weights (c, r), frames (c,), targets (c,)."""

    spacetime: Spacetime
    weights: Array = field(init=False)
    frames: Index = field(init=False)
    targets: Array = field(init=False)
    S: Array = field(init=False)

    def __post_init__(self) -> None:
        r = self.spacetime.size
        self.weights, self.frames = np.empty((0, r)), np.empty(0, dtype=np.int64)
        self.targets, self.S = np.empty(0), np.empty((0, 0))
        self._factor: _Factor | None = None

    def __len__(self) -> int:
        return len(self.targets)

    def add(self, frame: int, weights: Array, targets: Array) -> None:
        """Rows of one frame: weights (k, r), targets (k,). Raises InputError for rows that no mode can move."""
        size = float(np.abs(weights).max(initial=0.0))
        reach = np.abs(self.weights).max(initial=size)
        if (np.abs(weights).max(axis=1) <= STILL * reach).any():
            raise InputError("the vertex is held by the body, or lies in no mode: it cannot be moved")
        g = self.spacetime.response(frame)
        both = np.vstack([self.weights, weights])
        frames = np.concatenate([self.frames, np.full(len(weights), frame)])
        block = (both * g[frames]) @ weights.T
        old = len(self)
        S = np.empty((len(both), len(both)))
        S[:old, :old] = self.S
        S[:, old:], S[old:, :] = block, block.T
        self.weights, self.frames, self.S = both, frames, S
        self.targets = np.concatenate([self.targets, targets])
        self._factor = None

    def remove(self, keep: NDArray[np.bool_]) -> None:
        """Keep only the rows marked."""
        self.weights, self.frames, self.targets = self.weights[keep], self.frames[keep], self.targets[keep]
        self.S = self.S[np.ix_(keep, keep)]
        self._factor = None

    def rebuild(self, spacetime: Spacetime) -> None:
        """The same rows under another energy."""
        rows = self.weights, self.frames, self.targets
        self.spacetime = spacetime
        self.__post_init__()
        for frame in np.unique(rows[1]):
            at = rows[1] == frame
            self.add(int(frame), rows[0][at], rows[2][at])
        # as they were: rows of a frame came together, frames in order of time
        order = np.argsort(np.argsort(rows[1], kind="stable"), kind="stable")
        self.weights, self.frames, self.targets = rows
        self.S = self.S[np.ix_(order, order)]
        self._factor = None

    @property
    def dependent(self) -> Index:
        """Rows that follow from the ones before them; their targets are met only if they agree with those."""
        return self._factored().dependent

    def multipliers(self, targets: Array | None = None) -> Array:
        """μ (c,) with C z = targets; in the least-squares sense where rows depend on one another."""
        return self._factored().solve(self.targets if targets is None else targets)

    def changes(self, multipliers: Array) -> Array:
        """z (T, r) of all frames: one sweep."""
        right = np.zeros((self.spacetime.frames, self.spacetime.size))
        np.add.at(right, self.frames, multipliers[:, None] * self.weights)
        return self.spacetime.solve(right)

    def change(self, response: Array, multipliers: Array) -> Array:
        """z (r,) of the frame that `response` belongs to, whatever the number of rows."""
        return np.einsum("c,cm,cm->m", multipliers, self.weights, response[self.frames])

    def _factored(self) -> _Factor:
        if self._factor is None:
            self._factor = _Factor(self.S)
        return self._factor


class _Factor:
    """S of unit diagonal, by Cholesky; where rows depend on one another, by its eigenvectors."""

    def __init__(self, S: Array):
        self._scale = 1.0 / np.sqrt(np.diag(S))
        even = self._scale[:, None] * S * self._scale
        self.dependent: Index = np.empty(0, dtype=np.int64)
        self._lower: Array | None = None
        try:
            self._lower = scipy.linalg.cholesky(even, lower=True)
            small = np.diag(self._lower) ** 2 < DEPENDENT
        except np.linalg.LinAlgError:
            small = np.ones(len(even), dtype=bool)
        if small.any():
            self._lower = None
            self._values, self._vectors = np.linalg.eigh(even)
            self.dependent = _following(even)

    def solve(self, right: Array) -> Array:
        b = self._scale * right
        if self._lower is not None:
            return self._scale * scipy.linalg.cho_solve((self._lower, True), b)
        kept = self._values > DEPENDENT * max(self._values[-1], 1.0)
        V = self._vectors[:, kept]
        return self._scale * (V @ ((V.T @ b) / self._values[kept]))


def _following(even: Array) -> Index:
    """Rows whose part outside the span of the earlier ones is rounding: a Cholesky that skips them."""
    n = len(even)
    L, kept, skipped = np.zeros((n, n)), list[int](), list[int]()
    for j in range(n):
        row = (
            scipy.linalg.solve_triangular(L[np.ix_(kept, kept)], even[kept][:, j], lower=True) if kept else np.empty(0)
        )
        pivot = even[j, j] - row @ row
        if pivot < DEPENDENT:
            skipped.append(j)
            continue
        L[j, kept] = row
        L[j, j] = np.sqrt(pivot)
        kept.append(j)
    return np.array(skipped, dtype=np.int64)
