"""What every body offers, so that statics, dynamics, modes and the verbs need not know which kind it is.

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
from numpy.typing import ArrayLike

from cajole import checks
from cajole.arrays import Array, IndexArray
from cajole.body.block_pattern import BlockPattern
from cajole.body.content_hash import hash_external_classes, record_sources
from cajole.errors import InputError
from cajole.mesh import MeshLine, MeshTet, MeshTri
from cajole.storage import hash_content

# [m/s²] what bodies weigh by; reports and pushes count in body weights
EARTH_GRAVITY = 9.81
# [m] what is larger was likely drawn in millimetres
SUSPICIOUS_SIZE = 100.0


class Body(ABC):
    """Vertices with mass, some of them fixed, joined by forces; displacements u are (n, 3) [m] from rest."""

    def __init__(self, vertices: Array, elements: IndexArray, fixed: ArrayLike | None):
        self.vertices = vertices
        self.fixed: IndexArray = check_fixed_vertices(fixed, len(vertices))
        self.pattern = BlockPattern(len(vertices), elements)

    # --- physics that each kind defines

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
        """Whether ∂d/∂u is symmetric, and with it the exact matrix of an implicit step."""

    @abstractmethod
    def assemble_system(
        self, u: Array, v: Array, mass_factor: float, damping_factor: float, out: Array, *, tangent: str = "symmetric"
    ) -> Array:
        """Fill `out` with the matrix of an implicit step, and return f(u) + d(u, v).

        out = inertia M + drag D + K + ∂d/∂u on `pattern`. tangent: "exact"; "symmetric" takes the symmetric part of
        ∂d/∂u; "clamped" leaves it out and uses the positive semidefinite stand-in for K that one linear solve a step
        needs. For solids all three are the same.
        """

    @abstractmethod
    def get_display_mesh(self) -> MeshTet | MeshTri | MeshLine:
        """The mesh that shows this body in an animation, with the body's own vertex numbering."""

    @abstractmethod
    def get_content(self) -> tuple[Array | IndexArray | str | float, ...]:
        """A tag of the class and all parameters of its physics."""

    # --- what follows from it

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
        coo = self.pattern.build_matrix(self.mass_values).tocoo()
        there = coo.data != 0
        rows, columns = coo.coords
        return sp.csr_array((coo.data[there], (rows[there], columns[there])), shape=coo.shape)

    @cached_property
    def vertex_masses(self) -> Array:
        """Row sums of the mass matrix per vertex (n,) [kg]."""
        ones = np.zeros(3 * self.vertex_count)
        ones[::3] = 1.0
        return (self.mass @ ones)[::3]

    @cached_property
    def total_mass(self) -> float:
        """[kg]"""
        return float(self.vertex_masses.sum())

    @cached_property
    def weight(self) -> float:
        """[N] on earth."""
        return EARTH_GRAVITY * self.total_mass

    @cached_property
    def size(self) -> float:
        """L [m], the diagonal of the rest bounding box: the unit of length of all dials."""
        return float(np.linalg.norm(np.ptp(self.vertices, axis=0)))

    @cached_property
    def free_vertices(self) -> IndexArray:
        """Indices of the vertices that may move."""
        return np.setdiff1d(np.arange(self.vertex_count), self.fixed)

    @cached_property
    def free_dofs(self) -> IndexArray:
        """Indices into 3n of the coordinates that may move."""
        return list_vertex_dofs(self.free_vertices)

    def with_fixed_vertices(self, fixed: ArrayLike | None) -> Self:
        """The same body with other vertices fixed."""
        other = copy(self)
        for name in ("free_vertices", "free_dofs"):
            other.__dict__.pop(name, None)
        other.fixed = check_fixed_vertices(fixed, self.vertex_count)
        return other

    def gravity(self, acceleration: ArrayLike = EARTH_GRAVITY) -> Array:
        """Weight of each vertex (n, 3) [N] under an acceleration (3,) [m/s²], or a number, which is down (-z)."""
        return self.vertex_masses[:, None] * _parse_gravity(acceleration)

    def distribute_force(self, vertices: ArrayLike, force: ArrayLike) -> Array:
        """A force (3,) [body weights] on `vertices` together, each taking its share by mass: loads (n, 3) [N]."""
        index = checks.require_index_array(vertices, "vertices", (None,), self.vertex_count)
        if len(_require_unique(index, "vertices")) == 0:
            raise InputError("vertices is empty, so there is nothing to push; name at least one vertex")
        load, masses = np.zeros((self.vertex_count, 3)), self.vertex_masses[index]
        whole = checks.require_real_array(force, "force (body weights)", (3,))
        load[index] = self.weight * (masses / masses.sum())[:, None] * whole
        return load

    def inverted(self, displacement: ArrayLike) -> IndexArray:
        """The tets (k,) that a displacement (n, 3) turns inside out; none of a body without tets."""
        self.check_vertex_vectors(displacement)
        return np.empty(0, dtype=np.int64)

    @property
    def unit_hint(self) -> str:
        """What failures add about a body so large that its file was hardly in metres; nothing otherwise."""
        if self.size < SUSPICIOUS_SIZE:
            return ""
        return f"; is the mesh in millimetres? its size is {self.size:.4g} m (read_mesh(path, scale=0.001), --scale)"

    def compute_rigid_body_modes(self) -> Array:
        """Mass-orthonormal linearised rigid motions (3n, k) left free by the fixed vertices, of every separate piece.

        k is 6 for a free connected body, 0 once three vertices that are not in line are fixed.
        """
        return np.hstack([self._compute_component_rigid_modes(piece) for piece in self.connected_components])

    def compute_unconstrained_rigid_modes(self, constrained: IndexArray) -> Array:
        """Rigid motions (3n, 6 k) of the k pieces in which no vertex is fixed or `held`: nothing stops their drift."""
        stops = np.union1d(self.fixed, constrained)
        loose = [piece for piece in self.connected_components if len(np.intersect1d(piece, stops)) == 0]
        return np.hstack(
            [np.empty((3 * self.vertex_count, 0)), *(self._compute_component_rigid_modes(piece) for piece in loose)]
        )

    @cached_property
    def connected_components(self) -> list[IndexArray]:
        """The vertices of each connected piece."""
        labels = self.pattern.label_components()
        return [np.flatnonzero(labels == label) for label in range(labels.max() + 1)]

    def _compute_component_rigid_modes(self, component: IndexArray) -> Array:
        arms = self.vertices[component] - self.vertices[component].mean(axis=0)
        turns = [np.cross(axis, arms) for axis in np.eye(3)]
        moves = [np.broadcast_to(axis * np.linalg.norm(arms, axis=1).max(), arms.shape) for axis in np.eye(3)]
        R = np.zeros((self.vertex_count, 3, 6))
        R[component] = np.stack([*moves, *turns], axis=2)
        held = R[np.intersect1d(component, self.fixed)].reshape(-1, 6)
        if len(held):
            # the triangle of a QR has the same right singular vectors as thousands of held rows
            _, sizes, turn = np.linalg.svd(np.linalg.qr(held, mode="r"))
            still = np.concatenate([sizes, np.zeros(6 - len(sizes))]) <= 1e-9 * sizes.max(initial=1e-300)
            R = R @ turn[still].T
        motions = R.reshape(3 * self.vertex_count, -1)
        values, vectors = np.linalg.eigh(motions.T @ (self.mass @ motions))
        # a piece in one line (two masses and a spring) cannot turn about it
        turning = values > 1e-12 * values.max(initial=0.0)
        return motions @ (vectors[:, turning] / np.sqrt(values[turning]))

    def require_zero_at_fixed_vertices(self, vectors: Array, name: str) -> None:
        """Raise unless `vectors` (n, 3) are zero at the fixed vertices."""
        moved = self.fixed[np.any(vectors[self.fixed] != 0, axis=1)]
        if len(moved):
            raise InputError(f"the {name} of fixed vertex {moved[0]} is not zero; set it to zero or free the vertex")

    def check_vertex_vectors(self, displacement: ArrayLike, name: str = "displacement") -> Array:
        """`displacement` as a finite (n, 3) array."""
        return checks.require_real_array(displacement, name, (self.vertex_count, 3))


def list_vertex_dofs(vertices: IndexArray) -> IndexArray:
    """Coordinates 3i, 3i+1, 3i+2 of each vertex."""
    return (3 * vertices[:, None] + np.arange(3)).ravel()


def flatten_to_columns(vectors: Array) -> Array:
    """Displacements or forces (k, n, 3) as the columns (3n, k) that matrices and bases take."""
    return vectors.reshape(len(vectors), -1).T


def _parse_gravity(value: ArrayLike) -> Array:
    """(3,) [m/s²]; a number is down."""
    if checks.count_axes(value) == 0:
        down = "gravity (m/s², a number is downwards; give a vector for another direction)"
        return np.array([0.0, 0.0, -checks.require_positive(value, down, allow_zero=True)])  # type: ignore[arg-type]
    return checks.require_real_array(value, "gravity", (3,))


def check_fixed_vertices(fixed: ArrayLike | None, count: int) -> IndexArray:
    """`fixed`, indices or a mask (n,), as sorted vertex indices, each in range and once; not all of them."""
    if fixed is None:
        return np.empty(0, dtype=np.int64)
    values = _require_unique(checks.require_indices_or_mask(fixed, "fixed", count), "fixed")
    if len(values) == count:
        raise InputError(f"all {count} vertices are fixed, so nothing can move; leave at least one free")
    return values


def _require_unique(indices: IndexArray, name: str) -> IndexArray:
    """`indices` in order; raise where a vertex is named twice."""
    values, times = np.unique(indices, return_counts=True)
    if (times > 1).any():
        raise InputError(f"{name} names vertex {values[times > 1][0]} twice; name each vertex once")
    return values


def require_no_unused_vertices(mesh: MeshTet | MeshTri, element: str) -> None:
    """Raise where a vertex of `mesh` belongs to no `element`: it would have no mass."""
    if not mesh.used_vertex_mask.all():
        raise InputError(
            f"vertex {int(np.argmin(mesh.used_vertex_mask))} belongs to no {element}, so it has no mass; remove "
            f"unused vertices: "
            "mesh, numbers = mesh.compacted()"
        )
