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
from cajole.direct.editing.unwarped import Unwarped
from cajole.direct.editing.warp import Frame, Kept, Probe, Warp
from cajole.mesh import MeshTet, MeshTri

Made = TypeVar("Made")

# Input frames, and sights of vertices, of which what the warp needs is kept.
KEPT_FRAMES, KEPT_PROBES = 24, 96


@dataclass(eq=False)
class Subject:
    """What stays while an animation is edited; several threads may use it.

    rest: the shape that modes and warp start from, the body's own. moving: (m,) vertices that some mode moves; shapes:
    (3m, r) of those; eigenvalues (r,). flying: whether every frame is edited in a frame of reference of its own, turned
    with the body. touching: all contacts, kept by the warp; mass [kg]: of the body that the modes are of.
    """

    animation: Animation
    rest: MeshTet | MeshTri
    moving: IndexArray
    shapes: Array
    eigenvalues: Array
    warp: Warp | Unwarped
    flying: bool
    touching: Contacts | None
    mass: float = 1.0
    _kept: dict[tuple[str, int], object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._place = np.full(self.animation.n, -1, dtype=np.int64)
        self._place[self.moving] = np.arange(len(self.moving))

    @property
    def size(self) -> float:
        """L [m], the diagonal of the rest bounding box."""
        return self.rest.size

    @property
    def weight(self) -> float:
        """The body's weight in the unit of forces on the modes, √m g."""
        return float(np.sqrt(self.mass)) * EARTH_GRAVITY

    def with_animation(self, animation: Animation) -> Subject:
        """The same body in another motion."""
        return replace(self, animation=animation, _kept={})

    def given(self, frame: int) -> Array:
        """(n, 3) [m] where the input has its vertices."""
        return np.asarray(self.animation.positions[frame], dtype=np.float64)

    def place(self, frame: int, vertex: int) -> Array:
        """(3,) [m] where the input has a vertex."""
        return np.asarray(self.animation.positions[frame, vertex], dtype=np.float64)

    def weights(self, vertex: int, other: int = -1) -> Array:
        """(3, r) rows of the modes at a vertex, or of a vertex less those of another; zero where nothing moves it."""
        rows = np.zeros((3, self.shapes.shape[1]))
        for sign, which in ((1.0, vertex), (-1.0, other)):
            place = self._place[which] if which >= 0 else -1
            if place >= 0:
                rows += sign * self.shapes[3 * place : 3 * place + 3]
        return rows

    def fields(self, z: Array) -> Array:
        """Linear changes (q, n, 3) of coordinates z (r, q)."""
        out = np.zeros((z.shape[1], self.animation.n, 3))
        out[:, self.moving] = (self.shapes @ z).T.reshape(z.shape[1], len(self.moving), 3)
        return out

    def turn(self, frame: int) -> Array:
        """R (3, 3), how the whole body is turned in a frame; the identity where it is not flying."""
        if not self.flying:
            return np.eye(3)
        return self._once("turn", frame, lambda: best_turn(self.rest.vertices, self.given(frame)), frame + 1)

    def frame(self, frame: int) -> Frame:
        return self._once("frame", frame, lambda: self.warp.frame(self.given(frame) @ self.turn(frame)))

    def kept(self, frame: int) -> Kept | None:
        """The contacts of a frame, as the warp keeps them."""
        if self.touching is None or not (self.touching.frame == frame).any():
            return None
        return self._once("kept", frame, lambda: self.warp.kept(*self.contact_rows(self.touching, frame)))

    def contact_rows(self, contacts: Contacts | None, frame: int) -> tuple[Array, IndexArray, IndexArray]:
        """Directions (k, 3) turned with the body, vertices (k,) and others (k,) of the contacts of a frame."""
        if contacts is None:
            return np.empty((0, 3)), np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
        at = contacts.at(frame)
        sliding = at.kind == "sliding"
        stuck = np.repeat(np.flatnonzero(~sliding), 3)
        which = np.concatenate([np.flatnonzero(sliding), stuck])
        axes = np.tile(np.eye(3), (len(stuck) // 3, 1))
        normals = at.normal / np.linalg.norm(at.normal, axis=1, keepdims=True)
        directions = np.vstack([normals[sliding] @ self.turn(frame), axes])
        return directions, at.vertex[which], at.other[which]

    def warped(self, frame: int, change: Array) -> Array:
        """The change of all vertices (n, 3) [m] that a linear one becomes; zero outside what moves."""
        local = self.warp.apply(self.frame(frame), change, self.kept(frame))
        return local @ self.turn(frame).T if self.flying else local

    def edited(self, frame: int, change: Array) -> Array:
        """Where all vertices (n, 3) [m] are with a linear change; the input's bits where nothing moves."""
        out = self.given(frame).copy()
        moved = self.warped(frame, change)
        out[self.moving] += moved[self.moving]
        return out

    def seen(self, frame: int, change: Array, vertices: list[int]) -> Array:
        """(k, 3) how some vertices are moved by a linear change, in the frame's own directions; without a solve."""
        kept = self.kept(frame)
        probes = [self._probe(vertex, frame, kept) for vertex in vertices]
        return self.warp.at(self.frame(frame), change, probes)

    def _probe(self, vertex: int, frame: int, kept: Kept | None) -> Probe:
        if kept is None:
            return self._once("probe", vertex, lambda: self.warp.probe(vertex), KEPT_PROBES)
        index = vertex + self.animation.n * frame
        return self._once("kept probe", index, lambda: self.warp.probe(vertex, kept), KEPT_FRAMES)

    def once(self, kind: str, make: Callable[[], Made]) -> Made:
        """What `make` gave for this input when it was first asked for."""
        return self._once(kind, 0, make)

    def _once(self, kind: str, index: int, make: Callable[[], Made], most: int = KEPT_FRAMES) -> Made:
        """What `make` gave when it was last asked for; of each kind the most recent ones are kept.

        Two threads that ask at once may both make it, with the same result: making takes long, and is not locked.
        """
        key = (kind, index)
        with self._lock:
            made = self._kept.pop(key, None)
            if made is not None:
                self._kept[key] = made
                return made  # type: ignore[return-value]
        made = make()
        with self._lock:
            mine = [other for other in self._kept if other[0] == kind and other != key]
            if len(mine) >= most:
                del self._kept[mine[0]]
            self._kept[key] = made
        return made


def best_turn(rest: Array, now: Array) -> Array:
    """The rotation R that brings `rest` (n, 3) closest to `now`, both about their means."""
    U, _, Vt = np.linalg.svd((now - now.mean(axis=0)).T @ (rest - rest.mean(axis=0)))
    U[:, 2] *= np.sign(np.linalg.det(U) * np.linalg.det(Vt)) or 1.0
    return U @ Vt
