"""Disturbances of runs as reduced forces of every step: pushes and wind on bodies, noise in flows."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from cajole import checks
from cajole.arrays import Array
from cajole.body.noise import LATTICE_ROTATION, PERLIN_RMS, sample_perlin
from cajole.errors import InputError
from cajole.flow import Flow
from cajole.reduction import ReducedFlow, ReducedModel


@dataclass(frozen=True)
class Push:
    """A constant force (3,) [N] on one vertex from `time` [s] on for `duration` [s], at least one step."""

    vertex: int
    force: tuple[float, float, float]
    time: float = 0.0
    duration: float = 0.1

    def compute_reduced_force(self, model: ReducedModel, dt: float, first_frame: int, steps: int) -> Array:
        """w (steps, r) on the steps into frames first_frame, ...; InputError names the wrong field."""
        _require_body_model(model, "a Push")
        force = model.project_push(self.vertex, self.force, self.duration)
        begin = (
            checks.count_steps(checks.require_positive(self.time, "the time of a push (s)", allow_zero=True), dt) + 1
        )
        frame = np.arange(first_frame, first_frame + steps)
        active = (frame >= begin) & (frame < begin + checks.count_steps(self.duration, dt, minimum=1))
        return active[:, None] * force


def _require_body_model(model: object, what: str) -> None:
    if isinstance(model, ReducedFlow):
        raise InputError(f"{what} acts on a body; a flow is blown by a Gust or a GustNoise")


@dataclass(frozen=True)
class Wind:
    """Perlin noise that drifts through space: an acceleration [m/s²], so that heavy and light parts move alike.

    strength [m/s²]: root mean square of each component; scale: size of a gust in body sizes; pace: gusts passing in a
    second; patches: number of points of the body where the noise is sampled. The same seed gives the same wind.
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
        """w (steps, r) on the steps into frames first_frame, first_frame + 1, ..."""
        found = self._patch_cache.get(id(model))
        if found is None:
            self._patch_cache.clear()
            # kept with its model, or another one might be given the same id
            found = self._patch_cache[id(model)] = (model, *self._build_patches(model))
        _, points, loads = found
        direction = checks.require_real_array(self.direction, "the wind's direction", (3,))
        length = float(np.linalg.norm(direction))
        if not length > 0:
            raise InputError("the wind's direction is zero")
        times = dt * np.arange(first_frame, first_frame + steps)
        drifted = points - (direction / length * self.pace) * times[:, None, None]
        return sample_perlin(drifted.reshape(-1, 3) @ LATTICE_ROTATION, self.seed).reshape(steps, -1) @ loads

    def _build_patches(self, model: ReducedModel) -> tuple[Array, Array]:
        """Sample points (k, 3) in units of a gust, and the reduced force of each noise component (3k, r)."""
        _require_body_model(model, "a Wind")
        strength = checks.require_positive(self.strength, "the wind's strength (m/s²)", allow_zero=True)
        scale = checks.require_positive(self.scale, "the wind's scale (body sizes)") * model.body.size
        checks.require_positive(self.pace, "the wind's pace (1/s)", allow_zero=True)
        checks.require_integer(self.seed, "the wind's seed", minimum=0)
        points = model.body.vertices
        chosen = sample_farthest_points(points, checks.require_integer(self.patches, "the wind's patches"))
        nearest = np.argmin(((points[:, None] - points[chosen]) ** 2).sum(axis=2), axis=1)
        loads = np.zeros((len(chosen), 3, model.size))
        np.add.at(loads, nearest, model.mass_basis.reshape(-1, 3, model.size))
        return points[chosen] / scale, strength / PERLIN_RMS * loads.reshape(-1, model.size)


def sample_farthest_points(points: Array, count: int) -> NDArray[np.int64]:
    """Indices of `count` points, each the farthest from those before it; the first is nearest the centroid."""
    chosen = [int(np.argmin(((points - points.mean(axis=0)) ** 2).sum(axis=1)))]
    distance = np.full(len(points), np.inf)
    while len(chosen) < min(count, len(points)):
        distance = np.minimum(distance, ((points - points[chosen[-1]]) ** 2).sum(axis=1))
        chosen.append(int(np.argmax(distance)))
    return np.array(chosen)


@dataclass(frozen=True)
class GustNoise:
    """Perlin noise in a flow that changes with time; every seed gives other gusts.

    strength [m/s²]: root mean square of each component; scale [m]: size of a lump; pace [1/s]: lumps passing in a
    second. The same seed gives the same noise, in the full flow and in its modes.
    """

    strength: float
    scale: float
    pace: float = 1.0
    seed: int = 0
    # the noise is sampled on a lattice of this many points per lump and direction, and bilinear between them
    samples_per_scale = 4
    _load_cache: dict[int, tuple[ReducedFlow, Array]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def compute_acceleration(self, flow: Flow, step: int, dt: float) -> Array:
        """The acceleration (n,) [m/s²] of the edges in the step after frame `step`."""
        points, shape = self._build_lattice(flow)
        values, parts = self._sample_noise(points, step, dt).reshape(*shape, 2), []
        for part, centres in enumerate(flow.compute_face_centres()):
            (i, j), (s, t) = self._locate_cells(centres)
            v = values[..., part]
            low = (1.0 - t) * v[i, j] + t * v[i, j + 1]
            parts.append(((1.0 - s) * low + s * ((1.0 - t) * v[i + 1, j] + t * v[i + 1, j + 1])).ravel())
        return np.concatenate(parts)

    def compute_reduced_force(self, model: ReducedFlow, dt: float, first_frame: int, steps: int) -> Array:
        """w (steps, r) in the steps after frames first_frame, first_frame + 1, ..."""
        if not isinstance(model, ReducedFlow):
            raise InputError("a GustNoise blows through a flow; a body is moved by a Push or a Wind")
        points, (wide, high) = self._build_lattice(model.flow)
        found = self._load_cache.get(id(model))
        if found is None:
            self._load_cache.clear()
            found = self._load_cache[id(model)] = (model, self._build_lattice_loads(model, wide, high))
        values = [self._sample_noise(points, step, dt).ravel() for step in range(first_frame, first_frame + steps)]
        return np.array(values).reshape(steps, len(found[1])) @ found[1]

    def _build_lattice(self, flow: Flow) -> tuple[Array, tuple[int, int]]:
        """Sample points (k, 2) [m], and their number along each direction."""
        spacing = checks.require_positive(self.scale, "the scale of noise (m)") / self.samples_per_scale
        if self.scale < 0.1 * flow.cell_size:  # edges do not resolve finer lumps
            raise InputError(
                f"the scale of noise is {self.scale:g} m, but cells are {flow.cell_size:g} m wide; give a cell at least"
            )
        wide, high = (int(np.ceil(side / spacing)) + 2 for side in flow.size)
        x, y = np.meshgrid(spacing * np.arange(wide), spacing * np.arange(high), indexing="ij")
        return np.stack([x.ravel(), y.ravel()], axis=1), (wide, high)

    def _sample_noise(self, points: Array, step: int, dt: float) -> Array:
        """Noise (k, 2) [m/s²] in the middle of a step."""
        strength = checks.require_positive(self.strength, "the strength of noise (m/s²)", allow_zero=True)
        pace = checks.require_positive(self.pace, "the pace of noise (1/s)", allow_zero=True)
        seed = checks.require_integer(self.seed, "the seed of noise", minimum=0)
        when = np.full((len(points), 1), pace * (step + 0.5) * dt)
        values = sample_perlin(np.hstack([points / self.scale, when]) @ LATTICE_ROTATION, seed)
        return strength / PERLIN_RMS * values[:, :2]

    def _locate_cells(self, points: Array) -> tuple[tuple[NDArray[np.int64], ...], tuple[Array, ...]]:
        """Lattice cells of points (..., 2) [m], and the position of each in its cell."""
        x = np.moveaxis(points, -1, 0) * (self.samples_per_scale / self.scale)
        whole = np.floor(x).astype(np.int64)
        return tuple(whole), tuple(x - whole)

    def _build_lattice_loads(self, model: ReducedFlow, wide: int, high: int) -> Array:
        """The reduced force (2k, r) of a unit of each component at each lattice point."""
        flow = model.flow
        loads, first = np.zeros((wide * high, 2, model.size)), 0
        for part, points in enumerate(flow.compute_face_centres()):
            (i, j), (s, t) = self._locate_cells(points.reshape(-1, 2))
            rows = model.basis[first : first + len(i)]
            first += len(i)
            for a, b, share in ((0, 0, (1 - s) * (1 - t)), (0, 1, (1 - s) * t), (1, 0, s * (1 - t)), (1, 1, s * t)):
                np.add.at(loads[:, part], (i + a) * high + j + b, flow.cell_size**2 * share[:, None] * rows)
        return loads.reshape(-1, model.size)
