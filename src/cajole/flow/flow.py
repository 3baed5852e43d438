"""`Flow`: an incompressible fluid in a box, on a grid of square cells with velocities on their edges."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from cajole import checks
from cajole.arrays import Array
from cajole.errors import InputError, SolveError
from cajole.flow import kernels
from cajole.flow.forces import Forces, force_of
from cajole.flow.motion import FlowMotion
from cajole.flow.pressure import Pressure, diffuse
from cajole.memory import require_memory
from cajole.progress import Progress, report

# Cells beyond a wall from which a back-trace may still come: there the edge next to the wall speaks for it.
BEYOND = 0.5
# Of a step: from farther away no cell has a number, and a back-trace says nothing.
MOST_CELLS = 1e9


@dataclass(frozen=True)
class Flow:
    """A fluid of density 1 kg/m² in a box of columns × rows cells whose walls it slips along.

    cell: the side of a cell [m], so that with 1 all lengths are in cells; viscosity [m²/s].
    A state is (n,): the velocities u (columns + 1, rows) across vertical edges, then v (columns, rows + 1) across
    horizontal ones [m/s], which `faces` tells apart. The corner of the box is the origin, x goes along the columns.
    """

    columns: int
    rows: int
    cell: float = 1.0
    viscosity: float = 0.0

    def __post_init__(self) -> None:
        for name in ("columns", "rows"):
            checks.count(getattr(self, name), name, least=4)
        checks.positive(self.cell, "cell (m)")
        checks.positive(self.viscosity, "viscosity (m²/s)", zero=True)

    @property
    def count(self) -> int:
        """n, the number of edges."""
        return (self.columns + 1) * self.rows + self.columns * (self.rows + 1)

    @property
    def size(self) -> tuple[float, float]:
        """Width and height of the box [m]."""
        return self.columns * self.cell, self.rows * self.cell

    @property
    def mass(self) -> float:
        """Of the fluid [kg]."""
        return self.size[0] * self.size[1]

    @cached_property
    def pressure(self) -> Pressure:
        """What solves for the pressure."""
        return Pressure(self.columns, self.rows)

    def faces(self, state: Array) -> tuple[Array, Array]:
        """u (columns + 1, rows) and v (columns, rows + 1), views of a state (n,)."""
        split = (self.columns + 1) * self.rows
        return state[:split].reshape(self.columns + 1, self.rows), state[split:].reshape(self.columns, self.rows + 1)

    def centres(self) -> tuple[Array, Array]:
        """Where the velocities u and v stand: (columns + 1, rows, 2) and (columns, rows + 1, 2) [m]."""
        x, y = np.arange(self.columns + 1.0), np.arange(self.rows + 1.0)
        across = np.stack(np.meshgrid(x, y[:-1] + 0.5, indexing="ij"), axis=2)
        up = np.stack(np.meshgrid(x[:-1] + 0.5, y, indexing="ij"), axis=2)
        return self.cell * across, self.cell * up

    def state(self, value: ArrayLike, name: str = "state") -> Array:
        """`value` (n,) or (n,) of other numbers, checked."""
        return checks.real_array(value, name, (self.count,))

    def points(self, value: ArrayLike, name: str = "points") -> Array:
        """`value` (k, 2) [m], checked to lie in the box."""
        array = checks.real_array(value, name, (None, 2))
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

    def divergence(self, state: ArrayLike) -> Array:
        """What flows out of each cell (columns, rows) [1/s]."""
        out = np.empty((self.columns, self.rows))
        kernels.divergence(*self.faces(self.state(state)), out)
        return out / self.cell

    def free(self, state: ArrayLike) -> Array:
        """The divergence-free state (n,) nearest to `state`, with nothing through the walls."""
        out = self.state(state).copy()
        self.pressure.project(*self.faces(out))
        return out

    def energy(self, state: ArrayLike) -> float:
        """½ ∫|u|² [J]."""
        velocity = self.state(state)
        return float(0.5 * self.cell**2 * (velocity @ velocity))

    def velocity(self, state: ArrayLike, points: ArrayLike) -> Array:
        """The velocity (k, 2) [m/s] at points (k, 2) [m], bilinear between the edges."""
        u, v = self.faces(self.state(state))
        at = self.points(points) / self.cell
        return np.array([(kernels.value(u, x, y - 0.5), kernels.value(v, x - 0.5, y)) for x, y in at]).reshape(-1, 2)

    def step(self, state: Array, dt: float, force: Array | None = None) -> Array:
        """The state (n,) a step later, under an acceleration (n,) [m/s²]: advection, force, viscosity, pressure.

        Raises SolveError when dt is so long that the fluid would come from outside the box.
        """
        state = self.state(state)
        force = None if force is None else self.state(force, "force")
        u, v = self.faces(state * (dt / self.cell))
        out = np.zeros(self.count)
        a, b = self.faces(out)
        self._refuse(kernels.advect(u, v, a, b), u, v, dt)
        if force is not None:
            with np.errstate(over="ignore", invalid="ignore"):  # what overflows is refused below
                out += (dt * dt / self.cell) * force
        if self.viscosity > 0:
            diffuse(a, b, self.viscosity * dt / self.cell**2)
        self.pressure.project(a, b)
        return checks.finite_result(out * (self.cell / dt), "the flow")

    def carry(self, smoke: Array, state: Array, dt: float) -> Array:
        """Smoke (columns, rows) a step later, taken along by a state (n,)."""
        smoke = checks.real_array(smoke, "smoke", (self.columns, self.rows))
        u, v = self.faces(self.state(state) * (dt / self.cell))
        out = np.empty_like(smoke)
        self._refuse(kernels.advect_smoke(u, v, smoke, out), u, v, dt)
        return out

    def move(self, points: Array, before: Array, after: Array, dt: float) -> Array:
        """Points (k, 2) [m] a step later, carried by the states before and after it: the midpoint rule.

        Raises SolveError when one would leave the box.
        """
        points = self.points(points)
        before, after = self.state(before, "before"), self.state(after, "after")
        moved = points / self.cell
        now, middle = before * (dt / self.cell), (0.5 * dt / self.cell) * (before + after)
        lost = kernels.move(*self.faces(now), *self.faces(middle), moved)
        if lost >= 0:
            x, y = points[lost]
            raise SolveError(
                f"particle {lost} at ({x:.6g}, {y:.6g}) would leave the box in a step of {dt:.4g} s; {CUT}"
            )
        return moved * self.cell

    def simulate(
        self,
        frames: int,
        dt: float,
        *,
        force: Forces = None,
        start: ArrayLike | None = None,
        progress: Progress | None = None,
    ) -> FlowMotion:
        """A motion of `frames` frames, dt [s] apart; frame 0 is `start` (n,) [m/s] made divergence-free, else rest.

        force: an acceleration [m/s²] of every edge: a Gust, a list of gusts, (n,), or f(t) -> (n,).
        Raises InputError for forces that do not fit, SolveError when dt is so long that back-tracing leaves the box.
        """
        frames, dt = checks.count(frames, "frames", least=2), checks.positive(dt, "dt (s)")
        require_memory(8 * frames * self.count, f"a flow of {frames} frames", "use fewer frames, or a coarser grid")
        states = np.zeros((frames, self.count))
        if start is not None:
            states[0] = self.free(start)
        for step in range(frames - 1):
            states[step + 1] = self.step(states[step], dt, force_of(self, force, step, dt))
            report(progress, (step + 1) / (frames - 1), f"flow, frame {step + 1}")
        return FlowMotion(self, dt, states, force)

    def _refuse(self, beyond: float, u: Array, v: Array, dt: float) -> None:
        """Raise when a back-trace began too far outside, in cells."""
        cells = float(kernels.fastest(u, v))
        if cells > MOST_CELLS:
            beyond = cells
        if beyond > BEYOND:
            raise SolveError(
                f"dt of {dt:.4g} s is too long: the fluid goes {cells:.3g} cells a step, and some of it would come from"
                f" {beyond:.2g} cells outside the box; {CUT}"
            )


CUT = "use a smaller dt, or weaker forces"
