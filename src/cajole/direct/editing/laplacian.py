"""The Laplacian of a mesh, factorised once, for three right-hand sides at a time and parts of solutions."""

from __future__ import annotations

import threading

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu

from cajole.arrays import Array, BoolArray, IndexArray
from cajole.direct.editing import kernels_laplacian as kernels
from cajole.errors import SolveError
from cajole.linalg.ordering import order_by_nested_dissection

# Right-hand sides that are carried through the factor together.
RHS_PER_BLOCK = 64


class _TriangularWorkspace(threading.local):
    """Work array of the triangular solves, one for each thread: the kernels release the interpreter."""

    def __init__(self, max_supernode_rows: int):
        self.work = np.empty((3, max_supernode_rows))


class LaplacianFactor:
    """L = Σ V g_a·g_b of the loose vertices (k,) of a mesh, as L D Lᵀ in its own order.

    elements (m, c), grads (m, c, 3) of their hat functions, volumes (m,). Unknown i belongs to vertex `order[i]`.
    Immutable; several threads may solve at once.
    """

    def __init__(
        self, elements: IndexArray, gradients: Array, volumes: Array, free_vertices: IndexArray, vertex_count: int
    ):
        L = _assemble_laplacian(elements, gradients, volumes, vertex_count)[free_vertices][:, free_vertices]
        lower, diagonal, order = _factorise_ldlt(L)
        self.order: IndexArray = free_vertices[order]
        self._supernodes = kernels.find_supernodes(lower.indptr.astype(np.int64), lower.indices.astype(np.int64))
        begins, self._values = kernels.pack_supernodes(
            lower.indptr.astype(np.int64), lower.indices.astype(np.int64), lower.data, *self._supernodes
        )
        self._value_ptr = begins
        self._inverse_diagonal = 1.0 / diagonal
        self._all_supernodes = np.ones(len(begins) - 1, dtype=bool)
        starts, row_ptr, _ = self._supernodes
        self._workspace = _TriangularWorkspace(int((np.diff(starts) + np.diff(row_ptr)).max(initial=1)))

    def __len__(self) -> int:
        return len(self.order)

    @property
    def supernode_count(self) -> int:
        """How many groups of columns the factor has."""
        return len(self._all_supernodes)

    def solve(self, x: Array) -> None:
        """x (n, 3), in the order of the unknowns, becomes the solution."""
        self.solve_lower(x)
        self.solve_diagonal_upper(x, x)

    def solve_lower(self, x: Array, supernodes: BoolArray | None = None) -> None:
        """The first half of a solve, in place; only through `groups` where all else of x is zero."""
        marked = self._all_supernodes if supernodes is None else supernodes
        kernels.solve_lower(*self._supernodes, self._value_ptr, self._values, marked, x, self._workspace.work)

    def solve_diagonal_upper(self, x: Array, out: Array, supernodes: BoolArray | None = None) -> None:
        """The second half, from x to out; only in `groups`."""
        marked = self._all_supernodes if supernodes is None else supernodes
        work = self._workspace.work
        kernels.solve_diagonal_upper(
            *self._supernodes, self._value_ptr, self._values, marked, self._inverse_diagonal, x, out, work
        )

    def find_supernodes(self, unknowns: IndexArray) -> BoolArray:
        """The parts of the factor that the solution at some unknowns needs."""
        return np.asarray(kernels.find_dependencies(*self._supernodes, unknowns))

    def compute_inverse_block(self, unknowns: IndexArray) -> Array:
        """(k, k) the rows and columns of L⁻¹ at some unknowns, exactly symmetric."""
        groups = self.find_supernodes(unknowns)
        starts = self._supernodes[0]
        active = np.flatnonzero(np.repeat(groups, np.diff(starts)))
        scaled = np.empty((len(active), len(unknowns)))
        for first in range(0, len(unknowns), RHS_PER_BLOCK):
            some = unknowns[first : first + RHS_PER_BLOCK]
            x = np.zeros((len(self), len(some)))
            x[some, np.arange(len(some))] = 1.0
            kernels.solve_lower_many(*self._supernodes, self._value_ptr, self._values, groups, x)
            scaled[:, first : first + len(some)] = x[active] * np.sqrt(self._inverse_diagonal[active])[:, None]
        return np.asarray(scaled.T @ scaled)


def _assemble_laplacian(elements: IndexArray, gradients: Array, volumes: Array, vertex_count: int) -> sp.csr_array:
    local = (gradients * volumes[:, None, None]) @ np.swapaxes(gradients, 1, 2)
    corners = elements.shape[1]
    rows, columns = np.repeat(elements, corners, axis=1).ravel(), np.tile(elements, (1, corners)).ravel()
    return sp.csr_array(sp.coo_array((local.ravel(), (rows, columns)), shape=(vertex_count, vertex_count)))


def _factorise_ldlt(L: sp.csr_array) -> tuple[sp.csc_array, Array, IndexArray]:
    """Lower triangle, diagonal, and which row of L stands where."""
    if L.shape[0] == 0:
        return sp.csc_array((0, 0)), np.empty(0), np.empty(0, dtype=np.int64)
    order = order_by_nested_dissection(sp.csr_array((np.ones(L.nnz), L.indices, L.indptr), shape=L.shape))
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
