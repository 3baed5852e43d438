"""Small calls of kernels that contain routines of numba's library; `python -m kernel_samples OUT NAME...` runs some.

Values are distinct wherever a sort decides, so that all correct sorts give the same result.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

Arrays = tuple[Any, ...]


def grid_graph() -> tuple[Any, Any]:
    """indptr and indices of a 6 × 7 grid, without loops."""
    edges = sp.kronsum(*(sp.diags([np.ones(n - 1), np.ones(n - 1)], [-1, 1]) for n in (6, 7)))
    graph = sp.csr_array(edges)
    graph.sort_indices()
    return graph.indptr.astype(np.int64), graph.indices.astype(np.int64)


def postorder() -> Arrays:
    """`argsort` of integers."""
    from cajole.linalg import kernels_symbolic as kernels

    random = np.random.default_rng(1)
    parent = np.array([random.integers(i + 1, min(i + 9, 80)) for i in range(79)] + [-1])
    return (kernels.postorder(parent, random.permutation(80)),)


def structures() -> Arrays:
    """`sort` of integers."""
    from cajole.linalg import kernels_symbolic as kernels

    order = np.random.default_rng(2).permutation(42)
    parent = kernels.elimination_tree(*grid_graph(), order)
    return kernels.structures(*grid_graph(), order, parent)  # type: ignore[no-any-return]


def supernodes() -> Arrays:
    """`append`."""
    from cajole.linalg import kernels_symbolic as kernels

    parent = np.append(np.arange(1, 30), -1)
    return (kernels.supernodes(parent, np.arange(29, -1, -1), 3, np.array([0.06, 0.055, 0.8, 20.0])),)


def build() -> Arrays:
    """`argsort` of real numbers."""
    from cajole.mesh import kernels_closest as kernels

    order, _, links = kernels.build(np.random.default_rng(3).random((60, 3, 3)))
    return order, links


def overlapping() -> Arrays:
    """`searchsorted` of real numbers."""
    from cajole.direct.enriching.collisions import kernels_pairs as kernels

    low = np.random.default_rng(4).random((40, 3))
    boxes = np.hstack([low, low + 0.2])
    order = np.argsort(low[:, 0])
    none, moved = np.empty(0, np.int64), np.zeros(40, bool)
    return (
        kernels.some_overlapping(np.arange(9), boxes, boxes, order, low[order, 0], 0.2, moved, none, 0, True),
        kernels.overlapping(boxes, order, 0, 0, 1),
    )


def packed() -> Arrays:
    """`concatenate`, and `searchsorted` of integers."""
    from cajole.direct.editing import kernels_laplacian as kernels

    lower = sp.csc_array(np.tril(np.random.default_rng(5).random((30, 30)) < 0.3) + np.eye(30))
    lower.sort_indices()
    indptr, indices = lower.indptr.astype(np.int64), lower.indices.astype(np.int64)
    groups = kernels.grouped(indptr, indices)
    return *groups, *kernels.packed(indptr, indices, np.arange(float(lower.nnz)), *groups)


def costs() -> Arrays:
    """`dot` of matrices and vectors."""
    from cajole.direct import kernels

    random = np.random.default_rng(6)
    H, g = np.empty((6, 6)), np.empty(6)
    kernels._costs(random.random((4, 6)), random.random(4), 2.0, 0.5, H, g)
    return H, g


def pinched() -> Arrays:
    """Indexing by a mask."""
    from cajole.mesh import box_tets
    from cajole.scenes import kernels_tets as kernels

    mesh = box_tets(2, 2, 2)
    tets = mesh.tets.astype(np.int64)
    stars = kernels.stars(tets, len(mesh.vertices))
    return *stars, kernels.pinched(tets, *stars)


SAMPLES: dict[str, Callable[[], Arrays]] = {
    each.__name__: each for each in (postorder, structures, supernodes, build, overlapping, packed, costs, pinched)
}


def main(out: str, *names: str) -> None:
    """Write the results of some samples to a .npz."""
    found = {f"{name}_{i}": array for name in names for i, array in enumerate(SAMPLES[name]())}
    np.savez(out, allow_pickle=False, **found)


if __name__ == "__main__":
    main(*sys.argv[1:])
