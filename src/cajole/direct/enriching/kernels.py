"""Compiled clustering of moving triangles: regions grow around proxies, as in variational shape approximation."""

from __future__ import annotations

import numpy as np

from cajole.jit import njit

# motion: centres x and normals n (triangles, frames, 3), areas over time a (triangles, frames), distance weights
# (frames,) μ / A(t), normal weight 1 - μ; proxies: centres and normals (regions, frames, 3)


@njit(cache=True)
def compute_proxy_distance(j, k, motion, proxies):
    """E(T_j, P_k), §4.1 of Bergou 2007: the largest over time of the area-weighted distance to a proxy."""
    (x, n, a, distance_weights, normal_weight), (px, pn) = motion, proxies
    worst = 0.0
    for t in range(x.shape[1]):
        place = 0.0
        tilt = 0.0
        for c in range(3):
            d = x[j, t, c] - px[k, t, c]
            place += d * d
            e = n[j, t, c] - pn[k, t, c]
            tilt += e * e
        now = a[j, t] * (distance_weights[t] * place + normal_weight * tilt)
        if now > worst:
            worst = now
    return worst


@njit(cache=True)
def grow_regions(seeds, starts, neighbours, motion, proxies, density, labels, errors):
    """Assign every triangle to the region whose proxy reaches it first in order of distance; fill labels and errors.

    seeds (k,): a triangle of each region; starts, neighbours: adjacent triangles, as in CSR; density (k,): factors of
    the distances to each proxy. Regions are connected, since each triangle is reached from one of its own region.
    """
    room = len(seeds) + len(neighbours)
    keys, items, owners = np.empty(room), np.empty(room, np.int64), np.empty(room, np.int64)
    size = 0
    labels[:] = -1
    for k in range(len(seeds)):
        j = seeds[k]
        labels[j] = k
        errors[j] = density[k] * compute_proxy_distance(j, k, motion, proxies)
    # triangles whose neighbours are pushed next: all seeds first, then each triangle as it is assigned
    next_seed = 0
    while next_seed < len(seeds) or size > 0:
        if next_seed < len(seeds):
            j, k = seeds[next_seed], next_seed
            next_seed += 1
        else:
            key, j, k = keys[0], items[0], owners[0]
            size = _pop_heap(size, keys, items, owners)
            if labels[j] >= 0:
                continue
            labels[j] = k
            errors[j] = key
        for place in range(starts[j], starts[j + 1]):
            other = neighbours[place]
            if labels[other] < 0:
                distance = density[k] * compute_proxy_distance(other, k, motion, proxies)
                size = _push_heap(distance, other, k, size, keys, items, owners)


@njit(cache=True)
def _push_heap(key, item, owner, size, keys, items, owners):
    at = size
    while at > 0:
        up = (at - 1) // 2
        if keys[up] <= key:
            break
        keys[at], items[at], owners[at] = keys[up], items[up], owners[up]
        at = up
    keys[at], items[at], owners[at] = key, item, owner
    return size + 1


@njit(cache=True)
def _pop_heap(size, keys, items, owners):
    """Remove the least element; the last one sinks from the top to its place."""
    size -= 1
    key, item, owner = keys[size], items[size], owners[size]
    at = 0
    while True:
        down = 2 * at + 1
        if down >= size:
            break
        if down + 1 < size and keys[down + 1] < keys[down]:
            down += 1
        if keys[down] >= key:
            break
        keys[at], items[at], owners[at] = keys[down], items[down], owners[down]
        at = down
    keys[at], items[at], owners[at] = key, item, owner
    return size


@njit(cache=True)
def update_proxies(labels, motion, proxies):
    """Fill the proxies with area-weighted means of centres and unit normals of every region at every frame."""
    (x, n, a, _, _), (px, pn) = motion, proxies
    px[:] = 0.0
    pn[:] = 0.0
    frames = x.shape[1]
    weight = np.zeros((len(px), frames))
    for j in range(len(labels)):
        k = labels[j]
        for t in range(frames):
            weight[k, t] += a[j, t]
            for c in range(3):
                px[k, t, c] += a[j, t] * x[j, t, c]
                pn[k, t, c] += a[j, t] * n[j, t, c]
    for k in range(len(px)):
        for t in range(frames):
            length = np.sqrt(pn[k, t, 0] ** 2 + pn[k, t, 1] ** 2 + pn[k, t, 2] ** 2)
            for c in range(3):
                if weight[k, t] > 0.0:
                    px[k, t, c] /= weight[k, t]
                if length > 0.0:
                    pn[k, t, c] /= length


@njit(cache=True)
def update_seeds(labels, motion, proxies, seeds):
    """Fill seeds with the triangle of each region that is nearest to its proxy, for the next growth."""
    best = np.full(len(seeds), np.inf)
    for j in range(len(labels)):
        k = labels[j]
        now = compute_proxy_distance(j, k, motion, proxies)
        if now < best[k]:
            best[k] = now
            seeds[k] = j
