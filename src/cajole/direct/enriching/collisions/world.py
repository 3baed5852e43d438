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
from cajole.direct.enriching.collisions import kernels_gaps
from cajole.direct.enriching.collisions.colliders import Colliders
from cajole.direct.enriching.collisions.search import Search, Surface
from cajole.errors import InputError

IPCTK = OptionalPackage(("ipctk",), "ipctk", "contact", "collisions of a shell")
# the width of contacts, unless told, as a share of the mean edge, and at most this share of what is apart at rest
WIDTH, REST_SHARE = 0.1, 0.5
# a width below this share of the mean edge is lost in the rounding of tight-inclusion tests
LEAST_WIDTH = 1e-4
# boxes that tight inclusion looks at for a pair: more do not end where parallel parts meet along a line, and fewer than
# needed stop a step a little sooner
MOST_BOXES = 1000
# faces that a message lists before it only counts
LISTED = 5


def ipctk() -> Any:
    """The collision toolkit, imported where it is used."""
    IPCTK.require()
    import ipctk as toolkit

    return toolkit


class World:
    """Shell vertices first, then those of the colliders.

    width [m]: how near surfaces come before they push; by default a tenth of the mean edge, or the shell's thickness
    where that is more, and never more than half of what lies apart at rest. inverse (n,) [1/kg]: inverse vertex masses,
    zero where something else decides where a vertex is.
    """

    def __init__(self, cloth: BodyShell, colliders: Colliders, width: float | None = None):
        self.toolkit = ipctk()
        self.toolkit.set_logger_level(self.toolkit.LoggerLevel.error)
        # one thread: several add contact forces, and meet collisions, in an order of their own, and are no faster here
        self.toolkit.set_num_threads(1)
        self.cloth, self.colliders, self.shell = cloth, colliders, cloth.count
        self.edges = np.concatenate([cloth.mesh.edges, colliders.edges + self.shell])
        self.triangles = np.concatenate([cloth.mesh.triangles, colliders.triangles + self.shell])
        self.vertices = np.arange(self.shell + colliders.count)[:, None]
        self.surface = Surface(self.vertices, self.edges, self.triangles, self.shell)
        self.inverse = np.zeros(len(self.vertices))
        self.inverse[cloth.free] = 1.0 / cloth.vertex_masses[cloth.free]
        self.width = self._default_width() if width is None else width
        least = LEAST_WIDTH * self.mean_edge
        if self.width < least:
            raise InputError(
                f"the distance of contacts is {self.width:.3g} m, below {least:.3g} m, a share of {LEAST_WIDTH:g} of "
                "the mean edge, where rounding decides; give a larger distance, or move apart what lies so near at rest"
            )
        self.mesh = self.toolkit.CollisionMesh(
            columns(self.positions(cloth.vertices, 0.0)), columns(self.edges, np.int32),
            columns(self.triangles, np.int32),
        )  # fmt: skip
        self._ccd = self.toolkit.TightInclusionCCD(max_iterations=MOST_BOXES)
        self.mesh.can_collide = self.toolkit.make_static_obstacle_filter(self.shell)

    @cached_property
    def lengths(self) -> Array:
        """(k,) [m] of the shell's edges at rest."""
        a, b = self.cloth.vertices[self.cloth.mesh.edges].transpose(1, 0, 2)
        return np.asarray(np.linalg.norm(b - a, axis=1))

    @property
    def mean_edge(self) -> float:
        """[m] of the shell at rest."""
        return float(self.lengths.mean())

    def require_narrow(self) -> None:
        """Raise InputError where contacts are so wide that a shell's own neighbours are."""
        if self.width > self.mean_edge:
            raise InputError(
                f"distance (m) is {self.width:.3g}, but the mean edge of the shell is {self.mean_edge:.3g}: neighbours "
                "would push each other apart without end; give less, a tenth of an edge is usual"
            )

    def positions(self, shell: Array, time: float) -> Array:
        """(n, 3) of the shell and of the colliders at a time [s]."""
        return np.concatenate([shell, self.colliders.at(time)])

    def search(self, before: Array, after: Array, pad: float) -> Search:
        """Who may come within 2 pad [m] of whom on the ways from `before` to `after` (n, 3)."""
        return Search(self.surface, before, after, pad)

    def free_share(self, before: Array, after: Array) -> float:
        """The largest share of the ways on which nothing meets, by tight inclusion (Wang et al. 2021): 1 for all."""
        return float(
            self.toolkit.compute_collision_free_stepsize(
                self.mesh, columns(before), columns(after), broad_phase=self.toolkit.LBVH(), narrow_phase_ccd=self._ccd
            )
        )

    def free_share_of(self, before: Array, after: Array, stencils: Sequence[IndexArray]) -> float:
        """As `free_share`, of some vertices and triangles (k, 4) and of some pairs of edges (j, 4)."""
        share = 1.0
        for rows, query in zip(stencils, (self._ccd.point_triangle_ccd, self._ccd.edge_edge_ccd)):
            for four in rows:
                meets, when = query(*before[four], *after[four], tmax=share)
                share = when if meets else share
        return float(share)

    def intersects(self, x: Array) -> bool:
        """Whether any two surfaces pass through each other at x (n, 3)."""
        return bool(self.toolkit.has_intersections(self.mesh, columns(x), self.toolkit.LBVH()))

    def require_apart(self, x: Array) -> None:
        """Raise InputError, with the faces, where x (n, 3), the start, passes through itself or a collider."""
        for ground in self.colliders.grounds:
            point, normal = ground.plane
            # what stands on it is above it by rounding, which no contact can hold
            under = np.flatnonzero((x[: self.shell] - point) @ normal <= LEAST_WIDTH * self.mean_edge)
            if len(under):
                raise InputError(
                    f"vertex {int(under[0])} of the shell starts on or below the ground ({len(under)} such); raise "
                    "the guide a little, lower the ground, or give a start that is above it: start="
                )
        if not self.intersects(x):
            return
        pairs = self.crossings(x)
        listed = ", ".join(f"{a} and {b}" for a, b in pairs[:LISTED])
        more = f" and {len(pairs) - LISTED} more pairs" if len(pairs) > LISTED else ""
        own = len(self.cloth.mesh.triangles)
        whose = f" (from {own} on they are the colliders')" if len(self.triangles) > own else ""
        raise InputError(
            f"the shell starts where surfaces pass through each other: triangles {listed}{more}{whose}; collisions "
            "need a start without intersections: move the guide's first frame or the colliders, or give another one: "
            "start="
        )

    def crossings(self, x: Array) -> list[tuple[int, int]]:
        """Pairs of triangles that pass through each other at x (n, 3): the shell's, then the colliders'."""
        search = self.toolkit.LBVH()
        search.can_vertices_collide = self.mesh.can_collide
        search.build(columns(x), columns(self.edges, np.int32), columns(self.triangles, np.int32), 0.0)
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

    def _default_width(self) -> float:
        width = max(WIDTH * self.mean_edge, float(self.cloth.sheets.thickness.max()))
        x = self.positions(self.cloth.vertices, 0.0)
        apart = [width]
        for stencils, edges in zip(self.search(x, x, width).all(), (False, True)):
            own = stencils[(stencils < self.shell).all(axis=1)]
            apart.append(float(kernels_gaps.distances(x, own, edges).min(initial=np.inf)) * REST_SHARE)
        return min(apart)


def columns(array: NDArray[Any], kind: Any = np.float64) -> NDArray[Any]:
    """The array in the order of columns that the toolkit reads without copying."""
    return np.asfortranarray(array, dtype=kind)
