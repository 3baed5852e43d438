"""What a shell may bump into: meshes that stand, planes, and animations that move as they please."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from cajole.animation import Animation
from cajole.direct.enriching.targets import Course
from cajole.dynamics import Ground, ObstacleMesh
from cajole.errors import InputError
from cajole.mesh import MeshTet, MeshTri

Array = NDArray[np.float64]
Index = NDArray[np.int64]

Collider = MeshTri | MeshTet | Ground | ObstacleMesh | Animation

# how far a plane reaches beyond the guide, in diagonals of all its frames
GROUND_REACH = 2.0


class Colliders:
    """All colliders as one surface: edges (k, 2), triangles (m, 3) of `count` vertices, and where these are in time.

    An Animation is followed as the guide is, along cubics between its frames, and stands after its last one. A Ground
    becomes a square around `bounds` (2, 3) [m], the box that the guide moves in.
    """

    def __init__(self, colliders: Any, bounds: Array):
        given = tuple(colliders) if isinstance(colliders, Sequence) else (colliders,)
        self.grounds = [one for one in given if isinstance(one, Ground)]
        parts = [_surface(one, place, bounds) for place, one in enumerate(given)]
        self._courses = [course for _, course in parts]
        meshes = [mesh for mesh, _ in parts]
        firsts = np.cumsum([0] + [len(mesh.vertices) for mesh in meshes])
        self.count = int(firsts[-1])
        self.edges = _stacked([mesh.edges + first for mesh, first in zip(meshes, firsts)], 2)
        self.triangles = _stacked([mesh.triangles + first for mesh, first in zip(meshes, firsts)], 3)
        self.moving = any(isinstance(course, Course) for course in self._courses)

    def at(self, time: float) -> Array:
        """Positions (count, 3) [m] at a time [s] from the guide's first frame on."""
        parts = [course.at(time) if isinstance(course, Course) else course for course in self._courses]
        return np.concatenate([np.empty((0, 3)), *parts])


def _stacked(parts: list[Index], width: int) -> Index:
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
