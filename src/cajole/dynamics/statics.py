"""`pose`: static equilibrium under loads, with vertices pinned where they are wanted."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.transform import Rotation

from cajole import checks
from cajole.arrays import Array, IndexArray
from cajole.body import Body, list_vertex_dofs
from cajole.body.embedded_mesh import require_body
from cajole.body.solid import find_inverted_tets
from cajole.dynamics.restricted_system import RestrictedSystem
from cajole.dynamics.simulation import has_three_axes
from cajole.errors import InputError, InversionWarning, LoadError, NotConverged, SolveError
from cajole.progress import ProgressCallback, report_progress

# Torque that may be left, relative to Σ|f| times the body's size.
TORQUE_TOLERANCE = 1e-12
MAX_ROTATION_ITERATIONS = 60
# Largest turn of one round [rad].
MAX_ROTATION_STEP = 0.3
# Turns about axes with less stiffness than this share of the largest are undecided (about the loads' own direction).
SINGULAR_AXIS_SHARE = 1e-7


def balance_torques(
    body: Body, u: Array, load: Array, components: list[IndexArray], solve: Callable[[Array, Array], Array]
) -> Array:
    """f(u) = load with the centre of mass of every loose piece in place.

    u: the pose under `load` with rigid motions held; solve(u, load): that pose again under another load, from u.
    """
    turns = [_ComponentRotation(body, piece) for piece in components]
    scale = float(np.abs(load).sum()) * body.size
    for _ in range(MAX_ROTATION_ITERATIONS):
        torques = [turn.compute_torque(u, load) for turn in turns]
        if max(float(np.linalg.norm(torque)) for torque in torques) <= TORQUE_TOLERANCE * scale:
            for turn in turns:
                turn.rotate_back(u)
            return u
        load = load.copy()
        for turn, torque in zip(turns, torques):
            turn.rotate_loads(u, load, torque)
        u = solve(u, load)
    raise NotConverged(
        "the loads balance at rest, but keep turning the deformed body; fix or pin some vertices, or reduce the loads"
    )


class _ComponentRotation:
    """How far one loose piece has been turned, and Broyden's estimate of how the torque answers a turn."""

    def __init__(self, body: Body, piece: IndexArray):
        self.body, self.component = body, piece
        self.masses = body.vertex_masses[piece]
        self.rotation = Rotation.identity()
        self._torque_jacobian: Array | None = None
        self._last_update: tuple[Array, Array] | None = None

    def _compute_centre_offsets(self, u: Array) -> tuple[Array, Array]:
        x = self.body.vertices[self.component] + u[self.component]
        centre = self.masses @ x / self.masses.sum()
        return x - centre, centre

    def compute_torque(self, u: Array, load: Array) -> Array:
        """Σ x × f."""
        return np.cross(self._compute_centre_offsets(u)[0], load[self.component]).sum(axis=0)

    def rotate_loads(self, u: Array, load: Array, torque: Array) -> None:
        """Turn the loads on this piece (in place) by the δ that should bring the torque to zero."""
        delta = -_compute_pseudo_inverse(self._update_torque_jacobian(u, load, torque)) @ torque
        delta *= min(1.0, MAX_ROTATION_STEP / max(float(np.linalg.norm(delta)), 1e-300))
        back = Rotation.from_rotvec(-delta)
        load[self.component] = back.apply(load[self.component])
        self.rotation = self.rotation * Rotation.from_rotvec(delta)
        self._last_update = (delta, torque)

    def rotate_back(self, u: Array) -> None:
        """Turn the piece of `u` (in place) as far as its loads were turned the other way."""
        arms, centre = self._compute_centre_offsets(u)
        u[self.component] = centre + self.rotation.apply(arms) - self.body.vertices[self.component]

    def _update_torque_jacobian(self, u: Array, load: Array, torque: Array) -> Array:
        """dτ/dδ: that of a rigid body, -(tr(S) I - Sᵀ) with S = Σ x fᵀ, corrected by the last round (Broyden)."""
        if self._torque_jacobian is None or self._last_update is None:
            S = self._compute_centre_offsets(u)[0].T @ load[self.component]
            self._torque_jacobian = -(np.trace(S) * np.eye(3) - S.T)
        else:
            delta, before = self._last_update
            change = torque - before - self._torque_jacobian @ delta
            self._torque_jacobian = self._torque_jacobian + np.outer(change, delta) / (delta @ delta)
        return self._torque_jacobian


def _compute_pseudo_inverse(matrix: Array) -> Array:
    return np.asarray(np.linalg.pinv(matrix, rcond=SINGULAR_AXIS_SHARE), dtype=np.float64)


# Corrections kept; each is two vectors.
MAX_PAIRS = 12
# Steps that do not halve the least residual so far, after which a new tangent is cheaper.
MAX_SLOW_STEPS = 8
# Cosine between a step and its change of force below which the body did not resist it.
MIN_CURVATURE_COSINE = 1e-12


class LBFGSHistory:
    """Pairs of steps s (n, 3) and changes of force y (n, 3) since a tangent K was factorised."""

    def __init__(self) -> None:
        self._pairs: list[tuple[Array, Array, float]] = []
        self.reset_progress()

    def reset_progress(self) -> None:
        """Count progress from here, with the pairs there are: another load, whose residuals are others."""
        self._best_residual, self._slow_steps = np.inf, 0

    def clear(self) -> None:
        """Begin again, with a new tangent."""
        self._pairs = []
        self.reset_progress()

    def record_residual(self, residual: float) -> bool:
        """Whether further steps do, after one that left the residual `error`: slow ones would go on for hundreds."""
        halved = residual <= 0.5 * self._best_residual
        self._slow_steps = 0 if halved else self._slow_steps + 1
        self._best_residual = residual if halved else self._best_residual
        return self._slow_steps < MAX_SLOW_STEPS

    def add_pair(self, step: Array, change: Array) -> None:
        """Keep a pair if sᵀy > 0: with any other the corrected tangent would not be positive definite."""
        product = float((step * change).sum())
        if product > MIN_CURVATURE_COSINE * float(np.linalg.norm(step) * np.linalg.norm(change)):
            self._pairs = [*self._pairs, (step, change, product)][-MAX_PAIRS:]

    def apply_inverse(self, rhs: Array, solve_tangent: Callable[[Array], Array]) -> Array:
        """H right, where H is the inverse of K corrected so that H y = s for every pair; tangent(b): K⁻¹ b."""
        shares = []
        for step, change, product in reversed(self._pairs):
            shares.append(float((step * rhs).sum()) / product)
            rhs = rhs - shares[-1] * change
        out = solve_tangent(rhs)
        for (step, change, product), share in zip(self._pairs, reversed(shares)):
            out = out + (share - float((change * out).sum()) / product) * step
        return out


VertexVectors = Mapping[int, ArrayLike]

# Forces left, as a share of those at work; of a pose that follows the hand, where each further digit is waited for.
TOLERANCE, INTERACTIVE_TOLERANCE = 1e-11, 1e-10
# Share of the first forces below which the last ones are rounding: a body on its way back to rest ends with none.
ZERO_FORCE_SHARE = 1e-15
# The same while the hand still moves, and how many tangents are factorised for it: what is left can hardly be seen,
# and the next move goes on from there.
PREVIEW_TOLERANCE, PREVIEW_MAX_FACTORISATIONS = 1e-3, 1
# What rounding may leave on stiff meshes when no further step lowers the energy.
STALLED_TOLERANCE = 1e-7
MAX_ITERATIONS = 300
MAX_BACKTRACKS = 25
# Forces below this share of stiffness times displacement are rounding: a body moved as a whole feels none.
ROUNDING_FORCE_SHARE = 1e-5
# Where the tangent is not positive definite, mass times this share of K/M is added first, then ever more.
MIN_SHIFT = 1e-8
# A factorised tangent, corrected by the steps since (`Secants`), serves again while steps lower the energy and the
# residual stays below this multiple, as it may rise where the body bends: a new tangent costs eight to twenty steps.
MAX_RESIDUAL_GROWTH = 2.0
# Where the last tangent needed mass to be positive definite, this share of it is tried first: in snap-through, where
# many in a row do, each would else be factorised seven times over on the way up from the least.
SHIFT_DECAY = 0.1
# Pins are moved in one go, and when that fails in ever smaller parts down to this share.
MIN_PIN_INCREMENT = 1 / 256
# A free body's load balances when its net force and torque are below this share of the sum of |forces|.
BALANCE_TOLERANCE = 1e-6


def pose(
    body: Body,
    loads: VertexVectors | ArrayLike | None = None,
    pins: VertexVectors | None = None,
    start: ArrayLike | None = None,
    *,
    gravity: ArrayLike | None = None,
    progress: ProgressCallback | None = None,
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
    pinned, targets = _parse_vertex_vectors(body, {} if pins is None else pins, "pins")
    _require_free_pins(body, pinned)
    u = np.zeros((body.vertex_count, 3)) if start is None else body.check_vertex_vectors(start, "start").copy()
    body.require_zero_at_fixed_vertices(u, "start displacement")
    weight = np.zeros((body.vertex_count, 3)) if gravity is None else body.gravity(gravity)
    solver = StaticSolver(body, pinned, weight, progress=progress)
    stacked = not isinstance(loads, Mapping) and has_three_axes(loads)
    stack = (
        checks.require_real_array(loads, "loads", (None, body.vertex_count, 3))  # type: ignore[arg-type]
        if stacked
        else _parse_loads(body, loads)[None]
    )
    out = np.empty_like(stack)
    try:
        for case, load in enumerate(stack):
            out[case] = u = solver.solve(u, load, targets)
    except SolveError as reason:
        raise type(reason)(f"{reason}{body.unit_hint}") from None
    for case, found in enumerate(out):
        warn_about_inversion(body, found, f"load case {case}: " if stacked else "")
    return out if stacked else out[0]


def warn_about_inversion(body: Body, displacement: Array, prefix: str = "") -> None:
    """Warn the caller's caller with InversionWarning if a pose (n, 3) turns tets inside out."""
    found = find_inverted_tets(body, displacement)
    if found is not None:
        warnings.warn(f"{prefix}{found}", InversionWarning, stacklevel=3)


class _StaticIterate(NamedTuple):
    """A displacement, its total energy W - f·u, the gradient of it that is left, and the size of the forces."""

    displacement: Array
    energy: float
    gradient: Array
    residual: float
    force_scale: float


class StaticSolver:
    """Newton on the coordinates neither fixed nor `pinned`, one pattern for every load case.

    weight: (n, 3) [N], added to every load.
    """

    def __init__(self, body: Body, pinned: IndexArray, weight: Array, *, progress: ProgressCallback | None = None):
        self.body, self.pinned, self.weight, self.progress = body, pinned, weight, progress
        self._rigid_modes = body.compute_unconstrained_rigid_modes(pinned)
        self._unconstrained_components = [
            piece for piece in body.connected_components if np.any(self._rigid_modes[3 * piece[0]] != 0)
        ]
        dofs = np.setdiff1d(body.free_dofs, list_vertex_dofs(pinned))
        if len(dofs) == 0:
            raise InputError("every vertex is fixed or pinned, so nothing is left to solve; leave one free")
        border = body.mass @ self._rigid_modes if self._rigid_modes.shape[1] else None
        self._system = RestrictedSystem(body, dofs, border=border)
        stiff, heavy = body.stiffness().diagonal()[dofs], body.mass.diagonal()[dofs]
        self._can_reuse_tangent = False
        self._lbfgs = LBFGSHistory()
        self._min_shift = MIN_SHIFT * stiff.mean() / heavy.mean()
        self._last_shift, self._last_nonzero_shift, self._tolerance, self._preview = 0.0, 0.0, TOLERANCE, False
        self._rounding_stiffness = ROUNDING_FORCE_SHARE * float(stiff.max())

    def solve(
        self, u: Array, load: Array, targets: Array, *, reuse_tangent: bool = False, preview: bool = False
    ) -> Array:
        """The pose under `load` (n, 3) with the pins at `targets` (k, 3), from u (n, 3).

        warm: begin with the tangent factorised last, which is near when u was solved for just before, and end at
        WARM_TOLERANCE. rough: end at ROUGH_TOLERANCE, or where another tangent would be needed than the
        ROUGH_TANGENTS that are allowed.
        Raises LoadError or NotConverged, see `pose`.
        """
        load = load + self.weight
        self._require_balance(load)
        u = self._remove_rigid_part(u)
        self._can_reuse_tangent = self._can_reuse_tangent and reuse_tangent
        self._tolerance = PREVIEW_TOLERANCE if preview else INTERACTIVE_TOLERANCE if reuse_tangent else TOLERANCE
        self._preview = preview
        done, part = 0.0, 1.0
        begin = u[self.pinned].copy()
        while True:
            goal = begin + (done + part) * (targets - begin)
            try:
                found = self._solve_newton(self._predict_pin_displacement(u, goal), load)
            except NotConverged:
                if len(self.pinned) == 0 or part <= MIN_PIN_INCREMENT:
                    raise
                part *= 0.5
                self._can_reuse_tangent = False
                continue
            u, done = found, done + part
            if done >= 1.0 - 1e-12:
                return (
                    balance_torques(self.body, u, load, self._unconstrained_components, self._solve_newton)
                    if self._unconstrained_components
                    else u
                )
            part = min(2.0 * part, 1.0 - done)

    def solve_linear_response(self, u: Array, loads: Array) -> Array:
        """K(u)⁻¹ loads (k, n, 3) [m]: how far small further loads (k, n, 3) [N] would each move a pose u (n, 3).

        A warm `solve` goes on with the tangent that this factorises. Raises NotConverged where that is singular.
        """
        first = self._solve_newton_direction(u, -loads[0])
        return np.stack([first, *(self._system.solve(load) for load in loads[1:])])

    def _predict_pin_displacement(self, u: Array, pin_targets: Array) -> Array:
        """Move the pins to `goal` and the rest by its linear response, so that no tet at a pin is crushed."""
        if len(self.pinned) == 0 or np.array_equal(u[self.pinned], pin_targets):
            return u
        jump = np.zeros_like(u)
        jump[self.pinned] = pin_targets - u[self.pinned]
        if not self._can_reuse_tangent:
            self._assemble_tangent(u)
        pull = (self.body.pattern.build_matrix(self._system.values) @ jump.ravel()).reshape(-1, 3)
        out = (
            u + jump + (self._system.solve(-pull) if self._can_reuse_tangent else self._solve_newton_direction(u, pull))
        )
        out[self.pinned] = pin_targets
        return out

    def _solve_newton(self, u: Array, load: Array) -> Array:
        at = self._evaluate(u, load)
        least = ZERO_FORCE_SHARE * at.force_scale
        self._lbfgs.reset_progress()
        tangents, most = 0, PREVIEW_MAX_FACTORISATIONS if self._preview else MAX_ITERATIONS
        for iteration in range(MAX_ITERATIONS):
            report_progress(
                self.progress, 1.0 - min(1.0, at.residual / max(at.force_scale, 1e-300)), f"pose, iteration {iteration}"
            )
            if at.residual <= max(self._tolerance * at.force_scale, least):
                return self._remove_rigid_drift(u, at.displacement)
            after = self._try_lbfgs_step(at, load)
            if after is None and tangents < most:
                after, tangents = self._search_line(at, load), tangents + 1
            if after is None:
                return self._remove_rigid_drift(u, at.displacement)
            at = after
        raise NotConverged(f"no equilibrium after {MAX_ITERATIONS} Newton iterations; {_REMEDY}")

    def _try_lbfgs_step(self, iterate: _StaticIterate, load: Array) -> _StaticIterate | None:
        """The step with the tangent factorised last and corrected since, if it gains enough."""
        if not self._can_reuse_tangent:
            return None
        try:
            after = self._evaluate(
                iterate.displacement + self._lbfgs.apply_inverse(-iterate.gradient, self._system.solve), load
            )
        except SolveError:
            self._can_reuse_tangent = False
            return None
        self._lbfgs.add_pair(after.displacement - iterate.displacement, after.gradient - iterate.gradient)
        good = (
            after.residual <= MAX_RESIDUAL_GROWTH * iterate.residual
            and after.energy <= iterate.energy + _estimate_energy_rounding(iterate, after)
        )
        self._can_reuse_tangent = good and self._lbfgs.record_residual(after.residual)
        return after if good else None

    def _search_line(self, iterate: _StaticIterate, load: Array) -> _StaticIterate | None:
        """The Newton step, halved until the energy falls; None where rounding stops it close to the solution."""
        direction = self._solve_newton_direction(iterate.displacement, iterate.gradient)
        slope = float((iterate.gradient * direction).sum())
        length = 1.0
        for _ in range(MAX_BACKTRACKS):
            after = self._evaluate(iterate.displacement + length * direction, load)
            # near the solution energies agree to rounding and only the residual tells
            flat = abs(after.energy - iterate.energy) <= _estimate_energy_rounding(iterate, after)
            if after.energy <= iterate.energy + 1e-4 * length * slope or (flat and after.residual < iterate.residual):
                return after
            length *= 0.5
        if iterate.residual <= STALLED_TOLERANCE * iterate.force_scale:
            return None
        raise NotConverged(
            f"no descent from a relative residual of {iterate.residual / iterate.force_scale:.1e}; {_REMEDY}"
        )

    def _evaluate(self, u: Array, load: Array) -> _StaticIterate:
        """Total energy and its gradient without the part along rigid motions."""
        force = self.body.force(u)
        gradient = force - load
        if self._rigid_modes.shape[1]:
            held = self._rigid_modes.T @ gradient.ravel()
            gradient = gradient - (self.body.mass @ (self._rigid_modes @ held)).reshape(-1, 3)
        with np.errstate(over="ignore"):
            norms = [float(np.linalg.norm(part)) for part in (force, load, self._rounding_stiffness * u)]
        scale = max(*norms)
        if not np.isfinite(scale):
            raise NotConverged(f"the forces overflow; {_REMEDY}")
        energy = self.body.energy(u) - float((load * u).sum())
        return _StaticIterate(u, energy, gradient, self._system.compute_norm(gradient), scale)

    def _solve_newton_direction(self, u: Array, gradient: Array) -> Array:
        """-K⁻¹ gradient; where K is singular to rounding (the body can still turn), with a little mass added."""
        self._can_reuse_tangent = False
        for added in (0.0, *(self._min_shift * 100.0**power for power in range(6))):
            self._assemble_tangent(u)
            self._system.values += added * self.body.mass_values
            self._factorise_with_shift()
            try:
                direction = self._system.solve(-gradient)
            except SolveError:
                continue
            self._can_reuse_tangent = True
            return direction
        raise NotConverged(f"the tangent stiffness is singular; fix or pin more vertices, or {_REMEDY}")

    def _factorise_with_shift(self) -> None:
        """The tangent with as little mass as makes it positive definite, sought near what the last ones needed."""
        first = SHIFT_DECAY * self._last_shift
        least = max(self._min_shift, SHIFT_DECAY * self._last_nonzero_shift)
        self._last_shift = self._system.factorise_with_shift(
            self.body.mass_values, least, start_shift=first if first >= self._min_shift else 0.0
        )
        self._last_nonzero_shift = self._last_shift or self._last_nonzero_shift
        self._lbfgs.clear()

    def _assemble_tangent(self, u: Array) -> None:
        self._system.values[:] = self.body.stiffness(u).data

    def _remove_rigid_drift(self, start: Array, u: Array) -> Array:
        """u without the rigid motion since `begin` that the rounding of many solves has added up to."""
        return u if self._rigid_modes.shape[1] == 0 else start + self._remove_rigid_part(u - start)

    def _remove_rigid_part(self, u: Array) -> Array:
        if self._rigid_modes.shape[1] == 0:
            return u
        part = self._rigid_modes @ (self._rigid_modes.T @ (self.body.mass @ u.ravel()))
        return u - part.reshape(-1, 3)

    def _require_balance(self, load: Array) -> None:
        net = self._rigid_modes.T @ load.ravel()
        # R is mass-orthonormal: per unit load it is about 1/√m, which makes this ratio a share of the forces
        share = np.linalg.norm(net) * np.sqrt(self.body.total_mass) / max(np.abs(load).sum(), 1e-300)
        if share > BALANCE_TOLERANCE:
            force = ", ".join(f"{value:.3g}" for value in load.sum(axis=0))
            raise LoadError(
                f"nothing holds this body (or a piece of it), and the loads do not balance: their net force is "
                f"({force}) N and {share:.1%} of them would push or turn it; fix or pin some vertices, or add "
                "opposite loads"
            )


_REMEDY = "apply the load in stages, each started from the one before, or reduce it"


def _parse_vertex_vectors(body: Body, given: VertexVectors, name: str) -> tuple[IndexArray, Array]:
    """Vertices and their vectors (k, 3), checked."""
    if not isinstance(given, Mapping):
        raise InputError(f"{name} must be {{vertex: (x, y, z)}}, not {checks.format_value(given)}")
    vertices = checks.require_index_array(list(given), f"vertices of {name}", (None,), body.vertex_count)
    values = [checks.require_real_array(value, f"{name}[{vertex}]", (3,)) for vertex, value in given.items()]
    return vertices, np.array(values).reshape(-1, 3)


def _parse_loads(body: Body, loads: VertexVectors | ArrayLike | None) -> Array:
    if loads is None:
        return np.zeros((body.vertex_count, 3))
    if not isinstance(loads, Mapping):
        return body.check_vertex_vectors(loads, "loads")
    vertices, values = _parse_vertex_vectors(body, loads, "loads")
    force = np.zeros((body.vertex_count, 3))
    force[vertices] = values
    return force


def _require_free_pins(body: Body, pinned: IndexArray) -> None:
    both = np.intersect1d(pinned, body.fixed)
    if len(both):
        raise InputError(f"vertex {both[0]} is pinned but also fixed in the body; pin another or leave it free")


def _estimate_energy_rounding(first: _StaticIterate, second: _StaticIterate) -> float:
    """How much two energies may differ by rounding."""
    return 1e-12 * max(abs(first.energy), abs(second.energy))
