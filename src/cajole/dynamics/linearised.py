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
from cajole.dynamics.integrators import Past, Scheme, scheme
from cajole.dynamics.restricted import Restricted
from cajole.errors import NotConverged


@dataclass(frozen=True)
class Rows:
    """k rows of derivatives with respect to a Past: by u, v, u_before and v_before, each (k, n, 3)."""

    u: Array
    v: Array
    u_before: Array
    v_before: Array

    @classmethod
    def none(cls, count: int, vertices: int) -> Rows:
        """Rows of zeros."""
        return cls(*np.zeros((4, count, vertices, 3)))


def ahead(past: Past) -> Array:
    """û (n, 3) [m]: where the step leads, to second order, before it is made."""
    return 2.0 * past.u - past.u_before


class LinearStep:
    """Steps of length h of `body`, whose matrix is kept in `system` until the next.

    `body` may be replaced between steps by one with the same vertices and pattern.
    """

    def __init__(self, body: Body, h: float, system: Restricted):
        self.body, self.h, self.system = body, h, system

    @classmethod
    def of(cls, body: Body, h: float, backend: str | None = None) -> LinearStep:
        """Steps with a matrix of their own; of springs, where little but factors takes time, by those made fastest."""
        chosen = backend or ("cholesky" if isinstance(body, BodySprings) else None)
        return cls(body, h, Restricted(body, body.free_dofs, backend=chosen))

    def take(self, past: Past, load: Array, moved: Array | None = None) -> Past:
        """The state one step later under the external force `load` (n, 3) [N] at its end.

        moved: (n, 3) [m] the step of the vertices that are held, where they do not stand still.
        """
        plan = scheme("bdf2", self.h, past)
        with np.errstate(over="ignore", invalid="ignore"):
            body, system = self.body, self.system
            # eq. (4): forces linearised at (q_n, v_n); the residual is taken where v_{n+1} would be for q_{n+1} = q_n
            residual = self._inertial(plan.a_offset) + self._filled(past, plan) - load
            if moved is not None:
                residual += (body.pattern.matrix(system.values) @ moved.ravel()).reshape(-1, 3)
        if not np.isfinite(system.norm(residual)):
            raise NotConverged("the forces overflow")
        system.factorise_shifted(body.mass_values, plan.inertia)
        step = system.solve(-residual)
        if moved is not None:
            step += moved
        return Past(past.u + step, plan.velocity(step), plan.acceleration(step), past.u, past.v)

    def _filled(self, past: Past, plan: Scheme) -> Array:
        """Fill the matrix of a step; the internal force (n, 3) [N] for a step of zero."""
        body, values = self.body, self.system.values
        if not isinstance(body, BodySprings):
            body.system(past.u, past.v, plan.inertia, plan.drag, values, tangent="clamped")
            return body.total_force(past.u, plan.v_offset)
        return body.step_system(past.u, ahead(past), plan.v_offset, plan.inertia, plan.drag, values)

    def pushed(self, past: Past, after: Past, moved: Array) -> Past:
        """What the step from `past` to `after` becomes where more force moves it by `moved` (n, 3) [m] as well.

        A step is linear in the force: what a force moves is `system.solve(force)`, with the factors of this step.
        """
        plan = scheme("bdf2", self.h, past)
        step = after.u - past.u + moved
        return Past(past.u + step, plan.velocity(step), plan.acceleration(step), past.u, past.v)

    def load_between(self, past: Past, after: Past) -> Array:
        """The external force (n, 3) [N] under which the step from `past` ends where `after` is."""
        step = after.u - past.u
        plan = scheme("bdf2", self.h, past)
        body = self.body
        assert isinstance(body, BodySprings)
        internal = body.step_force(past.u, ahead(past), plan.velocity(step), step)
        return body.masses[:, None] * plan.acceleration(step) + internal

    def pulled(self, past: Past, after: Past, rows: Rows) -> tuple[Rows, Array]:
        """Derivatives by `past` of what has derivatives `rows` by `after`, and those by the load, (k, n, 3).

        `system` must still hold the factors of this step.
        """
        body, h = self.body, self.h
        assert isinstance(body, BodySprings)
        plan = scheme("bdf2", h, past)
        lam = self.system.solve_all(rows.u + plan.drag * rows.v)
        slope, turn, drag = body.step_slopes(past.u, after.u - past.u, ahead(past), after.v, lam)
        heavy = body.masses[:, None] * lam
        late = 0.75 / h**2 * heavy + 0.5 / h * drag
        # v_offset = (u_before - u)/2h, a_offset = (1.5 v_offset - 2 v + 0.5 v_before)/h
        by_u = rows.u - 0.5 / h * rows.v + rows.u_before - slope - 2.0 * turn + late
        back = Rows(by_u, rows.v_before + 2.0 / h * heavy, 0.5 / h * rows.v - late + turn, -0.5 / h * heavy)
        return back, lam

    def _inertial(self, acceleration: Array) -> Array:
        return (self.body.mass @ acceleration.ravel()).reshape(-1, 3)
