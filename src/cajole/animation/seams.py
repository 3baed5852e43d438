"""Surfaces that a file has cut at hard edges and at seams of its textures, made whole again."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cajole.animation.animation import Frames

# of the size: vertices that were one in the file that was exported from are rounded alike, but are moved in blocks
_TOGETHER = 1e-6


def joined(
    stored: NDArray[Any], positions: Frames, triangles: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Vertices that are one: at exactly one place as `stored` (n, 3), and together in all frames of `positions`.

    Returns which vertices to keep (k,), the first of each, and the triangles in their numbering.
    """
    _, first, group = np.unique(stored + 0.0, axis=0, return_index=True, return_inverse=True)
    owner = first[group.reshape(-1)]
    if len(first) < len(stored):
        near = _TOGETHER * float(np.ptp(positions[0], axis=0).max())
        together = np.ones(len(stored), dtype=bool)
        for frame in positions:
            together &= np.abs(frame - frame[owner]).max(axis=1) <= near
        owner = np.where(together, owner, np.arange(len(stored)))
    kept = np.unique(owner)
    return kept, np.searchsorted(kept, owner)[triangles]
