"""Contacts that are one contact: neighbours in space or time, replaced by one each."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

from cajole.animation.contacts import Contacts
from cajole.arrays import Array, IndexArray
from cajole.checks import count, positive, require_instance
from cajole.errors import InputError
from cajole.mesh.base import Mesh
from cajole.mesh.topology import row_keys

# the mean of a cluster's unit normals is at least this long, or the cluster is split: they differ by more than 60°
COHERENT = 0.5


def clustered(contacts: Contacts, mesh: Mesh, *, longest: int | None = None, widest: float | None = None) -> Contacts:
    """One contact for each cluster (§5, Barbič 2012): connected contacts on neighbours of the mesh or of time.

    Contacts of different kinds, and those of the body with itself and with others, are never one cluster. Its frame is
    the one nearest to the mean frame of its contacts; its vertex, of those that touch in that frame, the one nearest
    to the mean of all its contacts' vertices in the rest shape, so that it is a contact itself; its normal is the
    unit mean. A cluster whose normals cancel (their mean is shorter than a half) is split across the direction in
    which they differ most.
    longest [frames], widest [m]: a cluster that spans more frames, or is wider along a coordinate at rest, is cut
    into equal parts that do not. mesh: that of the animation. Raises InputError where the two do not fit together.
    """
    require_instance(mesh, Mesh, "mesh")
    n = len(mesh.vertices)
    contacts.require_within(int(contacts.frame.max(initial=0)) + 1, n)
    if not len(contacts):
        return contacts
    node, ends = _graph(contacts, mesh)
    label = _split(node, ends, np.zeros(len(contacts), dtype=np.int64))
    if longest is not None:
        label = _split(node, ends, _cut(label, contacts.frame, count(longest, "longest") - 1, floats=False))
    if widest is not None:
        width = positive(widest, "widest (m)")
        rest = mesh.vertices[contacts.vertex]
        # every coordinate of the uncut cluster, so that an earlier cut does not move the later ones
        cells = np.column_stack([_cut(label, rest[:, a], width, floats=True) for a in range(3)])
        label = _split(node, ends, row_keys(cells, len(label)))
    return _replaced(contacts, _coherent(label, contacts.normal), mesh)


def _graph(contacts: Contacts, mesh: Mesh) -> tuple[IndexArray, IndexArray]:
    """The node (k,) of each contact, equal for equal frame, vertex and sort, and pairs (e, 2) of adjacent nodes."""
    n = len(mesh.vertices)
    sort = 2 * (contacts.kind == "sticking") + (contacts.other >= 0)
    frames = int(contacts.frame.max()) + 2  # one empty frame between sorts, so that time does not join them
    if 4 * frames * n >= 2**63:
        raise InputError(f"contacts.frame reaches {frames - 2}; frames count from 0 at the first of the animation")
    keys, node = np.unique((sort * frames + contacts.frame) * n + contacts.vertex, return_inverse=True)
    later = np.searchsorted(keys, keys + n)
    there = later < len(keys)
    there[there] = keys[later[there]] == keys[there] + n
    time = np.column_stack([np.flatnonzero(there), later[there]])
    # neighbours with a higher number only: each pair once
    upper = sparse.csr_array(sparse.triu(mesh.adjacency, k=1))
    vertex = keys % n
    degree = np.diff(upper.indptr)[vertex]
    row = np.repeat(np.arange(len(keys)), degree)
    within = np.arange(len(row)) - np.repeat(np.cumsum(degree) - degree, degree)
    neighbour = upper.indices[upper.indptr[vertex[row]] + within]
    wanted = keys[row] - vertex[row] + neighbour
    found = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    there = keys[found] == wanted
    return node.reshape(-1), np.concatenate([time, np.column_stack([row[there], found[there]])])


def _split(node: IndexArray, ends: IndexArray, part: IndexArray) -> IndexArray:
    """(k,) the connected component of each contact, joining only nodes of equal `part` (k,)."""
    nodes = int(node.max()) + 1
    of_node = np.empty(nodes, dtype=np.int64)
    of_node[node] = part
    one, two = ends[of_node[ends[:, 0]] == of_node[ends[:, 1]]].T
    graph = sparse.coo_array((np.ones(len(one)), (one, two)), shape=(nodes, nodes))
    return csgraph.connected_components(graph, directed=False)[1].astype(np.int64)[node]


def _cut(label: IndexArray, value: NDArray[np.generic], limit: float, *, floats: bool) -> IndexArray:
    """Finer labels (k,): within each the values span at most `limit`, in equal parts of the cluster's whole span."""
    clusters = int(label.max()) + 1
    low, high = np.full(clusters, np.inf), np.full(clusters, -np.inf)
    np.minimum.at(low, label, value)
    np.maximum.at(high, label, value)
    # m parts of a span of whole frames hold span + 1 of them; a length is divided as it is
    step = 0 if floats else 1
    parts = np.maximum(np.ceil((high - low + step) / (limit + step) * (1 - 1e-12)), 1)
    share = (value - low[label]) / np.maximum(high - low + step, np.finfo(float).tiny)[label]
    cell = np.minimum(np.floor(share * parts[label]), parts[label] - 1).astype(np.int64)
    return np.unique(label * (int(cell.max()) + 1) + cell, return_inverse=True)[1].reshape(-1)


def _coherent(label: IndexArray, normal: Array) -> IndexArray:
    """Labels (k,) of clusters whose normals agree, by splitting those that do not."""
    while True:
        mean = _means(label, normal)
        bad = np.linalg.norm(mean, axis=1) < COHERENT
        if not bad.any():
            return label
        rows = bad[label]
        off = normal - mean[label]
        spread = np.stack([_means(label, off * off[:, [a]]) for a in range(3)], axis=1)
        axis = np.linalg.eigh(spread)[1][:, :, -1]  # the direction in which the normals differ most
        beyond = rows & ((off * axis[label]).sum(axis=1) > 0)
        label = np.unique(2 * label + beyond, return_inverse=True)[1].reshape(-1)


def _means(label: IndexArray, values: Array) -> Array:
    """(clusters, c) the mean of `values` (k, c) over each cluster."""
    counts = np.bincount(label)
    sums = [np.bincount(label, column) for column in values.T]
    return np.stack(sums, axis=1) / counts[:, None]


def _replaced(contacts: Contacts, label: IndexArray, mesh: Mesh) -> Contacts:
    rest = mesh.vertices[contacts.vertex]
    middle = np.rint(_means(label, contacts.frame[:, None].astype(np.float64))[:, 0])
    late = np.abs(contacts.frame - middle[label])
    far = np.linalg.norm(rest - _means(label, rest)[label], axis=1)
    order = np.lexsort((contacts.vertex, far, contacts.frame, late, label))
    first = order[np.unique(label[order], return_index=True)[1]]
    mean = _means(label, contacts.normal)
    chosen = contacts.chosen(first)
    normal = mean / np.linalg.norm(mean, axis=1, keepdims=True)
    row = np.lexsort((chosen.vertex, chosen.frame))
    return Contacts(chosen.frame, chosen.vertex, normal, chosen.kind, chosen.other).chosen(row)
