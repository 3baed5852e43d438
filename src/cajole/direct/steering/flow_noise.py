"""Noise that disturbs a flow, on its edges and in its modes."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from cajole import checks
from cajole.arrays import Array
from cajole.body.noise import LATTICE_ROTATION, PERLIN_RMS, sample_perlin
from cajole.errors import InputError
from cajole.flow import Flow
from cajole.reduction import ReducedFlow

# Points at which noise is sampled to one of its lumps, along each direction; between them it is bilinear.
SAMPLES_PER_SCALE = 4
# Of a cell: edges do not see finer lumps, however many points are taken.
MIN_SCALE_CELLS = 0.1


@dataclass(frozen=True)
class GustNoise:
    """Perlin noise that changes with time: gusts everywhere, other ones with every seed.

    strength [m/s²]: root mean square of each component; scale [m]: size of a lump; pace [1/s]: lumps passing in a
    second. The same seed gives the same noise, in the full flow and in its modes.
    """

    strength: float
    scale: float
    pace: float = 1.0
    seed: int = 0
    _load_cache: dict[int, tuple[ReducedFlow, Array]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def compute_acceleration(self, flow: Flow, step: int, dt: float) -> Array:
        """Its acceleration (n,) [m/s²] in the step after frame `step`."""
        at, shape = self._build_lattice(flow)
        values = self._sample_noise(at, step, dt).reshape(*shape, 2)
        u, v = flow.compute_face_centres()
        return np.concatenate(
            [self._interpolate(values[..., 0], u).ravel(), self._interpolate(values[..., 1], v).ravel()]
        )

    def compute_reduced_force(self, model: ReducedFlow, dt: float, first_frame: int, steps: int) -> Array:
        """w (steps, r) in the steps after frames first, first + 1, ..."""
        if not isinstance(model, ReducedFlow):
            raise InputError("a GustNoise blows through a flow; a body is moved by a Push or a Wind")
        at, _ = self._build_lattice(model.flow)
        loads = self._get_lattice_loads(model)
        values = np.array(
            [self._sample_noise(at, step, dt).ravel() for step in range(first_frame, first_frame + steps)]
        )
        return values.reshape(steps, len(loads)) @ loads

    def _build_lattice(self, flow: Flow) -> tuple[Array, tuple[int, int]]:
        """Where noise is sampled (k, 2) [m], and how many points along each direction."""
        spacing = checks.require_positive(self.scale, "the scale of noise (m)") / SAMPLES_PER_SCALE
        if self.scale < MIN_SCALE_CELLS * flow.cell_size:
            raise InputError(
                f"the scale of noise is {self.scale:g} m, but cells are {flow.cell_size:g} m wide; give a cell at least"
            )
        wide, high = (int(np.ceil(side / spacing)) + 2 for side in flow.size)
        x, y = np.meshgrid(spacing * np.arange(wide), spacing * np.arange(high), indexing="ij")
        return np.stack([x.ravel(), y.ravel()], axis=1), (wide, high)

    def _sample_noise(self, points: Array, step: int, dt: float) -> Array:
        """(k, 2) [m/s²] in the middle of a step."""
        strength = checks.require_positive(self.strength, "the strength of noise (m/s²)", allow_zero=True)
        pace = checks.require_positive(self.pace, "the pace of noise (1/s)", allow_zero=True)
        seed = checks.require_integer(self.seed, "the seed of noise", minimum=0)
        when = np.full((len(points), 1), pace * (step + 0.5) * dt)
        return (
            strength
            / PERLIN_RMS
            * sample_perlin(np.hstack([points / self.scale, when]) @ LATTICE_ROTATION, seed)[:, :2]
        )

    def _interpolate(self, values: Array, points: Array) -> Array:
        """`values` on the lattice, bilinear at points (..., 2) [m]."""
        (i, j), (s, t) = self._locate_cells(points)
        low = (1.0 - t) * values[i, j] + t * values[i, j + 1]
        return (1.0 - s) * low + s * ((1.0 - t) * values[i + 1, j] + t * values[i + 1, j + 1])

    def _locate_cells(self, points: Array) -> tuple[tuple[NDArray[np.int64], ...], tuple[Array, ...]]:
        """The lattice cell of each point, and where in it."""
        x = np.moveaxis(points, -1, 0) * (SAMPLES_PER_SCALE / self.scale)
        whole = np.floor(x).astype(np.int64)
        return tuple(whole), tuple(x - whole)

    def _get_lattice_loads(self, model: ReducedFlow) -> Array:
        """The reduced force (2k, r) of a unit at each lattice point and component; kept with its model."""
        made = self._load_cache.get(id(model))
        if made is None:
            self._load_cache.clear()
            made = self._load_cache[id(model)] = (model, self._build_lattice_loads(model))
        return made[1]

    def _build_lattice_loads(self, model: ReducedFlow) -> Array:
        flow, (wide, high) = model.flow, self._build_lattice(model.flow)[1]
        loads, first = np.zeros((wide * high, 2, model.size)), 0
        for part, points in enumerate(flow.compute_face_centres()):
            (i, j), (s, t) = self._locate_cells(points.reshape(-1, 2))
            rows = model.basis[first : first + len(i)]
            first += len(i)
            for a, b, share in ((0, 0, (1 - s) * (1 - t)), (0, 1, (1 - s) * t), (1, 0, s * (1 - t)), (1, 1, s * t)):
                np.add.at(loads[:, part], (i + a) * high + j + b, flow.cell_size**2 * share[:, None] * rows)
        return loads.reshape(-1, model.size)
