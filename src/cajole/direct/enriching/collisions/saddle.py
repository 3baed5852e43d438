"""The equations of a constrained step with contacts: the pattern has room for contacts that are near, and is kept."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from cajole.arrays import Array, IndexArray
from cajole.body import Body
from cajole.direct.enriching.saddle import Saddle
from cajole.errors import NotPositiveDefinite
from cajole.linalg import Factor


class ContactSaddle(Saddle):
    """As Saddle, with A + H, where H (3n, 3n) couples vertices that touch.

    The pattern is analysed for all pairs that may soon touch, and again only when H leaves it; `analyses` counts.
    """

    def __init__(self, body: Body, held: sp.csr_array, *, backend: str | None = None):
        super().__init__(body, held, backend=backend)
        self.analyses = 0
        self._size = self._pattern.shape[0]
        rows = np.repeat(np.arange(self._size), np.diff(self._pattern.indptr))
        self._own = rows * self._size + self._pattern.indices
        self._keys, self._at = self._own, np.arange(len(self._own))
        self._number = np.full(3 * body.count, -1)
        self._number[self.dofs] = np.arange(len(self.dofs))
        self._contact: Factor | None = None

    def factorise_touching(self, values: Array, H: sp.csc_matrix, near: IndexArray) -> bool:
        """Factorise with `values` on the body's pattern plus H; near (k, 4): vertices that may touch soon, -1 for none.

        False where the matrix is not positive on the null space of the averages.
        """
        keys, added = self._entries(H)
        if self._contact is None or not self._holds(keys):
            self._keys = np.unique(np.concatenate([self._own, keys, self._blocks(near)]))
            self._at = np.searchsorted(self._keys, self._own)
            self._contact = None
        data = np.zeros(len(self._keys))
        self._gather(values, self._data)
        data[self._at] = self._data
        data[np.searchsorted(self._keys, keys)] += added
        try:
            if self._contact is not None:
                self._contact.refactor(data)
            # barriers change values by orders of magnitude: where the matching has become useless it is made anew
            if self._contact is None or self._contact.perturbed:
                self._contact = self._touching(data)
        except NotPositiveDefinite:
            return False
        return self._contact.negative in (None, 3 * self.count)

    def solve(self, right: Array, gap: Array) -> tuple[Array, Array]:
        self._factor = self._contact
        return super().solve(right, gap)

    def _touching(self, data: Array) -> Factor:
        self.analyses += 1
        rows, columns = np.divmod(self._keys, self._size)
        starts = np.searchsorted(rows, np.arange(self._size + 1))
        matrix = sp.csr_array((data, columns, starts), shape=(self._size, self._size))
        return Factor(matrix, kind="kkt" if self.count else "spd", backend=self._backend)

    def _entries(self, H: sp.csc_matrix) -> tuple[IndexArray, Array]:
        """Where the entries of H between free coordinates stand, and their values; each once."""
        coo = H.tocoo()
        i, j = self._number[coo.row], self._number[coo.col]
        there = (i >= 0) & (j >= 0)
        return i[there].astype(np.int64) * self._size + j[there], coo.data[there]

    def _holds(self, keys: IndexArray) -> bool:
        at = np.searchsorted(self._keys, keys)
        return bool((at < len(self._keys)).all() and (self._keys[np.minimum(at, len(self._keys) - 1)] == keys).all())

    def _blocks(self, near: IndexArray) -> IndexArray:
        """Keys of the 3x3 blocks between all vertices of each row."""
        one, two = np.repeat(near, 4, axis=1).ravel(), np.tile(near, (1, 4)).ravel()
        there = (one >= 0) & (two >= 0)
        pairs = np.unique(np.stack([one[there], two[there]], axis=1), axis=0)
        i = self._number[3 * pairs[:, 0, None] + np.repeat(np.arange(3), 3)]
        j = self._number[3 * pairs[:, 1, None] + np.tile(np.arange(3), 3)]
        free = (i >= 0) & (j >= 0)
        return i[free].astype(np.int64) * self._size + j[free]
