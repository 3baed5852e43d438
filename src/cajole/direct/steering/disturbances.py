"""What disturbs a run: pushes, wind and any force, as reduced forces of every step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cajole import checks
from cajole.arrays import Array
from cajole.body.noise import LATTICE_ROTATION, PERLIN_RMS, sample_perlin
from cajole.direct.steering.reference import ForceLike, project_force
from cajole.errors import InputError
from cajole.memory import require_memory
from cajole.reduction import ReducedFlow, ReducedModel


@runtime_checkable
class Disturbance(Protocol):
    """A force that knows itself in reduced coordinates: w (steps, r) on the steps into frames first, first + 1, ..."""

    def compute_reduced_force(self, model: ReducedModel, dt: float, first_frame: int, steps: int) -> Array: ...


@dataclass(frozen=True)
class Push:
    """A constant force (3,) [N] on one vertex from `time` [s] on for `duration` [s], at least one step."""

    vertex: int
    force: tuple[float, float, float]
    time: float = 0.0
    duration: float = 0.1

    def compute_reduced_force(self, model: ReducedModel, dt: float, first_frame: int, steps: int) -> Array:
        """w (steps, r) on the steps into frames first, first + 1, ...; InputError for what is no push."""
        force = reduce_point_force(model, self.vertex, self.force, self.duration)
        begin = (
            checks.count_steps(checks.require_positive(self.time, "the time of a push (s)", allow_zero=True), dt) + 1
        )
        frame = np.arange(first_frame, first_frame + steps)
        active = (frame >= begin) & (frame < begin + checks.count_steps(self.duration, dt, minimum=1))
        return active[:, None] * force


def reduce_point_force(model: ReducedModel, vertex: int, force: ArrayLike, duration: float) -> Array:
    """Uᵀf (r,) of a force (3,) [N] on one vertex; InputError names what is wrong with the push."""
    _require_body_model(model, "a Push")
    checks.require_positive(duration, "the duration of a push (s)")
    pushed = int(checks.require_index_array([vertex], "the pushed vertex", (1,), model.body.vertex_count)[0])
    return checks.require_real_array(force, "the force of a push (N)", (3,)) @ model.basis[3 * pushed : 3 * pushed + 3]


def _require_body_model(model: object, what: str) -> None:
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
    _patch_cache: dict[int, tuple[ReducedModel, Array, Array]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def compute_reduced_force(self, model: ReducedModel, dt: float, first_frame: int, steps: int) -> Array:
        """w (steps, r) on the steps into frames first, first + 1, ..."""
        _, places, shapes = self._get_patches(model)
        times = dt * np.arange(first_frame, first_frame + steps)
        drifted = places - (self._normalise_direction() * self.pace) * times[:, None, None]
        return sample_perlin(drifted.reshape(-1, 3) @ LATTICE_ROTATION, self.seed).reshape(steps, -1) @ shapes

    def _normalise_direction(self) -> Array:
        direction = checks.require_real_array(self.direction, "the wind's direction", (3,))
        length = float(np.linalg.norm(direction))
        if not length > 0:
            raise InputError("the wind's direction is zero")
        return direction / length

    def _get_patches(self, model: ReducedModel) -> tuple[ReducedModel, Array, Array]:
        """The model, where the noise is sampled, in gusts (k, 3), and the reduced force of each component (3k, r)."""
        made = self._patch_cache.get(id(model))
        if made is None:
            self._patch_cache.clear()
            # kept with its model, or another one might be given the same id
            made = self._patch_cache[id(model)] = (model, *self._build_patches(model))
        return made

    def _build_patches(self, model: ReducedModel) -> tuple[Array, Array]:
        _require_body_model(model, "a Wind")
        strength = checks.require_positive(self.strength, "the wind's strength (m/s²)", allow_zero=True)
        scale = checks.require_positive(self.scale, "the wind's scale (body sizes)") * model.body.size
        checks.require_positive(self.pace, "the wind's pace (1/s)", allow_zero=True)
        checks.require_integer(self.seed, "the wind's seed", minimum=0)
        points = model.body.vertices
        chosen = sample_farthest_points(points, checks.require_integer(self.patches, "the wind's patches"))
        nearest = np.argmin(((points[:, None] - points[chosen]) ** 2).sum(axis=2), axis=1)
        loads = np.zeros((len(chosen), 3, model.size))
        rows = model.mass_basis.reshape(-1, 3, model.size)
        np.add.at(loads, nearest, rows)
        return points[chosen] / scale, strength / PERLIN_RMS * loads.reshape(-1, model.size)


def sample_farthest_points(points: Array, count: int) -> NDArray[np.int64]:
    """Indices of `count` points far from one another, each the farthest from those before it."""
    chosen = [int(np.argmin(((points - points.mean(axis=0)) ** 2).sum(axis=1)))]
    distance = np.full(len(points), np.inf)
    while len(chosen) < min(count, len(points)):
        distance = np.minimum(distance, ((points - points[chosen[-1]]) ** 2).sum(axis=1))
        chosen.append(int(np.argmax(distance)))
    return np.array(chosen)


DisturbanceLike = ForceLike | Disturbance | Sequence[Disturbance]


def compute_reduced_forces(model: ReducedModel, disturbance: DisturbanceLike, dt: float, steps: int) -> Array:
    """w (steps, r) of anything `run` takes as its force, on the steps into frames 1 ... steps."""
    require_memory(80 * steps * model.size, f"a run of {steps} steps", "use fewer loops or frames")
    if disturbance is None:
        return np.zeros((steps, model.size))
    several: Sequence[object] = disturbance if isinstance(disturbance, list | tuple) else [disturbance]
    parts = [part for part in several if isinstance(part, Disturbance)]
    if len(parts) == len(several):
        total = sum((part.compute_reduced_force(model, dt, 1, steps) for part in parts), np.zeros((steps, model.size)))
        return checks.require_finite_result(np.asarray(total), "the disturbance")
    return project_force(model, disturbance, steps + 1, dt)[1:]  # type: ignore[arg-type]
