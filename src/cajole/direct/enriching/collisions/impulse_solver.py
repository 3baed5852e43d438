"""Fast collision response: impulses at contacts after a constrained step, certified by tight inclusion."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from cajole.arrays import Array, IndexArray
from cajole.body import BodyShell
from cajole.direct.enriching.collisions import kernels_contacts as kernels
from cajole.direct.enriching.collisions import kernels_correction
from cajole.direct.enriching.collisions.world import BroadPhase, CollisionWorld
from cajole.errors import SolveError
from cajole.linalg import Factor


class RegionMeanProjection:
    """Projection of positions onto C x = target, C (m, n) the constraints, nearly of least energy in a step of h [s].

    The least corrections are P = B⁻¹Cᵀ(C B⁻¹Cᵀ)⁻¹ times the error, B = M + h² L, M lumped masses and L the Laplacian of
    the membrane. Masses alone would move each region as a block and tear the shell at their borders. P decays away from
    each region: small entries are dropped, and the rest is corrected to meet the averages. Fixed vertices do not move.
    """

    # entries below this share of the largest in their column are dropped
    DROP_TOLERANCE = 1e-2

    def __init__(self, constraints: sp.csr_array, cloth: BodyShell, h: float):
        self._constraints, free, n = constraints, cloth.free_vertices, cloth.vertex_count
        if not constraints.shape[0]:
            return
        B = sp.csr_array(sp.diags_array(cloth.vertex_masses) + h**2 * build_membrane_laplacian(cloth))
        spread = np.zeros((n, constraints.shape[0]))
        spread[free] = Factor(B[free][:, free]).solve(constraints.T.toarray()[free])
        P = np.linalg.solve(constraints @ spread, spread.T).T
        P[np.abs(P) < self.DROP_TOLERANCE * np.abs(P).max(axis=0)] = 0.0
        # rounding of the averages
        least = 1e-14 * cloth.size * np.asarray(constraints.sum(axis=1))
        coupling = np.ascontiguousarray(np.linalg.inv(constraints @ P).T)
        work = np.empty((3, constraints.shape[0]))
        self._kernel_arrays = *_get_arrays(constraints), least, coupling, *_get_arrays(sp.csc_array(P)), work

    def project(self, x: Array, target: Array) -> None:
        """Move the shell, the first vertices of x (n, 3), in place, so that constraints @ x = target (m, 3)."""
        if self._constraints.shape[0]:
            kernels_correction.project_means(x, np.ascontiguousarray(target), *self._kernel_arrays)


def _get_arrays(matrix: sp.csr_array | sp.csc_array) -> tuple[NDArray[np.int32], NDArray[np.int32], Array]:
    return matrix.indptr.astype(np.int32), matrix.indices.astype(np.int32), matrix.data


def build_membrane_laplacian(cloth: BodyShell) -> sp.csr_array:
    """L (n, n) [N/m] = Σ (λ + 2μ) A ∇N_i·∇N_j at rest: as stiff as the membrane, but in every direction."""
    t, mesh, properties, n = cloth.mesh.triangles, cloth.mesh, cloth.properties, cloth.vertex_count
    opposite = mesh.vertices[np.roll(t, 1, axis=1)] - mesh.vertices[np.roll(t, -1, axis=1)]
    stiffness = (properties.lam + 2.0 * properties.mu) / (4.0 * mesh.areas)
    local = np.einsum("tia,tja,t->tij", opposite, opposite, stiffness)
    rows, columns = np.repeat(t, 3, axis=1).ravel(), np.tile(t, (1, 3)).ravel()
    return sp.csr_array(sp.coo_array((local.ravel(), (rows, columns)), shape=(n, n)))


class StrainLimiter:
    """Limits of the lengths of the edges of the shell (Provot 1995).

    Contacts ignore the membrane: a vertex that is stopped in a step stretches its triangles by the whole motion of
    their other vertices, and they would store many times the lost kinetic energy.
    """

    def __init__(self, world: CollisionWorld, *, is_tracked: bool):
        # Largest relative change of an edge in a step without contacts beyond its limits: a guide can require any
        # strain; without a guide only failed solves do.
        self._max_change = 0.5 if is_tracked else 0.02
        self._edges, self._rest_lengths = world.cloth.mesh.edges, world.rest_lengths
        self._inverse_masses = world.inverse_masses
        self._max_lengths, self._min_lengths = np.empty((2, len(self._rest_lengths)))
        self._start_positions: Array = np.empty((0, 3))

    def begin_step(self, before: Array, after: Array) -> bool:
        """Set the limits of a step from `before` to `after` (n, 3) without contacts; True if it exceeds them."""
        self._start_positions = before
        edges = self._edges, self._rest_lengths, self._max_change
        limits = self._max_lengths, self._min_lengths
        return bool(kernels_correction.compute_edge_limits(before, after, *edges, *limits))

    def apply(self, x: Array, sweeps: int) -> None:
        """Move x (n, 3) in place to the limits, by impulses along edges."""
        limits = self._edges, self._max_lengths, self._min_lengths, self._inverse_masses
        kernels_correction.limit_edges(self._start_positions, x, *limits, sweeps)


def merge_impact_zones(zone: IndexArray, stencils: IndexArray) -> IndexArray:
    """Merge the zones (n,) of the vertices of each stencil (k, 4)."""
    n = len(zone)
    ones = np.ones(3 * len(stencils) + n)
    rows = np.concatenate([np.repeat(zone[stencils[:, 0]], 3), np.arange(n)])
    columns = np.concatenate([zone[stencils[:, 1:]].ravel(), zone])
    graph = sp.csr_array((ones, (rows, columns)), shape=(n, n))
    return np.asarray(sp.csgraph.connected_components(graph, directed=False)[1], dtype=np.int64)


def move_impact_zones(zone: IndexArray, masses: Array, before: Array, x: Array) -> Array:
    """Move each zone of several vertices by its mean motion, or by that of its vertices without mass (colliders)."""
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


class ContactSet:
    """Contacts of vertices with triangles and of edges with edges."""

    def __init__(self, before: Array, parts: list[tuple[IndexArray, Array, Array, Array]]):
        self._start_positions = before
        self.stencils, self._weights, self._normals, self._target_distances = (
            np.concatenate(part) for part in zip(*parts)
        )
        self.count = len(self.stencils)

    def apply_impulses(self, x: Array, inverse_masses: Array, friction: float, sweeps: int = 1) -> bool:
        """Apply impulses to x (n, 3) in place, in sweeps over all contacts; True if any contact pushed."""
        contacts = self.stencils, self._weights, self._normals, self._target_distances
        settings = inverse_masses, friction, sweeps
        return bool(kernels.apply_contact_impulses(self._start_positions, x, *contacts, *settings))


class ContactCandidates:
    """Pairs that can collide during a step; the search is repeated for vertices that leave its margin."""

    # margin of the search beyond the motion, in contact distances
    SEARCH_MARGIN = 1.0
    # if a larger share of the vertices leaves the margin, all pairs are searched again
    FULL_SEARCH_SHARE = 0.05

    def __init__(self, world: CollisionWorld, before: Array, after: Array):
        self._world, self.start_positions = world, before
        self._search_margin = self.SEARCH_MARGIN * world.contact_distance
        self._end_positions, self._last_positions = after.copy(), after.copy()
        self._search_all()

    def _search_all(self) -> None:
        """Search all pairs for the present motion."""
        pad = 0.5 * self._world.contact_distance + self._search_margin
        self._broad_phase = BroadPhase(self._world.surface, self.start_positions, self._end_positions, pad)
        self._stencils, self._start_distances = self._filter_approaching(self._broad_phase.find_all_pairs())
        # for each kind, displacement after which a pair can be a contact
        self._slack = [np.zeros(len(pairs)) for pairs in self._stencils]

    def _filter_approaching(self, candidates: tuple[IndexArray, IndexArray]) -> tuple[list[IndexArray], list[Array]]:
        """Stencils (k, 4) of each kind that can collide, and their distances (k,) at the start."""
        # both primitives can leave their motion by the margin along all three axes
        near = self._world.contact_distance + 2.0 * np.sqrt(3.0) * self._search_margin
        found = (
            kernels.filter_approaching(self.start_positions, self._end_positions, *kind, near)
            for kind in zip(candidates, (False, True))
        )
        pairs, starts = zip(*found)
        return list(pairs), list(starts)

    @property
    def min_start_distance(self) -> float:
        """Smallest distance of all pairs at the start [m]."""
        return min(float(start.min(initial=np.inf)) for start in self._start_distances)

    def update(self, x: Array) -> None:
        """Repeat the search for the vertices of x (n, 3) that left the margin around their motion."""
        left = kernels.find_displaced_vertices(x, self._end_positions, self._search_margin)
        if not len(left):
            return
        if len(left) > self.FULL_SEARCH_SHARE * len(x):
            self._end_positions = x.copy()
            self._search_all()
            return
        self._end_positions[left] = x[left]
        found = self._filter_approaching(self._broad_phase.find_pairs_of(self._end_positions, left))
        for kind, (pairs, starts) in enumerate(zip(*found)):
            stays = kernels.find_stencils_without(self._stencils[kind], left, len(x))
            self._stencils[kind] = np.concatenate([self._stencils[kind][stays], pairs])
            self._start_distances[kind] = np.concatenate([self._start_distances[kind][stays], starts])
            self._slack[kind] = np.concatenate([self._slack[kind][stays], np.zeros(len(pairs))])

    def compute_collision_free_fraction(self, x: Array) -> float:
        """Collision-free share of the motion to x (n, 3).

        Additive advancement proves most pairs free; tight inclusion decides the others.
        """
        self.update(x)
        width = self._world.contact_distance
        near = [
            kernels.filter_impacts(self.start_positions, x, stencils, edges, start, width)
            for stencils, edges, start in zip(self._stencils, (False, True), self._start_distances)
        ]
        return self._world.compute_collision_free_fraction_of(self.start_positions, x, near)

    def find_contacts(self, x: Array, *, only_impacts: bool = False, recovery_share: float = 0.0) -> ContactSet:
        """Find the contacts during the motion to x (n, 3); recovery_share: share of the missing distance to recover."""
        parts = []
        slacks, moved = self._slack, np.zeros(len(x))
        if recovery_share:
            # recovery acts over larger distances, so all pairs are checked
            slacks = [np.zeros_like(slack) for slack in slacks]
        else:
            moved = kernels.update_displacements(x, self._last_positions)
        settings = self._world.contact_distance, recovery_share, only_impacts
        for stencils, edges, start, slack in zip(self._stencils, (False, True), self._start_distances, slacks):
            k = len(stencils)
            which, weights, normals, wanted = np.empty(k, np.int64), np.empty((k, 4)), np.empty((k, 3)), np.empty(k)
            pairs, out = (stencils, edges, start, slack, moved), (which, weights, normals, wanted)
            count = kernels.detect_contacts(self.start_positions, x, *pairs, *settings, *out)
            parts.append((stencils[which[:count]], weights[:count], normals[:count], wanted[:count]))
        return ContactSet(self.start_positions, parts)


@dataclass(frozen=True)
class ImpulseOptions:
    """Iteration limits of `ImpulseSolver`, and gaps relative to the contact distance."""

    # Passes over all pairs, sweeps of impulses over the contacts of each, and sweeps over the edges after each of
    # these, followed by the projection: contacts and averages converge sooner in small turns.
    passes: int = 6
    impulse_sweeps: int = 4
    strain_sweeps: int = 8
    # passes that limit edges: a guide that strains its shell would otherwise leave it behind
    strain_passes: int = 4
    # impact zones, groups of colliding vertices that move rigidly, grow at most this often
    max_zone_iterations: int = 20
    # a truncated step is continued at most this often
    max_restarts: int = 6
    # below this gap, results of tight inclusion are verified and truncated steps are not continued
    min_gap: float = 1e-2
    # below this gap, separation has priority over averages
    contact_priority_gap: float = 0.2
    # [s] time constant of the separation of surfaces nearer than the contact distance
    gap_recovery_time: float = 0.03


@dataclass
class CollisionStatistics:
    """Largest number of contacts, number of truncated steps, and number of impact zone iterations."""

    max_contacts: int = 0
    truncations: int = 0
    impact_zones: int = 0


class ImpulseSolver:
    """Correction of the positions after a step of h [s] so that nothing collides: Bridson et al. 2002, certified.

    Impulses at contacts and along edges never add kinetic energy. friction: Coulomb coefficient. constraints (m, n):
    averages that are met as far as contacts allow. on_progress: called before each pass; it may raise to cancel.
    """

    options = ImpulseOptions()

    def __init__(
        self,
        world: CollisionWorld,
        friction: float,
        constraints: sp.csr_array,
        h: float,
        *,
        passes: int | None = None,
        on_progress: Callable[[], None] = lambda: None,
    ):
        self.world, self.friction, self._on_progress = world, friction, on_progress
        self.passes = self.options.passes if passes is None else passes
        self.statistics = CollisionStatistics()
        self.mean_projection = RegionMeanProjection(constraints, world.cloth, h)
        self._strain_limiter = StrainLimiter(world, is_tracked=constraints.shape[0] > 0)
        self._recovery_share = -np.expm1(-h / self.options.gap_recovery_time)

    def __call__(self, before: Array, after: Array, target: Array | None = None) -> tuple[Array, Array]:
        """Correct `after` (n, 3) of shell and colliders, reached from `before`: no collisions on the way.

        Also returns the part (n, 3) [m] of the motion that only separates surfaces and adds no velocity.
        """
        x, wish, world, shell = before, after, self.world, self.world.shell_vertex_count
        apart = np.zeros_like(before)
        for turn in range(self.options.max_restarts):
            contacts = ContactCandidates(world, x, wish)
            least = self.options.min_gap * world.contact_distance
            tight = turn > 0 and contacts.min_start_distance < least
            if tight and np.array_equal(x[shell:], after[shell:]):
                break
            # colliders that have to move have priority over averages
            stopped = self._apply_contact_impulses(contacts, wish, None if tight else target)
            parted = stopped if tight else self._recover_gaps(contacts, stopped, target)
            share = contacts.compute_collision_free_fraction(parted)
            # tight inclusion loses its digits between parts that almost touch, and then can miss collisions
            near = contacts.min_start_distance < least
            if near and world.has_intersections(x + share * (parted - x)):
                share = 0.0
            apart += share * (parted - stopped)
            if share >= 1.0:
                return parted, apart
            self.statistics.truncations += 1
            x = x + share * (parted - x)
            # the remaining motion
            wish = stopped + share * (parted - stopped)
            wish[shell:] = after[shell:]
        if np.array_equal(x[shell:], after[shell:]):
            return x, apart
        raise SolveError("a collider moves on where the shell cannot give way; slow it down, or free fixed vertices")

    def _apply_contact_impulses(self, contacts: ContactCandidates, after: Array, target: Array | None) -> Array:
        """Apply impulses to `after` (n, 3), and impact zones if they are not sufficient."""
        x, options, limiter = after.copy(), self.options, self._strain_limiter
        if limiter.begin_step(contacts.start_positions, after):
            limiter.apply(x, options.impulse_sweeps * options.strain_sweeps)
            self._project_means(x, target)
        for turn in range(1, self.passes + 1):
            self._on_progress()
            found = contacts.find_contacts(x)
            self.statistics.max_contacts = max(self.statistics.max_contacts, found.count)
            if not found.count:
                return x
            for _ in range(options.impulse_sweeps):
                if not found.apply_impulses(x, self.world.inverse_masses, self.friction):
                    break
                if turn <= options.strain_passes:
                    limiter.apply(x, options.strain_sweeps)
                # the last pass ends with contacts
                if turn < self.passes:
                    self._project_means(x, target)
            contacts.update(x)
        # impact zones: groups that still collide move by their mean, and grow until nothing collides
        zone = np.arange(len(x))
        masses = np.where(self.world.inverse_masses > 0, 1.0, 0.0)
        masses[masses > 0] = 1.0 / self.world.inverse_masses[masses > 0]
        for _ in range(options.max_zone_iterations):
            self._on_progress()
            hits = contacts.find_contacts(x, only_impacts=True)
            if not hits.count:
                break
            self.statistics.impact_zones += 1
            zone = merge_impact_zones(zone, hits.stencils)
            x = move_impact_zones(zone, masses, contacts.start_positions, x)
            contacts.update(x)
        return x

    def _recover_gaps(self, contacts: ContactCandidates, positions: Array, target: Array | None) -> Array:
        """Separate surfaces that are nearer than the contact distance a little, without friction."""
        found, options = contacts.find_contacts(positions, recovery_share=self._recovery_share), self.options
        if not found.count:
            return positions
        x = positions.copy()
        found.apply_impulses(x, self.world.inverse_masses, 0.0, options.impulse_sweeps)
        self._strain_limiter.apply(x, options.strain_sweeps)
        self._project_means(x, target)
        # without room, separation comes last: otherwise surfaces would approach in every step
        if contacts.min_start_distance < options.contact_priority_gap * self.world.contact_distance:
            found.apply_impulses(x, self.world.inverse_masses, 0.0, options.impulse_sweeps)
        return x

    def _project_means(self, x: Array, target: Array | None) -> None:
        if target is not None:
            self.mean_projection.project(x, target)
