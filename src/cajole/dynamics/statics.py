"""`pose`: static equilibrium under loads, with vertices pinned where they are wanted."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from cajole import checks
from cajole.arrays import Array, IndexArray
from cajole.body import Body, dofs_of
from cajole.body.around import require_body
from cajole.body.inversion import find_inversion
from cajole.dynamics.restricted import Restricted
from cajole.dynamics.secants import Secants
from cajole.dynamics.simulation import is_stack
from cajole.dynamics.turning import turned
from cajole.errors import InputError, InversionWarning, LoadError, NotConverged, SolveError
from cajole.progress import Progress, report

Vectors = Mapping[int, ArrayLike]

# Forces left, as a share of those at work; of a pose that follows the hand, where each further digit is waited for.
TOLERANCE, WARM_TOLERANCE = 1e-11, 1e-10
# Share of the first forces below which the last ones are rounding: a body on its way back to rest ends with none.
VANISHED = 1e-15
# The same while the hand still moves, and how many tangents are factorised for it: what is left can hardly be seen,
# and the next move goes on from there.
ROUGH_TOLERANCE, ROUGH_TANGENTS = 1e-3, 1
# What rounding may leave on stiff meshes when no further step lowers the energy.
FLOOR = 1e-7
MOST_ITERATIONS = 300
MOST_HALVINGS = 25
# Forces below this share of stiffness times displacement are rounding: a body moved as a whole feels none.
ROUNDING = 1e-5
# Where the tangent is not positive definite, mass times this share of K/M is added first, then ever more.
SMALLEST_SHIFT = 1e-8
# A factorised tangent, corrected by the steps since (`Secants`), serves again while steps lower the energy and the
# residual stays below this multiple, as it may rise where the body bends: a new tangent costs eight to twenty steps.
REUSED_GROWTH = 2.0
# Where the last tangent needed mass to be positive definite, this share of it is tried first: in snap-through, where
# many in a row do, each would else be factorised seven times over on the way up from the least.
SHIFT_KEPT = 0.1
# Pins are moved in one go, and when that fails in ever smaller parts down to this share.
SMALLEST_PART = 1 / 256
# A free body's load balances when its net force and torque are below this share of the sum of |forces|.
BALANCE = 1e-6


def pose(
    body: Body,
    loads: Vectors | ArrayLike | None = None,
    pins: Vectors | None = None,
    start: ArrayLike | None = None,
    *,
    gravity: ArrayLike | None = None,
    progress: Progress | None = None,
) -> Array:
    """Static equilibrium u (n, 3) [m]: f(u) = loads on the free vertices, by Newton with energy backtracking.

    loads: {vertex: (fx, fy, fz)} [N], or forces (n, 3), or stacked load cases (k, n, 3), which give (k, n, 3), each
        started from the one before.
    pins: {vertex: (dx, dy, dz)} [m], displacements held exactly.
    start: displacement (n, 3) to start from; gravity: acceleration (3,) [m/s²], or a number, which is down (-z).
    A piece that nothing holds keeps its place (its centre of mass), and its loads must balance at rest; it turns as far
    as they ask. Raises LoadError when they do not balance, NotConverged when no equilibrium is found.
    Warns with InversionWarning when the material gives way and tets are turned inside out: how many, which and where;
    `body.inverted(u)` gives all of them.
    """
    require_body(body)
    pinned, targets = _vectors(body, {} if pins is None else pins, "pins")
    _refuse_fixed(body, pinned)
    u = np.zeros((body.count, 3)) if start is None else body.checked(start, "start").copy()
    body.require_still(u, "start displacement")
    weight = np.zeros((body.count, 3)) if gravity is None else body.gravity(gravity)
    solver = Statics(body, pinned, weight, progress=progress)
    stacked = not isinstance(loads, Mapping) and is_stack(loads)
    stack = checks.real_array(loads, "loads", (None, body.count, 3)) if stacked else _forces(body, loads)[None]  # type: ignore[arg-type]
    out = np.empty_like(stack)
    try:
        for case, load in enumerate(stack):
            out[case] = u = solver.solve(u, load, targets)
    except SolveError as reason:
        raise type(reason)(f"{reason}{body.size_hint}") from None
    for case, found in enumerate(out):
        warn_if_inverted(body, found, f"load case {case}: " if stacked else "")
    return out if stacked else out[0]


def warn_if_inverted(body: Body, displacement: Array, prefix: str = "") -> None:
    """Warn the caller's caller with InversionWarning if a pose (n, 3) turns tets inside out."""
    found = find_inversion(body, displacement)
    if found is not None:
        warnings.warn(f"{prefix}{found}", InversionWarning, stacklevel=3)


class _Guess(NamedTuple):
    """A displacement, its total energy W - f·u, the gradient of it that is left, and the size of the forces."""

    u: Array
    energy: float
    gradient: Array
    error: float
    scale: float


class Statics:
    """Newton on the coordinates neither fixed nor `pinned`, one pattern for every load case.

    weight: (n, 3) [N], added to every load.
    """

    def __init__(self, body: Body, pinned: IndexArray, weight: Array, *, progress: Progress | None = None):
        self.body, self.pinned, self.weight, self.progress = body, pinned, weight, progress
        self._rigid = body.drifting_motions(pinned)
        self._loose = [piece for piece in body.pieces if np.any(self._rigid[3 * piece[0]] != 0)]
        dofs = np.setdiff1d(body.free_dofs, dofs_of(pinned))
        if len(dofs) == 0:
            raise InputError("every vertex is fixed or pinned, so nothing is left to solve; leave one free")
        border = body.mass @ self._rigid if self._rigid.shape[1] else None
        self._system = Restricted(body, dofs, border=border)
        stiff, heavy = body.stiffness().diagonal()[dofs], body.mass.diagonal()[dofs]
        self._reusable = False
        self._secants = Secants()
        self._shift = SMALLEST_SHIFT * stiff.mean() / heavy.mean()
        self._added, self._needed, self._tolerance, self._rough = 0.0, 0.0, TOLERANCE, False
        self._rounding = ROUNDING * float(stiff.max())

    def solve(self, u: Array, load: Array, targets: Array, *, warm: bool = False, rough: bool = False) -> Array:
        """The pose under `load` (n, 3) with the pins at `targets` (k, 3), from u (n, 3).

        warm: begin with the tangent factorised last, which is near when u was solved for just before, and end at
        WARM_TOLERANCE. rough: end at ROUGH_TOLERANCE, or where another tangent would be needed than the
        ROUGH_TANGENTS that are allowed.
        Raises LoadError or NotConverged, see `pose`.
        """
        load = load + self.weight
        self._require_balance(load)
        u = self._without_rigid(u)
        self._reusable = self._reusable and warm
        self._tolerance = ROUGH_TOLERANCE if rough else WARM_TOLERANCE if warm else TOLERANCE
        self._rough = rough
        done, part = 0.0, 1.0
        begin = u[self.pinned].copy()
        while True:
            goal = begin + (done + part) * (targets - begin)
            try:
                found = self._newton(self._predicted(u, goal), load)
            except NotConverged:
                if len(self.pinned) == 0 or part <= SMALLEST_PART:
                    raise
                part *= 0.5
                self._reusable = False
                continue
            u, done = found, done + part
            if done >= 1.0 - 1e-12:
                return turned(self.body, u, load, self._loose, self._newton) if self._loose else u
            part = min(2.0 * part, 1.0 - done)

    def response(self, u: Array, loads: Array) -> Array:
        """K(u)⁻¹ loads (k, n, 3) [m]: how far small further loads (k, n, 3) [N] would each move a pose u (n, 3).

        A warm `solve` goes on with the tangent that this factorises. Raises NotConverged where that is singular.
        """
        first = self._direction(u, -loads[0])
        return np.stack([first, *(self._system.solve(load) for load in loads[1:])])

    def _predicted(self, u: Array, goal: Array) -> Array:
        """Move the pins to `goal` and the rest by its linear response, so that no tet at a pin is crushed."""
        if len(self.pinned) == 0 or np.array_equal(u[self.pinned], goal):
            return u
        jump = np.zeros_like(u)
        jump[self.pinned] = goal - u[self.pinned]
        if not self._reusable:
            self._tangent(u)
        pull = (self.body.pattern.matrix(self._system.values) @ jump.ravel()).reshape(-1, 3)
        out = u + jump + (self._system.solve(-pull) if self._reusable else self._direction(u, pull))
        out[self.pinned] = goal
        return out

    def _newton(self, u: Array, load: Array) -> Array:
        at = self._state(u, load)
        least = VANISHED * at.scale
        self._secants.begin()
        tangents, most = 0, ROUGH_TANGENTS if self._rough else MOST_ITERATIONS
        for iteration in range(MOST_ITERATIONS):
            report(self.progress, 1.0 - min(1.0, at.error / max(at.scale, 1e-300)), f"pose, iteration {iteration}")
            if at.error <= max(self._tolerance * at.scale, least):
                return self._in_place(u, at.u)
            after = self._reused(at, load)
            if after is None and tangents < most:
                after, tangents = self._searched(at, load), tangents + 1
            if after is None:
                return self._in_place(u, at.u)
            at = after
        raise NotConverged(f"no equilibrium after {MOST_ITERATIONS} Newton iterations; {_REMEDY}")

    def _reused(self, at: _Guess, load: Array) -> _Guess | None:
        """The step with the tangent factorised last and corrected since, if it gains enough."""
        if not self._reusable:
            return None
        try:
            after = self._state(at.u + self._secants.solve(-at.gradient, self._system.solve), load)
        except SolveError:
            self._reusable = False
            return None
        self._secants.learn(after.u - at.u, after.gradient - at.gradient)
        good = after.error <= REUSED_GROWTH * at.error and after.energy <= at.energy + _slack(at, after)
        self._reusable = good and self._secants.pay(after.error)
        return after if good else None

    def _searched(self, at: _Guess, load: Array) -> _Guess | None:
        """The Newton step, halved until the energy falls; None where rounding stops it close to the solution."""
        direction = self._direction(at.u, at.gradient)
        slope = float((at.gradient * direction).sum())
        length = 1.0
        for _ in range(MOST_HALVINGS):
            after = self._state(at.u + length * direction, load)
            # near the solution energies agree to rounding and only the residual tells
            flat = abs(after.energy - at.energy) <= _slack(at, after)
            if after.energy <= at.energy + 1e-4 * length * slope or (flat and after.error < at.error):
                return after
            length *= 0.5
        if at.error <= FLOOR * at.scale:
            return None
        raise NotConverged(f"no descent from a relative residual of {at.error / at.scale:.1e}; {_REMEDY}")

    def _state(self, u: Array, load: Array) -> _Guess:
        """Total energy and its gradient without the part along rigid motions."""
        force = self.body.force(u)
        gradient = force - load
        if self._rigid.shape[1]:
            held = self._rigid.T @ gradient.ravel()
            gradient = gradient - (self.body.mass @ (self._rigid @ held)).reshape(-1, 3)
        with np.errstate(over="ignore"):
            norms = [float(np.linalg.norm(part)) for part in (force, load, self._rounding * u)]
        scale = max(*norms)
        if not np.isfinite(scale):
            raise NotConverged(f"the forces overflow; {_REMEDY}")
        energy = self.body.energy(u) - float((load * u).sum())
        return _Guess(u, energy, gradient, self._system.norm(gradient), scale)

    def _direction(self, u: Array, gradient: Array) -> Array:
        """-K⁻¹ gradient; where K is singular to rounding (the body can still turn), with a little mass added."""
        self._reusable = False
        for added in (0.0, *(self._shift * 100.0**power for power in range(6))):
            self._tangent(u)
            self._system.values += added * self.body.mass_values
            self._factorise()
            try:
                direction = self._system.solve(-gradient)
            except SolveError:
                continue
            self._reusable = True
            return direction
        raise NotConverged(f"the tangent stiffness is singular; fix or pin more vertices, or {_REMEDY}")

    def _factorise(self) -> None:
        """The tangent with as little mass as makes it positive definite, sought near what the last ones needed."""
        first = SHIFT_KEPT * self._added
        least = max(self._shift, SHIFT_KEPT * self._needed)
        self._added = self._system.factorise_shifted(
            self.body.mass_values, least, first=first if first >= self._shift else 0.0
        )
        self._needed = self._added or self._needed
        self._secants.forget()

    def _tangent(self, u: Array) -> None:
        self._system.values[:] = self.body.stiffness(u).data

    def _in_place(self, begin: Array, u: Array) -> Array:
        """u without the rigid motion since `begin` that the rounding of many solves has added up to."""
        return u if self._rigid.shape[1] == 0 else begin + self._without_rigid(u - begin)

    def _without_rigid(self, u: Array) -> Array:
        if self._rigid.shape[1] == 0:
            return u
        part = self._rigid @ (self._rigid.T @ (self.body.mass @ u.ravel()))
        return u - part.reshape(-1, 3)

    def _require_balance(self, load: Array) -> None:
        net = self._rigid.T @ load.ravel()
        # R is mass-orthonormal: per unit load it is about 1/√m, which makes this ratio a share of the forces
        share = np.linalg.norm(net) * np.sqrt(self.body.total_mass) / max(np.abs(load).sum(), 1e-300)
        if share > BALANCE:
            force = ", ".join(f"{value:.3g}" for value in load.sum(axis=0))
            raise LoadError(
                f"nothing holds this body (or a piece of it), and the loads do not balance: their net force is "
                f"({force}) N and {share:.1%} of them would push or turn it; fix or pin some vertices, or add "
                "opposite loads"
            )


_REMEDY = "apply the load in stages, each started from the one before, or reduce it"


def _vectors(body: Body, given: Vectors, name: str) -> tuple[IndexArray, Array]:
    """Vertices and their vectors (k, 3), checked."""
    if not isinstance(given, Mapping):
        raise InputError(f"{name} must be {{vertex: (x, y, z)}}, not {checks.shown(given)}")
    vertices = checks.index_array(list(given), f"vertices of {name}", (None,), body.count)
    values = [checks.real_array(value, f"{name}[{vertex}]", (3,)) for vertex, value in given.items()]
    return vertices, np.array(values).reshape(-1, 3)


def _forces(body: Body, loads: Vectors | ArrayLike | None) -> Array:
    if loads is None:
        return np.zeros((body.count, 3))
    if not isinstance(loads, Mapping):
        return body.checked(loads, "loads")
    vertices, values = _vectors(body, loads, "loads")
    force = np.zeros((body.count, 3))
    force[vertices] = values
    return force


def _refuse_fixed(body: Body, pinned: IndexArray) -> None:
    both = np.intersect1d(pinned, body.fixed)
    if len(both):
        raise InputError(f"vertex {both[0]} is pinned but also fixed in the body; pin another or leave it free")


def _slack(one: _Guess, other: _Guess) -> float:
    """How much two energies may differ by rounding."""
    return 1e-12 * max(abs(one.energy), abs(other.energy))
