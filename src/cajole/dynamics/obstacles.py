"""Obstacles: one-sided penalty contact with friction, implicit in the steps of `simulate`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cajole import checks
from cajole.animation import Contacts
from cajole.arrays import Array, IndexArray
from cajole.body import EARTH_GRAVITY, Body
from cajole.dynamics import kernels_obstacles as kernels
from cajole.errors import InputError
from cajole.mesh import ClosestPointQuery, MeshLine, MeshTet, MeshTri, embed
from cajole.mesh.closest_point import has_inside
from cajole.mesh.line import RELATIVE_TUBE_RADIUS


@dataclass(frozen=True, eq=False, kw_only=True)
class Obstacle(ABC):
    """A fixed obstacle that pushes vertices out along its normal with a pressure of `stiffness` [Pa/m] times the depth.

    friction: Coulomb coefficient, with the normal force at the start of a step, smoothed at speeds near zero. damping:
    relative increase of the pressure for an approach at √(g L), the speed of a fall from half the size of the body.
    stiffness: by default a body on a fiftieth of its surface penetrates by a thousandth of its size. margin [m]:
    distance outside the surface at which contact begins.
    """

    friction: float = 0.5
    damping: float = 0.5
    stiffness: float | None = None
    margin: float = 0.0

    def __post_init__(self) -> None:
        for name in ("friction", "damping", "margin"):
            object.__setattr__(self, name, checks.require_positive(getattr(self, name), name, allow_zero=True))
        if self.stiffness is not None:
            object.__setattr__(self, "stiffness", checks.require_positive(self.stiffness, "stiffness (Pa/m)"))

    @abstractmethod
    def build_gap_query(self, points: ContactPoints) -> GapQuery:
        """Build the query of gaps between points of a body and the obstacle."""

    def _format_parameters(self) -> str:
        stiff = "" if self.stiffness is None else f", stiffness={self.stiffness:g}"
        margin = f", margin={self.margin:g}" * (self.margin > 0)
        return f"friction={self.friction:g}, damping={self.damping:g}{stiff}{margin}"


@dataclass(frozen=True, eq=False)
class ContactPoints:
    """k contact points that represent areas (k,) [m²] of a surface, at rest_positions (k, 3) [m].

    corners, weights (k, c): vertices that carry each point; block_offsets (k, c, c): their blocks on the pattern.
    """

    rest_positions: Array
    areas: Array
    corners: IndexArray
    weights: Array
    block_offsets: IndexArray

    @property
    def interpolation(self) -> kernels.Interpolation:
        """Argument of the kernels."""
        return self.rest_positions, self.corners, self.weights


class GapQuery(ABC):
    """Gap, normal, curvature and axis of k points relative to one obstacle (see `kernels_obstacles`)."""

    def __init__(self, points: ContactPoints):
        self.points, k = points, len(points.rest_positions)
        self.gap, self.curvature = np.full(k, np.inf), np.zeros(k)
        self.normal, self.axis = np.zeros((k, 3)), np.zeros((k, 3))

    @abstractmethod
    def update(self, u: Array) -> None:
        """Compute them for the displacement u (n, 3)."""


@dataclass(frozen=True, eq=False, repr=False)
class Ground(Obstacle):
    """The half-space below z = height [m], or below a plane (point, normal) whose normal points out of the ground."""

    height: float = 0.0
    plane: Any = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        height = checks.require_real_number(self.height, "height (m)")
        plane = ((0.0, 0.0, height), (0.0, 0.0, 1.0)) if self.plane is None else self.plane
        object.__setattr__(self, "plane", checks.require_plane(plane, "plane"))

    def __repr__(self) -> str:
        point, normal = (tuple(float(f"{value:.4g}") for value in part) for part in self.plane)
        upright = normal == (0.0, 0.0, 1.0)
        shape = f"height={point[2]:g}" if upright else f"plane={(point, normal)}"
        return f"Ground({shape}, {self._format_parameters()})"

    def build_gap_query(self, points: ContactPoints) -> GapQuery:
        return _PlaneGapQuery(self, points)


class _PlaneGapQuery(GapQuery):
    def __init__(self, ground: Ground, points: ContactPoints):
        super().__init__(points)
        self.plane = ground.plane

    def update(self, u: Array) -> None:
        kernels.measure_plane(u, self.points.interpolation, *self.plane, self.gap, self.normal)


@dataclass(frozen=True, eq=False, repr=False)
class ObstacleMesh(Obstacle):
    """The inside of a closed triangle mesh with outward normals, or of the surface of a MeshTet.

    Vertices are pushed to the nearest surface point: a vertex that moves farther in a step than a part is thick passes
    through it.
    """

    mesh: MeshTri | MeshTet

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.require_instance(self.mesh, (MeshTri, MeshTet), "mesh")
        object.__setattr__(self, "mesh", self.mesh.surface)
        if not has_inside(self.mesh.surface):
            raise InputError("the obstacle's mesh has no inside: it is open or not oriented; close its holes")

    def __repr__(self) -> str:
        return f"ObstacleMesh({self.mesh!r}, {self._format_parameters()})"

    def build_gap_query(self, points: ContactPoints) -> GapQuery:
        return _MeshGapQuery(self, points)


class _MeshGapQuery(GapQuery):
    def __init__(self, obstacle: ObstacleMesh, points: ContactPoints):
        super().__init__(points)
        self.closest_points, self.margin = ClosestPointQuery(obstacle.mesh.surface), obstacle.margin
        k = len(points.rest_positions)
        self.query_cache = np.zeros((k, 3)), np.zeros(k), np.full(k, -1)

    def update(self, u: Array) -> None:
        out = self.gap, self.normal, self.axis, self.curvature
        bvh, normals = tuple(self.closest_points.bvh_arrays), self.closest_points.pseudonormals
        kernels.measure_mesh(u, self.points.interpolation, bvh, normals, self.margin, self.query_cache, out)


# indices, normals and kinds of contact points
ContactArrays = tuple[IndexArray, Array, NDArray[np.str_]]
# with the default stiffness, a body that rests on this share of its surface penetrates by that share of its size
DEFAULT_CONTACT_SHARE, DEFAULT_PENETRATION = 0.02, 1e-3


class ObstacleContact:
    """Contact forces of one obstacle on the surface of a body, and their exact derivatives.

    The normal force is the derivative of the potential Σ κ A depth²/2 over points that represent the areas A; its
    tangent includes the rotation of the normal at edges and corners of the obstacle. Friction and damping are the
    derivatives of convex potentials of the velocity with the normal forces of the start of the step (`begin_step`).
    Therefore all matrices are symmetric.
    """

    def __init__(self, body: Body, obstacle: Obstacle, points: ContactPoints):
        self.obstacle, self.points, self.areas = obstacle, points, points.areas
        self._carriers, self._row_strides = (points.corners, points.weights, points.areas), body.pattern.row_strides
        self._gap_query = obstacle.build_gap_query(points)
        size, weight = body.size, body.weight
        usual = weight / (DEFAULT_CONTACT_SHARE * float(points.areas.sum()) * DEFAULT_PENETRATION * size)
        self.stiffness = usual if obstacle.stiffness is None else obstacle.stiffness
        # friction has half its strength at 0.6 of this speed, below which a vertex counts as sticking
        self.slip_speed = float(1e-3 * np.sqrt(EARTH_GRAVITY * size))
        rates = float(obstacle.damping / np.sqrt(EARTH_GRAVITY * size)), obstacle.friction, self.slip_speed
        self._penalty = float(self.stiffness), obstacle.margin
        k = len(points.rest_positions)
        self._lagged = np.zeros(k), np.zeros((k, 3)), *rates

    def begin_step(self, u: Array) -> None:
        """Store the normal forces at u (n, 3) for friction and damping."""
        self._gap_query.update(u)
        gaps = self._gap_query.gap, self._gap_query.normal
        kernels.store_lagged_contact(*gaps, self.areas, self._penalty, *self._lagged[:2])

    def compute_penetration_depths(self, u: Array) -> Array:
        """Depths (k,) [m] of the points, margin included; zero outside."""
        self._gap_query.update(u)
        return np.maximum(self.obstacle.margin - self._gap_query.gap, 0.0)

    def energy(self, u: Array) -> float:
        """Potential of the normal forces [J]."""
        self._gap_query.update(u)
        return float(kernels.compute_energy(self._gap_query.gap, self.areas, self._penalty))

    def add_force(self, u: Array, v: Array, out: Array) -> None:
        """Subtract the contact forces [N] from the internal forces `out` (n, 3)."""
        gauge = self._gap_query
        gauge.update(u)
        kernels.add_force(v, self._carriers, (gauge.gap, gauge.normal), self._penalty, self._lagged, out)

    def add_stiffness(self, u: Array, v: Array, damping_factor: float, out: Array, *, exact: bool = True) -> None:
        """Add the derivative by u + damping_factor times that by v to values `out` on the pattern of the body."""
        gauge = self._gap_query
        gauge.update(u)
        contact = gauge.gap, gauge.normal, gauge.axis, gauge.curvature
        assembly = self.points.block_offsets, self._row_strides
        factors = self._penalty, self._lagged, damping_factor, exact
        kernels.add_stiffness(v, self._carriers, contact, *factors, assembly, out)

    def find_contacts(self, u: Array, v: Array) -> ContactArrays:
        """Points in contact, their normals, and "sticking" or "sliding"."""
        rows = np.flatnonzero(self.compute_penetration_depths(u) > 0)
        normal = self._gap_query.normal[rows].copy()
        v = (self.points.weights[rows, :, None] * v[self.points.corners[rows]]).sum(axis=1)
        along = v - (v * normal).sum(axis=1, keepdims=True) * normal
        sticks = np.linalg.norm(along, axis=1) <= self.slip_speed
        return rows, normal, np.where(sticks, "sticking", "sliding").astype("<U8")


def build_contacts(
    body: Body, obstacles: Obstacle | Sequence[Obstacle] | None, surface: MeshTri | None = None
) -> list[ObstacleContact]:
    """Build the contact of each obstacle with the surface of the body, or with another surface that its tets carry.

    Raises InputError for objects that are not obstacles, and for a surface without tets to carry it.
    """
    listed = () if obstacles is None else (obstacles,) if isinstance(obstacles, Obstacle) else obstacles
    given = checks.require_sequence(listed, "obstacles", "an obstacle, or a list of them")
    for k, obstacle in enumerate(given):
        checks.require_instance(obstacle, Obstacle, f"obstacles[{k}]")
    if not given:
        return []
    mesh = body.get_display_mesh()
    if surface is None:
        areas = _compute_vertex_areas(mesh)
        vertices = np.flatnonzero(areas > 0)
        slots, ones = _find_block_offsets(body, vertices, vertices), np.ones((len(vertices), 1))
        carriers = vertices[:, None], ones, slots[:, None, None]
        points = ContactPoints(body.vertices[vertices], areas[vertices], *carriers)
    else:
        checks.require_instance(surface, MeshTri, "surface")
        if not isinstance(mesh, MeshTet):
            raise InputError("only a body of tets can carry another surface; leave surface= out")
        areas = _compute_vertex_areas(surface)
        used = np.flatnonzero(areas > 0)
        held = embed(surface.vertices[used], mesh)
        pairs = np.broadcast_arrays(held.corners[:, :, None], held.corners[:, None, :])
        slots = _find_block_offsets(body, *(ends.reshape(-1) for ends in pairs)).reshape(pairs[0].shape)
        points = ContactPoints(surface.vertices[used], areas[used], held.corners, held.weights, slots)
    return [ObstacleContact(body, obstacle, points) for obstacle in given]


def _compute_vertex_areas(mesh: MeshTet | MeshTri | MeshLine) -> Array:
    """Area of each vertex (n,) [m²]: a third of its triangles; for lines, half of the sides of the tubes drawn."""
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
    """Raise InputError if a body starts so deep inside an obstacle that the contact would eject it."""
    for k, contact in enumerate(contacts):
        depth = contact.compute_penetration_depths(u)
        worst = int(depth.argmax())
        share = 0.02
        if depth[worst] > share * body.size:
            raise InputError(
                f"point {worst} of the surface, at {contact.points.rest_positions[worst].tolist()} in rest, starts "
                f"{depth[worst]:.3g} m inside obstacles[{k}] (a {type(contact.obstacle).__name__}), deeper than "
                f"{share:g} of the body's size, and would be shot out; start outside it, or "
                "turn the obstacle's normals if they point inward"
            )


def collect_contacts(contacts_by_frame: Sequence[Sequence[ContactArrays]], points: ContactPoints) -> Contacts:
    """Collect the contacts of the vertices of a body from the contacts with each obstacle in each frame."""
    rows = [(frame, *each) for frame, every in enumerate(contacts_by_frame) for each in every]
    frame = np.concatenate([np.full(len(row), f) for f, row, _, _ in rows])
    point, normal, kind = (np.concatenate([row[k] for row in rows]) for k in (1, 2, 3))
    return Contacts(frame, points.corners[point, 0], normal, kind)


def _find_block_offsets(body: Body, row_vertices: IndexArray, column_vertices: IndexArray) -> IndexArray:
    """Offsets (k,) of the blocks between row and column vertices (k,) on the pattern of the body."""
    pattern = body.pattern
    rows = np.repeat(np.arange(3 * body.vertex_count), np.diff(pattern.indptr))
    first = np.flatnonzero((rows % 3 == 0) & (pattern.indices % 3 == 0))
    # in the order of rows and columns
    keys = (rows[first] // 3) * body.vertex_count + pattern.indices[first] // 3
    return first[np.searchsorted(keys, row_vertices * body.vertex_count + column_vertices)]
