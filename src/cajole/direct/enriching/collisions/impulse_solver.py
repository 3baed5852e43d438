"""The fast response: impulses at contacts after a constrained step, and nothing that tight inclusion has not passed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from cajole.arrays import Array, IndexArray
from cajole.body import BodyShell
from cajole.direct.enriching.collisions import kernels_projection, kernels_strain_limit
from cajole.direct.enriching.collisions.contacts import ContactCandidates
from cajole.direct.enriching.collisions.world import CollisionWorld
from cajole.errors import SolveError
from cajole.linalg import Factor

# shares of a region's own move below this are left out: what one region asks for ends a few regions away
PROJECTION_DROP_TOLERANCE = 1e-2
# what a mean is off by rounding, in body sizes
MEAN_ROUNDING = 1e-14


class RegionMeanProjection:
    """Moves that put `rows` C (m, n) @ x at their targets: nearly the least ones as a step of h [s] weighs them.

    The least are P = B⁻¹Cᵀ(C B⁻¹Cᵀ)⁻¹ of what is missed, B = M + h² L, lumped masses and the membrane's stiffness in
    every direction (see `membrane_laplacian`). Masses alone would move each region as a block and tear the shell at
    their borders. P fades away from each region, so that its small shares are left out, and what is left is made to
    meet the averages again. Fixed vertices stay.
    """

    def __init__(self, constraints: sp.csr_array, cloth: BodyShell, h: float):
        self._constraints, free = constraints, cloth.free_vertices
        if not constraints.shape[0]:
            return
        B = sp.csr_array(sp.diags_array(cloth.vertex_masses) + h**2 * build_membrane_laplacian(cloth))
        spread = np.zeros((cloth.vertex_count, constraints.shape[0]))
        spread[free] = Factor(B[free][:, free]).solve(constraints.T.toarray()[free])
        P = np.linalg.solve(constraints @ spread, spread.T).T
        P[np.abs(P) < PROJECTION_DROP_TOLERANCE * np.abs(P).max(axis=0)] = 0.0
        least = MEAN_ROUNDING * cloth.size * np.asarray(constraints.sum(axis=1))
        asked = np.ascontiguousarray(np.linalg.inv(constraints @ P).T)
        self._kernel_arrays = (
            *_get_sparse_arrays(constraints),
            least,
            asked,
            *_get_sparse_arrays(sp.csc_array(P)),
            np.empty((3, constraints.shape[0])),
        )

    def project(self, x: Array, target: Array) -> None:
        """Move the shell in x (n, 3), its first vertices, in place, so that rows @ x = target (m, 3)."""
        if self._constraints.shape[0]:
            kernels_projection.project_means(x, np.ascontiguousarray(target), *self._kernel_arrays)


def _get_sparse_arrays(matrix: sp.csr_array | sp.csc_array) -> tuple[NDArray[np.int32], NDArray[np.int32], Array]:
    return matrix.indptr.astype(np.int32), matrix.indices.astype(np.int32), matrix.data


def build_membrane_laplacian(cloth: BodyShell) -> sp.csr_array:
    """(n, n) [N/m] Σ (λ + 2μ) A ∇N_i·∇N_j over the triangles at rest: no membrane, but as stiff, and however turned."""
    t, mesh, sheets = cloth.mesh.triangles, cloth.mesh, cloth.properties
    opposite = mesh.vertices[np.roll(t, 1, axis=1)] - mesh.vertices[np.roll(t, -1, axis=1)]
    local = np.einsum("tia,tja,t->tij", opposite, opposite, (sheets.lam + 2.0 * sheets.mu) / (4.0 * mesh.areas))
    rows, columns = np.repeat(t, 3, axis=1).ravel(), np.tile(t, (1, 3)).ravel()
    return sp.csr_array(sp.coo_array((local.ravel(), (rows, columns)), shape=(cloth.vertex_count, cloth.vertex_count)))


# the share of its length by which a step without contacts may change an edge beyond its limits: a guide can ask for any
# strain, and where there is none only solves that went wrong do
TRACKED_EDGE_CHANGE, FREE_EDGE_CHANGE = 0.5, 0.02


class StrainLimiter:
    """Limits of the shell's edges: `begin` sets those of a step, `keep` moves what contacts have moved too far.

    Contacts know nothing of the membrane: a vertex that one stops in a step stretches its triangles by all of the
    others' way, and they would store many times the motion that was lost (Provot 1995).
    """

    def __init__(self, world: CollisionWorld, *, is_tracked: bool):
        self._max_change = TRACKED_EDGE_CHANGE if is_tracked else FREE_EDGE_CHANGE
        self._edges = world.cloth.mesh.edges
        self._rest_lengths = world.rest_lengths
        self._inverse_masses = world.inverse_masses
        self._max_lengths, self._min_lengths = np.empty((2, len(self._rest_lengths)))
        self._start_positions: Array = np.empty((0, 3))

    def begin_step(self, before: Array, after: Array) -> bool:
        """A step goes from `before` to `after` (n, 3), which knows of no contacts: whether it leaves the limits."""
        self._start_positions = before
        limits = self._max_lengths, self._min_lengths
        return bool(
            kernels_strain_limit.compute_edge_limits(
                before, after, self._edges, self._rest_lengths, self._max_change, *limits
            )
        )

    def apply(self, x: Array, sweeps: int) -> None:
        """Move x (n, 3) in place, by impulses along edges."""
        kernels_strain_limit.limit_edges(
            self._start_positions, x, self._edges, self._max_lengths, self._min_lengths, self._inverse_masses, sweeps
        )


def merge_impact_zones(zone: IndexArray, stencils: IndexArray) -> IndexArray:
    """Zones (n,) after the vertices of each stencil (k, 4) have been put into one."""
    n = len(zone)
    ones = np.ones(3 * len(stencils) + n)
    rows = np.concatenate([np.repeat(zone[stencils[:, 0]], 3), np.arange(n)])
    columns = np.concatenate([zone[stencils[:, 1:]].ravel(), zone])
    graph = sp.csr_array((ones, (rows, columns)), shape=(n, n))
    return sp.csgraph.connected_components(graph, directed=False)[1].astype(np.int64)


def move_impact_zones(zone: IndexArray, masses: Array, before: Array, x: Array) -> Array:
    """x (n, 3) where each zone of several vertices moves by its mean, as its momentum or its immovable part says."""
    count = int(zone.max()) + 1
    sizes = np.bincount(zone, minlength=count)
    held = np.bincount(zone, weights=masses == 0, minlength=count) > 0
    weights = np.where(held[zone], (masses == 0).astype(float), masses)
    total = np.bincount(zone, weights=weights, minlength=count)
    mean = np.stack([np.bincount(zone, weights=weights * part, minlength=count) for part in (x - before).T], axis=1)
    several = sizes[zone] > 1
    out = x.copy()
    out[several] = before[several] + (mean / total[:, None])[zone[several]]
    # colliders go where they go
    out[masses == 0] = x[masses == 0]
    return out


# looks at all pairs, each followed by sweeps of impulses over what was found, and each of these by sweeps over the
# edges, after which the averages are met again: contacts and averages agree sooner than when they take longer turns
CONTACT_PASSES, IMPULSE_SWEEPS, STRAIN_LIMIT_SWEEPS = 6, 4, 8
# of the passes those that keep edges: a guide that strains its shell would otherwise be left by it
STRAIN_LIMIT_PASSES = 4
# groups of vertices that keep colliding move as one, and grow this often at most
MAX_IMPACT_ZONE_ITERATIONS = 20
# how often a truncated step is taken up again where it ended, before it is left there
MAX_RESTARTS = 6
# a share of the width below which what tight inclusion finds is looked at again, and no truncated step goes on
MIN_GAP_SHARE = 1e-2
# and below which going apart matters more than averages
CONTACT_PRIORITY_GAP_SHARE = 0.2
# what is nearer than the width goes apart with this time constant [s], whatever the step
GAP_RECOVERY_TIME = 0.03


@dataclass
class CollisionStatistics:
    """contacts: the most at once; how often a step was cut short; how often vertices had to move as one."""

    max_contacts: int = 0
    truncations: int = 0
    impact_zones: int = 0


class ImpulseSolver:
    """Positions after a step of h [s] become such that nothing meets on the way: Bridson et al. 2002, certified.

    Impulses take speed and never give any, at contacts and along edges: what collides loses energy. friction:
    Coulomb's. rows (m, n): averages to be met as far as contacts let them. tick: called before each look at all pairs;
    it may raise to end a step that takes long.
    """

    def __init__(
        self,
        world: CollisionWorld,
        friction: float,
        constraints: sp.csr_array,
        h: float,
        *,
        passes: int = CONTACT_PASSES,
        on_progress: Callable[[], None] = lambda: None,
    ):
        self.world, self.friction, self.passes, self._on_progress = world, friction, passes, on_progress
        self.statistics = CollisionStatistics()
        self.mean_projection = RegionMeanProjection(constraints, world.cloth, h)
        self._strain_limiter = StrainLimiter(world, is_tracked=constraints.shape[0] > 0)
        self._recovery_share = -np.expm1(-h / GAP_RECOVERY_TIME)

    def __call__(self, before: Array, after: Array, target: Array | None = None) -> tuple[Array, Array]:
        """(n, 3) of shell and colliders instead of `after`, reached from `before`; nothing meets on the way there.

        And (n, 3) [m], which part of that way only puts surfaces apart, and is no motion that goes on.
        """
        x, wish, world = before, after, self.world
        apart = np.zeros_like(before)
        for turn in range(MAX_RESTARTS):
            contacts = ContactCandidates(world, x, wish)
            tight = turn > 0 and contacts.min_start_distance < MIN_GAP_SHARE * world.contact_distance
            if tight and self._is_collider_motion_complete(x, after):
                break
            # colliders that have to move on matter more than averages
            stopped = self._apply_contact_impulses(contacts, wish, None if tight else target)
            parted = stopped if tight else self._recover_gaps(contacts, stopped, target)
            share = self._compute_safe_fraction(contacts, parted)
            apart += share * (parted - stopped)
            if share >= 1.0:
                return parted, apart
            self.statistics.truncations += 1
            x = x + share * (parted - x)
            # what is left of the way
            wish = stopped + share * (parted - stopped)
            wish[world.shell_vertex_count :] = after[world.shell_vertex_count :]
        if self._is_collider_motion_complete(x, after):
            return x, apart
        raise SolveError("a collider moves on where the shell cannot give way; slow it down, or free fixed vertices")

    def _is_collider_motion_complete(self, x: Array, after: Array) -> bool:
        """Whether the colliders in x (n, 3) are where they go."""
        return bool(np.array_equal(x[self.world.shell_vertex_count :], after[self.world.shell_vertex_count :]))

    def _compute_safe_fraction(self, contacts: ContactCandidates, x: Array) -> float:
        """The share of the ways to x (n, 3) on which nothing meets."""
        share = contacts.compute_collision_free_fraction(x)
        # tight inclusion runs out of digits between parts that nearly touch, and then may find nothing
        tight = contacts.min_start_distance < MIN_GAP_SHARE * self.world.contact_distance
        return (
            0.0
            if tight and self.world.has_intersections(contacts.start_positions + share * (x - contacts.start_positions))
            else share
        )

    def _apply_contact_impulses(self, contacts: ContactCandidates, after: Array, target: Array | None) -> Array:
        """After impulses (n, 3); where they do not suffice vertices move as one."""
        x = after.copy()
        if self._strain_limiter.begin_step(contacts.start_positions, after):
            self._strain_limiter.apply(x, IMPULSE_SWEEPS * STRAIN_LIMIT_SWEEPS)
            self._project_means(x, target)
        for turn in range(1, self.passes + 1):
            self._on_progress()
            found = contacts.find_contacts(x)
            self.statistics.max_contacts = max(self.statistics.max_contacts, found.count)
            if not found.count:
                return x
            for _ in range(IMPULSE_SWEEPS):
                if not found.apply_impulses(x, self.world.inverse_masses, self.friction):
                    break
                if turn <= STRAIN_LIMIT_PASSES:
                    self._strain_limiter.apply(x, STRAIN_LIMIT_SWEEPS)
                # contacts have the last word
                if turn < self.passes:
                    self._project_means(x, target)
            contacts.update(x)
        return self._apply_impact_zones(contacts, x)

    def _recover_gaps(self, contacts: ContactCandidates, positions: Array, target: Array | None) -> Array:
        """What has stopped too near goes apart a little, without rubbing."""
        found = contacts.find_contacts(positions, recovery_share=self._recovery_share)
        if not found.count:
            return positions
        x = positions.copy()
        found.apply_impulses(x, self.world.inverse_masses, 0.0, IMPULSE_SWEEPS)
        self._strain_limiter.apply(x, STRAIN_LIMIT_SWEEPS)
        self._project_means(x, target)
        # averages have the last word but where there is no room: there surfaces would come nearer in every step
        if contacts.min_start_distance < CONTACT_PRIORITY_GAP_SHARE * self.world.contact_distance:
            found.apply_impulses(x, self.world.inverse_masses, 0.0, IMPULSE_SWEEPS)
        return x

    def _project_means(self, x: Array, target: Array | None) -> None:
        """Move the shell in x (n, 3) so that its averages are at the target, where there is one."""
        if target is not None:
            self.mean_projection.project(x, target)

    def _apply_impact_zones(self, contacts: ContactCandidates, x: Array) -> Array:
        """Groups of vertices that still collide get their common mean motion, and grow until nothing collides."""
        zone = np.arange(len(x))
        masses = np.where(self.world.inverse_masses > 0, 1.0, 0.0)
        masses[masses > 0] = 1.0 / self.world.inverse_masses[masses > 0]
        for _ in range(MAX_IMPACT_ZONE_ITERATIONS):
            self._on_progress()
            hits = contacts.find_contacts(x, only_impacts=True)
            if not hits.count:
                break
            self.statistics.impact_zones += 1
            zone = merge_impact_zones(zone, hits.stencils)
            x = move_impact_zones(zone, masses, contacts.start_positions, x)
            contacts.update(x)
        return x
