"""The sparsity of a body: 3x3 blocks between vertices that share an element, fixed once, filled by scatter."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from cajole.arrays import IndexArray


class BlockPattern:
    """Pattern of (3n, 3n) CSR matrices with a 3x3 block for each pair of vertices in `elements` (m, k).

    Entry (r, c) of block (i, j) is `data[slot + r * stride[i] + c]`, where `slot` is the block's first entry.
    """

    def __init__(self, count: int, elements: IndexArray):
        self.vertex_count = count
        width = elements.shape[1]
        rows = np.repeat(elements, width, axis=1).ravel()
        columns = np.tile(elements, (1, width)).ravel()
        keys, places = np.unique(rows * count + columns, return_inverse=True)
        block_rows, self._block_columns = keys // count, keys % count
        degrees = np.bincount(block_rows, minlength=count)
        self._block_indptr = np.concatenate([[0], np.cumsum(degrees)])
        self.row_strides = (3 * degrees).astype(np.int32)
        rank = np.arange(len(keys)) - self._block_indptr[block_rows]
        slots = 9 * self._block_indptr[block_rows] + 3 * rank
        self.block_offsets = slots[places].reshape(len(elements), width, width).astype(np.int32)
        self.nnz = 9 * len(keys)

    @cached_property
    def indptr(self) -> NDArray[np.int32]:
        lengths = np.repeat(self.row_strides, 3)
        return _freeze_indices(np.concatenate([[0], np.cumsum(lengths)]))

    @cached_property
    def indices(self) -> NDArray[np.int32]:
        vertex = np.repeat(np.arange(self.vertex_count), 3 * self.row_strides)
        within = (np.arange(self.nnz) - 9 * self._block_indptr[vertex]) % self.row_strides[vertex]
        return _freeze_indices(3 * self._block_columns[self._block_indptr[vertex] + within // 3] + within % 3)

    def build_matrix(self, data: NDArray[np.float64]) -> sp.csr_array:
        """The (3n, 3n) matrix with the values `data`; the pattern's index arrays are shared, not copied."""
        matrix = sp.csr_array((data, self.indices, self.indptr), shape=(3 * self.vertex_count, 3 * self.vertex_count))
        matrix.has_sorted_indices = True
        matrix.has_canonical_format = True
        return matrix

    def label_components(self) -> IndexArray:
        """Number of the connected piece that each vertex belongs to (n,)."""
        blocks = sp.csr_array((np.ones(len(self._block_columns)), self._block_columns, self._block_indptr))
        return connected_components(blocks, directed=False)[1].astype(np.int64)

    def restrict(self, dofs: IndexArray) -> tuple[sp.csr_array, IndexArray]:
        """The sub-pattern on `dofs` as a matrix of zeros, and where each of its values stands in `data`."""
        numbered = self.build_matrix(np.arange(1, self.nnz + 1, dtype=np.float64))
        part = sp.csr_array(numbered[dofs][:, dofs])
        part.sort_indices()
        take = part.data.astype(np.int64) - 1
        part.data = np.zeros(part.nnz)
        return part, take


def _freeze_indices(indices: IndexArray) -> NDArray[np.int32]:
    """Index arrays stand behind many matrices: an operation in place on one of them must fail, not spoil the others."""
    small = indices.astype(np.int32)
    small.setflags(write=False)
    return small
