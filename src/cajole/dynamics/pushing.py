"""The forces of obstacles on the surface of a body, as the implicit steps of `simulate` take them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cajole import checks
from cajole.animation import Contacts
from cajole.arrays import Array, IndexArray
from cajole.body import EARTH_GRAVITY, Body
from cajole.dynamics import kernels_obstacles as kernels
from cajole.dynamics.obstacles import Obstacle, Points
from cajole.errors import InputError
from cajole.mesh import MeshLine, MeshTet, MeshTri, embed
from cajole.mesh.line import TUBE_RADIUS

# points, normals and kinds
Touched = tuple[IndexArray, Array, NDArray[np.str_]]

# A body whose weight rests on this share of its surface sinks in by that share of its size.
FOOT, SINK = 0.02, 1e-3
# friction has half its strength at 0.6 of this share of √(g L), below which a vertex counts as sticking
SLOW = 1e-3
# a body that starts deeper inside than this share of its size would be shot out
DEEP = 0.02


class Touch:
    """The forces of one obstacle on the surface of a body, and their exact derivatives.

    The normal force comes from the potential Σ κ A depth²/2 over points that stand for the areas A; its tangent
    includes the bending of the normal at edges and corners of the obstacle. Friction and damping come from convex
    potentials of the velocity whose normal forces are those at the start of the step (`begin`): all is symmetric.
    """

    def __init__(self, body: Body, obstacle: Obstacle, points: Points):
        self.obstacle, self.points, self.areas = obstacle, points, points.areas
        self._carriers, self._stride = (points.corners, points.weights, points.areas), body.pattern.stride
        self._gauge = obstacle.gauge(points)
        self._load, self._along = np.zeros(len(points.rest)), np.zeros((len(points.rest), 3))
        size, weight = body.size, body.weight
        usual = weight / (FOOT * float(points.areas.sum()) * SINK * size)
        self.stiffness = usual if obstacle.stiffness is None else obstacle.stiffness
        self.slow = SLOW * np.sqrt(EARTH_GRAVITY * size)
        rates = obstacle.damping / np.sqrt(EARTH_GRAVITY * size), obstacle.friction, self.slow
        self._normal = self.stiffness, obstacle.margin
        self._lagged = self._load, self._along, *rates

    def begin(self, u: Array) -> None:
        """Take the normal forces at u (n, 3) for the friction and damping of what follows."""
        self._gauge.measure(u)
        kernels.remember(self._gauge.gap, self._gauge.normal, self.areas, *self._normal, self._load, self._along)

    def depth(self, u: Array) -> Array:
        """(k,) [m] how far points are inside, margin included; zero outside."""
        self._gauge.measure(u)
        return np.maximum(self.obstacle.margin - self._gauge.gap, 0.0)

    def energy(self, u: Array) -> float:
        """The potential of the normal forces [J]."""
        self._gauge.measure(u)
        return float(kernels.energy(self._gauge.gap, self.areas, *self._normal))

    def add_force(self, u: Array, v: Array, out: Array) -> None:
        """Subtract the push on each point [N] from the internal forces `out` (n, 3)."""
        gauge = self._gauge
        gauge.measure(u)
        kernels.add_force(v, *self._carriers, gauge.gap, gauge.normal, *self._normal, *self._lagged, out)

    def add_tangent(self, u: Array, v: Array, drag: float, out: Array, *, exact: bool = True) -> None:
        """Add its derivative by u + `drag` times that by v to the values `out` on the body's pattern."""
        gauge = self._gauge
        gauge.measure(u)
        kernels.add_tangent(
            v, *self._carriers, gauge.gap, gauge.normal, gauge.axis, gauge.bend, *self._normal,
            *self._lagged, drag, exact, self.points.slots, self._stride, out,
        )  # fmt: skip

    def contacts(self, u: Array, v: Array) -> Touched:
        """The points that are pushed, the normals there, and whether they stick or slide."""
        rows = np.flatnonzero(self.depth(u) > 0)
        normal = self._gauge.normal[rows].copy()
        v = (self.points.weights[rows, :, None] * v[self.points.corners[rows]]).sum(axis=1)
        along = v - (v * normal).sum(axis=1, keepdims=True) * normal
        sticks = np.linalg.norm(along, axis=1) <= self.slow
        return rows, normal, np.where(sticks, "sticking", "sliding").astype("<U8")


def touches(body: Body, obstacles: Obstacle | Sequence[Obstacle] | None, surface: MeshTri | None = None) -> list[Touch]:
    """One Touch for each obstacle, with the body's own surface or with another one that it carries.

    Raises InputError for anything that is no obstacle, and for a surface that no tets can carry.
    """
    listed = () if obstacles is None else (obstacles,) if isinstance(obstacles, Obstacle) else obstacles
    given = checks.several(listed, "obstacles", "an obstacle, or a list of them")
    for k, obstacle in enumerate(given):
        checks.require_instance(obstacle, Obstacle, f"obstacles[{k}]")
    if not given:
        return []
    points = _own_points(body) if surface is None else _carried_points(body, surface)
    return [Touch(body, obstacle, points) for obstacle in given]


def _own_points(body: Body) -> Points:
    areas = _areas(body.drawn_mesh())
    vertices = np.flatnonzero(areas > 0)
    slots = _block_places(body, vertices, vertices)
    ones = np.ones((len(vertices), 1))
    return Points(body.vertices[vertices], areas[vertices], vertices[:, None], ones, slots[:, None, None])


def _carried_points(body: Body, surface: MeshTri) -> Points:
    mesh = body.drawn_mesh()
    checks.require_instance(surface, MeshTri, "surface")
    if not isinstance(mesh, MeshTet):
        raise InputError("only a body of tets can carry another surface; leave surface= out")
    areas = _areas(surface)
    used = np.flatnonzero(areas > 0)
    held = embed(surface.vertices[used], mesh)
    pairs = np.broadcast_arrays(held.corners[:, :, None], held.corners[:, None, :])
    slots = _block_places(body, *(ends.reshape(-1) for ends in pairs)).reshape(pairs[0].shape)
    return Points(surface.vertices[used], areas[used], held.corners, held.weights, slots)


def _areas(mesh: MeshTet | MeshTri | MeshLine) -> Array:
    """(n,) [m²] a third of the triangles at each vertex; of lines, half of the sides of the tubes that show them."""
    areas = np.zeros(len(mesh.vertices))
    if isinstance(mesh, MeshLine):
        ends = mesh.vertices[mesh.lines]
        sides = 2 * np.pi * TUBE_RADIUS * mesh.size * np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1)
        np.add.at(areas, mesh.lines, sides[:, None] / 2)
        return areas
    surface = mesh.surface
    np.add.at(areas, surface.triangles, surface.areas[:, None] / 3)
    return areas


def require_clear(body: Body, touching: Sequence[Touch], u: Array) -> None:
    """Raise InputError where a body starts so deep inside an obstacle that it would be shot out."""
    for k, touch in enumerate(touching):
        depth = touch.depth(u)
        worst = int(depth.argmax())
        if depth[worst] > DEEP * body.size:
            raise InputError(
                f"point {worst} of the surface, at {touch.points.rest[worst].tolist()} in rest, starts "
                f"{depth[worst]:.3g} m inside obstacles[{k}] (a {type(touch.obstacle).__name__}), deeper than {DEEP:g} "
                "of the body's size, and would be shot out; "
                "start outside it, or turn the obstacle's normals if they point inward"
            )


def contacts_of(found: Sequence[Sequence[Touched]], points: Points) -> Contacts:
    """Contacts of the body's own vertices from what each Touch found in each frame."""
    rows = [(frame, *each) for frame, every in enumerate(found) for each in every]
    frame = np.concatenate([np.full(len(row), f) for f, row, _, _ in rows])
    point, normal, kind = (np.concatenate([row[k] for row in rows]) for k in (1, 2, 3))
    return Contacts(frame, points.corners[point, 0], normal, kind)


def _block_places(body: Body, one: IndexArray, two: IndexArray) -> IndexArray:
    """(k,) where the blocks between vertices `one` and `two` (k,) begin on the body's pattern."""
    pattern = body.pattern
    rows = np.repeat(np.arange(3 * body.count), np.diff(pattern.indptr))
    first = np.flatnonzero((rows % 3 == 0) & (pattern.indices % 3 == 0))
    # in the order of rows and columns
    keys = (rows[first] // 3) * body.count + pattern.indices[first] // 3
    return first[np.searchsorted(keys, one * body.count + two)]
