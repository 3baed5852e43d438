"""How a control force is shared with the neighbours of the node that is led, so that it is not drawn into a spike."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import dijkstra

from cajole.arrays import Array, IndexArray
from cajole.body import BodySprings
from cajole.direct.rerouting.goals import GoalSet

# by default a node is led together with those within this many spacings
DEFAULT_REACH_SPACINGS = 9.0
# the reach in standard deviations of the bell
REACH_DEVIATIONS = 3.0


def compute_default_reach(body: BodySprings) -> float:
    """[m] nine times the median distance of a vertex to its nearest neighbour."""
    lengths = _compute_edge_lengths(body)
    nearest = np.full(body.vertex_count, np.inf)
    for side in range(2):
        np.minimum.at(nearest, body.edges[:, side], lengths)
    return DEFAULT_REACH_SPACINGS * float(np.median(nearest))


@dataclass(frozen=True, eq=False)
class ForceDistribution:
    """Where the control of each goal acts: weights (G, n) of a force that is led step by step, 1 at its node, and
    touched (G, n), whether a vertex is within reach at all."""

    weights: Array
    is_within_reach: NDArray[np.bool_]

    @classmethod
    def for_goals(cls, body: BodySprings, goal_set: GoalSet, reach: float) -> ForceDistribution:
        """Bells that end at `reach` [m] along springs, or at the nearest other node that is led at the same time.

        Wider bells of two nodes that are wanted apart would fight over what lies between: forces grow without bound.
        """
        far = compute_graph_distances(body, goal_set.vertices, reach)
        touched = far <= reach
        touched[:, body.fixed] = False
        between = np.where(_find_overlapping_windows(goal_set), far[:, goal_set.vertices], np.inf)
        # short of it, so that the other has no weight at all
        ends = np.minimum(reach, between.min(axis=1) * (1.0 - 1e-9))
        return cls(np.where(touched, compute_gaussian_weights(far, ends), 0.0), touched)

    def select_goals(self, indices: IndexArray) -> ForceDistribution:
        """That of some goals."""
        return ForceDistribution(self.weights[indices], self.is_within_reach[indices])


def _find_overlapping_windows(goal_set: GoalSet) -> NDArray[np.bool_]:
    """(G, G) whether two goals are of different vertices, in windows that overlap."""
    overlap = (goal_set.start_frames[:, None] < goal_set.end_frames) & (
        goal_set.start_frames < goal_set.end_frames[:, None]
    )
    return np.asarray(overlap & (goal_set.vertices[:, None] != goal_set.vertices))


def compute_graph_distances(body: BodySprings, vertices: IndexArray, reach: float) -> Array:
    """(G, n) [m] from each of `vertices` along springs at rest, infinite beyond `reach`.

    Along springs, not through the air, so that a fold does not pull the layer below.
    """
    return np.asarray(dijkstra(build_spring_graph(body), directed=False, indices=vertices, limit=reach))


def compute_gaussian_weights(distances: Array, reach: Array) -> Array:
    """Weights (G, n): Gaussians of the distances `far` (G, n) [m], 1 at none and 0 beyond `reach` (G,) [m]."""
    width = np.maximum(reach, np.finfo(float).tiny)[:, None] / REACH_DEVIATIONS
    with np.errstate(over="ignore"):
        return np.where(distances <= reach[:, None], np.exp(-0.5 * (distances / width) ** 2), 0.0)


def clamp_forces(force: Array, limit: float | None) -> Array:
    """`force` (..., 3) with every vector cut to at most `limit` [N]."""
    if limit is None:
        return force
    size = np.linalg.norm(force, axis=-1, keepdims=True)
    return np.asarray(force * (limit / np.maximum(size, limit)))


def build_spring_graph(body: BodySprings) -> sp.csr_array:
    """(n, n) [m] the rest distance along each spring, one way."""
    n = body.vertex_count
    return sp.csr_array((_compute_edge_lengths(body), (body.edges[:, 0], body.edges[:, 1])), shape=(n, n))


def _compute_edge_lengths(body: BodySprings) -> Array:
    ends = body.vertices[body.edges]
    return np.asarray(np.linalg.norm(ends[:, 0] - ends[:, 1], axis=1))
