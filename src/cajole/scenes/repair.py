"""Topology of a heap of tets: components, pinches and their repair, orientation."""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from cajole.arrays import Array, IndexArray
from cajole.errors import SolveError
from cajole.mesh.tet import signed_volumes
from cajole.scenes import kernels_tets
from cajole.scenes.lattice import compacted

# the face opposite each vertex, turned outward for a positive tet
TET_FACES = np.array([[1, 2, 3], [0, 3, 2], [0, 1, 3], [0, 2, 1]])
# parts of a pinched star up to this many tets are crumbs: deleted rather than given a vertex of their own
CRUMB = 2
ROUNDS = 40


def largest_component(vertices: Array, tets: IndexArray) -> tuple[Array, IndexArray]:
    """The largest set of tets connected through faces, with its vertices renumbered."""
    if len(tets) == 0:
        return vertices[:0], tets
    labels = face_components(tets)
    kept = tets[labels == np.bincount(labels).argmax()]
    return compacted(vertices, kept)


def face_components(tets: IndexArray) -> IndexArray:
    """Label (m,) of each tet: equal when a path through shared faces joins two tets."""
    owners = np.repeat(np.arange(len(tets)), 4)
    order, same = _matched(np.sort(tets[:, TET_FACES].reshape(-1, 3), axis=1))
    one, two = owners[order[:-1]][same], owners[order[1:]][same]
    graph = coo_matrix((np.ones(len(one)), (one, two)), shape=(len(tets), len(tets)))
    return connected_components(graph, directed=False)[1]


def misoriented(tets: IndexArray) -> int:
    """Inner faces that their two tets see from the same side: each betrays a fold that volumes cannot show."""
    faces = tets[:, TET_FACES].reshape(-1, 3)
    order, same = _matched(np.sort(faces, axis=1))
    parity = _parity(faces)
    return int((parity[order[:-1]] == parity[order[1:]])[same].sum())


def mended(vertices: Array, tets: IndexArray) -> tuple[Array, IndexArray, int, int]:
    """A heap whose surface is a 2-manifold, with the numbers of vertices split and tets deleted.

    A vertex whose star falls apart is split per part; a vertex whose link is pinched loses its smallest tet.
    Raises SolveError when pinches survive: then the shape is too fine for the cells.
    """
    splits = deletions = 0
    for _ in range(ROUNDS):
        starts, members = kernels_tets.stars(tets, len(vertices))
        kind = kernels_tets.pinched(tets, starts, members)
        bad = np.flatnonzero(kind)
        if len(bad) == 0:
            return vertices, tets, splits, deletions
        vertices, tets, split, deleted = _mend(vertices, tets, kind, starts, members)
        splits, deletions = splits + split, deletions + deleted
        vertices, tets = largest_component(vertices, tets)
    raise SolveError(f"{len(bad)} pinched vertices survive {ROUNDS} rounds of repair; ask for more tets")


def _mend(
    vertices: Array, tets: IndexArray, kind: IndexArray, starts: IndexArray, members: IndexArray
) -> tuple[Array, IndexArray, int, int]:
    size = signed_volumes(vertices, tets)
    tets, touched = tets.copy(), np.zeros(len(tets), dtype=bool)
    added: list[Array] = []
    doomed: set[int] = set()
    splits = 0
    for v in np.flatnonzero(kind):
        star = members[starts[v] : starts[v + 1]]
        if touched[star].any():
            continue  # its star changed in this round: judged again in the next
        touched[star] = True
        if kind[v] == 2:
            doomed.add(int(star[size[star].argmin()]))
            continue
        labels = _star_parts(tets[star], int(v))
        biggest = np.bincount(labels).argmax()
        for part in set(labels.tolist()) - {int(biggest)}:
            piece = star[labels == part]
            if len(piece) <= CRUMB:
                doomed.update(piece.tolist())
                continue
            tets[piece] = np.where(tets[piece] == v, len(vertices) + len(added), tets[piece])
            added.append(vertices[v])
            splits += 1
    keep = np.ones(len(tets), dtype=bool)
    keep[list(doomed)] = False
    return np.vstack([vertices, *added]), tets[keep], splits, len(doomed)


def _star_parts(star: IndexArray, v: int) -> IndexArray:
    """Label of each tet of a star: equal when joined through faces that hold v."""
    labels = np.arange(len(star))
    sets = [set(t) for t in star.tolist()]
    for i, one in enumerate(sets):
        for j in range(i):
            if len(one & sets[j]) == 3:
                labels[labels == labels[j]] = labels[i]
    return np.unique(labels, return_inverse=True)[1]


def _matched(faces: IndexArray) -> tuple[IndexArray, np.ndarray]:
    """An order that brings equal faces side by side, and where an entry equals the next."""
    order = np.lexsort(faces.T)
    ranked = faces[order]
    return order, (ranked[:-1] == ranked[1:]).all(axis=1)


def _parity(faces: IndexArray) -> IndexArray:
    """Whether each triple is an even permutation of its sorted order."""
    a, b, c = faces.T
    return ((a < b).astype(int) + (b < c) + (c < a)) == 2
