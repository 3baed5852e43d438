"""Compiled contacts of pairs of four vertices on straight ways: which there are, and the impulses that avoid them.

What a stencil is and its weights are is said in kernels_gaps.py.
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

# a way is followed in steps that cannot pass through anything, until this share of the width, or of what there was,
# is left
IMPACT_GAP_SHARE = 0.1
# the share of the wanted distance that may be missing: impulses of many contacts end somewhere
DISTANCE_SLACK = 0.02
# weights beyond which the nearest point of an edge is its end
EDGE_INTERIOR_LIMIT = 1.0 - 1e-9


@njit(cache=True)
def find_displaced_vertices(x: Array, after: Array, margin: float) -> IndexArray:
    """The vertices of x (n, 3) that are farther from `after` (n, 3) than `room`, along any axis."""
    out, count = np.empty(len(x), np.int64), 0
    for v in range(len(x)):
        if max(abs(x[v, 0] - after[v, 0]), abs(x[v, 1] - after[v, 1]), abs(x[v, 2] - after[v, 2])) > margin:
            out[count] = v
            count += 1
    return out[:count].copy()


@njit(cache=True)
def update_displacements(x: Array, last_positions: Array) -> Array:
    """How far (n,) the vertices of x (n, 3) are from where they were seen (n, 3), which they are now."""
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
    """The rows of `stencils` (k, 4) that hold none of some vertices, of which there are `vertices`."""
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
    """Those stencils whose parts could come within `near` on the ways to `after` (n, 3), and their distances before.

    A few of a hundred: most boxes that overlap are those of neighbours in a surface.
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
    """Stencils that come nearer than LEFT of the width, or of their distance at the start (k,), on the ways."""
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
    """How many contacts there are on the ways from `before` to `after` (n, 3).

    spare (k,) [m]: what is left until a pair, which was none, can be one; vertices that have `moved` (n,) since the
    last call use up to four times their way of it. Where nothing is left it is told anew.

    A hit would come nearer than LEFT of the width, or of its distance at the start (k,); other contacts end nearer than
    they ought to: than `width`, or where they started nearer than there, or by the share `recovered` of what misses
    farther. Without such a share none asks for more than that its parts stop nearing each other. Fills for each
    contact its stencil, its weights (4,) and normal (3,) there, and the distance wanted at the end.
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
        # on its way one that is no hit never comes nearer than half of what would make it one
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
        # edges that are nearest at an end, as parallel ones are, meet as a vertex and a triangle do, and less squarely
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
    """Move `after` (n, 3) so that every contact (k, 4) ends at the distance it wants, inelastically; whether any moved.

    Each impulse acts on all four vertices by their `inverse` masses (n,), so that momentum is kept; where it presses by
    c it holds tangential motion back by up to `friction` c, Coulomb's law.
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
