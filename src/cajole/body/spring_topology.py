"""Which vertices springs join: those of a cloth grid, and the triangles and lines that show a net."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from cajole.arrays import Array, IndexArray

# Steps (in cells) of the springs of a cloth grid, by kind: structural, shear, primary and secondary bending.
CLOTH_SPRING_OFFSETS = (((1, 0), (0, 1)), ((1, 1), (1, -1)), ((2, 0), (0, 2)), ((2, 2), (2, -2)))


def build_cloth_springs(nx: int, ny: int) -> tuple[IndexArray, IndexArray]:
    """Springs (m, 2) of a grid of nx x ny cells and the kind (0..3) of each."""
    number = np.arange((nx + 1) * (ny + 1)).reshape(nx + 1, ny + 1)
    pairs, kinds = [], []
    for kind, steps in enumerate(CLOTH_SPRING_OFFSETS):
        for di, dj in steps:
            near = number[: max(nx + 1 - di, 0), max(-dj, 0) : max(ny + 1 - max(dj, 0), 0)]
            far = number[di:, max(dj, 0) : ny + 1 + min(dj, 0)]
            if near.size and near.shape == far.shape:
                pairs.append(np.stack([near.ravel(), far.ravel()], axis=1))
                kinds.append(np.full(near.size, kind))
    return np.concatenate(pairs), np.concatenate(kinds)


def find_triangles(edges: IndexArray, count: int) -> IndexArray:
    """Every three vertices joined pairwise by springs, once."""
    ends = np.sort(edges, axis=1)
    graph = sp.csr_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(count, count))
    found: list[tuple[int, int, int]] = []
    for i, j in np.unique(ends, axis=0):
        shared = np.intersect1d(
            graph.indices[graph.indptr[i] : graph.indptr[i + 1]], graph.indices[graph.indptr[j] : graph.indptr[j + 1]]
        )
        found.extend((i, j, k) for k in shared)
    return np.array(found, dtype=np.int64).reshape(-1, 3)


def select_display_lines(vertices: Array, edges: IndexArray, collinear: IndexArray) -> IndexArray:
    """Springs (k, 2) to draw, each once; of three vertices in line (m, 3) not the longest, which the others cover."""
    pairs = np.sort(collinear[:, [[0, 1], [1, 2], [2, 0]]], axis=2)
    lengths = np.linalg.norm(vertices[pairs[..., 0]] - vertices[pairs[..., 1]], axis=2)
    covered = pairs[np.arange(len(pairs)), lengths.argmax(axis=1)]
    lines = np.unique(np.sort(edges, axis=1), axis=0)
    count = len(vertices)
    return lines[~np.isin(lines @ [count, 1], covered @ [count, 1])]
