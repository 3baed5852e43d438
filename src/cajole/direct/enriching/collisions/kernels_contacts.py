"""Compiled contacts between stencils of four vertices on linear motions: detection, and impulses that avoid them.

`kernels_distance` defines stencils and their weights.
"""

from __future__ import annotations

import numpy as np

from cajole.arrays import Array, IndexArray
from cajole.direct.enriching.collisions.kernels_distance import (
    compute_max_approach,
    compute_stencil_distance,
    compute_time_of_impact,
    estimate_min_distance,
    gather_stencil,
)
from cajole.jit import njit

# conservative advancement ends at this share of the contact distance, or of the initial distance
IMPACT_GAP_SHARE = 0.1
# accepted error of a target distance: iterations over many contacts do not converge completely
DISTANCE_SLACK = 0.02
# for larger weights the nearest point of an edge is its end
EDGE_INTERIOR_LIMIT = 1.0 - 1e-9


@njit(cache=True)
def find_displaced_vertices(x: Array, after: Array, margin: float) -> IndexArray:
    """Indices of the vertices of x (n, 3) that are farther from `after` (n, 3) than `margin` along any axis."""
    out, count = np.empty(len(x), np.int64), 0
    for v in range(len(x)):
        if max(abs(x[v, 0] - after[v, 0]), abs(x[v, 1] - after[v, 1]), abs(x[v, 2] - after[v, 2])) > margin:
            out[count] = v
            count += 1
    return out[:count].copy()


@njit(cache=True)
def update_displacements(x: Array, last_positions: Array) -> Array:
    """Distances (n,) of the vertices of x (n, 3) from last_positions (n, 3), which become x."""
    out = np.empty(len(x))
    for v in range(len(x)):
        out[v] = np.sqrt(
            (x[v, 0] - last_positions[v, 0]) ** 2
            + (x[v, 1] - last_positions[v, 1]) ** 2
            + (x[v, 2] - last_positions[v, 2]) ** 2
        )
        last_positions[v] = x[v]
    return out


@njit(cache=True)
def find_stencils_without(stencils: IndexArray, excluded: IndexArray, vertex_count: int) -> IndexArray:
    """Rows of `stencils` (k, 4) without any of the `excluded` vertices; vertex_count: number of all vertices."""
    held = np.zeros(vertex_count, np.bool_)
    held[excluded] = True
    out, count = np.empty(len(stencils), np.int64), 0
    for k in range(len(stencils)):
        if not (held[stencils[k, 0]] or held[stencils[k, 1]] or held[stencils[k, 2]] or held[stencils[k, 3]]):
            out[count] = k
            count += 1
    return out[:count].copy()


@njit(cache=True)
def filter_approaching(
    before: Array, after: Array, stencils: IndexArray, is_edge_edge: bool, max_distance: float
) -> tuple[IndexArray, Array]:
    """Stencils that can come within max_distance during the motion to `after` (n, 3), and their distances before.

    These are a few percent: most overlapping boxes belong to neighbours on a surface.
    """
    kept, start, count = np.empty_like(stencils), np.empty(len(stencils)), 0
    x, p, w, way = np.empty((4, 3)), np.empty((4, 3)), np.empty(4), np.empty(3)
    for k in range(len(stencils)):
        gather_stencil(before, after, stencils[k], x, p)
        most = max_distance + compute_max_approach(p, is_edge_edge)
        if estimate_min_distance(x, is_edge_edge) > most:
            continue
        distance = compute_stencil_distance(x, is_edge_edge, w, way)
        if distance > most:
            continue
        start[count] = distance
        for c in range(4):
            kept[count, c] = stencils[k, c]
        count += 1
    return kept[:count].copy(), start[:count].copy()


@njit(cache=True)
def filter_impacts(
    before: Array, after: Array, stencils: IndexArray, is_edge_edge: bool, start_distances: Array, width: float
) -> IndexArray:
    """Stencils that come nearer than IMPACT_GAP_SHARE of the width, or of their start distance, during the motion."""
    x, p, at = np.empty((4, 3)), np.empty((4, 3)), np.empty((4, 3))
    w, way = np.empty(4), np.empty(3)
    kept, count = np.empty_like(stencils), 0
    for k in range(len(stencils)):
        gather_stencil(before, after, stencils[k], x, p)
        reach, near = compute_max_approach(p, is_edge_edge), IMPACT_GAP_SHARE * min(start_distances[k], width)
        if (
            reach > start_distances[k] - near
            and compute_time_of_impact(x, p, is_edge_edge, start_distances[k], near, reach, at, w, way) <= 1.0
        ):
            for c in range(4):
                kept[count, c] = stencils[k, c]
            count += 1
    return kept[:count].copy()


@njit(cache=True)
def detect_contacts(
    before: Array,
    after: Array,
    stencils: IndexArray,
    is_edge_edge: bool,
    start_distances: Array,
    slack: Array,
    displacements: Array,
    width: float,
    recovery_share: float,
    only_impacts: bool,
    stencil_indices: IndexArray,
    weights: Array,
    normals: Array,
    target_distances: Array,
) -> int:
    """Detect the contacts during the motion from `before` to `after` (n, 3), and return their number.

    slack (k,) [m]: motion after which a pair can be a contact; displacements (n,) of the vertices since the last call
    reduce it by up to four times their size. It is computed again for pairs without slack.

    An impact comes nearer than IMPACT_GAP_SHARE of the width, or of the start distance (k,). Other contacts end nearer
    than their target: `width`, or the start distance if smaller, plus recovery_share of the missing distance. Without
    recovery, the target is at most the distance along the normal at the start. Fills for each contact the index of its
    stencil, weights (4,), normal (3,) and target distance.
    """
    x, p, at = np.empty((4, 3)), np.empty((4, 3)), np.empty((4, 3))
    w, way = np.empty(4), np.empty(3)
    enough = 1.0 - DISTANCE_SLACK if recovery_share == 0.0 else 1.0
    count = 0
    for k in range(len(stencils)):
        four = stencils[k]
        slack[k] -= 4.0 * max(
            displacements[four[0]], displacements[four[1]], displacements[four[2]], displacements[four[3]]
        )
        if slack[k] > 0.0:
            continue
        gather_stencil(before, after, stencils[k], x, p)
        reach = compute_max_approach(p, is_edge_edge)
        want = (
            width if start_distances[k] >= width else start_distances[k] + recovery_share * (width - start_distances[k])
        )
        if start_distances[k] - reach >= want:
            slack[k] = start_distances[k] - reach - want
            continue
        hit = False
        near = IMPACT_GAP_SHARE * min(start_distances[k], width)
        # a pair without impact never comes nearer than half of the impact distance
        free = max(start_distances[k] - near - reach, 0.5 * near)
        if reach > start_distances[k] - near:
            hit = compute_time_of_impact(x, p, is_edge_edge, start_distances[k], near, reach, at, w, way) <= 1.0
        if not hit:
            if only_impacts:
                continue
            for c in range(4):
                for a in range(3):
                    at[c, a] = x[c, a] + p[c, a]
            distance = compute_stencil_distance(at, is_edge_edge, w, way)
            if distance >= enough * want:
                slack[k] = min(free, distance - enough * want)
                continue
        length = np.sqrt(way[0] ** 2 + way[1] ** 2 + way[2] ** 2)
        # edges that are nearest at an end, such as parallel ones, are handled by vertex-triangle contacts
        at_end = is_edge_edge and (
            max(abs(w[0]), abs(w[1])) > EDGE_INTERIOR_LIMIT or max(abs(w[2]), abs(w[3])) > EDGE_INTERIOR_LIMIT
        )
        if length == 0.0 or (at_end and not only_impacts):
            continue
        if recovery_share == 0.0:
            began = 0.0
            for c in range(4):
                began += w[c] * (x[c, 0] * way[0] + x[c, 1] * way[1] + x[c, 2] * way[2]) / length
            want = min(want, began)
            if not hit and length >= enough * want:
                continue
        stencil_indices[count], target_distances[count] = k, want
        for c in range(4):
            weights[count, c] = w[c]
        for a in range(3):
            normals[count, a] = way[a] / length
        count += 1
    return count


@njit(cache=True)
def apply_contact_impulses(
    before: Array,
    after: Array,
    stencils: IndexArray,
    weights: Array,
    normals: Array,
    target_distances: Array,
    inverse_masses: Array,
    friction: float,
    sweeps: int,
) -> bool:
    """Move `after` (n, 3) so that contacts (k, 4) end at their target distances, inelastically; True if any moved.

    Each impulse acts on all four vertices by their inverse masses (n,), which conserves momentum; a normal correction c
    limits the friction to `friction` c, Coulomb's law.
    """
    way = np.empty(3)
    for sweep in range(sweeps):
        moved = False
        for k in range(len(stencils)):
            w, n = weights[k], normals[k]
            along, mobility = 0.0, 0.0
            for c in range(4):
                v = stencils[k, c]
                along += w[c] * (n[0] * after[v, 0] + n[1] * after[v, 1] + n[2] * after[v, 2])
                mobility += w[c] * w[c] * inverse_masses[v]
            push = target_distances[k] - along
            if push <= 0.0 or mobility == 0.0:
                continue
            moved = True
            sliding = 0.0
            for a in range(3):
                way[a] = 0.0
                for c in range(4):
                    v = stencils[k, c]
                    way[a] += w[c] * (after[v, a] - before[v, a])
            across = way[0] * n[0] + way[1] * n[1] + way[2] * n[2]
            for a in range(3):
                way[a] -= across * n[a]
                sliding += way[a] ** 2
            sliding = np.sqrt(sliding)
            held = min(friction * push / sliding, 1.0) if sliding > 0.0 else 0.0
            for c in range(4):
                v = stencils[k, c]
                share = w[c] * inverse_masses[v] / mobility
                for a in range(3):
                    after[v, a] += share * (push * n[a] - held * way[a])
        if not moved:
            return sweep > 0
    return True
