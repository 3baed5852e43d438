"""Collision surface of a shell and its colliders, with broad phase and continuous collision detection."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from cajole.animation import Animation
from cajole.arrays import Array, IndexArray
from cajole.body import BodyShell
from cajole.checks import OptionalPackage
from cajole.direct.enriching.collisions import kernels_broad_phase as kernels
from cajole.direct.enriching.collisions import kernels_distance
from cajole.direct.enriching.guide import CatmullRomTrajectory
from cajole.dynamics import Ground, ObstacleMesh
from cajole.errors import InputError
from cajole.mesh import MeshTet, MeshTri

IPCTK = OptionalPackage(("ipctk",), "ipctk", "contact", "collisions of a shell")
Collider = MeshTri | MeshTet | Ground | ObstacleMesh | Animation

# half side of the square that represents a ground plane, in diagonals of the box that it surrounds
GROUND_SIZE_FACTOR = 2.0


class ColliderSet:
    """All colliders as one surface: edges (k, 2) and triangles (m, 3) of `vertex_count` vertices that move in time.

    An Animation is interpolated as the guide is, by cubics between its frames, and rests after its last frame. A Ground
    becomes a square around `bounds` (2, 3) [m], the box of the motion of the guide, and later around the shell if that
    leaves it (`recentre_grounds`).
    """

    def __init__(self, colliders: Any, bounds: Array):
        given = tuple(colliders) if isinstance(colliders, Sequence) else (colliders,)
        self.grounds = [one for one in given if isinstance(one, Ground)]
        self._ground_indices = [place for place, one in enumerate(given) if isinstance(one, Ground)]
        self._ground_bounds = bounds
        parts = [_extract_surface(one, place, bounds) for place, one in enumerate(given)]
        self._trajectories = [trajectory for _, trajectory in parts]
        meshes = [mesh for mesh, _ in parts]
        firsts = np.cumsum([0] + [len(mesh.vertices) for mesh in meshes])
        self.vertex_count = int(firsts[-1])
        self.edges = _stack_indices([mesh.edges + first for mesh, first in zip(meshes, firsts)], 2)
        self.triangles = _stack_indices([mesh.triangles + first for mesh, first in zip(meshes, firsts)], 3)

    def recentre_grounds(self, positions: Array) -> None:
        """Centre the ground squares on a shell (n, 3) near their borders; call this between steps, without friction."""
        box = np.array([positions.min(axis=0), positions.max(axis=0)])
        middle, size = self._ground_bounds.mean(axis=0), np.linalg.norm(self._ground_bounds[1] - self._ground_bounds[0])
        if np.linalg.norm(box - middle, axis=1).max() <= 0.5 * GROUND_SIZE_FACTOR * size:
            return
        # not smaller than before, so that it is not moved at every step
        half = np.maximum(0.5 * (box[1] - box[0]), 0.5 * (self._ground_bounds[1] - self._ground_bounds[0]))
        self._ground_bounds = box.mean(axis=0) + np.array([-half, half])
        for place, ground in zip(self._ground_indices, self.grounds):
            self._trajectories[place] = build_ground_mesh(ground, self._ground_bounds).vertices

    def compute_positions(self, time: float) -> Array:
        """Positions (vertex_count, 3) [m] at a time [s] after the first frame of the guide."""
        parts = [each.evaluate(time) if isinstance(each, CatmullRomTrajectory) else each for each in self._trajectories]
        return np.concatenate([np.empty((0, 3)), *parts])


def _stack_indices(parts: list[IndexArray], width: int) -> IndexArray:
    return np.concatenate([np.empty((0, width), dtype=np.int64), *parts])


def _extract_surface(collider: Any, index: int, bounds: Array) -> tuple[MeshTri, CatmullRomTrajectory | Array]:
    """Triangles of a collider without unused vertices, and their positions: constant, or a trajectory."""
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
    """Build a large square of two triangles on the plane of the ground, centred on the box `bounds` (2, 3)."""
    point, normal = ground.plane
    middle = bounds.mean(axis=0)
    middle = middle - normal * float((middle - point) @ normal)
    reach = GROUND_SIZE_FACTOR * float(np.linalg.norm(bounds[1] - bounds[0]))
    side = np.cross(normal, np.eye(3)[int(np.abs(normal).argmin())])
    side *= reach / np.linalg.norm(side)
    other = np.cross(normal, side)
    corners = middle + np.array([-side - other, side - other, side + other, other - side])
    return MeshTri(corners, [(0, 1, 2), (0, 2, 3)])


POINTS, EDGES, FACES = range(3)


@dataclass(frozen=True)
class CollisionSurface:
    """Primitives of a search: vertices (n, 1), edges (k, 2) and triangles (m, 3); vertices of the shell come first.

    Primitives of colliders, with vertices from `shell_vertex_count` on, are never paired with each other.
    """

    vertices: IndexArray
    edges: IndexArray
    triangles: IndexArray
    shell_vertex_count: int

    @property
    def primitives(self) -> tuple[IndexArray, IndexArray, IndexArray]:
        return self.vertices, self.edges, self.triangles

    @cached_property
    def incidence(self) -> list[tuple[IndexArray, IndexArray]]:
        """For each kind, starts (n + 1,) and indices: from starts[v] on, the primitives that contain vertex v."""
        out = []
        for parts in self.primitives:
            held = parts.ravel()
            starts = np.concatenate([[0], np.cumsum(np.bincount(held, minlength=len(self.vertices)))])
            out.append((starts, np.argsort(held, kind="stable") // parts.shape[1]))
        return out


class BroadPhase:
    """Boxes of the primitives of a surface that moves from `before` to `after` (n, 3), enlarged by `pad` [m]."""

    def __init__(self, surface: CollisionSurface, before: Array, after: Array, pad: float):
        self._surface, self._start_positions, self._pad = surface, before, pad
        self._boxes = [kernels.compute_swept_boxes(before, after, parts, pad) for parts in surface.primitives]
        # longest first: boxes are sorted along it, and divided into strips along the second
        self._axes = np.argsort(np.ptp(before[: surface.shell_vertex_count], axis=0))[::-1]
        self._is_updated = [np.zeros(len(parts), dtype=bool) for parts in surface.primitives]

    def find_all_pairs(self) -> tuple[IndexArray, IndexArray]:
        """Stencils (k, 4) of all vertex-triangle pairs, and of all pairs of edges, whose boxes overlap."""
        points, edges, faces = self._boxes
        found = self._find_overlaps(np.concatenate([points, faces]), len(points))
        found[:, 1] -= len(points)
        return self._build_stencils(found, self._find_overlaps(edges, 0))

    def find_pairs_of(self, after: Array, vertices: IndexArray) -> tuple[IndexArray, IndexArray]:
        """Stencils (k, 4) of the pairs that contain one of `vertices`, which now move to `after` (n, 3)."""
        points, edges, faces = (self._update_boxes(kind, after, vertices) for kind in (POINTS, EDGES, FACES))
        found, turned = self._find_overlaps_of(POINTS, points, FACES), self._find_overlaps_of(FACES, faces, POINTS)
        is_some = np.zeros(len(self._surface.vertices), dtype=bool)
        is_some[vertices] = True
        # pairs with both primitives in the set were found twice
        turned = turned[~is_some[turned[:, 1]]]
        return self._build_stencils(
            np.concatenate([found, turned[:, ::-1]]), self._find_overlaps_of(EDGES, edges, EDGES)
        )

    def _find_overlaps(self, boxes: Array, split: int) -> IndexArray:
        first, second = int(self._axes[0]), int(self._axes[1])
        # numpy sorts faster than compiled code
        return np.asarray(kernels.find_overlaps(boxes, np.argsort(boxes[:, first]), split, first, second))

    def _update_boxes(self, kind: int, after: Array, vertices: IndexArray) -> IndexArray:
        """Update the boxes of the primitives of a kind that contain `vertices`, and return their indices."""
        parts = np.unique(kernels.find_incident_primitives(vertices, *self._surface.incidence[kind]))
        # sort the boxes before the first one changes
        _ = self._sorted_bounds
        self._boxes[kind][parts] = kernels.compute_swept_boxes(
            self._start_positions, after, self._surface.primitives[kind][parts], self._pad
        )
        self._is_updated[kind][parts] = True
        return parts

    def _find_overlaps_of(self, kind: int, selected: IndexArray, other_kind: int) -> IndexArray:
        """Pairs (k, 2) of selected primitives of one kind and all of another whose boxes overlap, each pair once."""
        updated = self._is_updated[other_kind], np.flatnonzero(self._is_updated[other_kind])
        boxes = self._boxes[kind], self._boxes[other_kind], *self._sorted_bounds[other_kind]
        axis, same = int(self._axes[0]), kind == other_kind
        return np.asarray(kernels.find_overlaps_of(selected, *boxes, *updated, axis, same))

    @cached_property
    def _sorted_bounds(self) -> list[tuple[IndexArray, Array, float]]:
        """For each kind, the order of the boxes by lower bound along the first axis, these bounds, and the longest."""
        axis, out = int(self._axes[0]), []
        for boxes in self._boxes:
            order = np.argsort(boxes[:, axis])
            longest = float((boxes[:, 3 + axis] - boxes[:, axis]).max(initial=0.0))
            out.append((order, boxes[order, axis], longest))
        return out

    def _build_stencils(self, face_pairs: IndexArray, edge_pairs: IndexArray) -> tuple[IndexArray, IndexArray]:
        s = self._surface
        return (
            kernels.build_stencils(s.vertices, s.triangles, face_pairs, s.shell_vertex_count),
            kernels.build_stencils(s.edges, s.edges, edge_pairs, s.shell_vertex_count),
        )


class CollisionWorld:
    """Shell and colliders as one collision mesh; shell vertices first, then those of the colliders.

    contact_distance [m]: surfaces that are nearer push each other; by default a tenth of the mean edge, or the
    thickness of the shell if larger, and at most half of the gaps at rest. inverse_masses (n,) [1/kg]: zero for
    vertices with prescribed positions.
    """

    # a smaller contact distance, as a share of the mean edge, is lost in the rounding of tight inclusion
    MIN_DISTANCE_SHARE = 1e-4

    def __init__(self, cloth: BodyShell, colliders: ColliderSet, contact_distance: float | None = None):
        IPCTK.require()
        import ipctk

        self.toolkit: Any = ipctk
        self.toolkit.set_logger_level(self.toolkit.LoggerLevel.error)
        # several threads are not faster here, and make the order of sums random
        self.toolkit.set_num_threads(1)
        self.cloth, self.colliders, self.shell_vertex_count = cloth, colliders, cloth.vertex_count
        self.edges = np.concatenate([cloth.mesh.edges, colliders.edges + self.shell_vertex_count])
        self.triangles = np.concatenate([cloth.mesh.triangles, colliders.triangles + self.shell_vertex_count])
        self.vertices = np.arange(self.shell_vertex_count + colliders.vertex_count)[:, None]
        self.surface = CollisionSurface(self.vertices, self.edges, self.triangles, self.shell_vertex_count)
        self.inverse_masses = np.zeros(len(self.vertices))
        self.inverse_masses[cloth.free_vertices] = 1.0 / cloth.vertex_masses[cloth.free_vertices]
        if contact_distance is None:
            width = max(0.1 * self.mean_edge_length, float(cloth.properties.thickness.max()))
            x, gaps = self.stack_positions(cloth.vertices, 0.0), [width]
            for stencils, edges in zip(BroadPhase(self.surface, x, x, width).find_all_pairs(), (False, True)):
                own = stencils[(stencils < self.shell_vertex_count).all(axis=1)]
                apart = kernels_distance.compute_stencil_distances(x, own, edges).min(initial=np.inf)
                gaps.append(0.5 * float(apart))
            contact_distance = min(gaps)
        self.contact_distance = contact_distance
        least = self.MIN_DISTANCE_SHARE * self.mean_edge_length
        if self.contact_distance < least:
            raise InputError(
                f"the distance of contacts is {self.contact_distance:.3g} m, below {least:.3g} m, a share of "
                f"{self.MIN_DISTANCE_SHARE:g} of the mean edge, where rounding decides; give a larger "
                "distance, or move apart what lies so near at rest"
            )
        self.collision_mesh = self.toolkit.CollisionMesh(
            as_fortran_array(self.stack_positions(cloth.vertices, 0.0)), as_fortran_array(self.edges, np.int32),
            as_fortran_array(self.triangles, np.int32),
        )  # fmt: skip
        # more boxes per pair do not end where parallel parts meet along a line; fewer stop a step slightly earlier
        self._ccd = self.toolkit.TightInclusionCCD(max_iterations=1000)
        self.collision_mesh.can_collide = self.toolkit.make_static_obstacle_filter(self.shell_vertex_count)

    @cached_property
    def rest_lengths(self) -> Array:
        """Rest lengths (k,) [m] of the edges of the shell."""
        a, b = self.cloth.vertices[self.cloth.mesh.edges].transpose(1, 0, 2)
        return np.asarray(np.linalg.norm(b - a, axis=1))

    @property
    def mean_edge_length(self) -> float:
        """Mean rest length of the edges of the shell [m]."""
        return float(self.rest_lengths.mean())

    def require_contact_distance_below_edge(self) -> None:
        """Raise InputError if neighbouring vertices of the shell would be in contact."""
        if self.contact_distance > self.mean_edge_length:
            raise InputError(
                f"distance (m) is {self.contact_distance:.3g}, but the mean edge of the shell is "
                f"{self.mean_edge_length:.3g}: neighbours would "
                "push each other apart without end; give less, a tenth of an edge is usual"
            )

    def stack_positions(self, shell_positions: Array, time: float) -> Array:
        """Positions (n, 3) of the shell and of the colliders at a time [s]."""
        return np.concatenate([shell_positions, self.colliders.compute_positions(time)])

    def compute_collision_free_fraction(self, before: Array, after: Array) -> float:
        """Largest collision-free share of the motion, by tight inclusion (Wang et al. 2021); 1 for all of it."""
        motion = self.collision_mesh, as_fortran_array(before), as_fortran_array(after)
        options = {"broad_phase": self.toolkit.LBVH(), "narrow_phase_ccd": self._ccd}
        return float(self.toolkit.compute_collision_free_stepsize(*motion, **options))

    def compute_collision_free_fraction_of(self, before: Array, after: Array, stencils: Sequence[IndexArray]) -> float:
        """Collision-free share for some vertex-triangle stencils (k, 4) and edge-edge stencils (j, 4)."""
        share = 1.0
        for rows, query in zip(stencils, (self._ccd.point_triangle_ccd, self._ccd.edge_edge_ccd)):
            for four in rows:
                meets, when = query(*before[four], *after[four], tmax=share)
                share = when if meets else share
        return float(share)

    def has_intersections(self, x: Array) -> bool:
        """True if any surfaces intersect at x (n, 3)."""
        return bool(self.toolkit.has_intersections(self.collision_mesh, as_fortran_array(x), self.toolkit.LBVH()))

    def require_no_intersections(self, x: Array) -> None:
        """Raise InputError, naming the triangles, if the start x (n, 3) intersects itself or a collider."""
        for ground in self.colliders.grounds:
            point, normal = ground.plane
            # a vertex on the ground is above it by rounding only, which no contact can maintain
            heights, least = (x[: self.shell_vertex_count] - point) @ normal, self.MIN_DISTANCE_SHARE
            under = np.flatnonzero(heights <= least * self.mean_edge_length)
            if len(under):
                raise InputError(
                    f"vertex {int(under[0])} of the shell starts on or below the ground ({len(under)} such); raise "
                    "the guide a little, lower the ground, or give a start that is above it: start="
                )
        if not self.has_intersections(x):
            return
        pairs = self.find_intersecting_triangles(x)
        listed = ", ".join(f"{a} and {b}" for a, b in pairs[:5])
        more = f" and {len(pairs) - 5} more pairs" if len(pairs) > 5 else ""
        own = len(self.cloth.mesh.triangles)
        whose = f" (from {own} on they are the colliders')" if len(self.triangles) > own else ""
        raise InputError(
            f"the shell starts where surfaces pass through each other: triangles {listed}{more}{whose}; collisions "
            "need a start without intersections: move the guide's first frame or the colliders, or give another one: "
            "start="
        )

    def find_intersecting_triangles(self, x: Array) -> list[tuple[int, int]]:
        """Pairs of intersecting triangles at x (n, 3): those of the shell, then those of the colliders."""
        search = self.toolkit.LBVH()
        search.can_vertices_collide = self.collision_mesh.can_collide
        search.build(
            as_fortran_array(x), as_fortran_array(self.edges, np.int32), as_fortran_array(self.triangles, np.int32), 0.0
        )
        owner: dict[tuple[int, int], int] = {}
        for face, corners in enumerate(self.triangles.tolist()):
            for k in range(3):
                owner.setdefault((min(corners[k - 1], corners[k]), max(corners[k - 1], corners[k])), face)
        found = set()
        for pair in search.detect_edge_face_candidates():
            a, b = (int(v) for v in self.edges[pair.edge_id])
            t = self.triangles[pair.face_id]
            if a in t or b in t or not self.toolkit.is_edge_intersecting_triangle(x[a], x[b], *x[t]):
                continue
            one, two = sorted((owner[min(a, b), max(a, b)], int(pair.face_id)))
            found.add((one, two))
        return sorted(found)


def as_fortran_array(array: NDArray[Any], dtype: Any = np.float64) -> NDArray[Any]:
    """Column-major copy, which the toolkit reads without copying."""
    return np.asfortranarray(array, dtype=dtype)
