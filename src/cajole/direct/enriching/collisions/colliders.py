"""What a shell may bump into: meshes that stand, planes, and animations that move as they please."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from cajole.animation import Animation
from cajole.arrays import Array, IndexArray
from cajole.direct.enriching.guide import CatmullRomTrajectory
from cajole.dynamics import Ground, ObstacleMesh
from cajole.errors import InputError
from cajole.mesh import MeshTet, MeshTri

Collider = MeshTri | MeshTet | Ground | ObstacleMesh | Animation

# how far a plane reaches from its middle, in diagonals of what it is put around, and the share of that at which a shell
# takes it along
GROUND_SIZE_FACTOR, GROUND_RECENTRE_SHARE = 2.0, 0.5


class ColliderSet:
    """All colliders as one surface: edges (k, 2), triangles (m, 3) of `count` vertices, and where these are in time.

    An Animation is followed as the guide is, along cubics between its frames, and stands after its last one. A Ground
    becomes a square around `bounds` (2, 3) [m], the box that the guide moves in, and later around the shell if that
    goes elsewhere (`follow`).
    """

    def __init__(self, colliders: Any, bounds: Array):
        given = tuple(colliders) if isinstance(colliders, Sequence) else (colliders,)
        self.grounds = [one for one in given if isinstance(one, Ground)]
        self._ground_indices = [place for place, one in enumerate(given) if isinstance(one, Ground)]
        self._ground_bounds = bounds
        parts = [_extract_surface(one, place, bounds) for place, one in enumerate(given)]
        self._trajectories = [course for _, course in parts]
        meshes = [mesh for mesh, _ in parts]
        firsts = np.cumsum([0] + [len(mesh.vertices) for mesh in meshes])
        self.vertex_count = int(firsts[-1])
        self.edges = _stack_indices([mesh.edges + first for mesh, first in zip(meshes, firsts)], 2)
        self.triangles = _stack_indices([mesh.triangles + first for mesh, first in zip(meshes, firsts)], 3)
        self.is_moving = any(isinstance(course, CatmullRomTrajectory) for course in self._trajectories)

    def recentre_grounds(self, positions: Array) -> None:
        """Put the planes around a shell (n, 3) that nears their borders; between steps, so that they do not rub."""
        box = np.array([positions.min(axis=0), positions.max(axis=0)])
        middle, size = self._ground_bounds.mean(axis=0), np.linalg.norm(self._ground_bounds[1] - self._ground_bounds[0])
        if np.linalg.norm(box - middle, axis=1).max() <= GROUND_RECENTRE_SHARE * GROUND_SIZE_FACTOR * size:
            return
        # as wide as it was at least, so that it does not follow at every step
        half = np.maximum(0.5 * (box[1] - box[0]), 0.5 * (self._ground_bounds[1] - self._ground_bounds[0]))
        self._ground_bounds = box.mean(axis=0) + np.array([-half, half])
        for place, ground in zip(self._ground_indices, self.grounds):
            self._trajectories[place] = build_ground_mesh(ground, self._ground_bounds).vertices

    def compute_positions(self, time: float) -> Array:
        """Positions (count, 3) [m] at a time [s] from the guide's first frame on."""
        parts = [
            course.evaluate(time) if isinstance(course, CatmullRomTrajectory) else course
            for course in self._trajectories
        ]
        return np.concatenate([np.empty((0, 3)), *parts])


def _stack_indices(parts: list[IndexArray], width: int) -> IndexArray:
    return np.concatenate([np.empty((0, width), dtype=np.int64), *parts])


def _extract_surface(collider: Any, index: int, bounds: Array) -> tuple[MeshTri, CatmullRomTrajectory | Array]:
    """The collider's triangles without unused vertices, and their positions: fixed, or over time."""
    if isinstance(collider, Ground):
        mesh = build_ground_mesh(collider, bounds)
        return mesh, mesh.vertices
    if isinstance(collider, ObstacleMesh):
        collider = collider.mesh
    shape = collider.mesh if isinstance(collider, Animation) else collider
    if not isinstance(shape, MeshTri | MeshTet):
        raise InputError(
            f"colliders[{index}] must be a MeshTri, a MeshTet, a Ground, an ObstacleMesh or an Animation, not "
            f"{type(collider).__name__}"
        )
    used = shape.surface_vertices
    numbers = np.full(len(shape.vertices), -1)
    numbers[used] = np.arange(len(used))
    mesh = MeshTri(shape.vertices[used], numbers[shape.surface.triangles])
    if isinstance(collider, Animation):
        rows = sp.csr_array(sp.eye_array(len(shape.vertices), format="csr")[used])
        return mesh, CatmullRomTrajectory(collider, rows, collider.frames)
    return mesh, mesh.vertices


def build_ground_mesh(ground: Ground, bounds: Array) -> MeshTri:
    """A square of two triangles on the ground's plane, wide around the box `bounds` (2, 3)."""
    point, normal = ground.plane
    middle = bounds.mean(axis=0)
    middle = middle - normal * float((middle - point) @ normal)
    reach = GROUND_SIZE_FACTOR * float(np.linalg.norm(bounds[1] - bounds[0]))
    side = np.cross(normal, np.eye(3)[int(np.abs(normal).argmin())])
    side *= reach / np.linalg.norm(side)
    other = np.cross(normal, side)
    corners = middle + np.array([-side - other, side - other, side + other, other - side])
    return MeshTri(corners, [(0, 1, 2), (0, 2, 3)])
