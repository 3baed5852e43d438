"""Pulls on the body: the patch of vertices that is pulled, and the stiffness of the hand that pulls it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cajole.arrays import Array, IndexArray
from cajole.body import Body
from cajole.direct import PoseSession
from cajole.direct.keyframing.pose_session import Load
from cajole.errors import SolveError


@dataclass(frozen=True)
class PullOptions:
    """Patch and stiffness of pulls."""

    # vertices within this distance [body sizes] are pulled together: one vertex alone would draw a spike
    patch_radius: float = 0.03
    max_patch_vertices: int = 24
    # within this distance of the hand [body sizes] no edge may be strained by more than `max_strain`: a pull beside
    # fixed vertices would invert tets
    reach: float = 0.25
    max_strain: float = 0.3
    # smallest stiffness, as a fraction of one that strains the body that much: free rotations have no stiffness
    min_stiffness_fraction: float = 1e-3
    # force [body weights] at that reach where the response of the body is not known
    default_weights_at_reach: float = 0.5


PULL_OPTIONS = PullOptions()


def select_patch(body: Body, node: int) -> IndexArray:
    """Vertices pulled together with `node`, which comes first; fixed ones are left out, except `node` itself."""
    distance = np.linalg.norm(body.vertices - body.vertices[node], axis=1)
    distance[node] = -1.0
    near: IndexArray = np.argsort(distance, kind="stable")[: PULL_OPTIONS.max_patch_vertices]
    near = near[distance[near] <= PULL_OPTIONS.patch_radius * body.size]
    found: IndexArray = near[(near == node) | ~np.isin(near, body.fixed)]
    return found


def is_pose_load(load: Load) -> bool:
    """True for a load that holds the body in a loaded pose, which is no pull."""
    return len(load.vertices) > PULL_OPTIONS.max_patch_vertices


def get_load_key(load: Load) -> tuple[int, int]:
    """Number and first vertex: identify a load while its force changes, and in a project that is opened again."""
    return load.load_id, int(load.vertices[0])


def compute_pull_stiffness(session: PoseSession, edges: IndexArray, vertices: IndexArray) -> float:
    """Stiffness [N/m] of the hand at which vertices (k,) move about as far as the hand.

    With compliance C (mean displacement of the vertices under a small mean force) it is 1/λ, λ the greatest eigenvalue
    of C: equality in the softest direction. It is bounded by the strain of the edges (m, 2), see `PullOptions`.
    """
    body = session.body
    reach = PULL_OPTIONS.reach * body.size
    default = PULL_OPTIONS.default_weights_at_reach * body.weight / reach
    if len(body.fixed) == 0 and not session.pins:
        return default
    try:
        response = session.compute_compliance(vertices)
    except SolveError:  # nothing resists
        return default
    C = response[:, vertices].mean(axis=1)
    compliances, directions = np.linalg.eigh(0.5 * (C + C.T))
    displacement: Array = np.tensordot(directions[:, -1], response, axes=1)
    # greatest relative change of length of an edge, to first order
    along, apart = (x[edges[:, 1]] - x[edges[:, 0]] for x in (body.vertices, displacement))
    strain = float(np.abs((along * apart).sum(axis=1) / (along**2).sum(axis=1)).max(initial=0.0))
    if not strain > 0.0:  # the vertices themselves are pinned
        return default
    limit = PULL_OPTIONS.max_strain / (strain * reach)
    stiffness = 1.0 / max(float(compliances[-1]), 1e-300)
    return min(limit, max(stiffness, PULL_OPTIONS.min_stiffness_fraction * limit))
