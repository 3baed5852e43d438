"""One implicit step after another: Newton, with what to do where a plain step does not solve it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from cajole.arrays import Array
from cajole.body import Body, BodyShell
from cajole.dynamics.integrators import IntegrationScheme, StepHistory, build_scheme
from cajole.dynamics.linear_bdf2 import LinearBDF2Stepper
from cajole.dynamics.obstacle_contact import ContactArrays, build_contacts, require_no_penetration
from cajole.dynamics.obstacles import Obstacle
from cajole.dynamics.restricted_system import RestrictedSystem
from cajole.errors import NotConverged
from cajole.mesh import MeshTri

# Relative residual at which a step counts as solved. Adjoints built on the steps are exact only to this number.
TOLERANCE = 1e-10
# What rounding may leave of it on stiff meshes when no further step helps.
STALLED_TOLERANCE = 1e-7
# A correction of the displacement below this share of it is rounding: all that forces are on a body that only drifts.
ROUNDING_STEP_SHARE = 1e-12
# Relative residual below which a plain Newton step is trusted even where the tangent is indefinite.
EXACT_TANGENT_RESIDUAL = 1e-3
MAX_ITERATIONS = 40
# An impact on an obstacle that a step cannot solve is tried in this many smaller ones.
IMPACT_SUBSTEPS = (4, 16, 64)
MAX_BACKTRACKS = 12
# Where the residual allows only steps shorter than this, full ones are tried: a stiff body that turns is first
# stretched by them, and straightened by the next.
SHORT_STEP_SHARE = 0.3
# Full steps tried in a row, and the share of the residual that they must come below.
WATCHDOG_STEPS, WATCHDOG_REDUCTION = 6, 0.5


@dataclass(frozen=True)
class InitialState:
    """Where a simulation starts: displacement and velocity (n, 3); acceleration from equilibrium unless given."""

    displacement: ArrayLike | None = None
    velocity: ArrayLike | None = None
    acceleration: ArrayLike | None = None


class ImplicitStepper:
    """One implicit step after another, with one pattern and one analysis for all of them."""

    def __init__(
        self, body: Body, h: float, integrator: str, *, backend: str | None = None,
        obstacles: Obstacle | Sequence[Obstacle] | None = None, surface: MeshTri | None = None,
    ):  # fmt: skip
        self.body, self.h, self.integrator = body, h, integrator
        self.contacts = build_contacts(body, obstacles, surface)
        # linearised, an obstacle would not push before the step in which it is met, and then pull as well
        is_linear = integrator == "bdf2" and not self.contacts
        self._linear_stepper = LinearBDF2Stepper.from_body(body, h, backend) if is_linear else None
        self._system = (
            self._linear_stepper.system
            if self._linear_stepper
            else RestrictedSystem(body, body.free_dofs, backend=backend)
        )
        self.iterations = 0
        # hears of what takes long within a step
        self.on_progress: Callable[[str], None] = lambda text: None

    def start(self, state: InitialState, load: Array) -> StepHistory:
        """The past of the first step; an acceleration that is not given solves M a + d + f = f_ext."""
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
        # the step before the start, to second order, which is what bdf2 needs to keep its order
        return StepHistory(u, v, a, u - self.h * v + 0.5 * self.h**2 * a, v - self.h * a)

    def step(self, history: StepHistory, load: Array) -> StepHistory:
        """The state one step later under the external force `load` (n, 3) at its end."""
        if self._linear_stepper is not None:
            self.iterations += 1
            return self._linear_stepper.step(history, load)
        try:
            return self._solve_step(history, load, self.integrator, self.h)
        except NotConverged as reason:
            if not self.contacts:
                raise NotConverged(f"{reason}; {_REMEDY}") from None
            return self._solve_impact_substeps(history, load)

    def _solve_step(self, history: StepHistory, load: Array, integrator: str, h: float) -> StepHistory:
        plan = build_scheme(integrator, h, history)
        for touch in self.contacts:
            touch.begin_step(history.displacement)
        return _advance_history(history, plan, self._solve_newton(history, plan, load, h))

    def _solve_impact_substeps(self, history: StepHistory, load: Array) -> StepHistory:
        """The same step as smaller ones of implicit Euler: how far an impact crushes a body is no more than a guess."""
        for pieces in IMPACT_SUBSTEPS:
            now = history
            try:
                for piece in range(pieces):
                    self.on_progress(f"an impact, part {piece + 1} of {pieces}")
                    now = self._solve_step(now, load, "euler", self.h / pieces)
            except NotConverged as reason:
                if pieces == IMPACT_SUBSTEPS[-1]:
                    raise NotConverged(f"{reason}; {self._describe_impact_remedy()}") from None
            else:
                break
        return StepHistory(now.displacement, now.velocity, now.acceleration, history.displacement, history.velocity)

    def _describe_impact_remedy(self) -> str:
        softest = min(touch.stiffness for touch in self.contacts)
        parts = (
            ", ".join(map(str, IMPACT_SUBSTEPS[:-1])) + f" and {IMPACT_SUBSTEPS[-1]}"
            if len(IMPACT_SUBSTEPS) > 1
            else str(IMPACT_SUBSTEPS[0])
        )
        shell = " a thicker or stiffer sheet (a closed one that shall keep its shape is a solid: body_around), "
        return (
            f"this is an impact on an obstacle, also tried as {parts} smaller steps: use"
            f"{shell if isinstance(self.body, BodyShell) else ' '}more damping (beta of 1e-3 s), a softer obstacle "
            f"(stiffness={0.1 * softest:.2g}), or {_REMEDY.removeprefix('use ')}"
        )

    def find_contacts(self, history: StepHistory) -> list[ContactArrays]:
        """What each obstacle pushes."""
        return [touch.find_contacts(history.displacement, history.velocity) for touch in self.contacts]

    def _solve_newton(self, history: StepHistory, scheme: IntegrationScheme, load: Array, h: float) -> Array:
        step, (residual, scale) = self._predict_step(history, scheme, load, h)
        rests, patience = 0, 1
        for _ in range(MAX_ITERATIONS):
            error = self._system.compute_norm(residual)
            if error <= TOLERANCE * scale:
                return step
            altered = self._factorise_tangent(
                history.displacement + step,
                scheme.compute_velocity(step),
                scheme,
                exact=error <= EXACT_TANGENT_RESIDUAL * scale,
            )
            direction = self._system.solve(-residual)
            # a matrix with mass added makes any correction small
            if not altered and self._system.compute_norm(direction) <= ROUNDING_STEP_SHARE * self._system.compute_norm(
                history.displacement + step
            ):
                return step + direction
            found = self._search_line(history, scheme, load, step, direction, residual)
            rests = max(rests - 1, 0)
            if not altered and not rests and self._is_short_step(step, direction, found):
                leapt = self._try_watchdog_steps(history, scheme, load, step, direction, WATCHDOG_REDUCTION * error)
                # what did not help is tried ever more rarely
                rests, patience = (0, 1) if leapt else (patience + 1, 2 * patience)
                found = leapt or found
            if found is None:
                if error <= STALLED_TOLERANCE * scale:
                    return step
                raise NotConverged(
                    f"the step found no descent (relative residual {error / scale:.1e}; "
                    f"{self._describe_worst_vertex(history, residual)})"
                )
            step, residual, scale = found
        raise NotConverged(
            f"the step did not converge in {MAX_ITERATIONS} Newton iterations (relative residual "
            f"{self._system.compute_norm(residual) / scale:.1e}; {self._describe_worst_vertex(history, residual)})"
        )

    def _is_short_step(self, step: Array, direction: Array, found: tuple[Array, Array, float] | None) -> bool:
        return found is None or self._system.compute_norm(
            found[0] - step
        ) < SHORT_STEP_SHARE * self._system.compute_norm(direction)

    def _try_watchdog_steps(
        self,
        history: StepHistory,
        scheme: IntegrationScheme,
        load: Array,
        step: Array,
        direction: Array,
        target_residual: float,
    ) -> tuple[Array, Array, float] | None:
        """Full Newton steps, whatever the residual does on the way, until it is below `enough`; None if it stays above.

        The watchdog of Chamberlain et al. 1982.
        """
        for leap in range(WATCHDOG_STEPS):
            step = step + direction
            try:
                residual, scale = self._compute_residual(history, scheme, step, load)
            except NotConverged:  # they overflow
                return None
            if self._system.compute_norm(residual) < target_residual:
                return step, residual, scale
            if leap < WATCHDOG_STEPS - 1:
                self._factorise_tangent(history.displacement + step, scheme.compute_velocity(step), scheme)
                direction = self._system.solve(-residual)
        return None

    def _describe_worst_vertex(self, history: StepHistory, residual: Array) -> str:
        """Where the force that is left is largest."""
        left = np.zeros(residual.size)
        left[self._system.dofs] = residual.ravel()[self._system.dofs]
        vertex = int(np.linalg.norm(left.reshape(-1, 3), axis=1).argmax())
        place = ", ".join(f"{value:.3g}" for value in self.body.vertices[vertex] + history.displacement[vertex])
        return f"most at vertex {vertex}, at ({place}) m"

    def _search_line(
        self,
        history: StepHistory,
        scheme: IntegrationScheme,
        load: Array,
        step: Array,
        direction: Array,
        residual: Array,
    ) -> tuple[Array, Array, float] | None:
        """The longest of the halved steps that lowers the residual.

        Where something buckles the residual must first rise; then the longest step that runs downhill in the
        incremental potential, whose slope along the direction is residual·direction, is taken instead.
        """
        error, slope = self._system.compute_norm(residual), abs(float((residual * direction).sum()))
        downhill = None
        for halving in range(MAX_BACKTRACKS):
            length = 0.5**halving
            trial = step + length * direction
            now, scale = self._compute_residual(history, scheme, trial, load)
            if self._system.compute_norm(now) < (1.0 - 1e-4 * length) * error:
                return trial, now, scale
            if downhill is None and float((now * direction).sum()) <= 0.5 * slope:
                downhill = trial, now, scale
        return downhill

    def _predict_step(
        self, history: StepHistory, scheme: IntegrationScheme, load: Array, h: float
    ) -> tuple[Array, tuple[Array, float]]:
        """Standing still, or moving on: whichever leaves the smaller residual."""
        guesses = [np.zeros_like(history.displacement), h * history.velocity + 0.5 * h**2 * history.acceleration]
        tried = [(guess, self._compute_residual(history, scheme, guess, load)) for guess in guesses]
        return min(tried, key=lambda pair: self._system.compute_norm(pair[1][0]))

    def _compute_residual(
        self, history: StepHistory, scheme: IntegrationScheme, step: Array, load: Array
    ) -> tuple[Array, float]:
        """M a + d + f - f_ext (n, 3), and the size of its terms."""
        internal = self._compute_internal_force(history.displacement + step, scheme.compute_velocity(step))
        inertial = (self.body.mass @ scheme.compute_acceleration(step).ravel()).reshape(-1, 3)
        norm = self._system.compute_norm
        scale = norm(internal) + norm(inertial) + norm(load)
        if not np.isfinite(scale):
            raise NotConverged("the forces overflow")
        return inertial + internal - load, max(scale, np.finfo(float).tiny)

    def _compute_internal_force(self, u: Array, v: Array) -> Array:
        """f(u) + d(u, v) and what obstacles resist with (n, 3)."""
        internal = self.body.total_force(u, v)
        for touch in self.contacts:
            touch.add_force(u, v, internal)
        return internal

    def _factorise_tangent(self, u: Array, v: Array, scheme: IntegrationScheme, *, exact: bool = False) -> bool:
        """Factorise the matrix of the step, and return whether it is another, positive definite one in its place."""
        self.iterations += 1
        body, system = self.body, self._system
        self._assemble(u, v, scheme, "exact" if exact else "symmetric", exact)
        if not exact:
            return self._factorise_positive_definite(u, v, scheme)
        if not body.has_symmetric_tangent:
            system.factorise_as("general")
        elif not system.factorise():
            # a shifted matrix would crawl towards a solution at which the tangent is indefinite (something buckles)
            system.factorise_as("symmetric")
        return False

    def _factorise_positive_definite(self, u: Array, v: Array, scheme: IntegrationScheme) -> bool:
        body, system = self.body, self._system
        if isinstance(body, BodyShell):
            if system.factorise():
                return False
            # where a sheet folds, mass would have to outweigh what stretches it, and no step would be left
            self._assemble(u, v, scheme, "clamped", False)
            system.factorise_with_shift(body.mass_values, scheme.mass_factor)
            return True
        return system.factorise_with_shift(body.mass_values, scheme.mass_factor) > 0

    def _assemble(self, u: Array, v: Array, scheme: IntegrationScheme, tangent: str, exact: bool) -> None:
        values = self._system.values
        self.body.assemble_system(u, v, scheme.mass_factor, scheme.damping_factor, values, tangent=tangent)
        for touch in self.contacts:
            touch.add_stiffness(u, v, scheme.damping_factor, values, exact=exact)


def _advance_history(history: StepHistory, scheme: IntegrationScheme, step: Array) -> StepHistory:
    return StepHistory(
        history.displacement + step,
        scheme.compute_velocity(step),
        scheme.compute_acceleration(step),
        history.displacement,
        history.velocity,
    )


_REMEDY = "use a smaller dt or more substeps, softer forces, or some damping"
