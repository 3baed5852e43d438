"""Smooth noise in space: of gusts, and of crinkled sheets."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from cajole.arrays import Array
from cajole.body import kernels_noise

# Root mean square of one component of `perlin` over space: 8 ∫ fade² |x|²/3 over a cell.
PERLIN_RMS = 0.190944
# The noise is weaker along the lines of its lattice: a mirror askew to all axes keeps bodies and winds off them.
_MIRROR_NORMAL = np.sqrt([1.0, 2.0, 5.0])
LATTICE_ROTATION = np.eye(3) - 2.0 * np.outer(_MIRROR_NORMAL, _MIRROR_NORMAL) / (_MIRROR_NORMAL @ _MIRROR_NORMAL)


def sample_perlin(points: Array, seed: int) -> Array:
    """Gradient noise (k, 3), three independent components in about [-1, 1], smooth, zero on the integer lattice."""
    out = np.empty((len(points), 3))
    kernels_noise.sample_perlin(np.ascontiguousarray(points), *_build_lattice(seed), out)
    return out


def sample_unit_noise(points: Array, scale: float, seed: int) -> Array:
    """`perlin` (k, 3) of points (k, 3) [m] in lumps of `scale` [m], askew to the axes, with a root mean square of 1."""
    return sample_perlin(points @ LATTICE_ROTATION / scale, seed) / PERLIN_RMS


@cache
def _build_lattice(seed: int) -> tuple[NDArray[np.int64], Array]:
    random = np.random.default_rng(seed)
    table = random.permutation(kernels_noise.PERIOD)
    gradients = random.standard_normal((3, kernels_noise.PERIOD, 3))
    return table, gradients / np.linalg.norm(gradients, axis=2, keepdims=True)
