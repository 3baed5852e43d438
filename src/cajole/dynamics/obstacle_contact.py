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
from cajole.dynamics.obstacles import ContactPoints, Obstacle
from cajole.errors import InputError
from cajole.mesh import MeshLine, MeshTet, MeshTri, embed
from cajole.mesh.line import RELATIVE_TUBE_RADIUS

# points, normals and kinds
ContactArrays = tuple[IndexArray, Array, NDArray[np.str_]]

# A body whose weight rests on this share of its surface sinks in by that share of its size.
DEFAULT_CONTACT_SHARE, DEFAULT_PENETRATION = 0.02, 1e-3
# friction has half its strength at 0.6 of this share of √(g L), below which a vertex counts as sticking
SLIP_SPEED = 1e-3
# a body that starts deeper inside than this share of its size would be shot out
MAX_START_PENETRATION = 0.02


class ObstacleContact:
    """The forces of one obstacle on the surface of a body, and their exact derivatives.

    The normal force comes from the potential Σ κ A depth²/2 over points that stand for the areas A; its tangent
    includes the bending of the normal at edges and corners of the obstacle. Friction and damping come from convex
    potentials of the velocity whose normal forces are those at the start of the step (`begin`): all is symmetric.
    """

    def __init__(self, body: Body, obstacle: Obstacle, points: ContactPoints):
        self.obstacle, self.points, self.areas = obstacle, points, points.areas
        self._interpolation = (points.corners, points.weights, points.areas)
        self._row_strides = body.pattern.row_strides
        self._gap_query = obstacle.build_gap_query(points)
        self._lagged_force = np.zeros(len(points.rest_positions))
        self._lagged_normal = np.zeros((len(points.rest_positions), 3))
        size, weight = body.size, body.weight
        usual = weight / (DEFAULT_CONTACT_SHARE * float(points.areas.sum()) * DEFAULT_PENETRATION * size)
        self.stiffness = usual if obstacle.stiffness is None else obstacle.stiffness
        self.slip_speed = SLIP_SPEED * np.sqrt(EARTH_GRAVITY * size)
        rates = obstacle.damping / np.sqrt(EARTH_GRAVITY * size), obstacle.friction, self.slip_speed
        self._penalty = self.stiffness, obstacle.margin
        self._lagged_contact = self._lagged_force, self._lagged_normal, *rates

    def begin_step(self, u: Array) -> None:
        """Take the normal forces at u (n, 3) for the friction and damping of what follows."""
        self._gap_query.update(u)
        kernels.store_lagged_contact(
            self._gap_query.gap,
            self._gap_query.normal,
            self.areas,
            *self._penalty,
            self._lagged_force,
            self._lagged_normal,
        )

    def compute_penetration_depths(self, u: Array) -> Array:
        """(k,) [m] how far points are inside, margin included; zero outside."""
        self._gap_query.update(u)
        return np.maximum(self.obstacle.margin - self._gap_query.gap, 0.0)

    def energy(self, u: Array) -> float:
        """The potential of the normal forces [J]."""
        self._gap_query.update(u)
        return float(kernels.compute_energy(self._gap_query.gap, self.areas, *self._penalty))

    def add_force(self, u: Array, v: Array, out: Array) -> None:
        """Subtract the push on each point [N] from the internal forces `out` (n, 3)."""
        gauge = self._gap_query
        gauge.update(u)
        kernels.add_force(v, *self._interpolation, gauge.gap, gauge.normal, *self._penalty, *self._lagged_contact, out)

    def add_stiffness(self, u: Array, v: Array, damping_factor: float, out: Array, *, exact: bool = True) -> None:
        """Add its derivative by u + `drag` times that by v to the values `out` on the body's pattern."""
        gauge = self._gap_query
        gauge.update(u)
        kernels.add_stiffness(
            v, *self._interpolation, gauge.gap, gauge.normal, gauge.axis, gauge.curvature, *self._penalty,
            *self._lagged_contact, damping_factor, exact, self.points.block_offsets, self._row_strides, out,
        )  # fmt: skip

    def find_contacts(self, u: Array, v: Array) -> ContactArrays:
        """The points that are pushed, the normals there, and whether they stick or slide."""
        rows = np.flatnonzero(self.compute_penetration_depths(u) > 0)
        normal = self._gap_query.normal[rows].copy()
        v = (self.points.weights[rows, :, None] * v[self.points.corners[rows]]).sum(axis=1)
        along = v - (v * normal).sum(axis=1, keepdims=True) * normal
        sticks = np.linalg.norm(along, axis=1) <= self.slip_speed
        return rows, normal, np.where(sticks, "sticking", "sliding").astype("<U8")


def build_contacts(
    body: Body, obstacles: Obstacle | Sequence[Obstacle] | None, surface: MeshTri | None = None
) -> list[ObstacleContact]:
    """One Touch for each obstacle, with the body's own surface or with another one that it carries.

    Raises InputError for anything that is no obstacle, and for a surface that no tets can carry.
    """
    listed = () if obstacles is None else (obstacles,) if isinstance(obstacles, Obstacle) else obstacles
    given = checks.require_sequence(listed, "obstacles", "an obstacle, or a list of them")
    for k, obstacle in enumerate(given):
        checks.require_instance(obstacle, Obstacle, f"obstacles[{k}]")
    if not given:
        return []
    points = _build_vertex_points(body) if surface is None else _build_embedded_points(body, surface)
    return [ObstacleContact(body, obstacle, points) for obstacle in given]


def _build_vertex_points(body: Body) -> ContactPoints:
    areas = _compute_vertex_areas(body.get_display_mesh())
    vertices = np.flatnonzero(areas > 0)
    slots = _find_block_offsets(body, vertices, vertices)
    ones = np.ones((len(vertices), 1))
    return ContactPoints(body.vertices[vertices], areas[vertices], vertices[:, None], ones, slots[:, None, None])


def _build_embedded_points(body: Body, surface: MeshTri) -> ContactPoints:
    mesh = body.get_display_mesh()
    checks.require_instance(surface, MeshTri, "surface")
    if not isinstance(mesh, MeshTet):
        raise InputError("only a body of tets can carry another surface; leave surface= out")
    areas = _compute_vertex_areas(surface)
    used = np.flatnonzero(areas > 0)
    held = embed(surface.vertices[used], mesh)
    pairs = np.broadcast_arrays(held.corners[:, :, None], held.corners[:, None, :])
    slots = _find_block_offsets(body, *(ends.reshape(-1) for ends in pairs)).reshape(pairs[0].shape)
    return ContactPoints(surface.vertices[used], areas[used], held.corners, held.weights, slots)


def _compute_vertex_areas(mesh: MeshTet | MeshTri | MeshLine) -> Array:
    """(n,) [m²] a third of the triangles at each vertex; of lines, half of the sides of the tubes that show them."""
    areas = np.zeros(len(mesh.vertices))
    if isinstance(mesh, MeshLine):
        ends = mesh.vertices[mesh.lines]
        sides = 2 * np.pi * RELATIVE_TUBE_RADIUS * mesh.size * np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1)
        np.add.at(areas, mesh.lines, sides[:, None] / 2)
        return areas
    surface = mesh.surface
    np.add.at(areas, surface.triangles, surface.areas[:, None] / 3)
    return areas


def require_no_penetration(body: Body, contacts: Sequence[ObstacleContact], u: Array) -> None:
    """Raise InputError where a body starts so deep inside an obstacle that it would be shot out."""
    for k, touch in enumerate(contacts):
        depth = touch.compute_penetration_depths(u)
        worst = int(depth.argmax())
        if depth[worst] > MAX_START_PENETRATION * body.size:
            raise InputError(
                f"point {worst} of the surface, at {touch.points.rest_positions[worst].tolist()} in rest, starts "
                f"{depth[worst]:.3g} m inside obstacles[{k}] (a {type(touch.obstacle).__name__}), deeper than "
                f"{MAX_START_PENETRATION:g} "
                "of the body's size, and would be shot out; "
                "start outside it, or turn the obstacle's normals if they point inward"
            )


def collect_contacts(contacts_by_frame: Sequence[Sequence[ContactArrays]], points: ContactPoints) -> Contacts:
    """Contacts of the body's own vertices from what each Touch found in each frame."""
    rows = [(frame, *each) for frame, every in enumerate(contacts_by_frame) for each in every]
    frame = np.concatenate([np.full(len(row), f) for f, row, _, _ in rows])
    point, normal, kind = (np.concatenate([row[k] for row in rows]) for k in (1, 2, 3))
    return Contacts(frame, points.corners[point, 0], normal, kind)


def _find_block_offsets(body: Body, row_vertices: IndexArray, column_vertices: IndexArray) -> IndexArray:
    """(k,) where the blocks between vertices `one` and `two` (k,) begin on the body's pattern."""
    pattern = body.pattern
    rows = np.repeat(np.arange(3 * body.vertex_count), np.diff(pattern.indptr))
    first = np.flatnonzero((rows % 3 == 0) & (pattern.indices % 3 == 0))
    # in the order of rows and columns
    keys = (rows[first] // 3) * body.vertex_count + pattern.indices[first] // 3
    return first[np.searchsorted(keys, row_vertices * body.vertex_count + column_vertices)]
