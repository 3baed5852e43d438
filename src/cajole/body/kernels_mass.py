"""The compiled loop for the mass of linear triangles and tets."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cajole.arrays import Array
from cajole.jit import njit

Int32Array = NDArray[np.int32]


@njit(cache=True)
def add_consistent_mass(
    elements: Int32Array, masses: Array, block_offsets: Int32Array, row_strides: Int32Array, data: Array
) -> None:
    """data += w (1 + δ_ab) / k(k + 1) I₃, the consistent mass of elements (m, k) that weigh w each [kg]."""
    k = elements.shape[1]
    for e in range(len(elements)):
        for a in range(k):
            for b in range(k):
                value = masses[e] * (2.0 if a == b else 1.0) / (k * (k + 1))
                here, step = block_offsets[e, a, b], row_strides[elements[e, a]]
                for i in range(3):
                    data[here + i * (step + 1)] += value
