"""A finished animation as the editor sees it: its modes, its frames with their rigid motion taken out, its contacts."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np

from cajole.animation import Animation, Contacts
from cajole.arrays import Array, IndexArray
from cajole.body import EARTH_GRAVITY
from cajole.direct.editing.warp import FrameDecomposition, IdentityWarp, Warp, WarpContactConstraints, WarpProbe
from cajole.mesh import MeshTet, MeshTri

CachedValue = TypeVar("CachedValue")

# Input frames, and sights of vertices, of which what the warp needs is kept.
MAX_CACHED_FRAMES, MAX_CACHED_PROBES = 24, 96


@dataclass(eq=False)
class EditModel:
    """What stays while an animation is edited; several threads may use it.

    rest: the shape that modes and warp start from, the body's own. moving: (m,) vertices that some mode moves; shapes:
    (3m, r) of those; eigenvalues (r,). flying: whether every frame is edited in a frame of reference of its own, turned
    with the body. touching: all contacts, kept by the warp; mass [kg]: of the body that the modes are of.
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

    @property
    def modal_body_weight(self) -> float:
        """The body's weight in the unit of forces on the modes, √m g."""
        return float(np.sqrt(self.mass)) * EARTH_GRAVITY

    def with_animation(self, animation: Animation) -> EditModel:
        """The same body in another motion."""
        return replace(self, animation=animation, _cache={})

    def get_input_positions(self, frame: int) -> Array:
        """(n, 3) [m] where the input has its vertices."""
        return np.asarray(self.animation.positions[frame], dtype=np.float64)

    def get_input_position(self, frame: int, vertex: int) -> Array:
        """(3,) [m] where the input has a vertex."""
        return np.asarray(self.animation.positions[frame, vertex], dtype=np.float64)

    def compute_constraint_rows(self, vertex: int, other_vertex: int = -1) -> Array:
        """(3, r) rows of the modes at a vertex, or of a vertex less those of another; zero where nothing moves it."""
        rows = np.zeros((3, self.mode_shapes.shape[1]))
        for sign, which in ((1.0, vertex), (-1.0, other_vertex)):
            place = self._moving_index[which] if which >= 0 else -1
            if place >= 0:
                rows += sign * self.mode_shapes[3 * place : 3 * place + 3]
        return rows

    def compute_linear_displacements(self, z: Array) -> Array:
        """Linear changes (q, n, 3) of coordinates z (r, q)."""
        out = np.zeros((z.shape[1], self.animation.n, 3))
        out[:, self.moving_vertices] = (self.mode_shapes @ z).T.reshape(z.shape[1], len(self.moving_vertices), 3)
        return out

    def compute_rigid_rotation(self, frame: int) -> Array:
        """R (3, 3), how the whole body is turned in a frame; the identity where it is not flying."""
        if not self.is_floating:
            return np.eye(3)
        return self._get_or_compute(
            "turn", frame, lambda: fit_rotation(self.rest_mesh.vertices, self.get_input_positions(frame)), frame + 1
        )

    def decompose_frame(self, frame: int) -> FrameDecomposition:
        return self._get_or_compute(
            "frame",
            frame,
            lambda: self.warp.decompose_frame(self.get_input_positions(frame) @ self.compute_rigid_rotation(frame)),
        )

    def build_contact_constraints(self, frame: int) -> WarpContactConstraints | None:
        """The contacts of a frame, as the warp keeps them."""
        if self.contacts is None or not (self.contacts.frame == frame).any():
            return None
        return self._get_or_compute(
            "kept", frame, lambda: self.warp.build_contact_constraints(*self.collect_contact_rows(self.contacts, frame))
        )

    def collect_contact_rows(self, contacts: Contacts | None, frame: int) -> tuple[Array, IndexArray, IndexArray]:
        """Directions (k, 3) turned with the body, vertices (k,) and others (k,) of the contacts of a frame."""
        if contacts is None:
            return np.empty((0, 3)), np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
        at = contacts.at(frame)
        sliding = at.kind == "sliding"
        stuck = np.repeat(np.flatnonzero(~sliding), 3)
        which = np.concatenate([np.flatnonzero(sliding), stuck])
        axes = np.tile(np.eye(3), (len(stuck) // 3, 1))
        normals = at.normal / np.linalg.norm(at.normal, axis=1, keepdims=True)
        directions = np.vstack([normals[sliding] @ self.compute_rigid_rotation(frame), axes])
        return directions, at.vertex[which], at.other[which]

    def warp_displacement(self, frame: int, linear_displacement: Array) -> Array:
        """The change of all vertices (n, 3) [m] that a linear one becomes; zero outside what moves."""
        local = self.warp.apply(self.decompose_frame(frame), linear_displacement, self.build_contact_constraints(frame))
        return local @ self.compute_rigid_rotation(frame).T if self.is_floating else local

    def compute_positions(self, frame: int, linear_displacement: Array) -> Array:
        """Where all vertices (n, 3) [m] are with a linear change; the input's bits where nothing moves."""
        out = self.get_input_positions(frame).copy()
        moved = self.warp_displacement(frame, linear_displacement)
        out[self.moving_vertices] += moved[self.moving_vertices]
        return out

    def warp_vertices(self, frame: int, linear_displacement: Array, vertices: list[int]) -> Array:
        """(k, 3) how some vertices are moved by a linear change, in the frame's own directions; without a solve."""
        kept = self.build_contact_constraints(frame)
        probes = [self._get_probe(vertex, frame, kept) for vertex in vertices]
        return self.warp.evaluate_probes(self.decompose_frame(frame), linear_displacement, probes)

    def _get_probe(self, vertex: int, frame: int, contacts: WarpContactConstraints | None) -> WarpProbe:
        if contacts is None:
            return self._get_or_compute("probe", vertex, lambda: self.warp.build_probe(vertex), MAX_CACHED_PROBES)
        index = vertex + self.animation.n * frame
        return self._get_or_compute(
            "kept probe", index, lambda: self.warp.build_probe(vertex, contacts), MAX_CACHED_FRAMES
        )

    def get_or_compute(self, kind: str, compute: Callable[[], CachedValue]) -> CachedValue:
        """What `make` gave for this input when it was first asked for."""
        return self._get_or_compute(kind, 0, compute)

    def _get_or_compute(
        self, kind: str, index: int, compute: Callable[[], CachedValue], max_entries: int = MAX_CACHED_FRAMES
    ) -> CachedValue:
        """What `make` gave when it was last asked for; of each kind the most recent ones are kept.

        Two threads that ask at once may both make it, with the same result: making takes long, and is not locked.
        """
        key = (kind, index)
        with self._lock:
            value = self._cache.pop(key, None)
            if value is not None:
                self._cache[key] = value
                return value  # type: ignore[return-value]
        value = compute()
        with self._lock:
            mine = [other for other in self._cache if other[0] == kind and other != key]
            if len(mine) >= max_entries:
                del self._cache[mine[0]]
            self._cache[key] = value
        return value


def fit_rotation(rest_positions: Array, positions: Array) -> Array:
    """The rotation R that brings `rest` (n, 3) closest to `now`, both about their means."""
    U, _, Vt = np.linalg.svd((positions - positions.mean(axis=0)).T @ (rest_positions - rest_positions.mean(axis=0)))
    U[:, 2] *= np.sign(np.linalg.det(U) * np.linalg.det(Vt)) or 1.0
    return U @ Vt
