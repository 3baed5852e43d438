"""Compiled contacts of pairs of four vertices on straight ways: which there are, and the impulses that avoid them.

What a stencil is and its weights are is said in kernels_gaps.py.
"""

from __future__ import annotations

import numpy as np

from cajole.arrays import Array, IndexArray
from cajole.compiled import njit
from cajole.direct.enriching.collisions.kernels_gaps import apart, gap, gather, impact, reach_of

# a way is followed in steps that cannot pass through anything, until this share of the width, or of what there was,
# is left
LEFT = 0.1
# the share of the wanted distance that may be missing: impulses of many contacts end somewhere
SLACK = 0.02
# weights beyond which the nearest point of an edge is its end
INNER = 1.0 - 1e-9


@njit(cache=True)
def leaving(x: Array, after: Array, room: float) -> IndexArray:
    """The vertices of x (n, 3) that are farther from `after` (n, 3) than `room`, along any axis."""
    out, count = np.empty(len(x), np.int64), 0
    for v in range(len(x)):
        if max(abs(x[v, 0] - after[v, 0]), abs(x[v, 1] - after[v, 1]), abs(x[v, 2] - after[v, 2])) > room:
            out[count] = v
            count += 1
    return out[:count].copy()


@njit(cache=True)
def moved_since(x: Array, seen: Array) -> Array:
    """How far (n,) the vertices of x (n, 3) are from where they were seen (n, 3), which they are now."""
    out = np.empty(len(x))
    for v in range(len(x)):
        out[v] = np.sqrt((x[v, 0] - seen[v, 0]) ** 2 + (x[v, 1] - seen[v, 1]) ** 2 + (x[v, 2] - seen[v, 2]) ** 2)
        seen[v] = x[v]
    return out


@njit(cache=True)
def without(stencils: IndexArray, some: IndexArray, vertices: int) -> IndexArray:
    """The rows of `stencils` (k, 4) that hold none of some vertices, of which there are `vertices`."""
    held = np.zeros(vertices, np.bool_)
    held[some] = True
    out, count = np.empty(len(stencils), np.int64), 0
    for k in range(len(stencils)):
        if not (held[stencils[k, 0]] or held[stencils[k, 1]] or held[stencils[k, 2]] or held[stencils[k, 3]]):
            out[count] = k
            count += 1
    return out[:count].copy()


@njit(cache=True)
def approaching(
    before: Array, after: Array, stencils: IndexArray, edges: bool, near: float
) -> tuple[IndexArray, Array]:
    """Those stencils whose parts could come within `near` on the ways to `after` (n, 3), and their distances before.

    A few of a hundred: most boxes that overlap are those of neighbours in a surface.
    """
    kept, start, count = np.empty_like(stencils), np.empty(len(stencils)), 0
    x, p, w, way = np.empty((4, 3)), np.empty((4, 3)), np.empty(4), np.empty(3)
    for k in range(len(stencils)):
        gather(before, after, stencils[k], x, p)
        most = near + reach_of(p, edges)
        if apart(x, edges) > most:
            continue
        distance = gap(x, edges, w, way)
        if distance > most:
            continue
        start[count] = distance
        for c in range(4):
            kept[count, c] = stencils[k, c]
        count += 1
    return kept[:count].copy(), start[:count].copy()


@njit(cache=True)
def meeting(before: Array, after: Array, stencils: IndexArray, edges: bool, start: Array, width: float) -> IndexArray:
    """Stencils that come nearer than LEFT of the width, or of their distance at the start (k,), on the ways."""
    x, p, at = np.empty((4, 3)), np.empty((4, 3)), np.empty((4, 3))
    w, way = np.empty(4), np.empty(3)
    kept, count = np.empty_like(stencils), 0
    for k in range(len(stencils)):
        gather(before, after, stencils[k], x, p)
        reach, near = reach_of(p, edges), LEFT * min(start[k], width)
        if reach > start[k] - near and impact(x, p, edges, start[k], near, reach, at, w, way) <= 1.0:
            for c in range(4):
                kept[count, c] = stencils[k, c]
            count += 1
    return kept[:count].copy()


@njit(cache=True)
def find_contacts(
    before: Array,
    after: Array,
    stencils: IndexArray,
    edges: bool,
    start: Array,
    spare: Array,
    moved: Array,
    width: float,
    recovered: float,
    only_hits: bool,
    which: IndexArray,
    weights: Array,
    normals: Array,
    wanted: Array,
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
    enough = 1.0 - SLACK if recovered == 0.0 else 1.0
    count = 0
    for k in range(len(stencils)):
        four = stencils[k]
        spare[k] -= 4.0 * max(moved[four[0]], moved[four[1]], moved[four[2]], moved[four[3]])
        if spare[k] > 0.0:
            continue
        gather(before, after, stencils[k], x, p)
        reach = reach_of(p, edges)
        want = width if start[k] >= width else start[k] + recovered * (width - start[k])
        if start[k] - reach >= want:
            spare[k] = start[k] - reach - want
            continue
        hit = False
        near = LEFT * min(start[k], width)
        # on its way one that is no hit never comes nearer than half of what would make it one
        free = max(start[k] - near - reach, 0.5 * near)
        if reach > start[k] - near:
            hit = impact(x, p, edges, start[k], near, reach, at, w, way) <= 1.0
        if not hit:
            if only_hits:
                continue
            for c in range(4):
                for a in range(3):
                    at[c, a] = x[c, a] + p[c, a]
            distance = gap(at, edges, w, way)
            if distance >= enough * want:
                spare[k] = min(free, distance - enough * want)
                continue
        length = np.sqrt(way[0] ** 2 + way[1] ** 2 + way[2] ** 2)
        # edges that are nearest at an end, as parallel ones are, meet as a vertex and a triangle do, and less squarely
        at_end = edges and (max(abs(w[0]), abs(w[1])) > INNER or max(abs(w[2]), abs(w[3])) > INNER)
        if length == 0.0 or (at_end and not only_hits):
            continue
        if recovered == 0.0:
            began = 0.0
            for c in range(4):
                began += w[c] * (x[c, 0] * way[0] + x[c, 1] * way[1] + x[c, 2] * way[2]) / length
            want = min(want, began)
            if not hit and length >= enough * want:
                continue
        which[count], wanted[count] = k, want
        for c in range(4):
            weights[count, c] = w[c]
        for a in range(3):
            normals[count, a] = way[a] / length
        count += 1
    return count


@njit(cache=True)
def push_apart(
    before: Array,
    after: Array,
    stencils: IndexArray,
    weights: Array,
    normals: Array,
    wanted: Array,
    inverse: Array,
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
                mobility += w[c] * w[c] * inverse[v]
            push = wanted[k] - along
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
                share = w[c] * inverse[v] / mobility
                for a in range(3):
                    after[v, a] += share * (push * n[a] - held * way[a])
        if not moved:
            return sweep > 0
    return True
