"""The exact option: steps in which averages are met to rounding, contacts push by a barrier, and nothing ever meets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from cajole.arrays import Array, IndexArray
from cajole.body import Body, BodyShell
from cajole.direct.enriching.collisions.impulse_solver import ImpulseSolver
from cajole.direct.enriching.collisions.world import CollisionWorld, as_fortran_array
from cajole.direct.enriching.kkt import KKTSolver
from cajole.direct.enriching.tracking import ShellState, TrackingIntegrator
from cajole.errors import NotConverged, NotPositiveDefinite, SolveError
from cajole.linalg import Factor


class IncrementalPotential:
    """½|x - x̃|²_M/h² + W(x) + ½h vᵀDv - f·x of positions x (n, 3), v = (x - x_n)/h and x̃ = x_n + h v_n.

    The damping D is that of the step's start, with the positive semidefinite stiffness: only so it has a potential.
    """

    def __init__(self, body: BodyShell, h: float, state: ShellState, external_force: Array):
        self._body, self._h, self._start_positions, self._external_force = body, h, state.positions, external_force
        self._inertial_positions = state.positions + h * state.velocities
        self._damping_matrix = body.damping_matrix(state.positions - body.vertices, clamped=True)

    def compute_energy(self, x: Array) -> float:
        """[J]"""
        body, v, away = self._body, self._compute_velocity(x), (x - self._inertial_positions).ravel() / self._h
        total = 0.5 * away @ (body.mass @ away) + 0.5 * self._h * v @ (self._damping_matrix @ v)
        return float(
            total + body.energy(x - body.vertices) - (self._external_force * (x - self._start_positions)).sum()
        )

    def compute_gradient(self, x: Array) -> Array:
        """Its gradient (n, 3) [N]."""
        body = self._body
        linear = body.mass @ (
            x - self._inertial_positions
        ).ravel() / self._h**2 + self._damping_matrix @ self._compute_velocity(x)
        return np.asarray(linear.reshape(-1, 3) + body.force(x - body.vertices) - self._external_force)

    def fill_hessian(self, x: Array, out: Array, *, exact: bool = False) -> Array:
        """Its second derivative, filled into `out` on the body's pattern, or a positive semidefinite stand-in."""
        still = np.zeros_like(x)
        tangent = "symmetric" if exact else "clamped"
        self._body.assemble_system(x - self._body.vertices, still, 1.0 / self._h**2, 0.0, out, tangent=tangent)
        # that of the start, as in the potential: triangles that turn are damped across their planes by it, and with
        # that of x corrections overshoot without end
        out += self._damping_matrix.data / self._h
        return out

    def compute_mean_diagonal_stiffness(self) -> float:
        """[N/m] of a coordinate at the start, on average."""
        pattern = self._body.pattern
        matrix = pattern.build_matrix(self.fill_hessian(self._start_positions, np.empty(pattern.nnz)))
        return float(matrix.diagonal().mean())

    def _compute_velocity(self, x: Array) -> Array:
        return np.asarray((x - self._start_positions).ravel() / self._h)


# at this share of the width a contact is as stiff as the shell's own vertices are in a step
BALANCED_GAP = 0.5
# where surfaces are nearer than this share of the width at the start of a step, the barrier is made stiffer
STIFFENING_GAP, STIFFENING_FACTOR, MAX_STIFFENING = 0.02, 2.0, 1e6
# speeds below which friction grows from nothing to Coulomb's, in body sizes a second
STATIC_FRICTION_SPEED = 1e-3


class ContactPotential:
    """κ b(d) for every pair nearer than the world's width (Li et al. 2020), and friction lagged by a step."""

    def __init__(self, world: CollisionWorld, friction: float, h: float):
        self._world, self._friction, self._h = world, friction, h
        self._friction_potential = world.toolkit.FrictionPotential(STATIC_FRICTION_SPEED * world.cloth.size)
        self._base_stiffness = self._stiffening = 0.0
        self._normal_potential: Any = None
        self._lagged_friction: Any = None
        self._start_positions: Array = np.empty((0, 3))

    def begin_step(self, before: Array, stiffness: float) -> None:
        """A step starts at `before` (n, 3) of shell and colliders; stiffness [N/m]: of a free coordinate in it."""
        kit, world = self._world.toolkit, self._world
        self._start_positions = before
        if not self._base_stiffness:
            square = world.contact_distance**2
            b = kit.ClampedLogBarrier()
            d2 = BALANCED_GAP**2 * square
            # d²b/dd² of b(d²)
            curve = 4.0 * d2 * b.second_derivative(d2, square) + 2.0 * b.first_derivative(d2, square)
            self._base_stiffness, self._stiffening = stiffness / curve, 1.0
        touching = self._build_normal_collisions(before)
        nearest = (
            float(touching.compute_minimum_distance(world.collision_mesh, as_fortran_array(before)))
            if len(touching)
            else np.inf
        )
        if np.sqrt(nearest) < STIFFENING_GAP * world.contact_distance and self._stiffening < MAX_STIFFENING:
            self._stiffening *= STIFFENING_FACTOR
        self._normal_potential = kit.BarrierPotential(world.contact_distance, self._base_stiffness * self._stiffening)
        self._lagged_friction = kit.TangentialCollisions()
        if self._friction > 0:
            self._lagged_friction.build(
                world.collision_mesh, as_fortran_array(before), touching, self._normal_potential, self._friction
            )

    def compute_energy_and_gradient(self, x: Array) -> tuple[float, Array]:
        """The potential [J] of contacts and friction at x (n, 3), and its gradient (n, 3) [N]."""
        world, touching, v = self._world, self._build_normal_collisions(x), self._compute_velocities(x)
        x = as_fortran_array(x)
        energy = self._normal_potential(touching, world.collision_mesh, x)
        slope = self._normal_potential.gradient(touching, world.collision_mesh, x)
        if len(self._lagged_friction):
            energy += self._h * self._friction_potential(self._lagged_friction, world.collision_mesh, v)
            slope = slope + self._friction_potential.gradient(self._lagged_friction, world.collision_mesh, v)
        return float(energy), np.asarray(slope).reshape(-1, 3)

    def compute_hessian(self, x: Array) -> tuple[sp.csc_matrix, IndexArray]:
        """Its second derivative for the shell, positive semidefinite; vertices (k, 4) that may touch soon, or -1."""
        world, touching = self._world, self._build_normal_collisions(x)
        clamp = world.toolkit.PSDProjectionMethod.CLAMP
        H = self._normal_potential.hessian(touching, world.collision_mesh, as_fortran_array(x), clamp)
        if len(self._lagged_friction):
            H = (
                H
                + self._friction_potential.hessian(
                    self._lagged_friction, world.collision_mesh, self._compute_velocities(x), clamp
                )
                / self._h
            )
        near = np.concatenate(world.build_broad_phase(x, x, world.contact_distance).find_all_pairs())
        coordinates = 3 * world.shell_vertex_count
        return H[:coordinates, :coordinates], np.where(near < world.shell_vertex_count, near, -1)

    def count_contacts(self, x: Array) -> int:
        """How many pairs are near enough to push."""
        return len(self._build_normal_collisions(x))

    def _build_normal_collisions(self, x: Array) -> Any:
        touching = self._world.toolkit.NormalCollisions()
        touching.build(
            self._world.collision_mesh,
            as_fortran_array(x),
            self._world.contact_distance,
            broad_phase=self._world.toolkit.LBVH(),
        )
        return touching

    def _compute_velocities(self, x: Array) -> Array:
        return as_fortran_array((x - self._start_positions) / self._h)


class ContactKKTSolver(KKTSolver):
    """As Saddle, with A + H, where H (3n, 3n) couples vertices that touch.

    The pattern is analysed for all pairs that may soon touch, and again only when H leaves it; `analyses` counts.
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
        """Factorise with `values` on the body's pattern plus H; near (k, 4): vertices that may touch soon, -1 for none.

        False where the matrix is not positive on the null space of the averages.
        """
        keys, added = self._extract_entries(H)
        if self._contact_factor is None or not self._has_entries(keys):
            self._entry_keys = np.unique(
                np.concatenate([self._base_entry_keys, keys, self._compute_block_keys(candidates)])
            )
            self._base_entry_indices = np.searchsorted(self._entry_keys, self._base_entry_keys)
            self._contact_factor = None
        data = np.zeros(len(self._entry_keys))
        self._assemble(values, self._values)
        data[self._base_entry_indices] = self._values
        data[np.searchsorted(self._entry_keys, keys)] += added
        try:
            if self._contact_factor is not None:
                self._contact_factor.refactor(data)
            # barriers change values by orders of magnitude: where the matching has become useless it is made anew
            if self._contact_factor is None or self._contact_factor.perturbed_pivots:
                self._contact_factor = self._factorise_contacts(data)
        except NotPositiveDefinite:
            return False
        return self._contact_factor.negative_eigenvalues in (None, 3 * self.constraint_count)

    def solve(self, rhs: Array, constraint_rhs: Array) -> tuple[Array, Array]:
        self._factor = self._contact_factor
        return super().solve(rhs, constraint_rhs)

    def _factorise_contacts(self, data: Array) -> Factor:
        self.symbolic_factorization_count += 1
        rows, columns = np.divmod(self._entry_keys, self._matrix_size)
        starts = np.searchsorted(rows, np.arange(self._matrix_size + 1))
        matrix = sp.csr_array((data, columns, starts), shape=(self._matrix_size, self._matrix_size))
        return Factor(matrix, kind="kkt" if self.constraint_count else "spd", backend=self._backend)

    def _extract_entries(self, H: sp.csc_matrix) -> tuple[IndexArray, Array]:
        """Where the entries of H between free coordinates stand, and their values; each once."""
        coo = H.tocoo()
        i, j = self._free_dof_indices[coo.row], self._free_dof_indices[coo.col]
        there = (i >= 0) & (j >= 0)
        return i[there].astype(np.int64) * self._matrix_size + j[there], coo.data[there]

    def _has_entries(self, keys: IndexArray) -> bool:
        at = np.searchsorted(self._entry_keys, keys)
        return bool(
            (at < len(self._entry_keys)).all()
            and (self._entry_keys[np.minimum(at, len(self._entry_keys) - 1)] == keys).all()
        )

    def _compute_block_keys(self, candidates: IndexArray) -> IndexArray:
        """Keys of the 3x3 blocks between all vertices of each row."""
        one, two = np.repeat(candidates, 4, axis=1).ravel(), np.tile(candidates, (1, 4)).ravel()
        there = (one >= 0) & (two >= 0)
        pairs = np.unique(np.stack([one[there], two[there]], axis=1), axis=0)
        i = self._free_dof_indices[3 * pairs[:, 0, None] + np.repeat(np.arange(3), 3)]
        j = self._free_dof_indices[3 * pairs[:, 1, None] + np.tile(np.arange(3), 3)]
        free = (i >= 0) & (j >= 0)
        return i[free].astype(np.int64) * self._matrix_size + j[free]


# a step is solved when no vertex of a Newton correction moves faster than this many body sizes a second; corrections
# of the second are rounding, whatever is in their way
NEWTON_SPEED_TOLERANCE, ROUNDING_SPEED = 5e-3, 1e-9
MAX_NEWTON_ITERATIONS = 100
MAX_STEP_HALVINGS = 30
# the share of the promised fall that a shortened correction must keep (Armijo), and of what the averages may cost
ARMIJO_CONSTANT, MERIT_PENALTY_SHARE = 1e-4, 0.5
# a correction at whose end the potential still falls by this share of its slope at the start is doubled, so often
EXTRAPOLATION_SLOPE_SHARE, MAX_STEP_DOUBLINGS = 0.5, 6
# what averages may be off when a step ends, in body sizes
CONSTRAINT_TOLERANCE = 1e-12
FAST_METHOD_HINT = "; collisions='fast' goes on where that happens, and tells how far off it is"


@dataclass(frozen=True)
class _NewtonIterate:
    """Where an iteration is: x (n, 3) of shell and colliders, the potential [J], its gradient (shell, 3) [N]."""

    positions: Array
    energy: float
    gradient: Array
    constraint_residual: Array


class BarrierSolver:
    """Implicit Euler with contacts: the minimum of the incremental potential where the averages are met.

    `Increment` + barrier + friction, subject to C x = target: Li et al. 2020 with constraints. It begins where the
    fast response ends, which is free of intersections, and no correction is longer than tight inclusion allows.
    """

    def __init__(
        self,
        integrator: TrackingIntegrator,
        impulse_solver: ImpulseSolver,
        friction: float,
        on_progress: Callable[[], None] = lambda: None,
    ):
        body = integrator.body
        self._integrator = integrator
        self._impulse_solver = impulse_solver
        self._world = impulse_solver.world
        self._on_progress = on_progress
        self._kkt_solver = ContactKKTSolver(
            body, sp.csr_array(sp.csc_array(integrator.constraints)[:, body.free_vertices])
        )
        self._contact_potential = ContactPotential(self._world, friction, integrator.h)
        self._matrix_values = np.empty(body.pattern.nnz)

    @property
    def symbolic_factorization_count(self) -> int:
        """How often the pattern of contacts had to be analysed."""
        return self._kkt_solver.symbolic_factorization_count

    def step(self, state: ShellState, target: Array, external_force: Array, time: float) -> ShellState:
        """The moment h later, at the time `at` [s]: averages at `target` (m, 3), under `load` (n, 3) [N]."""
        world, tracker = self._world, self._integrator
        guess = tracker.step(state, target, external_force)
        before = world.stack_positions(state.positions, time - tracker.h)
        begun, _ = self._impulse_solver(before, world.stack_positions(guess.positions, time), target)
        x = self._project_constraints(begun, target)
        problem = IncrementalPotential(tracker.body, tracker.h, state, external_force)
        self._contact_potential.begin_step(before, problem.compute_mean_diagonal_stiffness())
        x, pull, count = self._minimise(problem, x, target)
        self._impulse_solver.statistics.max_contacts = max(
            self._impulse_solver.statistics.max_contacts, self._contact_potential.count_contacts(x)
        )
        q = x[: world.shell_vertex_count]
        return ShellState(q, (q - state.positions) / tracker.h, pull, count)

    def _project_constraints(self, x: Array, target: Array) -> Array:
        """x (n, 3) with the averages met, as far as nothing meets on the way."""
        wish = x.copy()
        self._impulse_solver.mean_projection.project(wish, target)
        share = self._world.compute_collision_free_fraction(x, wish)
        return wish if share >= 1.0 else x + share * (wish - x)

    def _minimise(self, problem: IncrementalPotential, x: Array, target: Array) -> tuple[Array, Array, int]:
        """Newton's iteration; while averages are missed they weigh in what must fall (Nocedal and Wright, 18.36)."""
        tracker, weight = self._integrator, 0.0
        here = self._evaluate(problem, x, target)
        for iteration in range(1, MAX_NEWTON_ITERATIONS + 1):
            self._on_progress()
            moved, pull = self._compute_newton_step(problem, here)
            speed = float(np.linalg.norm(moved, axis=1).max()) / tracker.h / tracker.body.size
            slope, missed = float((here.gradient * moved).sum()), float(np.abs(here.constraint_residual).sum())
            bent = float((pull * moved).sum()) - slope
            if missed > 0.0:
                weight = max(weight, (slope + 0.5 * bent) / ((1.0 - MERIT_PENALTY_SHARE) * missed))
            before = here
            here, free = self._search_line(problem, here, moved, target, weight)
            # a correction that only the potential has shortened leads past the minimum on its way: that is nearer
            if speed <= NEWTON_SPEED_TOLERANCE and (free or speed <= ROUNDING_SPEED):
                here = _NewtonIterate(
                    self._project_constraints(here.positions, target),
                    here.energy,
                    here.gradient,
                    here.constraint_residual,
                )
                off = tracker.compute_residual(here.positions[: self._world.shell_vertex_count], target)
                if off <= CONSTRAINT_TOLERANCE:
                    return here.positions, pull, iteration
            # the next correction would be the same
            if here is before:
                break
        off = tracker.compute_residual(here.positions[: self._world.shell_vertex_count], target)
        raise NotConverged(
            f"contacts and averages were not brought together in {iteration} Newton iterations (corrections still move "
            f"at {speed:.2g} sizes/s, averages are off by {off:.1e} of the size): the guide leaves its surfaces no "
            f"room, or moves too fast{FAST_METHOD_HINT}"
        )

    def _compute_newton_step(self, problem: IncrementalPotential, iterate: _NewtonIterate) -> tuple[Array, Array]:
        """Newton's correction (shell, 3), and the pull of the averages."""
        H, near = self._contact_potential.compute_hessian(iterate.positions)
        # where something buckles the exact one leads uphill
        for exact in (True, False):
            problem.fill_hessian(iterate.positions[: self._world.shell_vertex_count], self._matrix_values, exact=exact)
            if self._kkt_solver.factorise_with_contacts(self._matrix_values, H, near):
                break
        else:
            raise SolveError("the regions cannot be told apart at this step")
        try:
            return self._kkt_solver.solve(-iterate.gradient, iterate.constraint_residual)
        except SolveError:
            raise NotConverged(
                "contacts press so hard that a step cannot be solved: the guide leaves its surfaces no room, or moves "
                f"too fast{FAST_METHOD_HINT}"
            ) from None

    def _search_line(
        self, problem: IncrementalPotential, iterate: _NewtonIterate, direction: Array, target: Array, penalty: float
    ) -> tuple[_NewtonIterate, bool]:
        """The longest tried part of a correction that nothing stops and after which the potential has fallen.

        And whether nothing is in the way of all of it.
        """
        wish = iterate.positions.copy()
        wish[: self._world.shell_vertex_count] += direction
        share = self._world.compute_collision_free_fraction(iterate.positions, wish)
        missed = float(np.abs(iterate.constraint_residual).sum())
        promised = float((iterate.gradient * direction).sum()) - penalty * missed
        # near the minimum differences of the potential are rounding
        limit = iterate.energy + penalty * missed + 1e-12 * abs(iterate.energy)
        for halving in range(MAX_STEP_HALVINGS):
            part = share * 0.5**halving
            there = self._evaluate(problem, iterate.positions + part * (wish - iterate.positions), target)
            if (
                there.energy + penalty * float(np.abs(there.constraint_residual).sum())
                <= limit + ARMIJO_CONSTANT * part * promised
            ):
                whole = part == 1.0
                return self._extrapolate_step(
                    problem, iterate, there, direction, target
                ) if whole else there, share >= 1.0
        return iterate, share >= 1.0

    def _extrapolate_step(
        self,
        problem: IncrementalPotential,
        iterate: _NewtonIterate,
        next_iterate: _NewtonIterate,
        direction: Array,
        target: Array,
    ) -> _NewtonIterate:
        """Where a whole correction from `here` to `there` goes on downhill: the stand-in is too stiff in folds.

        Only where averages are met, so that they stay so.
        """
        fall = float((iterate.gradient * direction).sum())
        if (
            self._integrator.compute_residual(iterate.positions[: self._world.shell_vertex_count], target)
            > CONSTRAINT_TOLERANCE
        ):
            return next_iterate
        for doubling in range(1, MAX_STEP_DOUBLINGS + 1):
            if float((next_iterate.gradient * direction).sum()) > EXTRAPOLATION_SLOPE_SHARE * fall:
                break
            wish = iterate.positions.copy()
            wish[: self._world.shell_vertex_count] += 2.0**doubling * direction
            if self._world.compute_collision_free_fraction(next_iterate.positions, wish) < 1.0:
                break
            trial = self._evaluate(problem, wish, target)
            if trial.energy >= next_iterate.energy:
                break
            next_iterate = trial
        return next_iterate

    def _evaluate(self, problem: IncrementalPotential, x: Array, target: Array) -> _NewtonIterate:
        q = x[: self._world.shell_vertex_count]
        pushed, push = self._contact_potential.compute_energy_and_gradient(x)
        slope = problem.compute_gradient(q) + push[: self._world.shell_vertex_count]
        return _NewtonIterate(x, problem.compute_energy(q) + pushed, slope, target - self._integrator.constraints @ q)
