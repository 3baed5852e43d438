"""Easing functions."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from cajole.arrays import Array


def unit_smoothstep(x: ArrayLike) -> Array:
    """Cubic smoothstep from 0 at 0 to 1 at 1, constant outside."""
    y = np.clip(x, 0.0, 1.0)
    return np.asarray(y * y * (3.0 - 2.0 * y))
