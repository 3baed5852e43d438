"""One implicit step after another: Newton, with what to do where a plain step does not solve it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from cajole.arrays import Array
from cajole.body import Body, BodyShell
from cajole.dynamics.integrators import Past, Scheme, scheme
from cajole.dynamics.linearised import LinearStep
from cajole.dynamics.obstacles import Obstacle
from cajole.dynamics.pushing import Touched, require_clear, touches
from cajole.dynamics.restricted import Restricted
from cajole.errors import NotConverged
from cajole.mesh import MeshTri

# Relative residual at which a step counts as solved. Adjoints built on the steps are exact only to this number.
TOLERANCE = 1e-10
# What rounding may leave of it on stiff meshes when no further step helps.
FLOOR = 1e-7
# A correction of the displacement below this share of it is rounding: all that forces are on a body that only drifts.
ROUNDED = 1e-12
# Relative residual below which a plain Newton step is trusted even where the tangent is indefinite.
NEAR = 1e-3
MOST_ITERATIONS = 40
# An impact on an obstacle that a step cannot solve is tried in this many smaller ones.
PIECES = (4, 16, 64)
MOST_HALVINGS = 12
# Where the residual allows only steps shorter than this, full ones are tried: a stiff body that turns is first
# stretched by them, and straightened by the next.
SHORT = 0.3
# Full steps tried in a row, and the share of the residual that they must come below.
LEAPS, LEAPT = 6, 0.5


@dataclass(frozen=True)
class State:
    """Where a simulation starts: displacement and velocity (n, 3); acceleration from equilibrium unless given."""

    displacement: ArrayLike | None = None
    velocity: ArrayLike | None = None
    acceleration: ArrayLike | None = None


class Stepper:
    """One implicit step after another, with one pattern and one analysis for all of them."""

    def __init__(
        self, body: Body, h: float, integrator: str, *, backend: str | None = None,
        obstacles: Obstacle | Sequence[Obstacle] | None = None, surface: MeshTri | None = None,
    ):  # fmt: skip
        self.body, self.h, self.integrator = body, h, integrator
        self.touches = touches(body, obstacles, surface)
        # linearised, an obstacle would not push before the step in which it is met, and then pull as well
        is_linear = integrator == "bdf2" and not self.touches
        self._linear = LinearStep.of(body, h, backend) if is_linear else None
        self._system = self._linear.system if self._linear else Restricted(body, body.free_dofs, backend=backend)
        self.iterations = 0
        # hears of what takes long within a step
        self.told: Callable[[str], None] = lambda text: None

    def start(self, state: State, load: Array) -> Past:
        """The past of the first step; an acceleration that is not given solves M a + d + f = f_ext."""
        body = self.body
        zero = np.zeros((body.count, 3))
        u = zero if state.displacement is None else body.checked(state.displacement, "start displacement")
        v = zero if state.velocity is None else body.checked(state.velocity, "start velocity")
        body.require_still(u, "start displacement")
        body.require_still(v, "start velocity")
        require_clear(body, self.touches, u)
        if state.acceleration is not None:
            a = body.checked(state.acceleration, "start acceleration")
            body.require_still(a, "start acceleration")
        else:
            self._system.values[:] = body.mass_values
            self._system.factorise()
            a = self._system.solve(load - self._internal(u, v))
        # the step before the start, to second order, which is what bdf2 needs to keep its order
        return Past(u, v, a, u - self.h * v + 0.5 * self.h**2 * a, v - self.h * a)

    def step(self, past: Past, load: Array) -> Past:
        """The state one step later under the external force `load` (n, 3) at its end."""
        if self._linear is not None:
            self.iterations += 1
            return self._linear.take(past, load)
        try:
            return self._solved(past, load, self.integrator, self.h)
        except NotConverged as reason:
            if not self.touches:
                raise NotConverged(f"{reason}; {_REMEDY}") from None
            return self._crept(past, load)

    def _solved(self, past: Past, load: Array, integrator: str, h: float) -> Past:
        plan = scheme(integrator, h, past)
        for touch in self.touches:
            touch.begin(past.u)
        return _after(past, plan, self._newton(past, plan, load, h))

    def _crept(self, past: Past, load: Array) -> Past:
        """The same step as smaller ones of implicit Euler: how far an impact crushes a body is no more than a guess."""
        for pieces in PIECES:
            now = past
            try:
                for piece in range(pieces):
                    self.told(f"an impact, part {piece + 1} of {pieces}")
                    now = self._solved(now, load, "euler", self.h / pieces)
            except NotConverged as reason:
                if pieces == PIECES[-1]:
                    raise NotConverged(f"{reason}; {self._impact_remedy()}") from None
            else:
                break
        return Past(now.u, now.v, now.a, past.u, past.v)

    def _impact_remedy(self) -> str:
        softest = min(touch.stiffness for touch in self.touches)
        parts = ", ".join(map(str, PIECES[:-1])) + f" and {PIECES[-1]}" if len(PIECES) > 1 else str(PIECES[0])
        shell = " a thicker or stiffer sheet (a closed one that shall keep its shape is a solid: body_around), "
        return (
            f"this is an impact on an obstacle, also tried as {parts} smaller steps: use"
            f"{shell if isinstance(self.body, BodyShell) else ' '}more damping (beta of 1e-3 s), a softer obstacle "
            f"(stiffness={0.1 * softest:.2g}), or {_REMEDY.removeprefix('use ')}"
        )

    def touched(self, past: Past) -> list[Touched]:
        """What each obstacle pushes."""
        return [touch.contacts(past.u, past.v) for touch in self.touches]

    def _newton(self, past: Past, plan: Scheme, load: Array, h: float) -> Array:
        step, (residual, scale) = self._first_guess(past, plan, load, h)
        rests, patience = 0, 1
        for _ in range(MOST_ITERATIONS):
            error = self._system.norm(residual)
            if error <= TOLERANCE * scale:
                return step
            altered = self._fill(past.u + step, plan.velocity(step), plan, near=error <= NEAR * scale)
            direction = self._system.solve(-residual)
            # a matrix with mass added makes any correction small
            if not altered and self._system.norm(direction) <= ROUNDED * self._system.norm(past.u + step):
                return step + direction
            found = self._search(past, plan, load, step, direction, residual)
            rests = max(rests - 1, 0)
            if not altered and not rests and self._is_short(step, direction, found):
                leapt = self._leapt(past, plan, load, step, direction, LEAPT * error)
                # what did not help is tried ever more rarely
                rests, patience = (0, 1) if leapt else (patience + 1, 2 * patience)
                found = leapt or found
            if found is None:
                if error <= FLOOR * scale:
                    return step
                raise NotConverged(
                    f"the step found no descent (relative residual {error / scale:.1e}; {self._worst(past, residual)})"
                )
            step, residual, scale = found
        raise NotConverged(
            f"the step did not converge in {MOST_ITERATIONS} Newton iterations (relative residual "
            f"{self._system.norm(residual) / scale:.1e}; {self._worst(past, residual)})"
        )

    def _is_short(self, step: Array, direction: Array, found: tuple[Array, Array, float] | None) -> bool:
        return found is None or self._system.norm(found[0] - step) < SHORT * self._system.norm(direction)

    def _leapt(
        self, past: Past, plan: Scheme, load: Array, step: Array, direction: Array, enough: float
    ) -> tuple[Array, Array, float] | None:
        """Full Newton steps, whatever the residual does on the way, until it is below `enough`; None if it stays above.

        The watchdog of Chamberlain et al. 1982.
        """
        for leap in range(LEAPS):
            step = step + direction
            try:
                residual, scale = self._residual(past, plan, step, load)
            except NotConverged:  # they overflow
                return None
            if self._system.norm(residual) < enough:
                return step, residual, scale
            if leap < LEAPS - 1:
                self._fill(past.u + step, plan.velocity(step), plan)
                direction = self._system.solve(-residual)
        return None

    def _worst(self, past: Past, residual: Array) -> str:
        """Where the force that is left is largest."""
        left = np.zeros(residual.size)
        left[self._system.dofs] = residual.ravel()[self._system.dofs]
        vertex = int(np.linalg.norm(left.reshape(-1, 3), axis=1).argmax())
        place = ", ".join(f"{value:.3g}" for value in self.body.vertices[vertex] + past.u[vertex])
        return f"most at vertex {vertex}, at ({place}) m"

    def _search(
        self, past: Past, plan: Scheme, load: Array, step: Array, direction: Array, residual: Array
    ) -> tuple[Array, Array, float] | None:
        """The longest of the halved steps that lowers the residual.

        Where something buckles the residual must first rise; then the longest step that runs downhill in the
        incremental potential, whose slope along the direction is residual·direction, is taken instead.
        """
        error, slope = self._system.norm(residual), abs(float((residual * direction).sum()))
        downhill = None
        for halving in range(MOST_HALVINGS):
            length = 0.5**halving
            trial = step + length * direction
            now, scale = self._residual(past, plan, trial, load)
            if self._system.norm(now) < (1.0 - 1e-4 * length) * error:
                return trial, now, scale
            if downhill is None and float((now * direction).sum()) <= 0.5 * slope:
                downhill = trial, now, scale
        return downhill

    def _first_guess(self, past: Past, plan: Scheme, load: Array, h: float) -> tuple[Array, tuple[Array, float]]:
        """Standing still, or moving on: whichever leaves the smaller residual."""
        guesses = [np.zeros_like(past.u), h * past.v + 0.5 * h**2 * past.a]
        tried = [(guess, self._residual(past, plan, guess, load)) for guess in guesses]
        return min(tried, key=lambda pair: self._system.norm(pair[1][0]))

    def _residual(self, past: Past, plan: Scheme, step: Array, load: Array) -> tuple[Array, float]:
        """M a + d + f - f_ext (n, 3), and the size of its terms."""
        internal = self._internal(past.u + step, plan.velocity(step))
        inertial = (self.body.mass @ plan.acceleration(step).ravel()).reshape(-1, 3)
        norm = self._system.norm
        scale = norm(internal) + norm(inertial) + norm(load)
        if not np.isfinite(scale):
            raise NotConverged("the forces overflow")
        return inertial + internal - load, max(scale, np.finfo(float).tiny)

    def _internal(self, u: Array, v: Array) -> Array:
        """f(u) + d(u, v) and what obstacles resist with (n, 3)."""
        internal = self.body.total_force(u, v)
        for touch in self.touches:
            touch.add_force(u, v, internal)
        return internal

    def _fill(self, u: Array, v: Array, plan: Scheme, *, near: bool = False) -> bool:
        """Factorise the matrix of the step, and return whether it is another, positive definite one in its place."""
        self.iterations += 1
        body, system = self.body, self._system
        self._assemble(u, v, plan, "exact" if near else "symmetric", near)
        if not near:
            return self._factorised(u, v, plan)
        if not body.symmetric:
            system.factorise_as("general")
        elif not system.factorise():
            # a shifted matrix would crawl towards a solution at which the tangent is indefinite (something buckles)
            system.factorise_as("symmetric")
        return False

    def _factorised(self, u: Array, v: Array, plan: Scheme) -> bool:
        body, system = self.body, self._system
        if isinstance(body, BodyShell):
            if system.factorise():
                return False
            # where a sheet folds, mass would have to outweigh what stretches it, and no step would be left
            self._assemble(u, v, plan, "clamped", False)
            system.factorise_shifted(body.mass_values, plan.inertia)
            return True
        return system.factorise_shifted(body.mass_values, plan.inertia) > 0

    def _assemble(self, u: Array, v: Array, plan: Scheme, tangent: str, exact: bool) -> None:
        values = self._system.values
        self.body.system(u, v, plan.inertia, plan.drag, values, tangent=tangent)
        for touch in self.touches:
            touch.add_tangent(u, v, plan.drag, values, exact=exact)


def _after(past: Past, plan: Scheme, step: Array) -> Past:
    return Past(past.u + step, plan.velocity(step), plan.acceleration(step), past.u, past.v)


_REMEDY = "use a smaller dt or more substeps, softer forces, or some damping"
