"""The Laplacian of a mesh, factorised once, for three right-hand sides at a time and parts of solutions."""

from __future__ import annotations

import threading

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu

from cajole.arrays import Array, BoolArray, IndexArray
from cajole.direct.editing import kernels_laplacian as kernels
from cajole.errors import SolveError
from cajole.linalg.ordering import nested_dissection

# Right-hand sides that are carried through the factor together.
COLUMNS = 64


class _Scratch(threading.local):
    """Work array of the triangular solves, one for each thread: the kernels release the interpreter."""

    def __init__(self, tallest: int):
        self.work = np.empty((3, tallest))


class Laplacian:
    """L = Σ V g_a·g_b of the loose vertices (k,) of a mesh, as L D Lᵀ in its own order.

    elements (m, c), grads (m, c, 3) of their hat functions, volumes (m,). Unknown i belongs to vertex `order[i]`.
    Immutable; several threads may solve at once.
    """

    def __init__(self, elements: IndexArray, grads: Array, volumes: Array, loose: IndexArray, count: int):
        L = _assembled(elements, grads, volumes, count)[loose][:, loose]
        lower, diagonal, order = _factors(L)
        self.order: IndexArray = loose[order]
        self._groups = kernels.grouped(lower.indptr.astype(np.int64), lower.indices.astype(np.int64))
        begins, self._values = kernels.packed(
            lower.indptr.astype(np.int64), lower.indices.astype(np.int64), lower.data, *self._groups
        )
        self._begins = begins
        self._inverse = 1.0 / diagonal
        self._every = np.ones(len(begins) - 1, dtype=bool)
        starts, row_ptr, _ = self._groups
        self._scratch = _Scratch(int((np.diff(starts) + np.diff(row_ptr)).max(initial=1)))

    def __len__(self) -> int:
        return len(self.order)

    @property
    def groups(self) -> int:
        """How many groups of columns the factor has."""
        return len(self._every)

    def solve(self, x: Array) -> None:
        """x (n, 3), in the order of the unknowns, becomes the solution."""
        self.forward(x)
        self.backward(x, x)

    def forward(self, x: Array, groups: BoolArray | None = None) -> None:
        """The first half of a solve, in place; only through `groups` where all else of x is zero."""
        marked = self._every if groups is None else groups
        kernels.forward(*self._groups, self._begins, self._values, marked, x, self._scratch.work)

    def backward(self, x: Array, out: Array, groups: BoolArray | None = None) -> None:
        """The second half, from x to out; only in `groups`."""
        marked = self._every if groups is None else groups
        work = self._scratch.work
        kernels.backward(*self._groups, self._begins, self._values, marked, self._inverse, x, out, work)

    def groups_of(self, unknowns: IndexArray) -> BoolArray:
        """The parts of the factor that the solution at some unknowns needs."""
        return np.asarray(kernels.closed(*self._groups, unknowns))

    def inverse_at(self, unknowns: IndexArray) -> Array:
        """(k, k) the rows and columns of L⁻¹ at some unknowns, exactly symmetric."""
        groups = self.groups_of(unknowns)
        starts = self._groups[0]
        active = np.flatnonzero(np.repeat(groups, np.diff(starts)))
        scaled = np.empty((len(active), len(unknowns)))
        for first in range(0, len(unknowns), COLUMNS):
            some = unknowns[first : first + COLUMNS]
            x = np.zeros((len(self), len(some)))
            x[some, np.arange(len(some))] = 1.0
            kernels.forward_many(*self._groups, self._begins, self._values, groups, x)
            scaled[:, first : first + len(some)] = x[active] * np.sqrt(self._inverse[active])[:, None]
        return np.asarray(scaled.T @ scaled)


def _assembled(elements: IndexArray, grads: Array, volumes: Array, count: int) -> sp.csr_array:
    local = (grads * volumes[:, None, None]) @ np.swapaxes(grads, 1, 2)
    corners = elements.shape[1]
    rows, columns = np.repeat(elements, corners, axis=1).ravel(), np.tile(elements, (1, corners)).ravel()
    return sp.csr_array(sp.coo_array((local.ravel(), (rows, columns)), shape=(count, count)))


def _factors(L: sp.csr_array) -> tuple[sp.csc_array, Array, IndexArray]:
    """Lower triangle, diagonal, and which row of L stands where."""
    if L.shape[0] == 0:
        return sp.csc_array((0, 0)), np.empty(0), np.empty(0, dtype=np.int64)
    order = nested_dissection(sp.csr_array((np.ones(L.nnz), L.indices, L.indptr), shape=L.shape))
    try:
        factors = splu(
            L[order][:, order].tocsc(), permc_spec="NATURAL", diag_pivot_thresh=0.0, options={"SymmetricMode": True}
        )
    except RuntimeError as reason:
        raise SolveError(f"the mesh cannot be warped: its Laplacian is singular ({reason})") from None
    diagonal = factors.U.diagonal()
    if not np.array_equal(factors.perm_r, factors.perm_c) or not (diagonal > 0).all():
        raise SolveError("the mesh cannot be warped: its Laplacian is not positive definite; repair its thin elements")
    lower = sp.csc_array(factors.L)
    lower.sort_indices()
    # row i of the factors is row order[perm⁻¹(i)] of L
    return lower, diagonal, order[np.argsort(factors.perm_r)]
