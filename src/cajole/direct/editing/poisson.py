"""The Poisson solve of the warp: held vertices, pieces that float freely, and contacts that stay.

Unknowns are the vertices of the elements in an order of their own. A piece of the mesh without held vertices has one
vertex pinned for the solve and is then moved so that its centre is where the linear change puts it: with shares w of
its vertices, Σ w = 1, its inverse is G = (I - 1wᵀ) L⁻¹ (I - w1ᵀ). Rows d of contacts keep d δ = 0 by eq. (9): with u₀
the solution without them, λ = (d G dᵀ)⁻¹ d u₀ and δ = u₀ - G dᵀ λ. The Laplacian is the same in every direction, so
d G dᵀ = (N Nᵀ) ∘ (A G Aᵀ), N the directions of the rows and A which vertices they join. Where contacts and the centre
of a piece contradict each other, as when all of it touches, the centre yields: G + κ 11ᵀ stands for G there.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse.linalg import splu

from cajole.arrays import Array, BoolArray, IndexArray
from cajole.direct.editing import kernels_laplacian as kernels
from cajole.errors import SolveError
from cajole.linalg.ordering import order_by_nested_dissection
from cajole.linalg.threads import limit_blas_threads

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


# Directions among the rows that repeat others, against the strongest.
RANK_TOLERANCE = 1e-12


@dataclass(frozen=True, eq=False)
class WarpContactConstraints:
    """Rows of contacts that a warp keeps: n_c·(δ_v - δ_w) = 0; made by `Warp.kept`.

    points (k,): unknowns in contact; first, second (r,): which of them each row joins, the last place when none;
    directions (r, 3); yielding: (c,) κ of the floating pieces. `solve` gives λ of d u₀.
    """

    unknowns: IndexArray
    first: IndexArray
    second: IndexArray
    directions: Array
    supernodes: BoolArray
    centroid_compliance: Array
    scale: Array
    factor: tuple[Array, Array | None]

    def apply_incidence(self, values: Array) -> Array:
        """(r, ...) A x of values at the points (k, ...)."""
        padded = np.concatenate([values, np.zeros((1, *values.shape[1:]))])
        return np.asarray(padded[self.first] - padded[self.second])

    def apply_transpose(self, multipliers: Array) -> Array:
        """(k, 3) dᵀλ at the points."""
        out = np.zeros((len(self.unknowns) + 1, 3))
        pushes = multipliers[:, None] * self.directions
        np.add.at(out, self.first, pushes)
        np.subtract.at(out, self.second, pushes)
        return out[:-1]

    def solve(self, rhs: Array) -> Array:
        """λ (r, q) with d G dᵀ λ = right; the least one where rows depend on one another."""
        scaled = self.scale[:, None] * rhs
        vectors, inverse = self.factor
        if inverse is None:
            return np.asarray(self.scale[:, None] * np.asarray(cho_solve((vectors, True), scaled, check_finite=False)))
        return self.scale[:, None] * (vectors @ (inverse[:, None] * (vectors.T @ scaled)))


def compute_gram_matrix(G: Array, first: IndexArray, second: IndexArray, directions: Array) -> Array:
    """d G dᵀ = (N Nᵀ) ∘ (A G Aᵀ)."""
    rows = G[first] - G[second]
    return np.asarray((directions @ directions.T) * (rows[:, first] - rows[:, second]))


def build_factored_constraints(
    G: Array,
    centroid_compliance: Array,
    unknowns: IndexArray,
    first: IndexArray,
    second: IndexArray,
    directions: Array,
    supernodes: BoolArray,
) -> tuple[WarpContactConstraints, Array]:
    """The rows with the factors of d G dᵀ, and the combinations of rows (r, q) that have no effect."""
    S = compute_gram_matrix(G, first, second, directions)
    scale = 1.0 / np.sqrt(S.diagonal())
    factor, idle = _factorise_gram(scale[:, None] * S * scale)
    return WarpContactConstraints(
        unknowns, first, second, directions, supernodes, centroid_compliance, scale, factor
    ), scale[:, None] * idle


def _factorise_gram(S: Array) -> tuple[tuple[Array, Array | None], Array]:
    """Cholesky factor of a scaled Gram matrix, or its eigenvectors with inverse eigenvalues where rows repeat others.

    And the eigenvectors left out (r, q).
    """
    try:
        lower = cho_factor(S, lower=True, check_finite=False)[0]
        if np.diagonal(lower).min() ** 2 > RANK_TOLERANCE:
            return (lower, None), np.empty((len(S), 0))
    except np.linalg.LinAlgError:
        pass
    values, vectors = np.linalg.eigh(S)
    good = values > RANK_TOLERANCE * values[-1]
    return (vectors[:, good], 1.0 / values[good]), vectors[:, ~good]


# Rows that move nothing, against the one that moves most.
NEGLIGIBLE_STRENGTH = 1e-13
# Pushes, of rows without effect, that do not cancel: they act against a centre.
CONFLICT_TOLERANCE = 1e-6


class PoissonSystem:
    """L δ = rhs on the elements (m, c) of a mesh with `count` vertices, of which those in the mask `held` stay.

    pieces: (count,) the connected piece of each vertex. order: (n,) the vertex of each unknown; the first are solved
    for, the others held or pinned.
    """

    def __init__(
        self, elements: IndexArray, gradients: Array, volumes: Array, fixed: BoolArray, components: IndexArray
    ):
        count = len(fixed)
        floating = np.setdiff1d(components[np.unique(elements)], components[fixed])
        used = np.zeros(count, dtype=bool)
        used[elements] = True
        loose = used & ~fixed
        found, firsts = np.unique(components, return_index=True)
        loose[firsts[np.searchsorted(found, floating)]] = False
        self.laplacian = LaplacianFactor(elements, gradients, volumes, np.flatnonzero(loose), count)
        self.order: IndexArray = np.concatenate([self.laplacian.order, np.flatnonzero(used & ~loose)])
        self.is_fixed: BoolArray = fixed[self.order]
        self.floating_count = len(floating)
        self._component_of = _label_floating_components(components[self.order], floating)
        self._centroid_weights = _compute_vertex_volumes(elements, volumes, count)[self.order]
        self._solved_count, self._ones = len(self.laplacian), np.ones(len(self.order))
        # h = L⁻¹w of every floating piece, and wᵀh
        self._inverse_times_weights, self._centroid_offsets = np.zeros(len(self.order)), np.zeros(self.floating_count)
        if self.floating_count:
            self._normalise_centroid_weights()

    def _normalise_centroid_weights(self) -> None:
        """Shares that sum to one in every floating piece, and what L⁻¹ makes of them."""
        whole = np.bincount(self._component_of + 1, self._centroid_weights, minlength=self.floating_count + 1)
        whole[0] = np.inf  # vertices of held pieces have no share in a centre
        self._centroid_weights = self._centroid_weights / whole[self._component_of + 1]
        x = np.repeat(self._centroid_weights[:, None], 3, axis=1)
        self.laplacian.solve(x[: self._solved_count])
        x[self._solved_count :] = 0.0
        self._inverse_times_weights, self._centroid_offsets = x[:, 0].copy(), self.compute_centroids(x)[:, 0].copy()

    def compute_centroids(self, values: Array) -> Array:
        """(c, 3) the centres wᵀx of the floating pieces."""
        out = np.empty((self.floating_count, 3))
        kernels.sum_by_label(self._component_of, self._centroid_weights, values, out)
        return out

    def solve(self, rhs: Array, linear_displacement: Array, contacts: WarpContactConstraints | None = None) -> None:
        """The right side x (n, 3) becomes the change; p (n, 3) is the linear one, which has the centres."""
        solved = rhs[: self._solved_count]
        means = np.empty((self.floating_count, 3))
        if contacts is not None and self.floating_count:
            kernels.sum_by_label(
                self._component_of[: self._solved_count],
                self._inverse_times_weights[: self._solved_count],
                solved,
                means,
            )
        rhs[self._solved_count :] = 0.0
        self.laplacian.solve_lower(solved)
        amounts = None
        if contacts is not None:
            pushes = self._compute_contact_forces(solved, self.compute_centroids(linear_displacement) - means, contacts)
            amounts = self._subtract_contact_forces(solved, pushes, contacts)
        self.laplacian.solve_diagonal_upper(solved, solved)
        if self.floating_count:
            shifts = self.compute_centroids(linear_displacement)
            if contacts is not None and amounts is not None:
                kernels.add_by_label(self._component_of, self._inverse_times_weights, amounts, rhs)
                shifts -= contacts.centroid_compliance[:, None] * amounts
            kernels.add_by_label(self._component_of, self._ones, shifts - self.compute_centroids(rhs), rhs)

    def is_compatible(self, contacts: WarpContactConstraints) -> bool:
        """True if the constraints may have been built by this system."""
        sizes = self.laplacian.supernode_count, self.floating_count
        return (len(contacts.supernodes), len(contacts.centroid_compliance)) == sizes and int(
            contacts.unknowns.max()
        ) < len(self.order)

    def _compute_contact_forces(
        self, forward_solution: Array, shifts: Array, contacts: WarpContactConstraints
    ) -> Array:
        """(k, 3) dᵀλ at the points in contact, of a solution that is half done."""
        found = np.zeros_like(forward_solution)
        self.laplacian.solve_diagonal_upper(forward_solution, found, contacts.supernodes)
        places = np.zeros((len(contacts.unknowns), 3))
        inside = contacts.unknowns < self._solved_count
        places[inside] = found[contacts.unknowns[inside]]
        afloat = self._component_of[contacts.unknowns] >= 0
        places[afloat] += shifts[self._component_of[contacts.unknowns[afloat]]]
        off = np.einsum("ri,ri->r", contacts.directions, contacts.apply_incidence(places))
        return contacts.apply_transpose(contacts.solve(off[:, None])[:, 0])

    def _subtract_contact_forces(
        self, forward_solution: Array, contact_forces: Array, contacts: WarpContactConstraints
    ) -> Array:
        """Take the pushes off a solution that is half done; how much each floating piece was pushed (c, 3)."""
        push = np.zeros_like(forward_solution)
        inside = contacts.unknowns < self._solved_count
        push[contacts.unknowns[inside]] = contact_forces[inside]
        self.laplacian.solve_lower(push, contacts.supernodes)
        forward_solution -= push
        amounts = np.empty((self.floating_count, 3))
        kernels.sum_by_label(
            self._component_of[contacts.unknowns], np.ones(len(contact_forces)), contact_forces, amounts
        )
        return amounts

    def apply_inverse(self, source: Array) -> tuple[Array, Array]:
        """G source (n, 3), up to a constant in every floating piece, and the sums of the source there (c, 3)."""
        sums = np.empty((self.floating_count, 3))
        kernels.sum_by_label(self._component_of, self._ones, source, sums)
        x = source.copy()
        self.laplacian.solve(x[: self._solved_count])
        x[self._solved_count :] = 0.0
        if self.floating_count:
            kernels.add_by_label(self._component_of, self._inverse_times_weights, -sums, x)
        return x, sums

    def build_probe_sources(self, unknown: int, contacts: WarpContactConstraints) -> list[Array]:
        """Three sources (n, 3): what G makes of them weighs a right side into δ of one unknown, contacts kept."""
        source = np.zeros((len(self.order), 3))
        source[unknown] = 1.0
        x, _ = self.apply_inverse(source)
        places = x[contacts.unknowns, 0].copy()
        label = self._component_of[unknown]
        if label >= 0:
            # what `field` leaves open: G = L⁻¹ - h1ᵀ - 1hᵀ + 1(wᵀh)1ᵀ within the piece
            same = self._component_of[contacts.unknowns] == label
            places[same] += (
                self._centroid_offsets[label]
                - self._inverse_times_weights[unknown]
                + contacts.centroid_compliance[label]
            )
        beta = contacts.solve(contacts.directions * contacts.apply_incidence(places)[:, None])
        out = []
        for i in range(3):
            source = np.zeros((len(self.order), 3))
            source[unknown, i] = 1.0
            source[contacts.unknowns] -= contacts.apply_transpose(beta[:, i])
            out.append(source)
        return out

    def build_contact_constraints(
        self, directions: Array, first: IndexArray, second: IndexArray
    ) -> WarpContactConstraints | None:
        """Rows n·(δ_first - δ_second) = 0 of unknowns, -1 for what never moves; None when no row moves anything."""
        # a row of one moving end is the same whichever it is
        first, second = np.where(first < 0, second, first), np.where(first < 0, -1, second)
        moving = (first >= 0) & (first != second)
        first, second, directions = first[moving], second[moving], directions[moving]
        points, places = np.unique(np.concatenate([first, second]), return_inverse=True)
        if len(first) == 0:
            return None
        if points[0] < 0:
            points, places = points[1:], np.where(places == 0, len(points) - 1, places - 1)
        first, second = places[: len(first)], places[len(first) :]
        groups = self.laplacian.find_supernodes(points[points < self._solved_count])
        with limit_blas_threads():
            G = np.zeros((len(points) + 1, len(points) + 1))
            G[:-1, :-1] = self._compute_inverse_block(points)
            strength = compute_gram_matrix(G, first, second, directions).diagonal()
            some = strength > NEGLIGIBLE_STRENGTH * strength.max()
            found = points, first[some], second[some], directions[some], groups
            kept, idle = build_factored_constraints(G, np.zeros(self.floating_count), *found)
            contrary = self._find_conflicting_components(kept, idle)
            if contrary.any():
                yielding = np.where(contrary, G.diagonal().max(), 0.0)
                labels = np.append(self._component_of[points], -1)
                same = (labels[:, None] == labels) & (labels >= 0)
                kept, _ = build_factored_constraints(G + same * np.append(yielding, 0.0)[labels], yielding, *found)
        return kept

    def _find_conflicting_components(self, contacts: WarpContactConstraints, null_vectors: Array) -> BoolArray:
        """(c,) the floating pieces whose centre the rows contradict: combinations λ without effect that yet push."""
        out = np.zeros(self.floating_count, dtype=bool)
        for amounts in null_vectors.T:
            pushes = np.abs(contacts.apply_transpose(amounts)).max(axis=1)
            labels = self._component_of[contacts.unknowns[pushes > CONFLICT_TOLERANCE * np.abs(amounts).max()]]
            out[labels[labels >= 0]] = True
        return out

    def _compute_inverse_block(self, unknowns: IndexArray) -> Array:
        """(k, k) G at some unknowns."""
        inside = unknowns < self._solved_count
        G = np.zeros((len(unknowns), len(unknowns)))
        G[np.ix_(inside, inside)] = self.laplacian.compute_inverse_block(unknowns[inside])
        labels, h = self._component_of[unknowns], self._inverse_times_weights[unknowns]
        for label in np.unique(labels[labels >= 0]):
            mine = np.flatnonzero(labels == label)
            G[np.ix_(mine, mine)] += self._centroid_offsets[label] - h[mine][:, None] - h[mine][None, :]
        return G


def _label_floating_components(components: IndexArray, floating: IndexArray) -> IndexArray:
    """(n,) the place of each vertex's piece among the floating ones, -1 where it has held vertices."""
    place = np.searchsorted(floating, components)
    found = place < len(floating)
    found[found] = floating[place[found]] == components[found]
    return np.where(found, place, -1)


def _compute_vertex_volumes(elements: IndexArray, volumes: Array, vertex_count: int) -> Array:
    """(count,) the volume that belongs to each vertex."""
    corners = elements.shape[1]
    weights = np.repeat(volumes / corners, corners)
    return np.asarray(np.bincount(elements.ravel(), weights, minlength=vertex_count), dtype=np.float64)
