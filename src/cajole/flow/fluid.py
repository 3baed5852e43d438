"""`Flow`: an incompressible fluid in a box, on a grid of square cells with velocities on their edges."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Protocol, runtime_checkable

import numpy as np
import scipy.fft
from numpy.typing import ArrayLike, NDArray

from cajole import checks
from cajole.arrays import Array
from cajole.errors import InputError, SolveError
from cajole.flow import kernels
from cajole.memory import require_memory
from cajole.progress import ProgressCallback, report_progress


@runtime_checkable
class FlowForce(Protocol):
    """A force with its own values on the edges of a flow: an acceleration (n,) [m/s²] in each step."""

    def compute_acceleration(self, flow: Flow, step: int, dt: float) -> Array: ...


@dataclass(frozen=True)
class Gust:
    """A wind within `radius` [m] of a position, strongest at its centre, for a limited time.

    position (2,) [m]; acceleration (2,) [m/s²] at the centre; from `time` [s] on for `duration` [s], at least a step.
    """

    position: tuple[float, float]
    acceleration: tuple[float, float]
    radius: float
    time: float = 0.0
    duration: float = 0.0

    def __post_init__(self) -> None:
        checks.require_positive(self.time, "the time of a gust (s)", allow_zero=True)
        checks.require_positive(self.duration, "the duration of a gust (s)", allow_zero=True)

    def compute_acceleration(self, flow: Flow, step: int, dt: float) -> Array:
        """Its acceleration (n,) [m/s²] in the step after frame `step`; zero while it is not active."""
        out = np.zeros(flow.face_count)
        if self.is_active(step, dt):
            self.add_acceleration(flow, out)
        return out

    def is_active(self, step: int, dt: float) -> bool:
        """True if it acts in the step after frame `step`."""
        begin = checks.count_steps(self.time, dt)
        return begin <= step < begin + checks.count_steps(self.duration, dt, minimum=1)

    def add_acceleration(self, flow: Flow, out: Array) -> None:
        """Add its acceleration while active to `out` (n,)."""
        x, y, radius = self._convert_to_cell_units(flow)
        u, v = flow.split_faces(out)
        ax, ay = checks.require_real_array(self.acceleration, "the acceleration of a gust (m/s²)", (2,))
        kernels.add_bump(u[1:-1], 1.0, 0.5, x, y, radius, ax)
        kernels.add_bump(v[:, 1:-1], 0.5, 1.0, x, y, radius, ay)

    def find_affected_faces(self, flow: Flow) -> tuple[NDArray[np.int64], Array]:
        """Indices of the edges within its radius, and its acceleration there while it is active."""
        out = np.zeros(flow.face_count)
        self.add_acceleration(flow, out)
        rows = np.flatnonzero(out)
        return rows, out[rows]

    def _convert_to_cell_units(self, flow: Flow) -> tuple[float, float, float]:
        x, y = flow.check_points([self.position], "the position of a gust (m)")[0] / flow.cell_size
        return x, y, checks.require_positive(self.radius, "the radius of a gust (m)") / flow.cell_size


FlowForceInput = FlowForce | Sequence[FlowForce] | Callable[[float], ArrayLike] | ArrayLike | None


def evaluate_force(flow: Flow, force: FlowForceInput, step: int, dt: float) -> Array | None:
    """The acceleration (n,) [m/s²] of anything `simulate` takes as its force, in the step after frame `step`.

    Functions of time are asked for the middle of the step.
    """
    if force is None:
        return None
    several = force if isinstance(force, list | tuple) else [force]
    if all(isinstance(part, FlowForce) for part in several):
        total = np.zeros(flow.face_count)
        for part in several:
            # a script is a gust a step: those that do not blow cost nothing
            if not isinstance(part, Gust):
                total += part.compute_acceleration(flow, step, dt)  # type: ignore[union-attr]
            elif part.is_active(step, dt):
                part.add_acceleration(flow, total)
        return total
    if callable(force):
        time = (step + 0.5) * dt
        return flow.check_state(force(time), f"force({time:.6g})")
    try:
        return flow.check_state(force, "force")  # type: ignore[arg-type]
    except InputError as reason:
        raise InputError(f"{reason}; or give a Gust, a list of gusts, or a function of time") from None


@dataclass(frozen=True, eq=False)
class FlowMotion:
    """states: (frames, n) [m/s], each free of divergence; dt [s] between frames; force: what drove it."""

    flow: Flow
    dt: float
    states: Array
    force: FlowForceInput = None

    @property
    def frames(self) -> int:
        """How many there are."""
        return len(self.states)

    @property
    def energies(self) -> Array:
        """½ ∫|u|² [J] of every frame."""
        return np.asarray(0.5 * self.flow.cell_size**2 * np.einsum("fn,fn->f", self.states, self.states))

    def advect(self, points: ArrayLike) -> Array:
        """The paths (frames, k, 2) [m] of particles that start at points (k, 2) [m].

        Raises InputError for points outside the box.
        """
        path = [self.flow.check_points(points, "particles")]
        for before, after in pairwise(self.states):
            path.append(self.flow.advect_points(path[-1], before, after, self.dt))
        return np.array(path)

    def advect_smoke(self, start: ArrayLike, every: int = 1) -> NDArray[np.float32]:
        """Smoke (frames, columns, rows) that starts as `start` (columns, rows), at each `every`-th frame."""
        now = checks.require_real_array(start, "smoke", (self.flow.columns, self.flow.rows))
        every = checks.require_integer(every, "every")
        shown = [now.astype(np.float32)]
        for frame in range(1, self.frames):
            now = self.flow.advect_smoke(now, 0.5 * (self.states[frame - 1] + self.states[frame]), self.dt)
            if frame % every == 0:
                shown.append(now.astype(np.float32))
        return np.array(shown)

    def __repr__(self) -> str:
        columns, rows = self.flow.columns, self.flow.rows
        return f"FlowMotion({columns} × {rows} cells, {self.frames} frames, {self.dt:.4g} s apart)"


class PressureSolver:
    """Solves the Poisson equation on nx × ny cells in a closed box, where cosines diagonalise it."""

    def __init__(self, nx: int, ny: int):
        self.nx, self.ny = nx, ny
        eigenvalues = compute_laplacian_eigenvalues(nx, nx)[:, None] + compute_laplacian_eigenvalues(ny, ny)
        eigenvalues[0, 0] = 1.0
        self._inverse_eigenvalues = -1.0 / eigenvalues
        # pressure is defined up to a constant, which does not change the velocity
        self._inverse_eigenvalues[0, 0] = 0.0

    def solve(self, divergence: Array) -> Array:
        """p (nx, ny) whose second differences are `divergence` (nx, ny), with no slope at the walls and mean zero."""
        transformed = scipy.fft.dctn(divergence, type=2, norm="ortho")
        transformed *= self._inverse_eigenvalues
        return np.asarray(scipy.fft.idctn(transformed, type=2, norm="ortho", overwrite_x=True))

    def project(self, u: Array, v: Array) -> None:
        """Subtract the gradient of a pressure from (u, v), in place, so that no divergence and no flow through walls
        remains."""
        u[0], u[-1], v[:, 0], v[:, -1] = 0.0, 0.0, 0.0, 0.0
        divergence = np.empty((self.nx, self.ny))
        kernels.compute_divergence(u, v, divergence)
        kernels.subtract_gradient(self.solve(divergence), u, v)


def compute_laplacian_eigenvalues(cells: int, orders: int, first: int = 0) -> Array:
    """Eigenvalues (orders,) of the negative second difference on `cells` cells: 2 - 2 cos(π k / cells)."""
    return np.asarray(2.0 - 2.0 * np.cos(np.pi * np.arange(first, first + orders) / cells))


def diffuse(u: Array, v: Array, amount: float) -> None:
    """One implicit step of viscosity, in place: (1 - amount Δ) u' = u with second differences Δ; amount: ν dt / cell².

    With free slip along the walls: sines across them, cosines beside them.
    """
    for f in (u, v.T):
        rows, columns = f.shape
        across = compute_laplacian_eigenvalues(rows - 1, rows - 2, 1)[:, None]
        inside = scipy.fft.dct(scipy.fft.dst(f[1:-1], type=1, axis=0, norm="ortho"), type=2, axis=1, norm="ortho")
        inside /= 1.0 + amount * (across + compute_laplacian_eigenvalues(columns, columns))
        f[1:-1] = scipy.fft.idst(scipy.fft.idct(inside, type=2, axis=1, norm="ortho"), type=1, axis=0, norm="ortho")


@dataclass(frozen=True)
class Flow:
    """A fluid of density 1 kg/m² in a box of columns × rows cells whose walls it slips along.

    cell: the side of a cell [m], so that with 1 all lengths are in cells; viscosity [m²/s].
    A state is (n,): the velocities u (columns + 1, rows) across vertical edges, then v (columns, rows + 1) across
    horizontal ones [m/s], which `faces` tells apart. The corner of the box is the origin, x goes along the columns.
    """

    columns: int
    rows: int
    cell_size: float = 1.0
    viscosity: float = 0.0

    def __post_init__(self) -> None:
        for name in ("columns", "rows"):
            checks.require_integer(getattr(self, name), name, minimum=4)
        checks.require_positive(self.cell_size, "cell_size (m)")
        checks.require_positive(self.viscosity, "viscosity (m²/s)", allow_zero=True)

    @property
    def face_count(self) -> int:
        """n, the number of edges."""
        return (self.columns + 1) * self.rows + self.columns * (self.rows + 1)

    @property
    def size(self) -> tuple[float, float]:
        """Width and height of the box [m]."""
        return self.columns * self.cell_size, self.rows * self.cell_size

    @property
    def mass(self) -> float:
        """Of the fluid [kg]."""
        return self.size[0] * self.size[1]

    @cached_property
    def pressure_solver(self) -> PressureSolver:
        """Solver of the pressure Poisson equation."""
        return PressureSolver(self.columns, self.rows)

    def split_faces(self, state: Array) -> tuple[Array, Array]:
        """u (columns + 1, rows) and v (columns, rows + 1), views of a state (n,)."""
        split = (self.columns + 1) * self.rows
        return state[:split].reshape(self.columns + 1, self.rows), state[split:].reshape(self.columns, self.rows + 1)

    def compute_face_centres(self) -> tuple[Array, Array]:
        """Where the velocities u and v stand: (columns + 1, rows, 2) and (columns, rows + 1, 2) [m]."""
        x, y = np.arange(self.columns + 1.0), np.arange(self.rows + 1.0)
        across = np.stack(np.meshgrid(x, y[:-1] + 0.5, indexing="ij"), axis=2)
        up = np.stack(np.meshgrid(x[:-1] + 0.5, y, indexing="ij"), axis=2)
        return self.cell_size * across, self.cell_size * up

    def check_state(self, value: ArrayLike, name: str = "state") -> Array:
        """`value` (n,) or (n,) of other numbers, checked."""
        return checks.require_real_array(value, name, (self.face_count,))

    def check_points(self, value: ArrayLike, name: str = "points") -> Array:
        """`value` (k, 2) [m], checked to lie in the box."""
        array = checks.require_real_array(value, name, (None, 2))
        width, height = self.size
        wrong = (array < 0).any(axis=1) | (array > (width, height)).any(axis=1)
        if wrong.any():
            k = int(np.argmax(wrong))
            x, y = array[k]
            raise InputError(
                f"{name}[{k}] is ({x:.6g}, {y:.6g}), outside the box of {width:.6g} × {height:.6g} m whose corner is "
                f"the origin ({int(wrong.sum())} such); move it inside"
            )
        return array

    def compute_divergence(self, state: ArrayLike) -> Array:
        """Divergence (columns, rows) of each cell [1/s]."""
        out = np.empty((self.columns, self.rows))
        kernels.compute_divergence(*self.split_faces(self.check_state(state)), out)
        return out / self.cell_size

    def project_divergence_free(self, state: ArrayLike) -> Array:
        """The divergence-free state (n,) nearest to `state`, with nothing through the walls."""
        out = self.check_state(state).copy()
        self.pressure_solver.project(*self.split_faces(out))
        return out

    def energy(self, state: ArrayLike) -> float:
        """½ ∫|u|² [J]."""
        velocity = self.check_state(state)
        return float(0.5 * self.cell_size**2 * (velocity @ velocity))

    def interpolate_velocity(self, state: ArrayLike, points: ArrayLike) -> Array:
        """The velocity (k, 2) [m/s] at points (k, 2) [m], bilinear between the edges."""
        u, v = self.split_faces(self.check_state(state))
        at = self.check_points(points) / self.cell_size
        return np.array(
            [(kernels.interpolate_bilinear(u, x, y - 0.5), kernels.interpolate_bilinear(v, x - 0.5, y)) for x, y in at]
        ).reshape(-1, 2)

    def step(self, state: Array, dt: float, force: Array | None = None) -> Array:
        """The state (n,) a step later, under an acceleration (n,) [m/s²]: advection, force, viscosity, pressure.

        Raises SolveError when dt is so long that the fluid would come from outside the box.
        """
        state = self.check_state(state)
        force = None if force is None else self.check_state(force, "force")
        u, v = self.split_faces(state * (dt / self.cell_size))
        out = np.zeros(self.face_count)
        a, b = self.split_faces(out)
        self._require_trace_inside(kernels.advect_velocity(u, v, a, b), u, v, dt)
        if force is not None:
            with np.errstate(over="ignore", invalid="ignore"):  # what overflows is refused below
                out += (dt * dt / self.cell_size) * force
        if self.viscosity > 0:
            diffuse(a, b, self.viscosity * dt / self.cell_size**2)
        self.pressure_solver.project(a, b)
        return checks.require_finite_result(out * (self.cell_size / dt), "the flow")

    def advect_smoke(self, smoke: Array, state: Array, dt: float) -> Array:
        """Smoke (columns, rows) a step later, taken along by a state (n,)."""
        smoke = checks.require_real_array(smoke, "smoke", (self.columns, self.rows))
        u, v = self.split_faces(self.check_state(state) * (dt / self.cell_size))
        out = np.empty_like(smoke)
        self._require_trace_inside(kernels.advect_smoke(u, v, smoke, out), u, v, dt)
        return out

    def advect_points(self, points: Array, before: Array, after: Array, dt: float) -> Array:
        """Points (k, 2) [m] a step later, carried by the states before and after it: the midpoint rule.

        Raises SolveError when one would leave the box.
        """
        points = self.check_points(points)
        before, after = self.check_state(before, "before"), self.check_state(after, "after")
        moved = points / self.cell_size
        now, middle = before * (dt / self.cell_size), (0.5 * dt / self.cell_size) * (before + after)
        lost = kernels.advect_points(*self.split_faces(now), *self.split_faces(middle), moved)
        if lost >= 0:
            x, y = points[lost]
            raise SolveError(
                f"particle {lost} at ({x:.6g}, {y:.6g}) would leave the box in a step of {dt:.4g} s; "
                "use a smaller dt, or weaker forces"
            )
        return moved * self.cell_size

    def simulate(
        self,
        frames: int,
        dt: float,
        *,
        force: FlowForceInput = None,
        start: ArrayLike | None = None,
        progress: ProgressCallback | None = None,
    ) -> FlowMotion:
        """A motion of `frames` frames, dt [s] apart; frame 0 is `start` (n,) [m/s] made divergence-free, else rest.

        force: an acceleration [m/s²] of every edge: a Gust, a list of gusts, (n,), or f(t) -> (n,).
        Raises InputError for forces that do not fit, SolveError when dt is so long that back-tracing leaves the box.
        """
        frames, dt = checks.require_integer(frames, "frames", minimum=2), checks.require_positive(dt, "dt (s)")
        require_memory(
            8 * frames * self.face_count, f"a flow of {frames} frames", "use fewer frames, or a coarser grid"
        )
        states = np.zeros((frames, self.face_count))
        if start is not None:
            states[0] = self.project_divergence_free(start)
        for step in range(frames - 1):
            states[step + 1] = self.step(states[step], dt, evaluate_force(self, force, step, dt))
            report_progress(progress, (step + 1) / (frames - 1), f"flow, frame {step + 1}")
        return FlowMotion(self, dt, states, force)

    def _require_trace_inside(self, cells_outside: float, u: Array, v: Array, dt: float) -> None:
        """Raise when a back-trace began too far outside, in cells."""
        cells = float(kernels.find_max_component(u, v))
        if cells > 1e9:  # cells so far away have no number
            cells_outside = cells
        if cells_outside > 0.5:  # up to there the edge next to the wall has the velocity
            raise SolveError(
                f"dt of {dt:.4g} s is too long: the fluid goes {cells:.3g} cells a step, and some of it would come from"
                f" {cells_outside:.2g} cells outside the box; use a smaller dt, or weaker forces"
            )
