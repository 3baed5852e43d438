"""Smooth noise in space, for gusts and crinkled sheets."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from cajole.arrays import Array
from cajole.body import kernels_loads as kernels

# root mean square of one component of `sample_perlin` over space: 8 ∫ fade² |x|²/3 over a cell
PERLIN_RMS = 0.190944
# The noise is weaker along the axes of its lattice; this reflection turns the axes of bodies and winds away from them.
_normal = np.sqrt([1.0, 2.0, 5.0])
LATTICE_ROTATION = np.eye(3) - 2.0 * np.outer(_normal, _normal) / (_normal @ _normal)


def sample_perlin(points: Array, seed: int) -> Array:
    """Gradient noise (k, 3) at points (k, 3): independent smooth components in about [-1, 1], zero on integers."""
    out = np.empty((len(points), 3))
    kernels.sample_perlin(np.ascontiguousarray(points), *_build_lattice(seed), out)
    return out


def sample_unit_noise(points: Array, scale: float, seed: int) -> Array:
    """Noise (k, 3) with root mean square 1 at points (k, 3) [m], with features of `scale` [m], oblique to the axes."""
    return sample_perlin(points @ LATTICE_ROTATION / scale, seed) / PERLIN_RMS


@cache
def _build_lattice(seed: int) -> tuple[NDArray[np.int64], Array]:
    random = np.random.default_rng(seed)
    table = random.permutation(kernels.NOISE_PERIOD)
    gradients = random.standard_normal((3, kernels.NOISE_PERIOD, 3))
    return table, gradients / np.linalg.norm(gradients, axis=2, keepdims=True)
