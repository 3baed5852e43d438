"""How a control force is shared with the neighbours of the node that is led, so that it is not drawn into a spike."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import dijkstra

from cajole.body import BodySprings

Array = NDArray[np.float64]
Index = NDArray[np.int64]

# by default a node is led together with those within this many spacings
SPACINGS = 9.0
# the reach in standard deviations of the bell
DEVIATIONS = 3.0


def usual_reach(body: BodySprings) -> float:
    """[m] nine times the median distance of a vertex to its nearest neighbour."""
    lengths = _lengths(body)
    nearest = np.full(body.count, np.inf)
    for side in range(2):
        np.minimum.at(nearest, body.edges[:, side], lengths)
    return SPACINGS * float(np.median(nearest))


def bells(body: BodySprings, vertices: Index, reach: float) -> Array:
    """Weights (G, n) of the force on each vertex: 1 at the one led, a Gaussian of the distance along springs, 0 beyond.

    Along springs, not through the air, so that a fold does not pull the layer below. Fixed vertices have none.
    """
    far = dijkstra(spring_graph(body), directed=False, indices=vertices, limit=reach)
    width = max(reach, np.finfo(float).tiny) / DEVIATIONS
    with np.errstate(over="ignore"):
        weights = np.where(far <= reach, np.exp(-0.5 * (far / width) ** 2), 0.0)
    weights[:, body.fixed] = 0.0
    return weights


def limited(force: Array, limit: float | None) -> Array:
    """`force` (..., 3) with every vector cut to at most `limit` [N]."""
    if limit is None:
        return force
    size = np.linalg.norm(force, axis=-1, keepdims=True)
    return np.asarray(force * np.minimum(1.0, limit / np.maximum(size, np.finfo(float).tiny)))


def spring_graph(body: BodySprings) -> sp.csr_array:
    """(n, n) [m] the rest distance along each spring, one way."""
    n = body.count
    return sp.csr_array((_lengths(body), (body.edges[:, 0], body.edges[:, 1])), shape=(n, n))


def _lengths(body: BodySprings) -> Array:
    ends = body.vertices[body.edges]
    return np.asarray(np.linalg.norm(ends[:, 0] - ends[:, 1], axis=1))
