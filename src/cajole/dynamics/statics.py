"""`pose`: static equilibrium under loads and prescribed displacements."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
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
from cajole.linalg.line_search import backtrack, satisfies_armijo
from cajole.progress import ProgressCallback, report_progress

VertexVectors = Mapping[int, ArrayLike]


@dataclass(frozen=True)
class StaticsOptions:
    """Tolerances and limits of `StaticSolver`; residuals are relative to the forces."""

    # converged; interactive: while a vertex is dragged, where every further digit delays the display
    tolerance: float = 1e-11
    interactive_tolerance: float = 1e-10
    # converged during a drag, and its number of factorisations: the next drag event continues from there
    preview_tolerance: float = 1e-3
    preview_max_factorisations: int = 1
    # residuals below this share of the first forces are rounding: a body that returns to rest ends without forces
    zero_force_share: float = 1e-15
    # accepted if no step decreases the energy: rounding of stiff meshes
    stalled_tolerance: float = 1e-7
    max_iterations: int = 300
    max_backtracks: int = 25
    # forces below this share of stiffness times displacement are rounding: a translated body has none
    rounding_force_share: float = 1e-5
    # mass times this share of K/M is added first to an indefinite tangent, then ever more
    min_shift: float = 1e-8
    # If the last tangent needed a shift, this share of it is tried first: in snap-through, where many tangents in a
    # row need one, each would otherwise be factorised seven times.
    shift_decay: float = 0.1
    # A factorised tangent with L-BFGS corrections is used again while the energy falls and the residual stays below
    # this multiple; it can rise where the body bends. A new tangent costs eight to twenty steps.
    max_residual_growth: float = 2.0
    # pins are moved in one step, and after a failure in smaller parts down to this share
    min_pin_increment: float = 1 / 256
    # the load on a free body is balanced if net force and torque are below this share of Σ|f|
    balance_tolerance: float = 1e-6
    remedy: str = "apply the load in stages, each started from the one before, or reduce it"


def balance_torques(
    body: Body, u: Array, load: Array, components: list[IndexArray], solve: Callable[[Array, Array], Array]
) -> Array:
    """Rotate free components until f(u) = load, with their centres of mass fixed.

    u: the pose under `load` without rigid motions; solve(u, load): that pose under another load, starting from u.
    The loads are rotated instead of the body, by δ from Broyden's method for zero torque τ(δ) of each component.
    Raises NotConverged after 60 rounds, which move by at most 0.3 rad each.
    """
    rotations = [_ComponentRotation(body, component) for component in components]
    scale = float(np.abs(load).sum()) * body.size
    for _ in range(60):
        torques = [rotation.compute_torque(u, load) for rotation in rotations]
        if max(float(np.linalg.norm(torque)) for torque in torques) <= 1e-12 * scale:
            for rotation in rotations:
                rotation.rotate_back(u)
            return u
        load = load.copy()
        for rotation, torque in zip(rotations, torques):
            rotation.rotate_loads(u, load, torque)
        u = solve(u, load)
    raise NotConverged(
        "the loads balance at rest, but keep turning the deformed body; fix or pin some vertices, or reduce the loads"
    )


class _ComponentRotation:
    """Rotation of one free component, and Broyden's estimate of the Jacobian dτ/dδ of its torque."""

    def __init__(self, body: Body, component: IndexArray):
        self.body, self.component = body, component
        self.masses = body.vertex_masses[component]
        self.rotation = Rotation.identity()
        self._torque_jacobian: Array | None = None
        self._last_update: tuple[Array, Array] | None = None

    def _compute_centre_offsets(self, u: Array) -> tuple[Array, Array]:
        x = self.body.vertices[self.component] + u[self.component]
        centre = self.masses @ x / self.masses.sum()
        return x - centre, centre

    def compute_torque(self, u: Array, load: Array) -> Array:
        """Σ x × f."""
        return np.asarray(np.cross(self._compute_centre_offsets(u)[0], load[self.component]).sum(axis=0))

    def rotate_loads(self, u: Array, load: Array, torque: Array) -> None:
        """Rotate the loads on this component (in place) by the δ that is expected to remove the torque."""
        if self._torque_jacobian is None or self._last_update is None:
            # of a rigid body: -(tr(S) I - Sᵀ) with S = Σ x fᵀ
            S = self._compute_centre_offsets(u)[0].T @ load[self.component]
            self._torque_jacobian = -(np.trace(S) * np.eye(3) - S.T)
        else:
            delta, before = self._last_update
            change = torque - before - self._torque_jacobian @ delta
            self._torque_jacobian = self._torque_jacobian + np.outer(change, delta) / (delta @ delta)
        # rotations about axes with almost no stiffness (the direction of the loads) are undetermined
        delta = -np.asarray(np.linalg.pinv(self._torque_jacobian, rcond=1e-7), dtype=np.float64) @ torque
        delta *= min(1.0, 0.3 / max(float(np.linalg.norm(delta)), 1e-300))
        load[self.component] = Rotation.from_rotvec(-delta).apply(load[self.component])
        self.rotation = self.rotation * Rotation.from_rotvec(delta)
        self._last_update = (delta, torque)

    def rotate_back(self, u: Array) -> None:
        """Rotate the component in `u` (in place) by the opposite of the rotation of its loads."""
        arms, centre = self._compute_centre_offsets(u)
        u[self.component] = centre + self.rotation.apply(arms) - self.body.vertices[self.component]


class LBFGSHistory:
    """Up to 12 pairs of steps s (n, 3) and force differences y (n, 3) since a tangent K was factorised."""

    # a new tangent is cheaper after this many steps that do not halve the least residual
    MAX_SLOW_STEPS = 8

    def __init__(self) -> None:
        self._pairs: list[tuple[Array, Array, float]] = []
        self.reset_progress()

    def reset_progress(self) -> None:
        """Forget the residuals, but keep the pairs: for another load."""
        self._best_residual, self._slow_steps = np.inf, 0

    def clear(self) -> None:
        """Forget everything: for a new tangent."""
        self._pairs = []
        self.reset_progress()

    def record_residual(self, residual: float) -> bool:
        """Record the residual of a step; False if convergence is too slow for further steps."""
        halved = residual <= 0.5 * self._best_residual
        self._slow_steps = 0 if halved else self._slow_steps + 1
        self._best_residual = residual if halved else self._best_residual
        return self._slow_steps < self.MAX_SLOW_STEPS

    def add_pair(self, step: Array, change: Array) -> None:
        """Add a pair if sᵀy > 0 beyond rounding; otherwise the corrected tangent would not be positive definite."""
        product = float((step * change).sum())
        if product > 1e-12 * float(np.linalg.norm(step) * np.linalg.norm(change)):
            self._pairs = [*self._pairs, (step, change, product)][-12:]

    def apply_inverse(self, rhs: Array, solve_tangent: Callable[[Array], Array]) -> Array:
        """H rhs, where H is K⁻¹ corrected so that H y = s for every pair; solve_tangent(b) returns K⁻¹ b."""
        shares = []
        for step, change, product in reversed(self._pairs):
            shares.append(float((step * rhs).sum()) / product)
            rhs = rhs - shares[-1] * change
        out = solve_tangent(rhs)
        for (step, change, product), share in zip(self._pairs, reversed(shares)):
            out = out + (share - float((change * out).sum()) / product) * step
        return out


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
    pins: {vertex: (dx, dy, dz)} [m], prescribed displacements, met exactly.
    start: displacement (n, 3) to start from; gravity: acceleration (3,) [m/s²], or a number, which acts down (-z).
    A connected component without fixed or pinned vertices keeps its centre of mass and rotates freely; its loads must
    balance at rest. Raises LoadError if they do not, NotConverged if no equilibrium is found.
    Warns with InversionWarning if tets are inverted: how many, which and where; `body.inverted(u)` returns all.
    """
    require_body(body)
    pinned, targets = _parse_vertex_vectors(body, {} if pins is None else pins, "pins")
    both = np.intersect1d(pinned, body.fixed)
    if len(both):
        raise InputError(f"vertex {both[0]} is pinned but also fixed in the body; pin another or leave it free")
    u = np.zeros((body.vertex_count, 3)) if start is None else body.check_vertex_vectors(start, "start").copy()
    body.require_zero_at_fixed_vertices(u, "start displacement")
    weight = np.zeros((body.vertex_count, 3)) if gravity is None else body.gravity(gravity)
    solver = StaticSolver(body, pinned, weight, progress=progress)
    stacked = not isinstance(loads, Mapping) and has_three_axes(loads)
    if stacked:
        stack = checks.require_real_array(loads, "loads", (None, body.vertex_count, 3))  # type: ignore[arg-type]
    else:
        stack = np.zeros((1, body.vertex_count, 3))
        if isinstance(loads, Mapping):
            vertices, forces = _parse_vertex_vectors(body, loads, "loads")
            stack[0, vertices] = forces
        elif loads is not None:
            stack[0] = body.check_vertex_vectors(loads, "loads")
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
    """Warn the caller's caller with InversionWarning if a pose (n, 3) inverts tets."""
    found = find_inverted_tets(body, displacement)
    if found is not None:
        warnings.warn(f"{prefix}{found}", InversionWarning, stacklevel=3)


class _StaticIterate(NamedTuple):
    """A displacement (n, 3), its total energy W - f·u [J], gradient (n, 3) and its norm, and the size of the forces."""

    displacement: Array
    energy: float
    gradient: Array
    residual: float
    force_scale: float


class StaticSolver:
    """Newton's method on the coordinates neither fixed nor `pinned`, with one pattern for every load case.

    weight: (n, 3) [N], added to every load.
    """

    options = StaticsOptions()

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
        self._min_shift = self.options.min_shift * stiff.mean() / heavy.mean()
        self._last_shift = self._last_nonzero_shift = 0.0
        self._tolerance, self._max_factorisations = self.options.tolerance, self.options.max_iterations
        self._rounding_stiffness = self.options.rounding_force_share * float(stiff.max())

    def solve(
        self, u: Array, load: Array, targets: Array, *, reuse_tangent: bool = False, preview: bool = False
    ) -> Array:
        """Solve for the pose under `load` (n, 3) [N] with the pins at `targets` (k, 3) [m], starting from u (n, 3).

        reuse_tangent: start with the last factorised tangent, which is close if u was solved just before, and use the
        interactive tolerance. preview: stop at the preview tolerance, or when more factorisations would be needed.
        Raises LoadError or NotConverged, see `pose`.
        """
        load, options = load + self.weight, self.options
        self._require_balance(load)
        u = self._remove_rigid_part(u)
        self._can_reuse_tangent = self._can_reuse_tangent and reuse_tangent
        self._tolerance = options.interactive_tolerance if reuse_tangent else options.tolerance
        self._max_factorisations = options.max_iterations
        if preview:
            self._tolerance, self._max_factorisations = options.preview_tolerance, options.preview_max_factorisations
        done, part = 0.0, 1.0
        begin = u[self.pinned].copy()
        while True:
            goal = begin + (done + part) * (targets - begin)
            try:
                found = self._solve_newton(self._predict_pin_displacement(u, goal), load)
            except NotConverged:
                if len(self.pinned) == 0 or part <= options.min_pin_increment:
                    raise
                part *= 0.5
                self._can_reuse_tangent = False
                continue
            u, done = found, done + part
            if done >= 1.0 - 1e-12:
                free = self._unconstrained_components
                return balance_torques(self.body, u, load, free, self._solve_newton) if free else u
            part = min(2.0 * part, 1.0 - done)

    def solve_linear_response(self, u: Array, loads: Array) -> Array:
        """K(u)⁻¹ loads (k, n, 3) [m]: linear response of a pose u (n, 3) to small additional loads (k, n, 3) [N].

        A `solve` with reuse_tangent continues with this tangent. Raises NotConverged if it is singular.
        """
        first = self._solve_newton_direction(u, -loads[0])
        return np.stack([first, *(self._system.solve(load) for load in loads[1:])])

    def _predict_pin_displacement(self, u: Array, pin_targets: Array) -> Array:
        """Move the pins to their targets and the rest by its linear response, so that no tet at a pin is crushed."""
        if len(self.pinned) == 0 or np.array_equal(u[self.pinned], pin_targets):
            return u
        jump = np.zeros_like(u)
        jump[self.pinned] = pin_targets - u[self.pinned]
        reuse = self._can_reuse_tangent
        if not reuse:
            self._system.values[:] = self.body.stiffness(u).data
        pull = (self.body.pattern.build_matrix(self._system.values) @ jump.ravel()).reshape(-1, 3)
        out = u + jump + (self._system.solve(-pull) if reuse else self._solve_newton_direction(u, pull))
        out[self.pinned] = pin_targets
        return out

    def _solve_newton(self, u: Array, load: Array) -> Array:
        at = self._evaluate(u, load)
        least = self.options.zero_force_share * at.force_scale
        self._lbfgs.reset_progress()
        factorisations = 0
        for iteration in range(self.options.max_iterations):
            done = 1.0 - min(1.0, at.residual / max(at.force_scale, 1e-300))
            report_progress(self.progress, done, f"pose, iteration {iteration}")
            if at.residual <= max(self._tolerance * at.force_scale, least):
                break
            after = self._try_lbfgs_step(at, load)
            if after is None and factorisations < self._max_factorisations:
                after, factorisations = self._search_line(at, load), factorisations + 1
            if after is None:
                break
            at = after
        else:
            raise NotConverged(
                f"no equilibrium after {self.options.max_iterations} Newton iterations; {self.options.remedy}"
            )
        # the rounding of many solves adds up to rigid motions
        rigid = self._rigid_modes.shape[1] > 0
        return u + self._remove_rigid_part(at.displacement - u) if rigid else at.displacement

    def _try_lbfgs_step(self, iterate: _StaticIterate, load: Array) -> _StaticIterate | None:
        """Step with the last factorised tangent and its L-BFGS corrections; None if it does not improve enough."""
        if not self._can_reuse_tangent:
            return None
        try:
            step = self._lbfgs.apply_inverse(-iterate.gradient, self._system.solve)
            after = self._evaluate(iterate.displacement + step, load)
        except SolveError:
            self._can_reuse_tangent = False
            return None
        self._lbfgs.add_pair(after.displacement - iterate.displacement, after.gradient - iterate.gradient)
        good = (
            after.residual <= self.options.max_residual_growth * iterate.residual
            and after.energy <= iterate.energy + _estimate_energy_rounding(iterate, after)
        )
        self._can_reuse_tangent = good and self._lbfgs.record_residual(after.residual)
        return after if good else None

    def _search_line(self, iterate: _StaticIterate, load: Array) -> _StaticIterate | None:
        """Newton step, halved until the energy decreases; None if rounding prevents that close to the solution."""
        direction = self._solve_newton_direction(iterate.displacement, iterate.gradient)
        slope = float((iterate.gradient * direction).sum())

        def accept(after: _StaticIterate, length: float) -> bool:
            # near the solution energies are equal to rounding, and the residual decides
            flat = abs(after.energy - iterate.energy) <= _estimate_energy_rounding(iterate, after)
            decreases = satisfies_armijo(after.energy, iterate.energy, slope, length)
            return decreases or (flat and after.residual < iterate.residual)

        found = backtrack(
            lambda length: self._evaluate(iterate.displacement + length * direction, load),
            accept,
            max_trials=self.options.max_backtracks,
        )
        if found is not None and found.accepted:
            return found.trial
        if iterate.residual <= self.options.stalled_tolerance * iterate.force_scale:
            return None
        error = iterate.residual / iterate.force_scale
        raise NotConverged(f"no descent from a relative residual of {error:.1e}; {self.options.remedy}")

    def _evaluate(self, u: Array, load: Array) -> _StaticIterate:
        """Evaluate the total energy and its gradient without the part along rigid motions."""
        force = self.body.force(u)
        gradient = force - load
        if self._rigid_modes.shape[1]:
            held = self._rigid_modes.T @ gradient.ravel()
            gradient = gradient - (self.body.mass @ (self._rigid_modes @ held)).reshape(-1, 3)
        with np.errstate(over="ignore"):
            norms = [float(np.linalg.norm(part)) for part in (force, load, self._rounding_stiffness * u)]
        scale = max(*norms)
        if not np.isfinite(scale):
            raise NotConverged(f"the forces overflow; {self.options.remedy}")
        energy = self.body.energy(u) - float((load * u).sum())
        return _StaticIterate(u, energy, gradient, self._system.compute_norm(gradient), scale)

    def _solve_newton_direction(self, u: Array, gradient: Array) -> Array:
        """-K⁻¹ gradient; an indefinite K gets as little mass as makes it positive definite, near the last amount.

        A K that is singular to rounding (the body can still rotate) gets a little more mass.
        """
        self._can_reuse_tangent = False
        for added in (0.0, *(self._min_shift * 100.0**power for power in range(6))):
            self._system.values[:] = self.body.stiffness(u).data
            self._system.values += added * self.body.mass_values
            first = self.options.shift_decay * self._last_shift
            least = max(self._min_shift, self.options.shift_decay * self._last_nonzero_shift)
            start = first if first >= self._min_shift else 0.0
            self._last_shift = self._system.factorise_with_shift(self.body.mass_values, least, start_shift=start)
            self._last_nonzero_shift = self._last_shift or self._last_nonzero_shift
            self._lbfgs.clear()
            try:
                direction = self._system.solve(-gradient)
            except SolveError:
                continue
            self._can_reuse_tangent = True
            return direction
        raise NotConverged(f"the tangent stiffness is singular; fix or pin more vertices, or {self.options.remedy}")

    def _remove_rigid_part(self, u: Array) -> Array:
        if self._rigid_modes.shape[1] == 0:
            return u
        part = self._rigid_modes @ (self._rigid_modes.T @ (self.body.mass @ u.ravel()))
        return np.asarray(u - part.reshape(-1, 3))

    def _require_balance(self, load: Array) -> None:
        net = self._rigid_modes.T @ load.ravel()
        # R is mass-orthonormal: per unit load it is about 1/√m, which makes this ratio a share of the forces
        share = np.linalg.norm(net) * np.sqrt(self.body.total_mass) / max(np.abs(load).sum(), 1e-300)
        if share > self.options.balance_tolerance:
            force = ", ".join(f"{value:.3g}" for value in load.sum(axis=0))
            raise LoadError(
                f"nothing holds this body (or a piece of it), and the loads do not balance: their net force is "
                f"({force}) N and {share:.1%} of them would push or turn it; fix or pin some vertices, or add "
                "opposite loads"
            )


def _parse_vertex_vectors(body: Body, given: VertexVectors, name: str) -> tuple[IndexArray, Array]:
    """Check {vertex: vector}, and return vertices (k,) and vectors (k, 3)."""
    if not isinstance(given, Mapping):
        raise InputError(f"{name} must be {{vertex: (x, y, z)}}, not {checks.format_value(given)}")
    vertices = checks.require_index_array(list(given), f"vertices of {name}", (None,), body.vertex_count)
    values = [checks.require_real_array(value, f"{name}[{vertex}]", (3,)) for vertex, value in given.items()]
    return vertices, np.array(values).reshape(-1, 3)


def _estimate_energy_rounding(first: _StaticIterate, second: _StaticIterate) -> float:
    """Possible difference of two energies by rounding."""
    return 1e-12 * max(abs(first.energy), abs(second.energy))
