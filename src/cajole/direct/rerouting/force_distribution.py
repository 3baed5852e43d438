"""Distribution of a control force over the neighbours of its node, so that the node is not pulled into a spike."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import dijkstra

from cajole.arrays import Array, IndexArray
from cajole.body import BodySprings
from cajole.direct.rerouting.goals import GoalSet


def compute_default_reach(body: BodySprings) -> float:
    """[m] nine times the median distance from a vertex to its nearest neighbour."""
    lengths = _compute_edge_lengths(body)
    nearest = np.full(body.vertex_count, np.inf)
    for side in range(2):
        np.minimum.at(nearest, body.edges[:, side], lengths)
    return 9.0 * float(np.median(nearest))


@dataclass(frozen=True, eq=False)
class ForceDistribution:
    """Where the control of each goal acts.

    weights: (G, n) of a force that is computed step by step, 1 at its node; is_within_reach: (G, n).
    """

    weights: Array
    is_within_reach: NDArray[np.bool_]

    @classmethod
    def for_goals(cls, body: BodySprings, goal_set: GoalSet, reach: float) -> ForceDistribution:
        """Gaussians that end at `reach` [m] along springs, or at the nearest node that is controlled at the same time.

        If two nodes go apart, wider Gaussians would pull the vertices between them both ways, with unbounded forces.
        """
        distances = compute_graph_distances(body, goal_set.vertices, reach)
        within = distances <= reach
        within[:, body.fixed] = False
        starts, ends, vertices = goal_set.start_frames, goal_set.end_frames, goal_set.vertices
        overlap = (starts[:, None] < ends) & (starts < ends[:, None]) & (vertices[:, None] != vertices)
        between = np.where(overlap, distances[:, vertices], np.inf)
        # slightly shorter, so that the other node has no weight
        widths = np.minimum(reach, between.min(axis=1) * (1.0 - 1e-9))
        return cls(np.where(within, compute_gaussian_weights(distances, widths), 0.0), within)

    def select_goals(self, indices: IndexArray) -> ForceDistribution:
        """The distribution of a subset of the goals."""
        return ForceDistribution(self.weights[indices], self.is_within_reach[indices])


def compute_graph_distances(body: BodySprings, vertices: IndexArray, reach: float = np.inf) -> Array:
    """(G, n) [m] distances along springs at rest from each of `vertices`, inf beyond `reach`.

    Along springs, not through space: a fold does not pull the layer below.
    """
    n, ends = body.vertex_count, (body.edges[:, 0], body.edges[:, 1])
    graph = sp.csr_array((_compute_edge_lengths(body), ends), shape=(n, n))
    return np.asarray(dijkstra(graph, directed=False, indices=vertices, limit=reach))


def compute_gaussian_weights(distances: Array, reach: Array) -> Array:
    """Weights (G, n) of distances (G, n) [m]: Gaussian, 1 at distance 0, cut off at `reach` (G,) [m], which is 3σ."""
    width = np.maximum(reach, np.finfo(float).tiny)[:, None] / 3.0
    with np.errstate(over="ignore"):
        return np.where(distances <= reach[:, None], np.exp(-0.5 * (distances / width) ** 2), 0.0)


def clamp_forces(force: Array, limit: float | None) -> Array:
    """`force` (..., 3) with every vector shortened to at most `limit` [N]."""
    if limit is None:
        return force
    size = np.linalg.norm(force, axis=-1, keepdims=True)
    return np.asarray(force * (limit / np.maximum(size, limit)))


def _compute_edge_lengths(body: BodySprings) -> Array:
    ends = body.vertices[body.edges]
    return np.asarray(np.linalg.norm(ends[:, 0] - ends[:, 1], axis=1))
