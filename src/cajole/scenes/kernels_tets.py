"""Compiled loops over tets and vertex stars: snapping, stencils, non-manifold vertices.

Rows are written entry by entry and four numbers are sorted by hand: numba's array assignment and `sort` take 2 s each
to compile.
"""

from __future__ import annotations

import numpy as np

from cajole.jit import njit


@njit(cache=True)
def snap_nodes(starts, members, ends, cut_fractions, snap_fractions, signs, snapped_cut):
    """Snap nodes onto cuts that are too close: signs (n,) becomes 0 and snapped_cut (n,) the cut; other cuts of the
    node vanish.

    Node i has cuts members[starts[i]:starts[i+1]]; cut c joins ends[c, 0] (inside) and ends[c, 1] at cut_fractions[c]
    from the inside end, and is too close below snap_fractions[c] of the edge.
    """
    for node in range(len(signs)):
        best = 2.0
        for at in range(starts[node], starts[node + 1]):
            cut = members[at]
            other = ends[cut, 1] if ends[cut, 0] == node else ends[cut, 0]
            if signs[other] == 0:
                continue
            near = cut_fractions[cut] if ends[cut, 0] == node else 1.0 - cut_fractions[cut]
            if near < snap_fractions[cut] and near < best:
                best = near
                snapped_cut[node] = cut
        if best < 2.0:
            signs[node] = 0


@njit(cache=True)
def find_cut_index(starts, members, ends, inside, outside):
    """Index of the cut on the edge inside-outside."""
    for at in range(starts[inside], starts[inside + 1]):
        if ends[members[at], 1] == outside:
            return members[at]
    return -1


@njit(cache=True)
def emit_stencil_tets(tets, signs, starts, members, ends, positions, out):
    """Fill out with the tets of the inside; cut c has number len(signs) + c. Returns the count.

    The number of nodes inside (+), on (0) and outside (-) selects the stencil: whole, corner, wedge or prism. Diagonals
    of cut faces start at the node of lower index, so that neighbours agree.
    """
    n = len(signs)
    filled = 0
    plus = np.empty(4, np.int64)
    zero = np.empty(4, np.int64)
    minus = np.empty(4, np.int64)
    p = np.empty(3, np.int64)
    q = np.empty(3, np.int64)
    for t in range(len(tets)):
        a, b, c = 0, 0, 0
        for i in range(4):
            v = tets[t, i]
            if signs[v] > 0:
                plus[a] = v
                a += 1
            elif signs[v] == 0:
                zero[b] = v
                b += 1
            else:
                minus[c] = v
                c += 1
        if a == 0:
            continue
        sort_by_insertion(plus, a)
        if c == 0:
            write_tet(out, filled, tets[t, 0], tets[t, 1], tets[t, 2], tets[t, 3])
            filled += 1
        elif a == 1:
            out[filled, 0] = plus[0]
            for i in range(b):
                out[filled, 1 + i] = zero[i]
            for i in range(c):
                out[filled, 1 + b + i] = n + find_cut_index(starts, members, ends, plus[0], minus[i])
            filled += 1
        elif a == 2 and b == 1:
            ca = n + find_cut_index(starts, members, ends, plus[0], minus[0])
            cb = n + find_cut_index(starts, members, ends, plus[1], minus[0])
            write_tet(out, filled, plus[0], plus[1], cb, zero[0])
            write_tet(out, filled + 1, plus[0], cb, ca, zero[0])
            filled += 2
        else:
            if a == 3:
                for i in range(3):
                    p[i] = plus[i]
                    q[i] = n + find_cut_index(starts, members, ends, plus[i], minus[0])
            else:
                p[0], q[0] = plus[0], plus[1]
                for i in range(2):
                    p[1 + i] = n + find_cut_index(starts, members, ends, plus[0], minus[i])
                    q[1 + i] = n + find_cut_index(starts, members, ends, plus[1], minus[i])
                # this diagonal lies on the surface and is free: the shorter one
                if compute_squared_distance(positions, p[2], q[1]) < compute_squared_distance(positions, p[1], q[2]):
                    p[1], p[2] = p[2], p[1]
                    q[1], q[2] = q[2], q[1]
            write_tet(out, filled, p[0], q[0], q[1], q[2])
            write_tet(out, filled + 1, p[0], p[1], q[1], q[2])
            write_tet(out, filled + 2, p[0], p[1], p[2], q[2])
            filled += 3
    return filled


@njit(cache=True)
def write_tet(out, row, a, b, c, d):
    """Write the four numbers of a row of out (m, 4)."""
    out[row, 0], out[row, 1], out[row, 2], out[row, 3] = a, b, c, d


@njit(cache=True)
def sort_by_insertion(values, count):
    """Sort the first `count` values in place by insertion."""
    for i in range(1, count):
        value, j = values[i], i
        while j > 0 and values[j - 1] > value:
            values[j] = values[j - 1]
            j -= 1
        values[j] = value


@njit(cache=True)
def compute_squared_distance(x, i, j):
    """Squared distance of two rows."""
    return (x[i, 0] - x[j, 0]) ** 2 + (x[i, 1] - x[j, 1]) ** 2 + (x[i, 2] - x[j, 2]) ** 2


@njit(cache=True)
def build_vertex_stars(tets, n):
    """Tets around every vertex: vertex v has members[starts[v]:starts[v+1]]."""
    starts = np.zeros(n + 1, np.int64)
    for t in range(len(tets)):
        for i in range(4):
            starts[tets[t, i] + 1] += 1
    for v in range(n):
        starts[v + 1] += starts[v]
    fill = starts[:-1].copy()
    members = np.empty(4 * len(tets), np.int64)
    for t in range(len(tets)):
        for i in range(4):
            members[fill[tets[t, i]]] = t
            fill[tets[t, i]] += 1
    return starts, members


@njit(cache=True)
def classify_vertex_links(tets, starts, members):
    """Classify vertices of a non-manifold surface: 1 = the star is disconnected, 2 = its link has several boundaries,
    else 0.
    """
    n = len(starts) - 1
    kind = np.zeros(n, np.int64)
    for v in range(n):
        star = members[starts[v] : starts[v + 1]]
        m = len(star)
        edges = np.empty((3 * m, 3), np.int64)
        for i in range(m):
            link = tets[star[i]][tets[star[i]] != v]
            for j in range(3):
                a, b = link[j], link[(j + 1) % 3]
                edges[3 * i + j, 0] = min(a, b)
                edges[3 * i + j, 1] = max(a, b)
                edges[3 * i + j, 2] = i
        kind[v] = classify_link(edges, m)
    return kind


@njit(cache=True)
def find_root(parent, i):
    """Representative of i in a union-find forest."""
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i


@njit(cache=True)
def classify_link(edges, m):
    """Classify one link of m triangles with 3m edges (low, high, triangle): 0 manifold, 1 disconnected, 2 pinched."""
    parent = np.arange(m)
    count = len(edges)
    rim = np.zeros(count, np.bool_)
    for i in range(count):
        rim[i] = True
        for j in range(count):
            if i != j and edges[i, 0] == edges[j, 0] and edges[i, 1] == edges[j, 1]:
                rim[i] = False
                parent[find_root(parent, edges[i, 2])] = find_root(parent, edges[j, 2])
    for i in range(1, m):
        if find_root(parent, i) != find_root(parent, 0):
            return 1
    border = edges[rim]
    if len(border) == 0:
        return 0
    # one closed rim: walking it from any edge meets each border edge once and each vertex has exactly two of them
    at, came, walked = border[0, 1], 0, 1
    while at != border[0, 0]:
        following = -1
        for j in range(len(border)):
            if j != came and (border[j, 0] == at or border[j, 1] == at):
                if following >= 0:
                    return 2
                following = j
        if following < 0:
            return 2
        at = border[following, 0] + border[following, 1] - at
        came = following
        walked += 1
    return 0 if walked == len(border) else 2
