"""The model of an edit: modes, input frames without their rigid rotation, contacts and warp of a finished animation."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np

from cajole.animation import Animation, Contacts
from cajole.arrays import Array, IndexArray
from cajole.direct.editing.constraints import ContactRows, VertexConstraint, build_contact_rows
from cajole.direct.editing.warp import FrameDecomposition, IdentityWarp, Warp, WarpContactConstraints, WarpProbe
from cajole.mesh import MeshTet, MeshTri

CachedValue = TypeVar("CachedValue")

# Cached results per kind: of input frames, and of probes of vertices.
MAX_CACHED_FRAMES, MAX_CACHED_PROBES = 24, 96


@dataclass(eq=False)
class EditModel:
    """The quantities that stay constant while an animation is edited. Several threads may use it.

    rest_mesh: the body's own rest shape, to which modes and warp refer. moving_vertices: (m,) vertices that some mode
    moves; mode_shapes: (3m, r) at these; eigenvalues: (r,) [1/s²]. is_floating: True if nothing fixes the body;
    every frame is then edited in a frame of reference that rotates with the body. contacts: all contacts, preserved by
    the warp. mass: total mass [kg] of the body that the modes belong to.
    """

    animation: Animation
    rest_mesh: MeshTet | MeshTri
    moving_vertices: IndexArray
    mode_shapes: Array
    eigenvalues: Array
    warp: Warp | IdentityWarp
    is_floating: bool
    contacts: Contacts | None
    mass: float = 1.0
    _cache: dict[tuple[str, int], object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._moving_index = np.full(self.animation.n, -1, dtype=np.int64)
        self._moving_index[self.moving_vertices] = np.arange(len(self.moving_vertices))

    @property
    def size(self) -> float:
        """L [m], the diagonal of the rest bounding box."""
        return self.rest_mesh.size

    def with_animation(self, animation: Animation) -> EditModel:
        """The same body in another motion."""
        return replace(self, animation=animation, _cache={})

    def get_input_positions(self, frame: int) -> Array:
        """(n, 3) [m] positions of the input."""
        return np.asarray(self.animation.positions[frame], dtype=np.float64)

    def get_input_position(self, frame: int, vertex: int) -> Array:
        """(3,) [m] position of a vertex in the input."""
        return np.asarray(self.animation.positions[frame, vertex], dtype=np.float64)

    def compute_requested_displacement(self, constraint: VertexConstraint) -> Array:
        """(3,) [m] change of x from the input to the target; the constraint asks for its part along the directions."""
        values = [self.get_input_position(constraint.frame, vertex) for vertex in constraint.vertices]
        return np.asarray(constraint.target - constraint.combine(values))

    def compute_constraint_rows(self, vertex: int, other_vertex: int = -1) -> Array:
        """(3, r) modal displacements of a vertex, minus those of another if given; zero where no mode moves it."""
        rows = np.zeros((3, self.mode_shapes.shape[1]))
        for sign, which in ((1.0, vertex), (-1.0, other_vertex)):
            index = self._moving_index[which] if which >= 0 else -1
            if index >= 0:
                rows += sign * self.mode_shapes[3 * index : 3 * index + 3]
        return rows

    def compute_linear_displacements(self, z: Array) -> Array:
        """Linear displacements (q, n, 3) [m] of modal coordinates z (r, q)."""
        out = np.zeros((z.shape[1], self.animation.n, 3))
        out[:, self.moving_vertices] = (self.mode_shapes @ z).T.reshape(z.shape[1], len(self.moving_vertices), 3)
        return out

    def compute_rigid_rotation(self, frame: int) -> Array:
        """R (3, 3), the rotation of the whole body in a frame; the identity if the body is not floating."""
        if not self.is_floating:
            return np.eye(3)
        return self._get_or_compute(
            "rotation", frame, lambda: fit_rotation(self.rest_mesh.vertices, self.get_input_positions(frame)), frame + 1
        )

    def decompose_frame(self, frame: int) -> FrameDecomposition:
        """Rotation and stretch of every element in the input frame, without the rigid rotation."""
        return self._get_or_compute(
            "frame",
            frame,
            lambda: self.warp.decompose_frame(self.get_input_positions(frame) @ self.compute_rigid_rotation(frame)),
        )

    def build_contact_rows(self, contacts: Contacts | None, frame: int) -> ContactRows:
        """Rows of the contacts of a frame, in the frame of reference of the body."""
        return build_contact_rows(contacts, frame, self.compute_rigid_rotation(frame))

    def build_contact_constraints(self, frame: int) -> WarpContactConstraints | None:
        """The contacts of a frame in the form that the warp preserves; None without contacts."""
        if self.contacts is None or not (self.contacts.frame == frame).any():
            return None

        def build() -> WarpContactConstraints | None:
            rows = self.build_contact_rows(self.contacts, frame)
            return self.warp.build_contact_constraints(rows.directions, rows.vertices, rows.others)

        return self._get_or_compute("contacts", frame, build)

    def compute_positions(self, frame: int, linear_displacement: Array) -> Array:
        """Positions (n, 3) [m] of a frame after warping a linear displacement (n, 3).

        Vertices that no mode moves keep the bits of the input.
        """
        warped = self.warp.apply(
            self.decompose_frame(frame), linear_displacement, self.build_contact_constraints(frame)
        )
        if self.is_floating:
            warped = warped @ self.compute_rigid_rotation(frame).T
        out = self.get_input_positions(frame).copy()
        out[self.moving_vertices] += warped[self.moving_vertices]
        return out

    def compute_residuals(
        self, frame: int, constraints: Sequence[VertexConstraint], linear_displacement: Array
    ) -> list[Array]:
        """Residuals N x - N t [m] of constraints of one frame, with x warped from a linear displacement (n, 3).

        Evaluates the constrained vertices alone, without a Poisson solve.
        """
        return self.subtract_targets(frame, constraints, self.warp_vertices(frame, constraints, linear_displacement))

    def warp_vertices(self, frame: int, constraints: Sequence[VertexConstraint], linear_displacement: Array) -> Array:
        """Warped displacements (q, 3) [m] of the vertices of constraints, in the frame of reference of the body."""
        contacts = self.build_contact_constraints(frame)
        probes = [self._get_probe(vertex, frame, contacts) for each in constraints for vertex in each.vertices]
        return self.warp.evaluate_probes(self.decompose_frame(frame), linear_displacement, probes)

    def subtract_targets(
        self, frame: int, constraints: Sequence[VertexConstraint], vertex_displacements: Array
    ) -> list[Array]:
        """Residuals N x - N t [m] of constraints of one frame, from `warp_vertices`."""
        rotation, residuals, start = self.compute_rigid_rotation(frame), list[Array](), 0
        for constraint in constraints:
            stop = start + len(constraint.vertices)
            x = rotation @ constraint.combine(vertex_displacements[start:stop])
            residuals.append(constraint.directions @ (x - self.compute_requested_displacement(constraint)))
            start = stop
        return residuals

    def get_or_compute(self, kind: str, compute: Callable[[], CachedValue]) -> CachedValue:
        """A result that depends on the input alone, computed once."""
        return self._get_or_compute(kind, 0, compute)

    def _get_probe(self, vertex: int, frame: int, contacts: WarpContactConstraints | None) -> WarpProbe:
        if contacts is None:
            return self._get_or_compute("probe", vertex, lambda: self.warp.build_probe(vertex), MAX_CACHED_PROBES)
        index = vertex + self.animation.n * frame
        return self._get_or_compute("contact probe", index, lambda: self.warp.build_probe(vertex, contacts))

    def _get_or_compute(
        self, kind: str, index: int, compute: Callable[[], CachedValue], max_entries: int = MAX_CACHED_FRAMES
    ) -> CachedValue:
        """A cached result; the least recently used ones of each kind are dropped.

        The computation is not locked, as it may take long: two threads may do it at once, with the same result.
        """
        key = (kind, index)
        with self._lock:
            value = self._cache.pop(key, None)
            if value is not None:
                self._cache[key] = value
                return value  # type: ignore[return-value]
        value = compute()
        with self._lock:
            same_kind = [other for other in self._cache if other[0] == kind and other != key]
            if len(same_kind) >= max_entries:
                del self._cache[same_kind[0]]
            self._cache[key] = value
        return value


def fit_rotation(rest_positions: Array, positions: Array) -> Array:
    """The rotation R (3, 3) that brings rest_positions (n, 3) closest to positions (n, 3), both about their means."""
    U, _, Vt = np.linalg.svd((positions - positions.mean(axis=0)).T @ (rest_positions - rest_positions.mean(axis=0)))
    U[:, 2] *= np.sign(np.linalg.det(U) * np.linalg.det(Vt)) or 1.0
    return np.asarray(U @ Vt)
