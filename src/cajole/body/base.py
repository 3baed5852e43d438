"""Body, the interface of all kinds of bodies for statics, dynamics, modes and the verbs, and its sparsity pattern.

Signs: `force` is the internal force +dW/du on the left-hand side, M ü + d(u, u̇) + f(u) = f_ext.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from copy import copy
from functools import cached_property
from typing import Any, Self
from uuid import uuid4

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from scipy.sparse.csgraph import connected_components

from cajole import checks
from cajole.arrays import Array, IndexArray
from cajole.body.content_hash import hash_external_classes, record_sources
from cajole.errors import InputError
from cajole.mesh import MeshLine, MeshTet, MeshTri
from cajole.storage import hash_content

# [m/s²] defines body weights in reports and of pushes
EARTH_GRAVITY = 9.81
# [m] larger bodies were probably modelled in millimetres
SUSPICIOUS_SIZE = 100.0


class BlockPattern:
    """Pattern of (3n, 3n) CSR matrices with a 3x3 block for each pair of vertices in `elements` (m, k).

    Entry (r, c) of the block of vertices a, b of element e, with i = elements[e, a], is
    `data[block_offsets[e, a, b] + r * row_strides[i] + c]`.
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
        return _freeze_indices(np.concatenate([[0], np.cumsum(np.repeat(self.row_strides, 3))]))

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
        """Number of the connected component of each vertex (n,)."""
        blocks = sp.csr_array((np.ones(len(self._block_columns)), self._block_columns, self._block_indptr))
        return np.asarray(connected_components(blocks, directed=False)[1], dtype=np.int64)

    def restrict(self, dofs: IndexArray) -> tuple[sp.csr_array, IndexArray]:
        """Return the sub-pattern on `dofs` as a matrix of zeros, and the index of each of its values in `data`."""
        numbered = self.build_matrix(np.arange(1, self.nnz + 1, dtype=np.float64))
        part = sp.csr_array(numbered[dofs][:, dofs])
        part.sort_indices()
        take = part.data.astype(np.int64) - 1
        part.data = np.zeros(part.nnz)
        return part, take


def _freeze_indices(indices: IndexArray) -> NDArray[np.int32]:
    """Read-only int32 copy: many matrices share these arrays, so an operation in place must fail."""
    small = indices.astype(np.int32)
    small.setflags(write=False)
    return small


class Body(ABC):
    """Vertices with mass and internal forces, some of them fixed. Displacements u are (n, 3) [m] from rest."""

    def __init__(self, vertices: Array, elements: IndexArray, fixed: ArrayLike | None):
        self.vertices = vertices
        self.fixed: IndexArray = check_fixed_vertices(fixed, len(vertices))
        self.pattern = BlockPattern(len(vertices), elements)

    # --- physics of each kind

    @property
    @abstractmethod
    def mass_values(self) -> Array:
        """Values of the mass matrix on `pattern`."""

    @abstractmethod
    def energy(self, displacement: ArrayLike) -> float:
        """Potential energy W(u) [J]."""

    @abstractmethod
    def force(self, displacement: ArrayLike) -> Array:
        """Internal force f = dW/du (n, 3) [N]."""

    @abstractmethod
    def stiffness(self, displacement: ArrayLike | None = None) -> sp.csr_array:
        """K = df/du (3n, 3n) [N/m], exact, all vertices; at rest when no displacement is given."""

    @abstractmethod
    def stiffness_derivative(self, displacement: ArrayLike, direction: ArrayLike) -> sp.csr_array:
        """H(u):v = d/dε K(u + εv) (3n, 3n), the second derivative of the force contracted with `direction`."""

    @abstractmethod
    def damping_force(self, displacement: ArrayLike, velocity: ArrayLike) -> Array:
        """d(u, v) (n, 3) [N], linear in the velocity."""

    @abstractmethod
    def damping_matrix(self, displacement: ArrayLike) -> sp.csr_array:
        """D = ∂d/∂v (3n, 3n) [N s/m], symmetric."""

    @abstractmethod
    def damping_force_jacobian(self, displacement: ArrayLike, velocity: ArrayLike) -> sp.csr_array:
        """∂d/∂u (3n, 3n) at fixed velocity, exact."""

    @abstractmethod
    def total_force(self, u: Array, v: Array) -> Array:
        """f(u) + d(u, v), unchecked and fast."""

    @property
    @abstractmethod
    def has_symmetric_tangent(self) -> bool:
        """True if ∂d/∂u, and therefore the exact matrix of an implicit step, is symmetric."""

    @abstractmethod
    def assemble_system(
        self, u: Array, v: Array, mass_factor: float, damping_factor: float, out: Array, *, tangent: str = "symmetric"
    ) -> Array:
        """Fill `out` with the matrix of an implicit step on `pattern`, and return f(u) + d(u, v).

        out = mass_factor M + damping_factor D + K + ∂d/∂u. tangent: "exact"; "symmetric": the symmetric part of ∂d/∂u;
        "clamped": without ∂d/∂u, and with a positive semidefinite approximation of K, as linearly implicit steps need.
        For solids all three are equal.
        """

    @abstractmethod
    def get_display_mesh(self) -> MeshTet | MeshTri | MeshLine:
        """Return the mesh that shows this body in an animation, with the vertex numbering of the body."""

    @abstractmethod
    def get_content(self) -> tuple[Array | IndexArray | str | float, ...]:
        """A tag of the class and all parameters of its physics."""

    # --- common to all kinds

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        record_sources(cls)

    def compute_content_hash(self) -> str:
        """Hash of everything that decides the body's physics: bodies with equal hashes behave equally.

        For classes outside this package it includes their code and all attributes. If these cannot be identified, for
        example for a class that is typed into an interpreter, every call returns another hash.
        """
        own, external = hash_content(*self.get_content()), hash_external_classes(self)
        return own if external == "" else hash_content(own, uuid4().hex if external is None else external)

    @property
    def has_stable_content_hash(self) -> bool:
        """False if the content hash changes at every call; then results must not be stored under it."""
        return hash_external_classes(self) is not None

    @property
    def vertex_count(self) -> int:
        """Number of vertices n."""
        return len(self.vertices)

    @cached_property
    def mass(self) -> sp.csr_array:
        """Mass matrix (3n, 3n) [kg], all vertices."""
        matrix = self.pattern.build_matrix(self.mass_values).copy()
        matrix.eliminate_zeros()
        return matrix

    @cached_property
    def vertex_masses(self) -> Array:
        """Row sums of the mass matrix per vertex (n,) [kg]."""
        ones = np.zeros(3 * self.vertex_count)
        ones[::3] = 1.0
        return np.asarray((self.mass @ ones)[::3])

    @cached_property
    def total_mass(self) -> float:
        """Total mass [kg]."""
        return float(self.vertex_masses.sum())

    @cached_property
    def weight(self) -> float:
        """Weight on earth [N]."""
        return EARTH_GRAVITY * self.total_mass

    @cached_property
    def size(self) -> float:
        """L [m], the diagonal of the rest bounding box: the unit of length of all dimensionless options."""
        return float(np.linalg.norm(np.ptp(self.vertices, axis=0)))

    @cached_property
    def free_vertices(self) -> IndexArray:
        """Indices of the vertices that are not fixed."""
        return np.setdiff1d(np.arange(self.vertex_count), self.fixed)

    @cached_property
    def free_dofs(self) -> IndexArray:
        """Indices into 3n of the coordinates of the free vertices."""
        return list_vertex_dofs(self.free_vertices)

    def with_fixed_vertices(self, fixed: ArrayLike | None) -> Self:
        """Return the same body with other fixed vertices."""
        other = copy(self)
        for name in ("free_vertices", "free_dofs"):
            other.__dict__.pop(name, None)
        other.fixed = check_fixed_vertices(fixed, self.vertex_count)
        return other

    def gravity(self, acceleration: ArrayLike = EARTH_GRAVITY) -> Array:
        """Weight of each vertex (n, 3) [N] for an acceleration (3,) [m/s²], or a number, which acts downwards (-z)."""
        if checks.count_axes(acceleration) == 0:
            name = "gravity (m/s², a number is downwards; give a vector for another direction)"
            size = checks.require_positive(acceleration, name, allow_zero=True)  # type: ignore[arg-type]
            return np.asarray(self.vertex_masses[:, None] * np.array([0.0, 0.0, -size]))
        return np.asarray(self.vertex_masses[:, None] * checks.require_real_array(acceleration, "gravity", (3,)))

    def distribute_force(self, vertices: ArrayLike, force: ArrayLike) -> Array:
        """Distribute a force (3,) [body weights] over `vertices` by mass: loads (n, 3) [N]."""
        index = checks.require_index_array(vertices, "vertices", (None,), self.vertex_count)
        if len(_require_unique(index, "vertices")) == 0:
            raise InputError("vertices is empty, so there is nothing to push; name at least one vertex")
        load, masses = np.zeros((self.vertex_count, 3)), self.vertex_masses[index]
        whole = checks.require_real_array(force, "force (body weights)", (3,))
        load[index] = self.weight * (masses / masses.sum())[:, None] * whole
        return load

    def inverted(self, displacement: ArrayLike) -> IndexArray:
        """Indices (k,) of the tets that a displacement (n, 3) inverts; empty for a body without tets."""
        self.check_vertex_vectors(displacement)
        return np.empty(0, dtype=np.int64)

    @property
    def unit_hint(self) -> str:
        """Addition to error messages for a body so large that its mesh is probably not in metres; otherwise empty."""
        if self.size < SUSPICIOUS_SIZE:
            return ""
        return f"; is the mesh in millimetres? its size is {self.size:.4g} m (read_mesh(path, scale=0.001), --scale)"

    def compute_rigid_body_modes(self) -> Array:
        """Mass-orthonormal linearised rigid motions (3n, k) of each connected component that the fixed vertices allow.

        k is 6 for a free connected body, and 0 if three vertices that are not collinear are fixed.
        """
        return np.hstack([self._compute_component_rigid_modes(part) for part in self.connected_components])

    def compute_unconstrained_rigid_modes(self, constrained: IndexArray) -> Array:
        """Rigid motions (3n, 6 k) of the k connected components without any fixed or `constrained` vertex."""
        stops = np.union1d(self.fixed, constrained)
        free = [part for part in self.connected_components if len(np.intersect1d(part, stops)) == 0]
        modes = [self._compute_component_rigid_modes(part) for part in free]
        return np.hstack([np.empty((3 * self.vertex_count, 0)), *modes])

    @cached_property
    def connected_components(self) -> list[IndexArray]:
        """Vertices of each connected component."""
        labels = self.pattern.label_components()
        return [np.flatnonzero(labels == label) for label in range(labels.max() + 1)]

    def _compute_component_rigid_modes(self, component: IndexArray) -> Array:
        arms = self.vertices[component] - self.vertices[component].mean(axis=0)
        rotations = [np.cross(axis, arms) for axis in np.eye(3)]
        translations = [np.broadcast_to(axis * np.linalg.norm(arms, axis=1).max(), arms.shape) for axis in np.eye(3)]
        R = np.zeros((self.vertex_count, 3, 6))
        R[component] = np.stack([*translations, *rotations], axis=2)
        held = R[np.intersect1d(component, self.fixed)].reshape(-1, 6)
        if len(held):
            # the triangle of a QR factorisation has the same right singular vectors as thousands of fixed rows
            _, sizes, turn = np.linalg.svd(np.linalg.qr(held, mode="r"))
            allowed = np.concatenate([sizes, np.zeros(6 - len(sizes))]) <= 1e-9 * sizes.max(initial=1e-300)
            R = R @ turn[allowed].T
        motions = R.reshape(3 * self.vertex_count, -1)
        values, vectors = np.linalg.eigh(motions.T @ (self.mass @ motions))
        # a collinear component (two masses and a spring) cannot rotate about its line
        possible = values > 1e-12 * values.max(initial=0.0)
        return np.asarray(motions @ (vectors[:, possible] / np.sqrt(values[possible])))

    def require_zero_at_fixed_vertices(self, vectors: Array, name: str) -> None:
        """Raise unless `vectors` (n, 3) are zero at the fixed vertices."""
        moved = self.fixed[np.any(vectors[self.fixed] != 0, axis=1)]
        if len(moved):
            raise InputError(f"the {name} of fixed vertex {moved[0]} is not zero; set it to zero or free the vertex")

    def check_vertex_vectors(self, displacement: ArrayLike, name: str = "displacement") -> Array:
        """Return `displacement` as a finite (n, 3) array."""
        return checks.require_real_array(displacement, name, (self.vertex_count, 3))


def list_vertex_dofs(vertices: IndexArray) -> IndexArray:
    """Coordinates 3i, 3i+1, 3i+2 of each vertex."""
    return (3 * vertices[:, None] + np.arange(3)).ravel()


def flatten_to_columns(vectors: Array) -> Array:
    """Reshape displacements or forces (k, n, 3) to columns (3n, k), as matrices and bases take them."""
    return vectors.reshape(len(vectors), -1).T


def check_fixed_vertices(fixed: ArrayLike | None, count: int) -> IndexArray:
    """Return `fixed`, indices or a mask (n,), as sorted vertex indices: in range, unique and not all vertices."""
    if fixed is None:
        return np.empty(0, dtype=np.int64)
    values = _require_unique(checks.require_indices_or_mask(fixed, "fixed", count), "fixed")
    if len(values) == count:
        raise InputError(f"all {count} vertices are fixed, so nothing can move; leave at least one free")
    return values


def _require_unique(indices: IndexArray, name: str) -> IndexArray:
    """Return `indices` sorted. Raises InputError for duplicates."""
    values, times = np.unique(indices, return_counts=True)
    if (times > 1).any():
        raise InputError(f"{name} names vertex {values[times > 1][0]} twice; name each vertex once")
    return values


def require_no_unused_vertices(mesh: MeshTet | MeshTri, element: str) -> None:
    """Raise InputError if a vertex of `mesh` belongs to no `element`: it would have no mass."""
    if not mesh.used_vertex_mask.all():
        raise InputError(
            f"vertex {int(np.argmin(mesh.used_vertex_mask))} belongs to no {element}, so it has no mass; remove "
            "unused vertices: mesh, numbers = mesh.compacted()"
        )
