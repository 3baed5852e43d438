"""Vertices that keep colliding move as one (Provot 1997)."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from cajole.arrays import Array, IndexArray


def merged(zone: IndexArray, stencils: IndexArray) -> IndexArray:
    """Zones (n,) after the vertices of each stencil (k, 4) have been put into one."""
    n = len(zone)
    ones = np.ones(3 * len(stencils) + n)
    rows = np.concatenate([np.repeat(zone[stencils[:, 0]], 3), np.arange(n)])
    columns = np.concatenate([zone[stencils[:, 1:]].ravel(), zone])
    graph = sp.csr_array((ones, (rows, columns)), shape=(n, n))
    return sp.csgraph.connected_components(graph, directed=False)[1].astype(np.int64)


def moved_as_one(zone: IndexArray, masses: Array, before: Array, x: Array) -> Array:
    """x (n, 3) where each zone of several vertices moves by its mean, as its momentum or its immovable part says."""
    count = int(zone.max()) + 1
    sizes = np.bincount(zone, minlength=count)
    held = np.bincount(zone, weights=masses == 0, minlength=count) > 0
    weights = np.where(held[zone], (masses == 0).astype(float), masses)
    total = np.bincount(zone, weights=weights, minlength=count)
    mean = np.stack([np.bincount(zone, weights=weights * part, minlength=count) for part in (x - before).T], axis=1)
    several = sizes[zone] > 1
    out = x.copy()
    out[several] = before[several] + (mean / total[:, None])[zone[several]]
    # colliders go where they go
    out[masses == 0] = x[masses == 0]
    return out
