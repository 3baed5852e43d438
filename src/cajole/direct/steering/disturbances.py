"""What disturbs a run: pushes, wind and any force, as reduced forces of every step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cajole import checks
from cajole.arrays import Array
from cajole.body.noise import ASKEW, PERLIN_RMS, perlin
from cajole.direct.steering.motion import Force, projected_force
from cajole.errors import InputError
from cajole.memory import require_memory
from cajole.reduction import ReducedFlow, ReducedModel


@runtime_checkable
class Disturbance(Protocol):
    """A force that knows itself in reduced coordinates: w (steps, r) on the steps into frames first, first + 1, ..."""

    def reduced(self, model: ReducedModel, dt: float, first: int, steps: int) -> Array: ...


@dataclass(frozen=True)
class Push:
    """A constant force (3,) [N] on one vertex from `time` [s] on for `duration` [s], at least one step."""

    vertex: int
    force: tuple[float, float, float]
    time: float = 0.0
    duration: float = 0.1

    def reduced(self, model: ReducedModel, dt: float, first: int, steps: int) -> Array:
        """w (steps, r) on the steps into frames first, first + 1, ...; InputError for what is no push."""
        force = push_force(model, self.vertex, self.force, self.duration)
        begin = checks.step_count(checks.positive(self.time, "the time of a push (s)", zero=True), dt) + 1
        frame = np.arange(first, first + steps)
        active = (frame >= begin) & (frame < begin + checks.step_count(self.duration, dt, least=1))
        return active[:, None] * force


def push_force(model: ReducedModel, vertex: int, force: ArrayLike, duration: float) -> Array:
    """Uᵀf (r,) of a force (3,) [N] on one vertex; InputError names what is wrong with the push."""
    _require_body(model, "a Push")
    checks.positive(duration, "the duration of a push (s)")
    pushed = int(checks.index_array([vertex], "the pushed vertex", (1,), model.body.count)[0])
    return checks.real_array(force, "the force of a push (N)", (3,)) @ model.basis[3 * pushed : 3 * pushed + 3]


def _require_body(model: object, what: str) -> None:
    if isinstance(model, ReducedFlow):
        raise InputError(f"{what} acts on a body; a flow is blown by a Gust or a GustNoise")


@dataclass(frozen=True)
class Wind:
    """Perlin noise that drifts through space: an acceleration [m/s²], so that heavy parts are pushed as light ones.

    strength [m/s²]: root mean square of each component; scale: size of a gust in body sizes; pace: gusts passing in a
    second; patches: how many points of the body it is sampled at. The same seed gives the same wind.
    """

    strength: float
    scale: float = 0.5
    pace: float = 1.0
    seed: int = 0
    direction: tuple[float, float, float] = (1.0, 0.0, 0.0)
    patches: int = 24
    _made: dict[int, tuple[ReducedModel, Array, Array]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def reduced(self, model: ReducedModel, dt: float, first: int, steps: int) -> Array:
        """w (steps, r) on the steps into frames first, first + 1, ..."""
        _, places, shapes = self._patches(model)
        times = dt * np.arange(first, first + steps)
        drifted = places - (self._direction() * self.pace) * times[:, None, None]
        return perlin(drifted.reshape(-1, 3) @ ASKEW, self.seed).reshape(steps, -1) @ shapes

    def _direction(self) -> Array:
        direction = checks.real_array(self.direction, "the wind's direction", (3,))
        length = float(np.linalg.norm(direction))
        if not length > 0:
            raise InputError("the wind's direction is zero")
        return direction / length

    def _patches(self, model: ReducedModel) -> tuple[ReducedModel, Array, Array]:
        """The model, where the noise is sampled, in gusts (k, 3), and the reduced force of each component (3k, r)."""
        made = self._made.get(id(model))
        if made is None:
            self._made.clear()
            # kept with its model, or another one might be given the same id
            made = self._made[id(model)] = (model, *self._new_patches(model))
        return made

    def _new_patches(self, model: ReducedModel) -> tuple[Array, Array]:
        _require_body(model, "a Wind")
        strength = checks.positive(self.strength, "the wind's strength (m/s²)", zero=True)
        scale = checks.positive(self.scale, "the wind's scale (body sizes)") * model.body.size
        checks.positive(self.pace, "the wind's pace (1/s)", zero=True)
        checks.count(self.seed, "the wind's seed", least=0)
        points = model.body.vertices
        chosen = spread(points, checks.count(self.patches, "the wind's patches"))
        nearest = np.argmin(((points[:, None] - points[chosen]) ** 2).sum(axis=2), axis=1)
        loads = np.zeros((len(chosen), 3, model.size))
        rows = model.mass_basis.reshape(-1, 3, model.size)
        np.add.at(loads, nearest, rows)
        return points[chosen] / scale, strength / PERLIN_RMS * loads.reshape(-1, model.size)


def spread(points: Array, count: int) -> NDArray[np.int64]:
    """Indices of `count` points far from one another, each the farthest from those before it."""
    chosen = [int(np.argmin(((points - points.mean(axis=0)) ** 2).sum(axis=1)))]
    distance = np.full(len(points), np.inf)
    while len(chosen) < min(count, len(points)):
        distance = np.minimum(distance, ((points - points[chosen[-1]]) ** 2).sum(axis=1))
        chosen.append(int(np.argmax(distance)))
    return np.array(chosen)


Disturbances = Force | Disturbance | Sequence[Disturbance]


def reduced_disturbance(model: ReducedModel, what: Disturbances, dt: float, steps: int) -> Array:
    """w (steps, r) of anything `run` takes as its force, on the steps into frames 1 ... steps."""
    require_memory(80 * steps * model.size, f"a run of {steps} steps", "use fewer loops or frames")
    if what is None:
        return np.zeros((steps, model.size))
    several: Sequence[object] = what if isinstance(what, list | tuple) else [what]
    parts = [part for part in several if isinstance(part, Disturbance)]
    if len(parts) == len(several):
        total = sum((part.reduced(model, dt, 1, steps) for part in parts), np.zeros((steps, model.size)))
        return checks.finite_result(np.asarray(total), "the disturbance")
    return projected_force(model, what, steps + 1, dt)[1:]  # type: ignore[arg-type]
