"""Implicit time steps, solved by Newton's method with globalisation for buckling and impacts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from cajole.arrays import Array
from cajole.body import Body, BodyShell
from cajole.dynamics.integrators import IntegrationScheme, StepHistory, build_scheme
from cajole.dynamics.linear_bdf2 import LinearBDF2Stepper
from cajole.dynamics.obstacles import ContactArrays, Obstacle, build_contacts, require_no_penetration
from cajole.dynamics.restricted_system import RestrictedSystem
from cajole.errors import NotConverged
from cajole.linalg.line_search import ARMIJO_CONSTANT, backtrack
from cajole.mesh import MeshTri


@dataclass(frozen=True)
class ImplicitStepOptions:
    """Tolerances and limits of Newton's method for one implicit step; residuals are relative to the forces."""

    # converged; adjoints of steps are exact to this number only
    tolerance: float = 1e-10
    # accepted if no further iteration helps: rounding of stiff meshes
    stalled_tolerance: float = 1e-7
    # smaller corrections, as a share of the displacement, are rounding: all forces on a freely drifting body are
    rounding_step_share: float = 1e-12
    # below this residual the exact tangent is used even if it is indefinite
    exact_tangent_residual: float = 1e-3
    max_iterations: int = 40
    max_backtracks: int = 12
    # an impact on an obstacle that cannot be solved is repeated with these numbers of smaller steps
    impact_substeps: tuple[int, ...] = (4, 16, 64)
    # If the line search allows only shorter steps than this share, full steps are tried (watchdog): they first stretch
    # a stiff body that rotates, and the next one straightens it. They must reach the share of the residual.
    short_step_share: float = 0.3
    watchdog_steps: int = 6
    watchdog_reduction: float = 0.5
    remedy: str = "use a smaller dt or more substeps, softer forces, or some damping"


@dataclass(frozen=True)
class InitialState:
    """Start of a simulation: displacement [m], velocity [m/s] and acceleration (n, 3), by default from equilibrium."""

    displacement: ArrayLike | None = None
    velocity: ArrayLike | None = None
    acceleration: ArrayLike | None = None


@dataclass(frozen=True, eq=False)
class _StepProblem:
    """One step of length h from `history` under the external force `load` (n, 3) [N]."""

    history: StepHistory
    scheme: IntegrationScheme
    load: Array
    h: float


class _Trial(NamedTuple):
    """A step (n, 3), its residual (n, 3) and the size of the forces in it."""

    step: Array
    residual: Array
    scale: float


class ImplicitStepper:
    """Integrate a body by implicit steps of length h that share one sparsity pattern and its symbolic factorisation."""

    options = ImplicitStepOptions()

    def __init__(
        self, body: Body, h: float, integrator: str, *, backend: str | None = None,
        obstacles: Obstacle | Sequence[Obstacle] | None = None, surface: MeshTri | None = None,
    ):  # fmt: skip
        self.body, self.h, self.integrator = body, h, integrator
        self.contacts = build_contacts(body, obstacles, surface)
        # a linearised obstacle would act one step late, and then pull as well
        is_linear = integrator == "bdf2" and not self.contacts
        self._linear_stepper = LinearBDF2Stepper.from_body(body, h, backend) if is_linear else None
        own = None if self._linear_stepper else RestrictedSystem(body, body.free_dofs, backend=backend)
        self._system = own or self._linear_stepper.system  # type: ignore[union-attr]
        self.iterations = 0
        # called with a text during long steps
        self.on_progress: Callable[[str], None] = lambda text: None

    def start(self, state: InitialState, load: Array) -> StepHistory:
        """Build the history before the first step; a missing acceleration is computed from M a + d + f = f_ext."""
        body = self.body
        zero = np.zeros((body.vertex_count, 3))
        u = zero if state.displacement is None else body.check_vertex_vectors(state.displacement, "start displacement")
        v = zero if state.velocity is None else body.check_vertex_vectors(state.velocity, "start velocity")
        body.require_zero_at_fixed_vertices(u, "start displacement")
        body.require_zero_at_fixed_vertices(v, "start velocity")
        require_no_penetration(body, self.contacts, u)
        if state.acceleration is not None:
            a = body.check_vertex_vectors(state.acceleration, "start acceleration")
            body.require_zero_at_fixed_vertices(a, "start acceleration")
        else:
            self._system.values[:] = body.mass_values
            self._system.factorise()
            a = self._system.solve(load - self._compute_internal_force(u, v))
        # a second-order estimate of the previous step keeps the order of bdf2
        return StepHistory(u, v, a, u - self.h * v + 0.5 * self.h**2 * a, v - self.h * a)

    def step(self, history: StepHistory, load: Array) -> StepHistory:
        """Advance by one step under the external force `load` (n, 3) [N] at its end."""
        if self._linear_stepper is not None:
            self.iterations += 1
            return self._linear_stepper.step(history, load)
        try:
            return self._solve_step(history, load, self.integrator, self.h)
        except NotConverged as reason:
            if not self.contacts:
                raise NotConverged(f"{reason}; {self.options.remedy}") from None
        # implicit Euler in smaller steps: the deformation in an impact is not resolved in any case
        for count in self.options.impact_substeps:
            now = history
            try:
                for part in range(count):
                    self.on_progress(f"an impact, part {part + 1} of {count}")
                    now = self._solve_step(now, load, "euler", self.h / count)
            except NotConverged as reason:
                if count == self.options.impact_substeps[-1]:
                    raise NotConverged(f"{reason}; {self._describe_impact_remedy()}") from None
            else:
                break
        return StepHistory(now.displacement, now.velocity, now.acceleration, history.displacement, history.velocity)

    def _solve_step(self, history: StepHistory, load: Array, integrator: str, h: float) -> StepHistory:
        problem = _StepProblem(history, build_scheme(integrator, h, history), load, h)
        for contact in self.contacts:
            contact.begin_step(history.displacement)
        return problem.scheme.advance(history, self._solve_newton(problem))

    def _describe_impact_remedy(self) -> str:
        softest, counts = min(contact.stiffness for contact in self.contacts), self.options.impact_substeps
        parts = " and ".join(filter(None, (", ".join(map(str, counts[:-1])), str(counts[-1]))))
        shell = " a thicker or stiffer sheet (a closed one that shall keep its shape is a solid: body_around), "
        return (
            f"this is an impact on an obstacle, also tried as {parts} smaller steps: use"
            f"{shell if isinstance(self.body, BodyShell) else ' '}more damping (beta of 1e-3 s), a softer obstacle "
            f"(stiffness={0.1 * softest:.2g}), or {self.options.remedy.removeprefix('use ')}"
        )

    def find_contacts(self, history: StepHistory) -> list[ContactArrays]:
        """Contacts with each obstacle."""
        return [contact.find_contacts(history.displacement, history.velocity) for contact in self.contacts]

    def _solve_newton(self, problem: _StepProblem) -> Array:
        options, norm = self.options, self._system.compute_norm
        history, h = problem.history, problem.h
        # no motion or free motion, whichever has the smaller residual
        guesses = [np.zeros_like(history.displacement), h * history.velocity + 0.5 * h**2 * history.acceleration]
        trial = min((self._evaluate(problem, guess) for guess in guesses), key=lambda each: norm(each.residual))
        # iterations without watchdog steps; the wait doubles each time that they do not help
        wait, next_wait = 0, 1
        for _ in range(options.max_iterations):
            step, residual, scale = trial
            error = norm(residual)
            if error <= options.tolerance * scale:
                return step
            exact = error <= options.exact_tangent_residual * scale
            is_modified = self._factorise_tangent(problem, step, exact=exact)
            direction = self._system.solve(-residual)
            # an added mass makes any correction small
            rounding = options.rounding_step_share * norm(history.displacement + step)
            if not is_modified and norm(direction) <= rounding:
                return step + direction
            found = self._search_line(problem, trial, direction)
            wait = max(wait - 1, 0)
            is_short = found is None or norm(found.step - step) < options.short_step_share * norm(direction)
            if not is_modified and not wait and is_short:
                better = self._try_watchdog_steps(problem, step, direction, options.watchdog_reduction * error)
                wait, next_wait = (0, 1) if better else (next_wait + 1, 2 * next_wait)
                found = better or found
            if found is None:
                if error <= options.stalled_tolerance * scale:
                    return step
                raise NotConverged(
                    f"the step found no descent (relative residual {error / scale:.1e}; "
                    f"{self._describe_worst_vertex(history, residual)})"
                )
            trial = found
        raise NotConverged(
            f"the step did not converge in {options.max_iterations} Newton iterations (relative residual "
            f"{norm(trial.residual) / trial.scale:.1e}; {self._describe_worst_vertex(history, trial.residual)})"
        )

    def _try_watchdog_steps(
        self, problem: _StepProblem, step: Array, direction: Array, target_residual: float
    ) -> _Trial | None:
        """Take full Newton steps until the residual is below the target; None if it stays above.

        The watchdog technique of Chamberlain et al. 1982: the residual may rise in between.
        """
        for number in range(self.options.watchdog_steps):
            step = step + direction
            try:
                trial = self._evaluate(problem, step)
            except NotConverged:  # overflow
                return None
            if self._system.compute_norm(trial.residual) < target_residual:
                return trial
            if number < self.options.watchdog_steps - 1:
                self._factorise_tangent(problem, step)
                direction = self._system.solve(-trial.residual)
        return None

    def _describe_worst_vertex(self, history: StepHistory, residual: Array) -> str:
        left = np.zeros(residual.size)
        left[self._system.dofs] = residual.ravel()[self._system.dofs]
        vertex = int(np.linalg.norm(left.reshape(-1, 3), axis=1).argmax())
        place = ", ".join(f"{value:.3g}" for value in self.body.vertices[vertex] + history.displacement[vertex])
        return f"most at vertex {vertex}, at ({place}) m"

    def _search_line(self, problem: _StepProblem, start: _Trial, direction: Array) -> _Trial | None:
        """Find the longest of the halved steps that reduces the residual.

        When the body buckles, the residual must rise first. Then the longest step is used along which the incremental
        potential, whose slope is residual·direction, still decreases; None if there is none.
        """
        error, slope = self._system.compute_norm(start.residual), abs(float((start.residual * direction).sum()))
        downhill: list[_Trial] = []

        def accept(trial: _Trial, length: float) -> bool:
            if float((trial.residual * direction).sum()) <= 0.5 * slope:
                downhill.append(trial)
            return self._system.compute_norm(trial.residual) < (1.0 - ARMIJO_CONSTANT * length) * error

        found = backtrack(
            lambda length: self._evaluate(problem, start.step + length * direction),
            accept,
            max_trials=self.options.max_backtracks,
        )
        if found is not None and found.accepted:
            return found.trial
        return downhill[0] if downhill else None

    def _evaluate(self, problem: _StepProblem, step: Array) -> _Trial:
        """Residual M a + d + f - f_ext (n, 3) of a step, and the size of its terms."""
        scheme, norm = problem.scheme, self._system.compute_norm
        internal = self._compute_internal_force(problem.history.displacement + step, scheme.compute_velocity(step))
        inertial = (self.body.mass @ scheme.compute_acceleration(step).ravel()).reshape(-1, 3)
        scale = norm(internal) + norm(inertial) + norm(problem.load)
        if not np.isfinite(scale):
            raise NotConverged("the forces overflow")
        return _Trial(step, inertial + internal - problem.load, max(scale, np.finfo(float).tiny))

    def _compute_internal_force(self, u: Array, v: Array) -> Array:
        """f(u) + d(u, v) and the resistance of obstacles (n, 3) [N]."""
        internal = self.body.total_force(u, v)
        for contact in self.contacts:
            contact.add_force(u, v, internal)
        return internal

    def _factorise_tangent(self, problem: _StepProblem, step: Array, *, exact: bool = False) -> bool:
        """Factorise the matrix of the step; True if another, positive definite matrix replaces it."""
        self.iterations += 1
        body, system, scheme = self.body, self._system, problem.scheme
        u, v = problem.history.displacement + step, scheme.compute_velocity(step)
        self._assemble(u, v, scheme, "exact" if exact else "symmetric", exact)
        if exact:
            if not body.has_symmetric_tangent:
                system.factorise_as("general")
            elif not system.factorise():
                # with a shift, convergence would be slow to a solution where the tangent is indefinite (buckling)
                system.factorise_as("symmetric")
            return False
        if isinstance(body, BodyShell):
            if system.factorise():
                return False
            # in folds, an added mass that outweighs the membrane would leave no step
            self._assemble(u, v, scheme, "clamped", False)
            system.factorise_with_shift(body.mass_values, scheme.mass_factor)
            return True
        return system.factorise_with_shift(body.mass_values, scheme.mass_factor) > 0

    def _assemble(self, u: Array, v: Array, scheme: IntegrationScheme, tangent: str, exact: bool) -> None:
        values = self._system.values
        self.body.assemble_system(u, v, scheme.mass_factor, scheme.damping_factor, values, tangent=tangent)
        for contact in self.contacts:
            contact.add_stiffness(u, v, scheme.damping_factor, values, exact=exact)
