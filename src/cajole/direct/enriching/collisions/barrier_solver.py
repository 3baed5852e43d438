"""Exact collisions: implicit steps with region averages as constraints and a contact barrier, without intersections."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from cajole.arrays import Array, IndexArray
from cajole.body import Body, BodyShell
from cajole.direct.enriching.collisions.impulse_solver import ImpulseSolver
from cajole.direct.enriching.collisions.world import BroadPhase, CollisionWorld, as_fortran_array
from cajole.direct.enriching.kkt import KKTSolver
from cajole.direct.enriching.tracking import ShellState, TrackingIntegrator
from cajole.errors import NotConverged, NotPositiveDefinite, SolveError
from cajole.linalg import Factor
from cajole.linalg.line_search import backtrack, satisfies_armijo


class IncrementalPotential:
    """½|x - x̃|²_M/h² + W(x) + ½h vᵀDv - f·x of positions x (n, 3), v = (x - x_n)/h and x̃ = x_n + h v_n.

    D is the damping matrix at the start of the step, with the positive semidefinite stiffness: otherwise there would be
    no potential.
    """

    def __init__(self, body: BodyShell, h: float, state: ShellState, external_force: Array):
        self._body, self._h, self._start_positions, self._external_force = body, h, state.positions, external_force
        self._inertial_positions = state.positions + h * state.velocities
        self._damping_matrix = body.damping_matrix(state.positions - body.vertices, clamped=True)

    def compute_energy(self, x: Array) -> float:
        """Potential [J]."""
        body, away = self._body, (x - self._inertial_positions).ravel() / self._h
        v = np.asarray((x - self._start_positions).ravel() / self._h)
        total = 0.5 * away @ (body.mass @ away) + 0.5 * self._h * v @ (self._damping_matrix @ v)
        work = (self._external_force * (x - self._start_positions)).sum()
        return float(total + body.energy(x - body.vertices) - work)

    def compute_gradient(self, x: Array) -> Array:
        """Gradient (n, 3) [N]."""
        body, v = self._body, (x - self._start_positions).ravel() / self._h
        inertia = body.mass @ (x - self._inertial_positions).ravel() / self._h**2
        linear = inertia + self._damping_matrix @ v
        return np.asarray(linear.reshape(-1, 3) + body.force(x - body.vertices) - self._external_force)

    def fill_hessian(self, x: Array, out: Array, *, exact: bool = False) -> Array:
        """Fill `out` on the pattern of the body with the Hessian, or with a positive semidefinite approximation."""
        still = np.zeros_like(x)
        tangent = "symmetric" if exact else "clamped"
        self._body.assemble_system(x - self._body.vertices, still, 1.0 / self._h**2, 0.0, out, tangent=tangent)
        # The damping at the start, as in the potential. It damps rotated triangles across their planes; with the
        # damping at x, corrections would overshoot without end.
        out += self._damping_matrix.data / self._h
        return out

    def compute_mean_diagonal_stiffness(self) -> float:
        """Mean diagonal entry of the Hessian at the start [N/m]."""
        pattern = self._body.pattern
        matrix = pattern.build_matrix(self.fill_hessian(self._start_positions, np.empty(pattern.nnz)))
        return float(matrix.diagonal().mean())


@dataclass(frozen=True)
class BarrierOptions:
    """Stiffness of the barrier; gaps are relative to the contact distance."""

    # gap at which a contact is as stiff as the vertices of the shell in a step
    balanced_gap: float = 0.5
    # if surfaces are nearer at the start of a step, the barrier becomes stiffer by the factor, up to the maximum
    stiffening_gap: float = 0.02
    stiffening_factor: float = 2.0
    max_stiffening: float = 1e6
    # speed [body sizes/s] below which friction decreases from Coulomb's law to zero
    static_friction_speed: float = 1e-3


class ContactPotential:
    """κ b(d) for every pair nearer than the contact distance (Li et al. 2020), and friction lagged by a step."""

    options = BarrierOptions()

    def __init__(self, world: CollisionWorld, friction: float, h: float):
        self._world, self._friction, self._h = world, friction, h
        self._friction_potential = world.toolkit.FrictionPotential(
            self.options.static_friction_speed * world.cloth.size
        )
        self._base_stiffness = self._stiffening = 0.0
        self._normal_potential: Any = None
        self._lagged_friction: Any = None
        self._start_positions: Array = np.empty((0, 3))

    def begin_step(self, before: Array, stiffness: float) -> None:
        """Start a step at `before` (n, 3) of shell and colliders; stiffness [N/m]: of a free coordinate in it."""
        kit, world, options = self._world.toolkit, self._world, self.options
        self._start_positions = before
        if not self._base_stiffness:
            square = world.contact_distance**2
            b = kit.ClampedLogBarrier()
            d2 = options.balanced_gap**2 * square
            # d²b/dd² of b(d²)
            curve = 4.0 * d2 * b.second_derivative(d2, square) + 2.0 * b.first_derivative(d2, square)
            self._base_stiffness, self._stiffening = stiffness / curve, 1.0
        touching, nearest = self._build_normal_collisions(before), np.inf
        if len(touching):
            nearest = float(touching.compute_minimum_distance(world.collision_mesh, as_fortran_array(before)))
        too_near = np.sqrt(nearest) < options.stiffening_gap * world.contact_distance
        if too_near and self._stiffening < options.max_stiffening:
            self._stiffening *= options.stiffening_factor
        self._normal_potential = kit.BarrierPotential(world.contact_distance, self._base_stiffness * self._stiffening)
        self._lagged_friction = kit.TangentialCollisions()
        if self._friction > 0:
            self._lagged_friction.build(
                world.collision_mesh, as_fortran_array(before), touching, self._normal_potential, self._friction
            )

    def compute_energy_and_gradient(self, x: Array) -> tuple[float, Array]:
        """Potential [J] of contacts and friction at x (n, 3), and its gradient (n, 3) [N]."""
        world, touching, v = self._world, self._build_normal_collisions(x), self._compute_velocities(x)
        x = as_fortran_array(x)
        energy = self._normal_potential(touching, world.collision_mesh, x)
        slope = self._normal_potential.gradient(touching, world.collision_mesh, x)
        if len(self._lagged_friction):
            energy += self._h * self._friction_potential(self._lagged_friction, world.collision_mesh, v)
            slope = slope + self._friction_potential.gradient(self._lagged_friction, world.collision_mesh, v)
        return float(energy), np.asarray(slope).reshape(-1, 3)

    def compute_hessian(self, x: Array) -> tuple[sp.csc_matrix, IndexArray]:
        """Positive semidefinite Hessian for the shell; vertices (k, 4) of pairs close to contact, -1 for none."""
        world, touching = self._world, self._build_normal_collisions(x)
        clamp = world.toolkit.PSDProjectionMethod.CLAMP
        H = self._normal_potential.hessian(touching, world.collision_mesh, as_fortran_array(x), clamp)
        if len(self._lagged_friction):
            at = self._lagged_friction, world.collision_mesh, self._compute_velocities(x), clamp
            H = H + self._friction_potential.hessian(*at) / self._h
        near = np.concatenate(BroadPhase(world.surface, x, x, world.contact_distance).find_all_pairs())
        coordinates = 3 * world.shell_vertex_count
        return H[:coordinates, :coordinates], np.where(near < world.shell_vertex_count, near, -1)

    def count_contacts(self, x: Array) -> int:
        """Number of pairs nearer than the contact distance."""
        return len(self._build_normal_collisions(x))

    def _build_normal_collisions(self, x: Array) -> Any:
        touching = self._world.toolkit.NormalCollisions()
        at = self._world.collision_mesh, as_fortran_array(x), self._world.contact_distance
        touching.build(*at, broad_phase=self._world.toolkit.LBVH())
        return touching

    def _compute_velocities(self, x: Array) -> Array:
        return as_fortran_array((x - self._start_positions) / self._h)


class ContactKKTSolver(KKTSolver):
    """A KKTSolver with A + H, where H (3n, 3n) couples vertices in contact.

    The symbolic factorisation covers all pairs that are close to contact; it is repeated only if H leaves it.
    """

    def __init__(self, body: Body, constraints: sp.csr_array, *, backend: str | None = None):
        super().__init__(body, constraints, backend=backend)
        self.symbolic_factorization_count = 0
        self._matrix_size = self._pattern.shape[0]
        rows = np.repeat(np.arange(self._matrix_size), np.diff(self._pattern.indptr))
        self._base_entry_keys = rows * self._matrix_size + self._pattern.indices
        self._entry_keys, self._base_entry_indices = self._base_entry_keys, np.arange(len(self._base_entry_keys))
        self._free_dof_indices = np.full(3 * body.vertex_count, -1)
        self._free_dof_indices[self.free_dofs] = np.arange(len(self.free_dofs))
        self._contact_factor: Factor | None = None

    def factorise_with_contacts(self, values: Array, H: sp.csc_matrix, candidates: IndexArray) -> bool:
        """Factorise `values` on the pattern of the body plus H; candidates (k, 4): vertices close to contact, or -1.

        Returns False if the matrix is not positive definite on the null space of the constraints.
        """
        # keys of the entries of H between free coordinates, each once
        coo, size = H.tocoo(), self._matrix_size
        i, j = self._free_dof_indices[coo.row], self._free_dof_indices[coo.col]
        free = (i >= 0) & (j >= 0)
        keys, added = i[free].astype(np.int64) * size + j[free], coo.data[free]
        at = np.minimum(np.searchsorted(self._entry_keys, keys), len(self._entry_keys) - 1)
        if self._contact_factor is None or not (self._entry_keys[at] == keys).all():
            near = self._compute_block_keys(candidates)
            self._entry_keys = np.unique(np.concatenate([self._base_entry_keys, keys, near]))
            self._base_entry_indices = np.searchsorted(self._entry_keys, self._base_entry_keys)
            self._contact_factor = None
        data = np.zeros(len(self._entry_keys))
        self._assemble(values, self._values)
        data[self._base_entry_indices] = self._values
        data[np.searchsorted(self._entry_keys, keys)] += added
        try:
            if self._contact_factor is not None:
                self._contact_factor.refactor(data)
            # barriers change values by orders of magnitude: an unsuitable matching is computed again
            if self._contact_factor is None or self._contact_factor.perturbed_pivots:
                self.symbolic_factorization_count += 1
                rows, columns = np.divmod(self._entry_keys, size)
                starts = np.searchsorted(rows, np.arange(size + 1))
                matrix = sp.csr_array((data, columns, starts), shape=(size, size))
                kind = "kkt" if self.constraint_count else "spd"
                self._contact_factor = Factor(matrix, kind=kind, backend=self._backend)
        except NotPositiveDefinite:
            return False
        return self._contact_factor.negative_eigenvalues in (None, 3 * self.constraint_count)

    def solve(self, rhs: Array, constraint_rhs: Array) -> tuple[Array, Array]:
        self._factor = self._contact_factor
        return super().solve(rhs, constraint_rhs)

    def _compute_block_keys(self, candidates: IndexArray) -> IndexArray:
        """Entry keys of the 3x3 blocks between all vertices of each row."""
        one, two = np.repeat(candidates, 4, axis=1).ravel(), np.tile(candidates, (1, 4)).ravel()
        there = (one >= 0) & (two >= 0)
        pairs = np.unique(np.stack([one[there], two[there]], axis=1), axis=0)
        i = self._free_dof_indices[3 * pairs[:, 0, None] + np.repeat(np.arange(3), 3)]
        j = self._free_dof_indices[3 * pairs[:, 1, None] + np.tile(np.arange(3), 3)]
        free = (i >= 0) & (j >= 0)
        return np.asarray(i[free].astype(np.int64) * self._matrix_size + j[free])


@dataclass(frozen=True)
class BarrierSolverOptions:
    """Tolerances and limits of Newton's method in `BarrierSolver`."""

    # [body sizes/s] converged if no vertex of a correction is faster; slower than the second, corrections are rounding
    speed_tolerance: float = 5e-3
    rounding_speed: float = 1e-9
    max_iterations: int = 100
    max_halvings: int = 30
    # share of the predicted decrease that the constraints may consume (Nocedal and Wright, 18.36)
    merit_penalty_share: float = 0.5
    # a correction is doubled, at most so often, while the slope at its end is above this share of that at the start
    extrapolation_slope_share: float = 0.5
    max_doublings: int = 6
    # error of the averages at the end of a step [body sizes]
    constraint_tolerance: float = 1e-12
    hint: str = "; collisions='fast' goes on where that happens, and tells how far off it is"


@dataclass(frozen=True)
class _NewtonIterate:
    """x (n, 3) of shell and colliders, potential [J], gradient (shell, 3) [N] and constraint residual (m, 3)."""

    positions: Array
    energy: float
    gradient: Array
    constraint_residual: Array


class BarrierSolver:
    """Implicit Euler steps with contacts: minimise the incremental potential subject to the region averages.

    IncrementalPotential + barrier + friction, subject to C x = target: Li et al. 2020 with constraints. The first
    iterate is the result of the impulse solver, which has no intersections; tight inclusion limits all steps.
    """

    options = BarrierSolverOptions()

    def __init__(
        self,
        integrator: TrackingIntegrator,
        impulse_solver: ImpulseSolver,
        friction: float,
        on_progress: Callable[[], None] = lambda: None,
    ):
        body, constraints = integrator.body, integrator.constraints
        self._integrator, self._impulse_solver, self._on_progress = integrator, impulse_solver, on_progress
        self._world, self._shell = impulse_solver.world, slice(impulse_solver.world.shell_vertex_count)
        self._kkt_solver = ContactKKTSolver(body, sp.csr_array(sp.csc_array(constraints)[:, body.free_vertices]))
        self._contact_potential = ContactPotential(self._world, friction, integrator.h)
        self._matrix_values = np.empty(body.pattern.nnz)

    @property
    def symbolic_factorization_count(self) -> int:
        """Number of symbolic factorisations so far."""
        return self._kkt_solver.symbolic_factorization_count

    def step(self, state: ShellState, target: Array, external_force: Array, time: float) -> ShellState:
        """Advance to `time` [s]: averages at `target` (m, 3), under `external_force` (n, 3) [N]."""
        world, tracker = self._world, self._integrator
        guess = tracker.step(state, target, external_force)
        before = world.stack_positions(state.positions, time - tracker.h)
        begun, _ = self._impulse_solver(before, world.stack_positions(guess.positions, time), target)
        x = self._project_constraints(begun, target)
        problem = IncrementalPotential(tracker.body, tracker.h, state, external_force)
        self._contact_potential.begin_step(before, problem.compute_mean_diagonal_stiffness())
        x, pull, count = self._minimise(problem, x, target)
        statistics = self._impulse_solver.statistics
        statistics.max_contacts = max(statistics.max_contacts, self._contact_potential.count_contacts(x))
        q = x[self._shell]
        return ShellState(q, (q - state.positions) / tracker.h, pull, count)

    def _project_constraints(self, x: Array, target: Array) -> Array:
        """Move x (n, 3) towards the averages as far as it is free of collisions."""
        wish = x.copy()
        self._impulse_solver.mean_projection.project(wish, target)
        share = self._world.compute_collision_free_fraction(x, wish)
        return wish if share >= 1.0 else x + share * (wish - x)

    def _minimise(self, problem: IncrementalPotential, x: Array, target: Array) -> tuple[Array, Array, int]:
        """Newton's method with an l1 merit function while averages are missed (Nocedal and Wright, 18.36)."""
        tracker, weight, options = self._integrator, 0.0, self.options
        here = self._evaluate(problem, x, target)
        for iteration in range(1, options.max_iterations + 1):
            self._on_progress()
            moved, pull = self._compute_newton_step(problem, here)
            speed = float(np.linalg.norm(moved, axis=1).max()) / tracker.h / tracker.body.size
            slope, missed = float((here.gradient * moved).sum()), float(np.abs(here.constraint_residual).sum())
            bent = float((pull * moved).sum()) - slope
            if missed > 0.0:
                weight = max(weight, (slope + 0.5 * bent) / ((1.0 - options.merit_penalty_share) * missed))
            before = here
            here, free = self._search_line(problem, here, moved, target, weight)
            # a correction that only the potential shortens passes the minimum on its way, which is nearer
            if speed <= options.speed_tolerance and (free or speed <= options.rounding_speed):
                here = replace(here, positions=self._project_constraints(here.positions, target))
                off = tracker.compute_residual(here.positions[self._shell], target)
                if off <= options.constraint_tolerance:
                    return here.positions, pull, iteration
            # the next correction would be the same
            if here is before:
                break
        off = tracker.compute_residual(here.positions[self._shell], target)
        raise NotConverged(
            f"contacts and averages were not brought together in {iteration} Newton iterations (corrections still move "
            f"at {speed:.2g} sizes/s, averages are off by {off:.1e} of the size): the guide leaves its surfaces no "
            f"room, or moves too fast{options.hint}"
        )

    def _compute_newton_step(self, problem: IncrementalPotential, iterate: _NewtonIterate) -> tuple[Array, Array]:
        """Newton correction (shell, 3) [m] and constraint force (shell, 3) [N]."""
        H, near = self._contact_potential.compute_hessian(iterate.positions)
        # during buckling the exact Hessian gives an ascent direction
        for exact in (True, False):
            problem.fill_hessian(iterate.positions[self._shell], self._matrix_values, exact=exact)
            if self._kkt_solver.factorise_with_contacts(self._matrix_values, H, near):
                break
        else:
            raise SolveError("the regions cannot be told apart at this step")
        try:
            return self._kkt_solver.solve(-iterate.gradient, iterate.constraint_residual)
        except SolveError:
            raise NotConverged(
                "contacts press so hard that a step cannot be solved: the guide leaves its surfaces no room, or moves "
                f"too fast{self.options.hint}"
            ) from None

    def _search_line(
        self, problem: IncrementalPotential, iterate: _NewtonIterate, direction: Array, target: Array, penalty: float
    ) -> tuple[_NewtonIterate, bool]:
        """Find the longest collision-free step that decreases the merit function; True if a full step is free."""
        wish = iterate.positions.copy()
        wish[self._shell] += direction
        share = self._world.compute_collision_free_fraction(iterate.positions, wish)
        missed = float(np.abs(iterate.constraint_residual).sum())
        promised = float((iterate.gradient * direction).sum()) - penalty * missed
        # near the minimum differences of the potential are rounding
        limit = iterate.energy + penalty * missed + 1e-12 * abs(iterate.energy)

        def accept(trial: _NewtonIterate, length: float) -> bool:
            merit = trial.energy + penalty * float(np.abs(trial.constraint_residual).sum())
            return satisfies_armijo(merit, limit, promised, length)

        found = backtrack(
            lambda length: self._evaluate(problem, iterate.positions + length * (wish - iterate.positions), target),
            accept,
            max_trials=self.options.max_halvings,
            initial_length=share,
        )
        if found is None or not found.accepted:
            return iterate, share >= 1.0
        after = found.trial
        # The approximate Hessian is too stiff in folds: a full step is doubled while the potential decreases, if the
        # averages are met, so that they stay so.
        averages_met = self._integrator.compute_residual(iterate.positions[self._shell], target)
        if found.length == 1.0 and averages_met <= self.options.constraint_tolerance:
            fall = self.options.extrapolation_slope_share * float((iterate.gradient * direction).sum())
            for doubling in range(1, self.options.max_doublings + 1):
                if float((after.gradient * direction).sum()) > fall:
                    break
                wish = iterate.positions.copy()
                wish[self._shell] += 2.0**doubling * direction
                if self._world.compute_collision_free_fraction(after.positions, wish) < 1.0:
                    break
                trial = self._evaluate(problem, wish, target)
                if trial.energy >= after.energy:
                    break
                after = trial
        return after, share >= 1.0

    def _evaluate(self, problem: IncrementalPotential, x: Array, target: Array) -> _NewtonIterate:
        q = x[self._shell]
        pushed, push = self._contact_potential.compute_energy_and_gradient(x)
        slope = problem.compute_gradient(q) + push[self._shell]
        return _NewtonIterate(x, problem.compute_energy(q) + pushed, slope, target - self._integrator.constraints @ q)
