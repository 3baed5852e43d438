"""Linearly implicit BDF2 steps, eq. (3)-(5) of Jeon and Choi 2007, with their exact derivatives.

One linear solve a step: M a + f(u) + K̃(u) s + d(û, v') = f_ext with s = u' - u, v' = drag s + v_offset, a likewise.
Drag acts along the springs as they will lie, û = 2u - u_before: at u its slope would be missing, and with it one order.
The matrices stand where the step starts, so its derivative holds those of the matrices too. Without them sensitivities
are wrong by up to twice their size.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cajole.arrays import Array
from cajole.body import Body, BodySprings
from cajole.dynamics.integrators import IntegrationScheme, StepHistory, build_scheme
from cajole.dynamics.restricted_system import RestrictedSystem
from cajole.errors import NotConverged


@dataclass(frozen=True)
class StepAdjoints:
    """k rows of derivatives with respect to a Past: by u, v, u_before and v_before, each (k, n, 3)."""

    displacement: Array
    velocity: Array
    previous_displacement: Array
    previous_velocity: Array

    @classmethod
    def zeros(cls, count: int, vertices: int) -> StepAdjoints:
        """Rows of zeros."""
        return cls(*np.zeros((4, count, vertices, 3)))


def extrapolate_displacement(history: StepHistory) -> Array:
    """û (n, 3) [m]: where the step leads, to second order, before it is made."""
    return 2.0 * history.displacement - history.previous_displacement


class LinearBDF2Stepper:
    """Steps of length h of `body`, whose matrix is kept in `system` until the next.

    `body` may be replaced between steps by one with the same vertices and pattern.
    """

    def __init__(self, body: Body, h: float, system: RestrictedSystem):
        self.body, self.h, self.system = body, h, system

    @classmethod
    def from_body(cls, body: Body, h: float, backend: str | None = None) -> LinearBDF2Stepper:
        """Steps with a matrix of their own; of springs, where little but factors takes time, by those made fastest."""
        chosen = backend or ("cholesky" if isinstance(body, BodySprings) else None)
        return cls(body, h, RestrictedSystem(body, body.free_dofs, backend=chosen))

    def step(self, history: StepHistory, load: Array, fixed_step: Array | None = None) -> StepHistory:
        """The state one step later under the external force `load` (n, 3) [N] at its end.

        moved: (n, 3) [m] the step of the vertices that are held, where they do not stand still.
        """
        plan = build_scheme("bdf2", self.h, history)
        with np.errstate(over="ignore", invalid="ignore"):
            body, system = self.body, self.system
            # eq. (4): forces linearised at (q_n, v_n); the residual is taken where v_{n+1} would be for q_{n+1} = q_n
            residual = self._compute_inertia_force(plan.acceleration_offset) + self._assemble(history, plan) - load
            if fixed_step is not None:
                residual += (body.pattern.build_matrix(system.values) @ fixed_step.ravel()).reshape(-1, 3)
        if not np.isfinite(system.compute_norm(residual)):
            raise NotConverged("the forces overflow")
        system.factorise_with_shift(body.mass_values, plan.mass_factor)
        step = system.solve(-residual)
        if fixed_step is not None:
            step += fixed_step
        return StepHistory(
            history.displacement + step,
            plan.compute_velocity(step),
            plan.compute_acceleration(step),
            history.displacement,
            history.velocity,
        )

    def _assemble(self, history: StepHistory, scheme: IntegrationScheme) -> Array:
        """Fill the matrix of a step; the internal force (n, 3) [N] for a step of zero."""
        body, values = self.body, self.system.values
        if not isinstance(body, BodySprings):
            body.assemble_system(
                history.displacement,
                history.velocity,
                scheme.mass_factor,
                scheme.damping_factor,
                values,
                tangent="clamped",
            )
            return body.total_force(history.displacement, scheme.velocity_offset)
        return body.assemble_linear_step(
            history.displacement,
            extrapolate_displacement(history),
            scheme.velocity_offset,
            scheme.mass_factor,
            scheme.damping_factor,
            values,
        )

    def add_displacement(self, before: StepHistory, after: StepHistory, displacement: Array) -> StepHistory:
        """What the step from `past` to `after` becomes where more force moves it by `moved` (n, 3) [m] as well.

        A step is linear in the force: what a force moves is `system.solve(force)`, with the factors of this step.
        """
        plan = build_scheme("bdf2", self.h, before)
        step = after.displacement - before.displacement + displacement
        return StepHistory(
            before.displacement + step,
            plan.compute_velocity(step),
            plan.compute_acceleration(step),
            before.displacement,
            before.velocity,
        )

    def compute_required_load(self, before: StepHistory, after: StepHistory) -> Array:
        """The external force (n, 3) [N] under which the step from `past` ends where `after` is."""
        step = after.displacement - before.displacement
        plan = build_scheme("bdf2", self.h, before)
        body = self.body
        assert isinstance(body, BodySprings)
        internal = body.compute_linear_step_force(
            before.displacement, extrapolate_displacement(before), plan.compute_velocity(step), step
        )
        return body.masses[:, None] * plan.compute_acceleration(step) + internal

    def backpropagate(
        self, before: StepHistory, after: StepHistory, adjoints: StepAdjoints
    ) -> tuple[StepAdjoints, Array]:
        """Derivatives by `past` of what has derivatives `rows` by `after`, and those by the load, (k, n, 3).

        `system` must still hold the factors of this step.
        """
        body, h = self.body, self.h
        assert isinstance(body, BodySprings)
        plan = build_scheme("bdf2", h, before)
        lam = self.system.solve_many(adjoints.displacement + plan.damping_factor * adjoints.velocity)
        slope, turn, drag = body.compute_linear_step_vjp(
            before.displacement,
            after.displacement - before.displacement,
            extrapolate_displacement(before),
            after.velocity,
            lam,
        )
        heavy = body.masses[:, None] * lam
        late = 0.75 / h**2 * heavy + 0.5 / h * drag
        # v_offset = (u_before - u)/2h, a_offset = (1.5 v_offset - 2 v + 0.5 v_before)/h
        by_u = (
            adjoints.displacement
            - 0.5 / h * adjoints.velocity
            + adjoints.previous_displacement
            - slope
            - 2.0 * turn
            + late
        )
        back = StepAdjoints(
            by_u,
            adjoints.previous_velocity + 2.0 / h * heavy,
            0.5 / h * adjoints.velocity - late + turn,
            -0.5 / h * heavy,
        )
        return back, lam

    def _compute_inertia_force(self, acceleration: Array) -> Array:
        return (self.body.mass @ acceleration.ravel()).reshape(-1, 3)
