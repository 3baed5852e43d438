"""What a shell may bump into: meshes that stand, planes, and animations that move as they please."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from cajole.animation import Animation
from cajole.arrays import Array, IndexArray
from cajole.direct.enriching.targets import Course
from cajole.dynamics import Ground, ObstacleMesh
from cajole.errors import InputError
from cajole.mesh import MeshTet, MeshTri

Collider = MeshTri | MeshTet | Ground | ObstacleMesh | Animation

# how far a plane reaches from its middle, in diagonals of what it is put around, and the share of that at which a shell
# takes it along
GROUND_REACH, FOLLOWED = 2.0, 0.5


class Colliders:
    """All colliders as one surface: edges (k, 2), triangles (m, 3) of `count` vertices, and where these are in time.

    An Animation is followed as the guide is, along cubics between its frames, and stands after its last one. A Ground
    becomes a square around `bounds` (2, 3) [m], the box that the guide moves in, and later around the shell if that
    goes elsewhere (`follow`).
    """

    def __init__(self, colliders: Any, bounds: Array):
        given = tuple(colliders) if isinstance(colliders, Sequence) else (colliders,)
        self.grounds = [one for one in given if isinstance(one, Ground)]
        self._planes = [place for place, one in enumerate(given) if isinstance(one, Ground)]
        self._around = bounds
        parts = [_surface(one, place, bounds) for place, one in enumerate(given)]
        self._courses = [course for _, course in parts]
        meshes = [mesh for mesh, _ in parts]
        firsts = np.cumsum([0] + [len(mesh.vertices) for mesh in meshes])
        self.count = int(firsts[-1])
        self.edges = _stacked([mesh.edges + first for mesh, first in zip(meshes, firsts)], 2)
        self.triangles = _stacked([mesh.triangles + first for mesh, first in zip(meshes, firsts)], 3)
        self.moving = any(isinstance(course, Course) for course in self._courses)

    def follow(self, shell: Array) -> None:
        """Put the planes around a shell (n, 3) that nears their borders; between steps, so that they do not rub."""
        box = np.array([shell.min(axis=0), shell.max(axis=0)])
        middle, size = self._around.mean(axis=0), np.linalg.norm(self._around[1] - self._around[0])
        if np.linalg.norm(box - middle, axis=1).max() <= FOLLOWED * GROUND_REACH * size:
            return
        # as wide as it was at least, so that it does not follow at every step
        half = np.maximum(0.5 * (box[1] - box[0]), 0.5 * (self._around[1] - self._around[0]))
        self._around = box.mean(axis=0) + np.array([-half, half])
        for place, ground in zip(self._planes, self.grounds):
            self._courses[place] = ground_mesh(ground, self._around).vertices

    def at(self, time: float) -> Array:
        """Positions (count, 3) [m] at a time [s] from the guide's first frame on."""
        parts = [course.at(time) if isinstance(course, Course) else course for course in self._courses]
        return np.concatenate([np.empty((0, 3)), *parts])


def _stacked(parts: list[IndexArray], width: int) -> IndexArray:
    return np.concatenate([np.empty((0, width), dtype=np.int64), *parts])


def _surface(collider: Any, place: int, bounds: Array) -> tuple[MeshTri, Course | Array]:
    """The collider's triangles without unused vertices, and their positions: fixed, or over time."""
    if isinstance(collider, Ground):
        mesh = ground_mesh(collider, bounds)
        return mesh, mesh.vertices
    if isinstance(collider, ObstacleMesh):
        collider = collider.mesh
    shape = collider.mesh if isinstance(collider, Animation) else collider
    if not isinstance(shape, MeshTri | MeshTet):
        raise InputError(
            f"colliders[{place}] must be a MeshTri, a MeshTet, a Ground, an ObstacleMesh or an Animation, not "
            f"{type(collider).__name__}"
        )
    used = shape.surface_vertices
    numbers = np.full(len(shape.vertices), -1)
    numbers[used] = np.arange(len(used))
    mesh = MeshTri(shape.vertices[used], numbers[shape.surface.triangles])
    if isinstance(collider, Animation):
        rows = sp.csr_array(sp.eye_array(len(shape.vertices), format="csr")[used])
        return mesh, Course(collider, rows, collider.frames)
    return mesh, mesh.vertices


def ground_mesh(ground: Ground, bounds: Array) -> MeshTri:
    """A square of two triangles on the ground's plane, wide around the box `bounds` (2, 3)."""
    point, normal = ground.plane
    middle = bounds.mean(axis=0)
    middle = middle - normal * float((middle - point) @ normal)
    reach = GROUND_REACH * float(np.linalg.norm(bounds[1] - bounds[0]))
    side = np.cross(normal, np.eye(3)[int(np.abs(normal).argmin())])
    side *= reach / np.linalg.norm(side)
    other = np.cross(normal, side)
    corners = middle + np.array([-side - other, side - other, side + other, other - side])
    return MeshTri(corners, [(0, 1, 2), (0, 2, 3)])
