"""`simulate`: a body moves under forces; implicit steps, each solved to convergence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cajole import checks
from cajole.animation import Animation
from cajole.body import Body
from cajole.dynamics.integrators import INTEGRATORS, Past, Scheme, scheme
from cajole.dynamics.obstacles import Obstacle
from cajole.dynamics.pushing import Touched, contacts_of, require_clear, touches
from cajole.dynamics.restricted import Restricted
from cajole.errors import NotConverged, SolveError
from cajole.mesh import MeshTri
from cajole.progress import Progress, report

Array = NDArray[np.float64]
Force = Callable[[float], ArrayLike] | ArrayLike | None

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
PIECES = (4, 16)
MOST_HALVINGS = 12


@dataclass(frozen=True)
class State:
    """Where a simulation starts: displacement and velocity (n, 3); acceleration from equilibrium unless given."""

    displacement: ArrayLike | None = None
    velocity: ArrayLike | None = None
    acceleration: ArrayLike | None = None


def simulate(
    body: Body,
    frames: int = 240,
    dt: float = 1 / 60,
    *,
    force: Force = None,
    gravity: ArrayLike | None = None,
    start: State | ArrayLike | None = None,
    obstacles: Obstacle | Sequence[Obstacle] | None = None,
    surface: MeshTri | None = None,
    integrator: str = "newmark",
    substeps: int = 1,
    progress: Progress | None = None,
) -> Animation:
    """Integrate M ü + d(u, u̇) + f(u) = f_ext; frame 0 is the start.

    frames: how many, the start included; dt [s] between frames, divided into `substeps`.
    force: f(t [s]) -> (n, 3) [N], or (n, 3) constant, or (frames, n, 3), where row k acts on the way into frame k.
    gravity: acceleration (3,) [m/s²], e.g. (0, 0, -9.81).
    start: a State, or the displacement (n, 3); at rest when None.
    obstacles: `Ground` or `ObstacleMesh`, one or several, that push the body's surface back; the animation gets the
        contacts with them.
    surface: a finer surface, carried by a body of tets, that touches them instead of the body's own; then the contacts
        are left to `find_contacts`.
    integrator: "newmark" (average acceleration) and "euler" are solved to convergence; "bdf2" is linearly implicit,
        one solve a step, eq. (3)-(5) of Jeon and Choi 2007, except with obstacles, where it is solved like the others.
    progress: called with the fraction done; returning False raises Cancelled.
    Raises NotConverged, naming the frame, when a step cannot be solved; with obstacles it is first tried as smaller
    steps of implicit Euler.
    """
    checks.require_instance(body, Body, "body")
    checks.one_of(integrator, "integrator", INTEGRATORS)
    frames, substeps = checks.count(frames, "frames"), checks.count(substeps, "substeps")
    dt = checks.positive(dt, "dt (s)")
    h = dt / substeps
    mesh = body.drawn_mesh()
    load = _load(body, force, gravity, frames, dt)
    stepper = Stepper(body, h, integrator, obstacles=obstacles, surface=surface)
    past = stepper.start(_state(start), load(0.0, 0))
    positions, velocities = np.empty((2, frames, body.count, 3))
    positions[0], velocities[0] = body.vertices + past.u, past.v
    touched = [stepper.touched(past)]
    for frame in range(1, frames):
        for sub in range(1, substeps + 1):
            time = ((frame - 1) * substeps + sub) * h
            try:
                past = stepper.step(past, load(time, frame))
            except SolveError as reason:
                raise type(reason)(f"frame {frame} (t = {time:.4g} s): {reason}") from None
        positions[frame], velocities[frame] = body.vertices + past.u, past.v
        touched.append(stepper.touched(past))
        report(progress, frame / (frames - 1), f"frame {frame} of {frames - 1}")
    own = stepper.touches and surface is None
    contacts = contacts_of(touched, stepper.touches[0].points) if own else None
    return Animation(mesh, positions, fps=1.0 / dt, velocities=velocities, contacts=contacts)


class Stepper:
    """One implicit step after another, with one pattern and one analysis for all of them."""

    def __init__(
        self, body: Body, h: float, integrator: str, *, backend: str | None = None,
        obstacles: Obstacle | Sequence[Obstacle] | None = None, surface: MeshTri | None = None,
    ):  # fmt: skip
        self.body, self.h, self.integrator = body, h, integrator
        self.touches = touches(body, obstacles, surface)
        # linearised, an obstacle would not push before the step in which it is met, and then pull as well
        self._is_linear = integrator == "bdf2" and not self.touches
        self._system = Restricted(body, body.free_dofs, backend=backend)
        self.iterations = 0

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
        if self._is_linear:
            plan = scheme(self.integrator, self.h, past)
            return _after(past, plan, self._linear(past, plan, load))
        try:
            return self._solved(past, load, self.integrator, self.h)
        except NotConverged:
            if not self.touches:
                raise
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
                for _ in range(pieces):
                    now = self._solved(now, load, "euler", self.h / pieces)
            except NotConverged:
                if pieces == PIECES[-1]:
                    raise
            else:
                break
        return Past(now.u, now.v, now.a, past.u, past.v)

    def touched(self, past: Past) -> list[Touched]:
        """What each obstacle pushes."""
        return [touch.contacts(past.u, past.v) for touch in self.touches]

    def _linear(self, past: Past, plan: Scheme, load: Array) -> Array:
        # eq. (4): forces linearised at (q_n, v_n); the residual is taken where v_{n+1} would be for q_{n+1} = q_n
        zero = np.zeros_like(past.u)
        residual, _ = self._residual(past, plan, zero, load)
        self._fill(past.u, past.v, plan)
        return self._system.solve(-residual)

    def _newton(self, past: Past, plan: Scheme, load: Array, h: float) -> Array:
        step, (residual, scale) = self._first_guess(past, plan, load, h)
        for _ in range(MOST_ITERATIONS):
            error = self._system.norm(residual)
            if error <= TOLERANCE * scale:
                return step
            shift = self._fill(past.u + step, plan.velocity(step), plan, near=error <= NEAR * scale)
            direction = self._system.solve(-residual)
            # a shifted matrix makes any correction small
            if not shift and self._system.norm(direction) <= ROUNDED * self._system.norm(past.u + step):
                return step + direction
            found = self._search(past, plan, load, step, direction, residual)
            if found is None:
                if error <= FLOOR * scale:
                    return step
                raise NotConverged(f"the step found no descent (relative residual {error / scale:.1e}); {_REMEDY}")
            step, residual, scale = found
        raise NotConverged(f"the step did not converge in {MOST_ITERATIONS} Newton iterations; {_REMEDY}")

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
            raise NotConverged(f"the forces overflow; {_REMEDY}")
        return inertial + internal - load, max(scale, np.finfo(float).tiny)

    def _internal(self, u: Array, v: Array) -> Array:
        """f(u) + d(u, v) and what obstacles resist with (n, 3)."""
        internal = self.body.total_force(u, v)
        for touch in self.touches:
            touch.add_force(u, v, internal)
        return internal

    def _fill(self, u: Array, v: Array, plan: Scheme, *, near: bool = False) -> float:
        """Factorise the matrix of the step, and return how much mass had to be added to it."""
        self.iterations += 1
        body, system = self.body, self._system
        tangent = "clamped" if self._is_linear else "exact" if near else "symmetric"
        body.system(u, v, plan.inertia, plan.drag, system.values, tangent=tangent)
        for touch in self.touches:
            touch.add_tangent(u, v, plan.drag, system.values, exact=near)
        if not near:
            return system.factorise_shifted(body.mass_values, plan.inertia)
        if not body.symmetric:
            system.factorise_as("general")
        elif not system.factorise():
            # a shifted matrix would crawl towards a solution at which the tangent is indefinite (something buckles)
            system.factorise_as("symmetric")
        return 0.0


def _after(past: Past, plan: Scheme, step: Array) -> Past:
    return Past(past.u + step, plan.velocity(step), plan.acceleration(step), past.u, past.v)


_REMEDY = "use a smaller dt or more substeps, softer forces, or some damping"


def is_stack(value: ArrayLike | None) -> bool:
    """Whether `value` is an array of three axes; ragged lists are not, and fail their check later."""
    try:
        return np.ndim(value) == 3  # type: ignore[arg-type]
    except ValueError:
        return False


def _state(start: State | ArrayLike | None) -> State:
    if start is None:
        return State()
    return start if isinstance(start, State) else State(displacement=start)


def _load(body: Body, force: Force, gravity: ArrayLike | None, frames: int, dt: float) -> Callable[[float, int], Array]:
    """External force (n, 3) at (time, frame), checked as it is used."""
    weight = np.zeros((body.count, 3)) if gravity is None else body.gravity(gravity)
    if force is None:
        return lambda time, frame: weight
    if callable(force):
        return lambda time, frame: weight + body.checked(force(time), f"force({time:.6g})")
    if is_stack(force):
        rows = checks.real_array(force, "force", (frames, body.count, 3))
        return lambda time, frame: weight + rows[frame]
    constant = weight + body.checked(force, "force")
    return lambda time, frame: constant
