"""Obstacles that bodies fall on: one-sided penalty forces with friction, taken implicitly by `simulate`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cajole import checks
from cajole.animation import Contacts
from cajole.animation.touching import checked_plane
from cajole.body import Body
from cajole.dynamics import kernels_obstacles as kernels
from cajole.errors import InputError
from cajole.mesh import ClosestPoints, MeshTet, MeshTri
from cajole.mesh.closest import has_inside

Array = NDArray[np.float64]
Index = NDArray[np.int64]
# vertices, normals and kinds
Touched = tuple[Index, Array, NDArray[np.str_]]

# A body whose weight rests on this share of its surface sinks in by that share of its size.
FOOT, SINK = 0.02, 1e-3
GRAVITY = 9.81
# friction has half its strength at 0.6 of this share of √(g L), below which a vertex counts as sticking
SLOW = 1e-3
# a body that starts deeper inside than this share of its size would be shot out
DEEP = 0.02


@dataclass(frozen=True, eq=False, kw_only=True)
class Obstacle(ABC):
    """What stands still and pushes vertices out along its normal: a pressure of `stiffness` [Pa/m] times the depth.

    friction: Coulomb's, with the normal force at the start of a step and smoothed at speeds near zero; damping: twice
    the damping ratio of a body that rests as deep as the default stiffness means, on approach only; stiffness: by
    default a body on a fiftieth of its surface sinks in by a thousandth of its size; margin [m]: how far outside the
    surface it begins to push.
    """

    friction: float = 0.5
    damping: float = 0.5
    stiffness: float | None = None
    margin: float = 0.0

    def __post_init__(self) -> None:
        for name in ("friction", "damping", "margin"):
            object.__setattr__(self, name, checks.positive(getattr(self, name), name, zero=True))
        if self.stiffness is not None:
            object.__setattr__(self, "stiffness", checks.positive(self.stiffness, "stiffness (Pa/m)"))

    @abstractmethod
    def gauge(self, body: Body, vertices: Index) -> Gauge:
        """What measures how far these vertices of `body` are from the obstacle."""


class Gauge(ABC):
    """How far k vertices are from one obstacle: gap, normal, bend and axis, as `kernels_obstacles` tells."""

    def __init__(self, body: Body, vertices: Index):
        self.rest, self.vertices = body.vertices, vertices
        k = len(vertices)
        self.gap, self.bend = np.full(k, np.inf), np.zeros(k)
        self.normal, self.axis = np.zeros((k, 3)), np.zeros((k, 3))

    @abstractmethod
    def measure(self, u: Array) -> None:
        """Fill them for the displacement u (n, 3)."""


@dataclass(frozen=True, eq=False)
class Ground(Obstacle):
    """The space below a plane: z = height [m], or a plane ((point), (normal)) whose normal leads out of the ground."""

    height: float = 0.0
    plane: Any = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        height = checks.real_number(self.height, "height (m)")
        plane = ((0.0, 0.0, height), (0.0, 0.0, 1.0)) if self.plane is None else self.plane
        object.__setattr__(self, "plane", checked_plane(plane))

    def gauge(self, body: Body, vertices: Index) -> Gauge:
        """What measures heights above the plane."""
        return _PlaneGauge(self, body, vertices)


class _PlaneGauge(Gauge):
    def __init__(self, ground: Ground, body: Body, vertices: Index):
        super().__init__(body, vertices)
        self.plane = ground.plane

    def measure(self, u: Array) -> None:
        kernels.measure_plane(u, self.rest, self.vertices, *self.plane, self.gap, self.normal)


@dataclass(frozen=True, eq=False)
class ObstacleMesh(Obstacle):
    """The inside of a closed triangle mesh, whose normals point out of it; of a MeshTet its surface.

    Vertices are pushed out at the nearest point, so parts thinner than a fast vertex goes in a step are passed through.
    """

    mesh: MeshTri | MeshTet

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.mesh, MeshTet):
            object.__setattr__(self, "mesh", self.mesh.surface)
        checks.require_instance(self.mesh, MeshTri, "mesh")
        assert isinstance(self.mesh, MeshTri)
        if not has_inside(self.mesh):
            raise InputError("the obstacle's mesh has no inside: it is open or not oriented; close its holes")

    def gauge(self, body: Body, vertices: Index) -> Gauge:
        """What measures distances from the mesh."""
        return _MeshGauge(self, body, vertices)


class _MeshGauge(Gauge):
    def __init__(self, obstacle: ObstacleMesh, body: Body, vertices: Index):
        super().__init__(body, vertices)
        assert isinstance(obstacle.mesh, MeshTri)
        self.closest, self.margin = ClosestPoints(obstacle.mesh), obstacle.margin
        k = len(vertices)
        self.memory = np.zeros((k, 3)), np.zeros(k), np.full(k, -1)

    def measure(self, u: Array) -> None:
        kernels.measure_mesh(
            u, self.rest, self.vertices, *self.closest.tree, self.closest.normals, self.margin, *self.memory,
            self.gap, self.normal, self.axis, self.bend,
        )  # fmt: skip


class Touch:
    """The forces of one obstacle on the surface of a body, and their exact derivatives.

    The normal force comes from the potential Σ κ A depth²/2 over vertices that stand for the areas A; its tangent
    includes the bending of the normal at edges and corners of the obstacle. Friction and damping come from convex
    potentials of the velocity whose normal forces are those at the start of the step (`begin`): all is symmetric.
    """

    def __init__(self, body: Body, obstacle: Obstacle, vertices: Index, areas: Array, slots: Index):
        self.obstacle, self.vertices, self.areas = obstacle, vertices, areas
        self._slots, self._stride = slots, body.pattern.stride
        self._gauge = obstacle.gauge(body, vertices)
        self._load, self._along = np.zeros(len(vertices)), np.zeros((len(vertices), 3))
        size, weight = body.size, GRAVITY * body.total_mass
        usual = weight / (FOOT * float(areas.sum()) * SINK * size)
        self.stiffness = usual if obstacle.stiffness is None else obstacle.stiffness
        self.slow = SLOW * np.sqrt(GRAVITY * size)
        # per speed of approach, so that it does not depend on the mesh nor on the depth at which bodies rest
        rates = obstacle.damping / np.sqrt(GRAVITY * SINK * size), obstacle.friction, self.slow
        self._normal = self.stiffness, obstacle.margin
        self._lagged = self._load, self._along, *rates

    def begin(self, u: Array) -> None:
        """Take the normal forces at u (n, 3) for the friction and damping of what follows."""
        self._gauge.measure(u)
        kernels.remember(self._gauge.gap, self._gauge.normal, self.areas, *self._normal, self._load, self._along)

    def depth(self, u: Array) -> Array:
        """(k,) [m] how far vertices are inside, margin included; zero outside."""
        self._gauge.measure(u)
        return np.maximum(self.obstacle.margin - self._gauge.gap, 0.0)

    def energy(self, u: Array) -> float:
        """The potential of the normal forces [J]."""
        self._gauge.measure(u)
        return float(kernels.energy(self._gauge.gap, self.areas, *self._normal))

    def add_force(self, u: Array, v: Array, out: Array) -> None:
        """Subtract the push on each vertex [N] from the internal forces `out` (n, 3)."""
        gauge = self._gauge
        gauge.measure(u)
        kernels.add_force(v, self.vertices, self.areas, gauge.gap, gauge.normal, *self._normal, *self._lagged, out)

    def add_tangent(self, u: Array, v: Array, drag: float, out: Array, *, exact: bool = True) -> None:
        """Add its derivative by u + `drag` times that by v to the values `out` on the body's pattern."""
        gauge = self._gauge
        gauge.measure(u)
        kernels.add_tangent(
            v, self.vertices, self.areas, gauge.gap, gauge.normal, gauge.axis, gauge.bend, *self._normal,
            *self._lagged, drag, exact, self._slots, self._stride, out,
        )  # fmt: skip

    def contacts(self, u: Array, v: Array) -> Touched:
        """The vertices that are pushed, the normals there, and whether they stick or slide."""
        rows = np.flatnonzero(self.depth(u) > 0)
        vertex, normal = self.vertices[rows], self._gauge.normal[rows].copy()
        along = v[vertex] - (v[vertex] * normal).sum(axis=1, keepdims=True) * normal
        sticks = np.linalg.norm(along, axis=1) <= self.slow
        return vertex, normal, np.where(sticks, "sticking", "sliding").astype("<U8")


def touches(body: Body, obstacles: Obstacle | Sequence[Obstacle] | None) -> list[Touch]:
    """One Touch for each obstacle. Raises InputError for anything that is none."""
    given = [] if obstacles is None else [obstacles] if isinstance(obstacles, Obstacle) else list(obstacles)
    for k, obstacle in enumerate(given):
        checks.require_instance(obstacle, Obstacle, f"obstacles[{k}]")
    if not given:
        return []
    mesh = body.drawn_mesh()
    surface = mesh.surface if isinstance(mesh, MeshTet) else mesh
    areas = np.zeros(body.count)
    np.add.at(areas, surface.triangles, surface.areas[:, None] / 3)
    vertices = np.flatnonzero(areas > 0)
    return [Touch(body, obstacle, vertices, areas[vertices], _diagonal(body)[vertices]) for obstacle in given]


def require_clear(body: Body, touching: Sequence[Touch], u: Array) -> None:
    """Raise InputError where a body starts so deep inside an obstacle that it would be shot out."""
    for k, touch in enumerate(touching):
        depth = touch.depth(u)
        worst = int(depth.argmax())
        if depth[worst] > DEEP * body.size:
            raise InputError(
                f"vertex {touch.vertices[worst]} starts {depth[worst]:.3g} m inside obstacles[{k}] (a "
                f"{type(touch.obstacle).__name__}), deeper than {DEEP:g} of the body's size, and would be shot out; "
                "start outside it, or turn the obstacle's normals if they point inward"
            )


def contacts_of(found: Sequence[Sequence[Touched]]) -> Contacts:
    """Contacts from what each Touch found in each frame."""
    rows = [(frame, *each) for frame, every in enumerate(found) for each in every]
    frame = np.concatenate([np.full(len(vertex), f) for f, vertex, _, _ in rows])
    vertex, normal, kind = (np.concatenate([row[k] for row in rows]) for k in (1, 2, 3))
    return Contacts(frame, vertex, normal, kind)


def _diagonal(body: Body) -> Index:
    """(n,) where the diagonal block of each vertex begins on the body's pattern; -1 where it has none."""
    pattern = body.pattern
    rows = np.repeat(np.arange(3 * body.count), np.diff(pattern.indptr))
    first = np.flatnonzero((pattern.indices == rows) & (rows % 3 == 0))
    slots = np.full(body.count, -1, dtype=np.int64)
    slots[rows[first] // 3] = first
    return slots
