"""Linearly implicit BDF2 steps, eq. (3)-(5) of Jeon and Choi 2007, with their exact derivatives.

One linear solve a step: M a + f(u) + K̃(u) s + d(û, v') = f_ext with s = u' - u and v', a affine in s (integrators.py).
Dashpots act along the predicted springs, û = 2u - u_previous: at u, one order of accuracy would be lost.
The matrices depend on the start of the step, so the derivatives of a step include theirs. Without them sensitivities
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
    """k derivatives with respect to a StepHistory: displacement, velocity and the previous ones, each (k, n, 3)."""

    displacement: Array
    velocity: Array
    previous_displacement: Array
    previous_velocity: Array

    @classmethod
    def zeros(cls, count: int, vertices: int) -> StepAdjoints:
        return cls(*np.zeros((4, count, vertices, 3)))


def extrapolate_displacement(history: StepHistory) -> Array:
    """û (n, 3) [m], a second-order prediction of the next displacement."""
    return 2.0 * history.displacement - history.previous_displacement


class LinearBDF2Stepper:
    """Steps of length h of `body`; `system` keeps the factorised matrix of the last step.

    You may replace `body` between steps by one with the same vertices and pattern.
    """

    def __init__(self, body: Body, h: float, system: RestrictedSystem):
        self.body, self.h, self.system = body, h, system

    @classmethod
    def from_body(cls, body: Body, h: float, backend: str | None = None) -> LinearBDF2Stepper:
        """Create a stepper with its own matrix; springs use the Cholesky backend, which is fastest for them."""
        chosen = backend or ("cholesky" if isinstance(body, BodySprings) else None)
        return cls(body, h, RestrictedSystem(body, body.free_dofs, backend=chosen))

    def step(self, history: StepHistory, load: Array, fixed_step: Array | None = None) -> StepHistory:
        """Advance by one step under the external force `load` (n, 3) [N] at its end.

        fixed_step: prescribed step (n, 3) [m] of the fixed vertices, if they move.
        """
        plan = build_scheme("bdf2", self.h, history)
        with np.errstate(over="ignore", invalid="ignore"):
            body, system = self.body, self.system
            # eq. (4): forces linearised at (q_n, v_n); the residual is that of q_{n+1} = q_n
            inertia = (body.mass @ plan.acceleration_offset.ravel()).reshape(-1, 3)
            residual = inertia + self._assemble(history, plan) - load
            if fixed_step is not None:
                residual += (body.pattern.build_matrix(system.values) @ fixed_step.ravel()).reshape(-1, 3)
        if not np.isfinite(system.compute_norm(residual)):
            raise NotConverged("the forces overflow")
        system.factorise_with_shift(body.mass_values, plan.mass_factor)
        step = system.solve(-residual)
        if fixed_step is not None:
            step += fixed_step
        return plan.advance(history, step)

    def _assemble(self, history: StepHistory, scheme: IntegrationScheme) -> Array:
        """Fill the matrix of a step, and return the internal force (n, 3) [N] for a step of zero."""
        body, values, u, v = self.body, self.system.values, history.displacement, history.velocity
        factors = scheme.mass_factor, scheme.damping_factor
        if isinstance(body, BodySprings):
            predicted = extrapolate_displacement(history)
            return body.assemble_linear_step(u, predicted, scheme.velocity_offset, *factors, values)
        body.assemble_system(u, v, *factors, values, tangent="clamped")
        return body.total_force(u, scheme.velocity_offset)

    def add_displacement(self, before: StepHistory, after: StepHistory, displacement: Array) -> StepHistory:
        """Correct the step from `before` to `after` for an added `displacement` (n, 3) [m] due to an additional force.

        A step is linear in the force: the displacement is `system.solve(force)`, with the factors of this step.
        """
        step = after.displacement - before.displacement + displacement
        return build_scheme("bdf2", self.h, before).advance(before, step)

    def compute_required_load(self, before: StepHistory, after: StepHistory) -> Array:
        """External force (n, 3) [N] that makes the step from `before` end at `after`."""
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
        """Propagate derivatives with respect to `after` to those with respect to `before` and to the load (k, n, 3).

        `system` must still contain the factors of this step.
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
        by_u = adjoints.displacement - 0.5 / h * adjoints.velocity + adjoints.previous_displacement - slope
        by_v = adjoints.previous_velocity + 2.0 / h * heavy
        by_previous_u = 0.5 / h * adjoints.velocity - late + turn
        return StepAdjoints(by_u - 2.0 * turn + late, by_v, by_previous_u, -0.5 / h * heavy), lam
