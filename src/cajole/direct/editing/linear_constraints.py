"""Linear constraints of an edit: rows on the modal coordinates of single frames, and their Lagrange multipliers.

A row is w·z_i = p: the change of one coordinate of a vertex at frame i, w = nᵀU_v, or of an offset between two. With
H z = Cᵀμ the multipliers solve S μ = p, S = C H⁻¹ Cᵀ. Neither H⁻¹ nor the Green's functions C H⁻¹ are ever stored: an
entry is S_cd = Σ_m w_c w_d g_m[i_d], g the response at the frame of c, and one sweep gives all rows of a frame.
"""

from __future__ import annotations

import numpy as np

from cajole.arrays import Array, BoolArray, IndexArray
from cajole.direct.editing import kernels_spacetime
from cajole.direct.editing.spacetime import SpacetimeEnergy
from cajole.errors import InputError

# Weights of a row below this share of the largest are zero: no mode moves the vertex.
NEGLIGIBLE_MODE_WEIGHT = 1e-12


class LinearConstraints:
    """Rows in the order in which they were added: weights (c, r), frames (c,), targets (c,), S (c, c).

    The Cholesky factor of S, scaled to unit diagonal, is extended by new rows alone. A row that depends on earlier ones
    is left out of it: where they disagree, the earlier ones hold.
    """

    def __init__(self, spacetime: SpacetimeEnergy):
        self.spacetime = spacetime
        # arrays have room for more rows than _count, and double when they are full
        self._count, capacity = 0, 64
        self._rows, self._targets = np.empty((capacity, spacetime.mode_count)), np.empty(capacity)
        self._frames = np.empty(capacity, dtype=np.int64)
        self._S, self._L = np.empty((capacity, capacity)), np.empty((capacity, capacity))
        self._scale, self._independent = np.empty(capacity), np.empty(capacity, dtype=np.bool_)

    def __len__(self) -> int:
        return self._count

    @property
    def rows(self) -> Array:
        return self._rows[: self._count]

    @property
    def frames(self) -> IndexArray:
        return self._frames[: self._count]

    @property
    def targets(self) -> Array:
        return self._targets[: self._count]

    @property
    def schur_complement(self) -> Array:
        return self._S[: self._count, : self._count]

    @property
    def dependent_rows(self) -> IndexArray:
        """Rows that depend on earlier ones; their targets are met only if they agree with those."""
        return np.flatnonzero(~self._independent[: self._count])

    def add(self, frame: int, rows: Array, targets: Array) -> None:
        """Add rows of one frame: weights (k, r), targets (k,). Raises InputError if no mode moves any of them."""
        largest = max(float(np.abs(rows).max(initial=0.0)), float(np.abs(self.rows).max(initial=0.0)))
        if not (np.abs(rows) > NEGLIGIBLE_MODE_WEIGHT * largest).any():
            raise InputError("the vertex is fixed by the body, or no mode moves it: it cannot be moved")
        g = self.spacetime.compute_response(frame)
        old, new = self._count, self._count + len(rows)
        self._reserve(new)
        self._rows[old:new], self._frames[old:new], self._targets[old:new] = rows, frame, targets
        self._count = new
        block = np.empty((new, len(rows)))
        kernels_spacetime.compute_schur_columns(self.frames, self.rows, g, self._rows[old:new], block)
        self._S[:new, old:new], self._S[old:new, :new] = block, block.T
        self._factorise(old)

    def keep_rows(self, mask: BoolArray) -> None:
        """Keep only the rows in the mask."""
        kept = np.flatnonzero(mask)
        # the factor before the first removed row stays
        first = int(np.argmin(mask)) if not mask.all() else len(mask)
        self._select_rows(kept)
        self._factorise(first)

    def rebuild(self, spacetime: SpacetimeEnergy) -> None:
        """The same rows under another energy."""
        rows, frames, targets = self.rows.copy(), self.frames.copy(), self.targets.copy()
        self.spacetime = spacetime
        self._count = 0
        order = np.argsort(frames, kind="stable")
        for frame in np.unique(frames):
            at = frames == frame
            self.add(int(frame), rows[at], targets[at])
        self._select_rows(np.argsort(order, kind="stable"))
        self._factorise(0)

    def solve_multipliers(self, targets: Array | None = None) -> Array:
        """μ (c,) or (c, q) with C z = targets (c,) or (c, q), the targets of the rows when None."""
        given = self.targets if targets is None else targets
        x = np.ascontiguousarray(self._scale[: self._count, None] * given.reshape(len(given), -1))
        kernels_spacetime.solve_lower(self._L, self._independent, x)
        return self.solve_whitened_multipliers(x).reshape(given.shape)

    def solve_all_frames(self, multipliers: Array) -> Array:
        """z (T, r) of all frames from multipliers (c,): one sweep."""
        rhs = np.empty((self.spacetime.frames, self.spacetime.mode_count))
        kernels_spacetime.scatter_multipliers(self.frames, multipliers, self.rows, rhs)
        return self.spacetime.solve(rhs)

    def solve_frame(self, frame: int, multipliers: Array) -> Array:
        """z (r,) or (r, q) of one frame from multipliers (c,) or (c, q), without the other frames."""
        return (self.rows * self.spacetime.compute_response(frame)[self.frames]).T @ multipliers

    def whiten(self, targets: Array) -> Array:
        """w = L⁻¹ D targets (c,), in which the energy is ½ |w|²; zero in dependent rows."""
        w = np.ascontiguousarray((self._scale[: self._count] * targets)[:, None])
        kernels_spacetime.solve_lower(self._L, self._independent, w)
        return w[:, 0]

    def unwhiten(self, whitened_targets: Array, rows: IndexArray) -> Array:
        """Targets (k,) of some rows from the whitened targets (c,) of all."""
        known = np.where(self._independent[: self._count], whitened_targets, 0.0)
        return np.array([self._L[j, : j + 1] @ known[: j + 1] for j in rows]) / self._scale[rows]

    def solve_whitened_multipliers(self, whitened_targets: Array) -> Array:
        """μ (c, q) of whitened targets (c, q): bounded by their energy, even for nearly parallel rows."""
        mu = np.array(whitened_targets, order="C")
        kernels_spacetime.solve_upper(self._L, self._independent, mu)
        return self._scale[: self._count, None] * mu

    def get_unwhitening_block(self, rows: IndexArray) -> Array:
        """(k, k) derivatives of the targets of some rows with respect to their own whitened targets."""
        block = np.tril(self._L[np.ix_(rows, rows)])
        return block / self._scale[rows, None]

    def _factorise(self, first: int) -> None:
        new = self._count
        diagonal = np.diag(self.schur_complement)
        # a row that nothing moves, as in the plane of a sheet that only bends, is dependent
        moved = diagonal[first:] > NEGLIGIBLE_MODE_WEIGHT**2 * diagonal.max(initial=0.0)
        self._scale[first:new] = 1.0 / np.sqrt(np.where(moved, diagonal[first:], 1.0))
        self._L[first:new, :new] = self._scale[first:new, None] * self._S[first:new, :new] * self._scale[:new]
        self._L[first:new, :new][~moved] = 0.0
        kernels_spacetime.extend_cholesky(self._L, self._independent, first, new, 1e-11)

    def _select_rows(self, rows: IndexArray) -> None:
        self._count = len(rows)
        for array in (self._rows, self._frames, self._targets):
            array[: len(rows)] = array[rows]
        self._S[: len(rows), : len(rows)] = self._S[np.ix_(rows, rows)]

    def _reserve(self, count: int) -> None:
        room = len(self._targets)
        if count <= room:
            return
        more = max(2 * room, count) - room
        self._rows = np.concatenate([self._rows, np.empty((more, self._rows.shape[1]))])
        self._frames = np.concatenate([self._frames, np.empty(more, dtype=np.int64)])
        self._targets, self._scale = (np.concatenate([a, np.empty(more)]) for a in (self._targets, self._scale))
        self._independent = np.concatenate([self._independent, np.empty(more, dtype=np.bool_)])
        self._S, self._L = (np.pad(a, (0, more)) for a in (self._S, self._L))
