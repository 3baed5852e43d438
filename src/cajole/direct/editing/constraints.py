"""What an edit must obey: linear rows on the modes of single frames, and the multipliers that make them hold.

A row says w·z_i = p: the change of one direction of a vertex at frame i, w = nᵀU_v, or of a difference of two. With
H z = Cᵀμ the multipliers solve S μ = p, S = C H⁻¹ Cᵀ. Neither H⁻¹ nor the Green's functions C H⁻¹ are ever stored: an
entry is S_cd = Σ_m w_c w_d g_m[i_d], g the response at the frame of c, and one sweep gives all rows of a frame.
"""

from __future__ import annotations

import numpy as np

from cajole.arrays import Array, BoolArray, IndexArray
from cajole.direct.editing import kernels
from cajole.direct.editing.spacetime import Spacetime
from cajole.errors import InputError

# Rows whose pivot in the equilibrated S is smaller than this follow from the others to rounding.
DEPENDENT = 1e-11
# Rows that are in no mode, relative to the largest: what they ask for cannot move.
STILL = 1e-12
# Rows that there is room for at first; twice as many whenever they are full.
ROOM = 64


class Rows:
    """The rows of an edit in the order they were added: weights (c, r), frames (c,), targets (c,), S (c, c).

    S is kept with unit diagonal beside its Cholesky factor, which grows by the new rows alone. A row that follows from
    earlier ones is left out of it: those before it win where they disagree.
    """

    def __init__(self, spacetime: Spacetime):
        self.spacetime = spacetime
        self._count = 0
        self._weights, self._frames, self._targets = (
            np.empty((ROOM, spacetime.size)),
            np.empty(ROOM, dtype=np.int64),
            np.empty(ROOM),
        )
        self._S, self._L = np.empty((ROOM, ROOM)), np.empty((ROOM, ROOM))
        self._scale, self._live = np.empty(ROOM), np.empty(ROOM, dtype=np.bool_)

    def __len__(self) -> int:
        return self._count

    @property
    def weights(self) -> Array:
        return self._weights[: self._count]

    @property
    def frames(self) -> IndexArray:
        return self._frames[: self._count]

    @property
    def targets(self) -> Array:
        return self._targets[: self._count]

    @property
    def S(self) -> Array:
        return self._S[: self._count, : self._count]

    @property
    def dependent(self) -> IndexArray:
        """Rows that follow from the ones before them; their targets are met only if they agree with those."""
        return np.flatnonzero(~self._live[: self._count])

    def add(self, frame: int, weights: Array, targets: Array) -> None:
        """Rows of one frame: weights (k, r), targets (k,). Raises InputError where no mode moves any of them."""
        reach = max(float(np.abs(weights).max(initial=0.0)), float(np.abs(self.weights).max(initial=0.0)))
        if not (np.abs(weights) > STILL * reach).any():
            raise InputError("the vertex is held by the body, or lies in no mode: it cannot be moved")
        g = self.spacetime.response(frame)
        old, new = self._count, self._count + len(weights)
        self._reserve(new)
        self._weights[old:new], self._frames[old:new], self._targets[old:new] = weights, frame, targets
        self._count = new
        block = np.empty((new, len(weights)))
        kernels.couplings(self.frames, self.weights, g, self._weights[old:new], block)
        self._S[:new, old:new], self._S[old:new, :new] = block, block.T
        self._factorise(old)

    def remove(self, keep: BoolArray) -> None:
        """Keep only the rows marked."""
        kept = np.flatnonzero(keep)
        # what comes before the first row that goes stays factorised
        first = int(np.argmin(keep)) if not keep.all() else len(keep)
        self._take(kept)
        self._factorise(first)

    def rebuild(self, spacetime: Spacetime) -> None:
        """The same rows under another energy."""
        weights, frames, targets = self.weights.copy(), self.frames.copy(), self.targets.copy()
        self.spacetime = spacetime
        self._count = 0
        order = np.argsort(frames, kind="stable")
        for frame in np.unique(frames):
            at = frames == frame
            self.add(int(frame), weights[at], targets[at])
        self._take(np.argsort(order, kind="stable"))
        self._factorise(0)

    def multipliers(self, targets: Array | None = None) -> Array:
        """μ (c,) or (c, q) with C z = targets (c,) or (c, q), the rows' own when None."""
        given = self.targets if targets is None else targets
        x = np.ascontiguousarray(self._scale[: self._count, None] * given.reshape(len(given), -1))
        kernels.forward(self._L, self._live, x)
        return self.multipliers_of(x).reshape(given.shape)

    def changes(self, multipliers: Array) -> Array:
        """z (T, r) of all frames: one sweep."""
        right = np.empty((self.spacetime.frames, self.spacetime.size))
        kernels.scatter(self.frames, multipliers, self.weights, right)
        return self.spacetime.solve(right)

    def change(self, frame: int, multipliers: Array) -> Array:
        """z (r,) or (r, q) of one frame by multipliers (c,) or (c, q), whatever the number of frames."""
        return (self.weights * self.spacetime.response(frame)[self.frames]).T @ multipliers

    def whitened(self, targets: Array) -> Array:
        """w = L⁻¹ D targets (c,), in which the energy is ½ |w|²; zero in rows that follow from others."""
        w = np.ascontiguousarray((self._scale[: self._count] * targets)[:, None])
        kernels.forward(self._L, self._live, w)
        return w[:, 0]

    def colored(self, w: Array, rows: IndexArray) -> Array:
        """Targets (k,) of some rows by the whitened ones (c,) of all: later ones follow earlier ones as S wants it."""
        known = np.where(self._live[: self._count], w, 0.0)
        return np.array([self._L[j, : j + 1] @ known[: j + 1] for j in rows]) / self._scale[rows]

    def multipliers_of(self, w: Array) -> Array:
        """μ (c, q) of whitened targets (c, q): never larger than their energy asks for, however alike rows are."""
        mu = np.array(w, order="C")
        kernels.backward(self._L, self._live, mu)
        return self._scale[: self._count, None] * mu

    def factor(self, rows: IndexArray) -> Array:
        """How targets of some rows (k, k) change with their own whitened ones."""
        block = np.tril(self._L[np.ix_(rows, rows)])
        return block / self._scale[rows, None]

    def _factorise(self, old: int) -> None:
        new = self._count
        diagonal = np.diag(self.S)
        # a row that nothing moves, as those in the plane of a sheet that only bends, is one that follows from others
        moved = diagonal[old:] > STILL**2 * diagonal.max(initial=0.0)
        self._scale[old:new] = 1.0 / np.sqrt(np.where(moved, diagonal[old:], 1.0))
        self._L[old:new, :new] = self._scale[old:new, None] * self._S[old:new, :new] * self._scale[:new]
        self._L[old:new, :new][~moved] = 0.0
        kernels.extend(self._L, self._live, old, new, DEPENDENT)

    def _take(self, rows: IndexArray) -> None:
        self._count = len(rows)
        for array in (self._weights, self._frames, self._targets):
            array[: len(rows)] = array[rows]
        self._S[: len(rows), : len(rows)] = self._S[np.ix_(rows, rows)]

    def _reserve(self, rows: int) -> None:
        room = len(self._targets)
        if rows <= room:
            return
        more = max(2 * room, rows) - room
        self._weights = np.concatenate([self._weights, np.empty((more, self._weights.shape[1]))])
        self._frames = np.concatenate([self._frames, np.empty(more, dtype=np.int64)])
        self._targets, self._scale = (np.concatenate([a, np.empty(more)]) for a in (self._targets, self._scale))
        self._live = np.concatenate([self._live, np.empty(more, dtype=np.bool_)])
        self._S, self._L = (np.pad(a, (0, more)) for a in (self._S, self._L))
