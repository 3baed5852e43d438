"""The surface on which collisions happen: a shell and its colliders, as ipctk and the kernels see it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cajole.arrays import Array, IndexArray
from cajole.body import BodyShell
from cajole.checks import OptionalPackage
from cajole.direct.enriching.collisions import kernels_distance
from cajole.direct.enriching.collisions.broad_phase import BroadPhase, CollisionSurface
from cajole.direct.enriching.collisions.colliders import ColliderSet
from cajole.errors import InputError

IPCTK = OptionalPackage(("ipctk",), "ipctk", "contact", "collisions of a shell")
# the width of contacts, unless told, as a share of the mean edge, and at most this share of what is apart at rest
DEFAULT_WIDTH_SHARE, MAX_REST_GAP_SHARE = 0.1, 0.5
# a width below this share of the mean edge is lost in the rounding of tight-inclusion tests
MIN_WIDTH_SHARE = 1e-4
# boxes that tight inclusion looks at for a pair: more do not end where parallel parts meet along a line, and fewer than
# needed stop a step a little sooner
MAX_CCD_ITERATIONS = 1000
# faces that a message lists before it only counts
MAX_PAIRS_LISTED = 5


def import_ipctk() -> Any:
    """The collision toolkit, imported where it is used."""
    IPCTK.require()
    import ipctk as toolkit

    return toolkit


class CollisionWorld:
    """Shell vertices first, then those of the colliders.

    width [m]: how near surfaces come before they push; by default a tenth of the mean edge, or the shell's thickness
    where that is more, and never more than half of what lies apart at rest. inverse (n,) [1/kg]: inverse vertex masses,
    zero where something else decides where a vertex is.
    """

    def __init__(self, cloth: BodyShell, colliders: ColliderSet, contact_distance: float | None = None):
        self.toolkit = import_ipctk()
        self.toolkit.set_logger_level(self.toolkit.LoggerLevel.error)
        # one thread: several add contact forces, and meet collisions, in an order of their own, and are no faster here
        self.toolkit.set_num_threads(1)
        self.cloth, self.colliders, self.shell_vertex_count = cloth, colliders, cloth.vertex_count
        self.edges = np.concatenate([cloth.mesh.edges, colliders.edges + self.shell_vertex_count])
        self.triangles = np.concatenate([cloth.mesh.triangles, colliders.triangles + self.shell_vertex_count])
        self.vertices = np.arange(self.shell_vertex_count + colliders.vertex_count)[:, None]
        self.surface = CollisionSurface(self.vertices, self.edges, self.triangles, self.shell_vertex_count)
        self.inverse_masses = np.zeros(len(self.vertices))
        self.inverse_masses[cloth.free_vertices] = 1.0 / cloth.vertex_masses[cloth.free_vertices]
        self.contact_distance = (
            self._compute_default_contact_distance() if contact_distance is None else contact_distance
        )
        least = MIN_WIDTH_SHARE * self.mean_edge_length
        if self.contact_distance < least:
            raise InputError(
                f"the distance of contacts is {self.contact_distance:.3g} m, below {least:.3g} m, a share of "
                f"{MIN_WIDTH_SHARE:g} of "
                "the mean edge, where rounding decides; give a larger distance, or move apart what lies so near at rest"
            )
        self.collision_mesh = self.toolkit.CollisionMesh(
            as_fortran_array(self.stack_positions(cloth.vertices, 0.0)), as_fortran_array(self.edges, np.int32),
            as_fortran_array(self.triangles, np.int32),
        )  # fmt: skip
        self._ccd = self.toolkit.TightInclusionCCD(max_iterations=MAX_CCD_ITERATIONS)
        self.collision_mesh.can_collide = self.toolkit.make_static_obstacle_filter(self.shell_vertex_count)

    @cached_property
    def rest_lengths(self) -> Array:
        """(k,) [m] of the shell's edges at rest."""
        a, b = self.cloth.vertices[self.cloth.mesh.edges].transpose(1, 0, 2)
        return np.asarray(np.linalg.norm(b - a, axis=1))

    @property
    def mean_edge_length(self) -> float:
        """[m] of the shell at rest."""
        return float(self.rest_lengths.mean())

    def require_contact_distance_below_edge(self) -> None:
        """Raise InputError where contacts are so wide that a shell's own neighbours are."""
        if self.contact_distance > self.mean_edge_length:
            raise InputError(
                f"distance (m) is {self.contact_distance:.3g}, but the mean edge of the shell is "
                f"{self.mean_edge_length:.3g}: neighbours "
                "would push each other apart without end; give less, a tenth of an edge is usual"
            )

    def stack_positions(self, shell_positions: Array, time: float) -> Array:
        """(n, 3) of the shell and of the colliders at a time [s]."""
        return np.concatenate([shell_positions, self.colliders.compute_positions(time)])

    def build_broad_phase(self, before: Array, after: Array, pad: float) -> BroadPhase:
        """Who may come within 2 pad [m] of whom on the ways from `before` to `after` (n, 3)."""
        return BroadPhase(self.surface, before, after, pad)

    def compute_collision_free_fraction(self, before: Array, after: Array) -> float:
        """The largest share of the ways on which nothing meets, by tight inclusion (Wang et al. 2021): 1 for all."""
        return float(
            self.toolkit.compute_collision_free_stepsize(
                self.collision_mesh,
                as_fortran_array(before),
                as_fortran_array(after),
                broad_phase=self.toolkit.LBVH(),
                narrow_phase_ccd=self._ccd,
            )
        )

    def compute_collision_free_fraction_of(self, before: Array, after: Array, stencils: Sequence[IndexArray]) -> float:
        """As `free_share`, of some vertices and triangles (k, 4) and of some pairs of edges (j, 4)."""
        share = 1.0
        for rows, query in zip(stencils, (self._ccd.point_triangle_ccd, self._ccd.edge_edge_ccd)):
            for four in rows:
                meets, when = query(*before[four], *after[four], tmax=share)
                share = when if meets else share
        return float(share)

    def has_intersections(self, x: Array) -> bool:
        """Whether any two surfaces pass through each other at x (n, 3)."""
        return bool(self.toolkit.has_intersections(self.collision_mesh, as_fortran_array(x), self.toolkit.LBVH()))

    def require_no_intersections(self, x: Array) -> None:
        """Raise InputError, with the faces, where x (n, 3), the start, passes through itself or a collider."""
        for ground in self.colliders.grounds:
            point, normal = ground.plane
            # what stands on it is above it by rounding, which no contact can hold
            under = np.flatnonzero(
                (x[: self.shell_vertex_count] - point) @ normal <= MIN_WIDTH_SHARE * self.mean_edge_length
            )
            if len(under):
                raise InputError(
                    f"vertex {int(under[0])} of the shell starts on or below the ground ({len(under)} such); raise "
                    "the guide a little, lower the ground, or give a start that is above it: start="
                )
        if not self.has_intersections(x):
            return
        pairs = self.find_intersecting_triangles(x)
        listed = ", ".join(f"{a} and {b}" for a, b in pairs[:MAX_PAIRS_LISTED])
        more = f" and {len(pairs) - MAX_PAIRS_LISTED} more pairs" if len(pairs) > MAX_PAIRS_LISTED else ""
        own = len(self.cloth.mesh.triangles)
        whose = f" (from {own} on they are the colliders')" if len(self.triangles) > own else ""
        raise InputError(
            f"the shell starts where surfaces pass through each other: triangles {listed}{more}{whose}; collisions "
            "need a start without intersections: move the guide's first frame or the colliders, or give another one: "
            "start="
        )

    def find_intersecting_triangles(self, x: Array) -> list[tuple[int, int]]:
        """Pairs of triangles that pass through each other at x (n, 3): the shell's, then the colliders'."""
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

    def _compute_default_contact_distance(self) -> float:
        width = max(DEFAULT_WIDTH_SHARE * self.mean_edge_length, float(self.cloth.properties.thickness.max()))
        x = self.stack_positions(self.cloth.vertices, 0.0)
        apart = [width]
        for stencils, edges in zip(self.build_broad_phase(x, x, width).find_all_pairs(), (False, True)):
            own = stencils[(stencils < self.shell_vertex_count).all(axis=1)]
            apart.append(
                float(kernels_distance.compute_stencil_distances(x, own, edges).min(initial=np.inf))
                * MAX_REST_GAP_SHARE
            )
        return min(apart)


def as_fortran_array(array: NDArray[Any], dtype: Any = np.float64) -> NDArray[Any]:
    """The array in the order of columns that the toolkit reads without copying."""
    return np.asfortranarray(array, dtype=dtype)
