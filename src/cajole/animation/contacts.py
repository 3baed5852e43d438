"""Contacts of an animation: vertex, frame, normal and kind; clusters of connected contacts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.sparse import csgraph

from cajole.arrays import Array, IndexArray
from cajole.checks import (
    MAX_INT64,
    require_index_array,
    require_instance,
    require_integer,
    require_positive,
    require_real_array,
)
from cajole.errors import InputError
from cajole.mesh.base import Mesh
from cajole.mesh.topology import encode_rows

CONTACT_KINDS = ("sliding", "sticking")


@dataclass(frozen=True, eq=False, repr=False)
class Contacts:
    """Contacts of an animation, one row each.

    frame, vertex: (k,) indices from 0; normal: (k, 3) unit vectors out of what is touched; kind: (k,) of 'sliding' or
    'sticking'; other: (k,) the vertex touched in a self-contact, else -1 (default).
    Raises InputError if the columns do not fit together.
    """

    frame: NDArray[np.int64]
    vertex: NDArray[np.int64]
    normal: NDArray[np.float64]
    kind: NDArray[np.str_]
    other: NDArray[np.int64] = None  # type: ignore[assignment]  # filled in at construction

    def __post_init__(self) -> None:
        frame = require_index_array(self.frame, "contacts.frame", (None,), MAX_INT64)
        k = len(frame)
        normal = require_real_array(self.normal, "contacts.normal", (k, 3))
        lengths = np.linalg.norm(normal, axis=1)
        wrong = np.abs(lengths - 1) > 1e-4  # well above the rounding of files in single precision
        if wrong.any():
            row = int(np.argmax(wrong))
            raise InputError(f"contacts.normal[{row}] has length {lengths[row]:.3g}; divide it by its length")
        columns = {
            "frame": frame,
            "vertex": require_index_array(self.vertex, "contacts.vertex", (k,), MAX_INT64),
            "normal": normal,
            "kind": _check_kinds(self.kind, k),
            "other": _check_other_vertices(self.other, k),
        }
        for name, column in columns.items():
            own = column.copy()
            own.flags.writeable = False
            object.__setattr__(self, name, own)

    def __len__(self) -> int:
        return len(self.frame)

    def __repr__(self) -> str:
        if not len(self):
            return "Contacts(none)"
        sliding, own = int((self.kind == "sliding").sum()), int((self.other >= 0).sum())
        return (
            f"Contacts({len(self)} in frames {self.frame.min()}..{self.frame.max()}: {sliding} sliding, "
            f"{len(self) - sliding} sticking, {own} of the body with itself)"
        )

    def at(self, frame: int) -> Contacts:
        """The contacts of one frame."""
        return self.selected(self.frame == frame)

    def selected(self, rows: NDArray[np.bool_] | NDArray[np.int64]) -> Contacts:
        """Some of the rows, by mask or by index."""
        return Contacts(self.frame[rows], self.vertex[rows], self.normal[rows], self.kind[rows], self.other[rows])

    def with_frames(self, frame: ArrayLike) -> Contacts:
        """The same contacts at other frames, (k,)."""
        return Contacts(np.asarray(frame), self.vertex, self.normal, self.kind, self.other)

    def clustered(self, mesh: Mesh, *, max_frames: int | None = None, max_width: float | None = None) -> Contacts:
        """One contact for each connected cluster, in space on `mesh` and in time; see `cluster_contacts`.

        max_frames, max_width [m]: larger clusters are cut into equal parts.
        """
        return cluster_contacts(self, mesh, max_frames=max_frames, max_width=max_width)

    def require_within(self, frames: int, n: int) -> None:
        """Raise InputError unless every contact lies within `frames` frames of `n` vertices."""
        require_index_array(self.frame, "contacts.frame", (None,), frames)
        require_index_array(self.vertex, "contacts.vertex", (None,), n)
        if (self.other >= n).any():
            row = int(np.argmax(self.other >= n))
            raise InputError(f"contacts.other[{row}] is {self.other[row]}, but the mesh has {n} vertices")


def _check_kinds(value: ArrayLike, k: int) -> NDArray[np.str_]:
    try:
        kind = np.asarray(value, dtype=np.str_) if np.size(value) else np.empty(0, dtype="<U8")
    except (TypeError, ValueError):  # ragged
        raise InputError(
            f"contacts.kind must be one of {', '.join(map(repr, CONTACT_KINDS))} for each contact"
        ) from None
    if kind.shape != (k,):
        raise InputError(f"contacts.kind has shape {kind.shape}, but ({k},) is needed")
    wrong = ~np.isin(kind, CONTACT_KINDS)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise InputError(
            f"contacts.kind[{row}] is {str(kind[row])!r}, but must be one of {', '.join(map(repr, CONTACT_KINDS))}"
        )
    return kind.astype("<U8")


def _check_other_vertices(value: ArrayLike | None, k: int) -> NDArray[np.int64]:
    if value is None:
        return np.full(k, -1, dtype=np.int64)
    try:
        array = np.asarray(value)
    except (TypeError, ValueError) as reason:
        raise InputError(f"contacts.other must be vertex indices, one for each contact: {reason}") from None
    if array.size and (array.dtype.kind not in "iu" or array.min() < -1):
        found = array.dtype if array.dtype.kind not in "iu" else array.min()
        raise InputError(f"contacts.other must be vertex indices, or -1 for what is not the body itself, not {found}")
    if array.shape != (k,):
        raise InputError(f"contacts.other has shape {array.shape}, but ({k},) is needed")
    return array.astype(np.int64)


def cluster_contacts(
    contacts: Contacts, mesh: Mesh, *, max_frames: int | None = None, max_width: float | None = None
) -> Contacts:
    """One contact for each cluster (§5, Barbič 2012): contacts connected by edges of the mesh or consecutive frames.

    Contacts of different kinds are in different clusters, as are self-contacts and others. The frame of a cluster is
    the contact frame nearest to its mean frame; its vertex, of those in contact at that frame, the one nearest to the
    mean rest position of the cluster; its normal is the normalised mean. A cluster whose mean normal is shorter than a
    half is split across the direction in which the normals differ most.
    max_frames, max_width [m]: clusters that span more frames, or are wider along a coordinate at rest, are cut into
    equal parts. mesh: that of the animation. Raises InputError if the contacts do not fit the mesh.
    """
    require_instance(mesh, Mesh, "mesh")
    n = len(mesh.vertices)
    contacts.require_within(int(contacts.frame.max(initial=0)) + 1, n)
    if not len(contacts):
        return contacts
    node, ends = _build_contact_graph(contacts, mesh)
    label = _label_components(node, ends, np.zeros(len(contacts), dtype=np.int64))
    if max_frames is not None:
        span = require_integer(max_frames, "max_frames") - 1
        label = _label_components(node, ends, _subdivide_clusters(label, contacts.frame, span, continuous=False))
    if max_width is not None:
        width = require_positive(max_width, "max_width (m)")
        rest = mesh.vertices[contacts.vertex]
        # all coordinates of the uncut cluster, so that a cut does not move the later ones
        cells = np.column_stack([_subdivide_clusters(label, rest[:, a], width, continuous=True) for a in range(3)])
        label = _label_components(node, ends, encode_rows(cells, len(label)))
    label = _split_incoherent_clusters(label, contacts.normal)
    rest = mesh.vertices[contacts.vertex]
    middle = np.rint(_compute_cluster_means(label, contacts.frame[:, None].astype(np.float64))[:, 0])
    late = np.abs(contacts.frame - middle[label])
    far = np.linalg.norm(rest - _compute_cluster_means(label, rest)[label], axis=1)
    order = np.lexsort((contacts.vertex, far, contacts.frame, late, label))
    chosen = contacts.selected(order[np.unique(label[order], return_index=True)[1]])
    mean = _compute_cluster_means(label, contacts.normal)
    normal = mean / np.linalg.norm(mean, axis=1, keepdims=True)
    row = np.lexsort((chosen.vertex, chosen.frame))
    return Contacts(chosen.frame, chosen.vertex, normal, chosen.kind, chosen.other).selected(row)


def _build_contact_graph(contacts: Contacts, mesh: Mesh) -> tuple[IndexArray, IndexArray]:
    """The graph node (k,) of each contact, by frame, vertex and sort, and edges (e, 2) between nodes."""
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


def _label_components(contact_nodes: IndexArray, graph_edges: IndexArray, partition: IndexArray) -> IndexArray:
    """(k,) the connected component of each contact; edges join only nodes of equal `partition` (k,)."""
    nodes = int(contact_nodes.max()) + 1
    of_node = np.empty(nodes, dtype=np.int64)
    of_node[contact_nodes] = partition
    one, two = graph_edges[of_node[graph_edges[:, 0]] == of_node[graph_edges[:, 1]]].T
    graph = sparse.coo_array((np.ones(len(one)), (one, two)), shape=(nodes, nodes))
    return np.asarray(csgraph.connected_components(graph, directed=False)[1], dtype=np.int64)[contact_nodes]


def _subdivide_clusters(
    label: IndexArray, value: NDArray[np.generic], max_span: float, *, continuous: bool
) -> IndexArray:
    """Finer labels (k,) whose values span at most `max_span`: equal parts of the span of each cluster."""
    clusters = int(label.max()) + 1
    low, high = np.full(clusters, np.inf), np.full(clusters, -np.inf)
    np.minimum.at(low, label, value)
    np.maximum.at(high, label, value)
    # m parts of a span of whole frames hold span + 1 of them; a length is divided as it is
    step = 0 if continuous else 1
    parts = np.maximum(np.ceil((high - low + step) / (max_span + step) * (1 - 1e-12)), 1)
    share = (value - low[label]) / np.maximum(high - low + step, np.finfo(float).tiny)[label]
    cell = np.minimum(np.floor(share * parts[label]), parts[label] - 1).astype(np.int64)
    return np.unique(label * (int(cell.max()) + 1) + cell, return_inverse=True)[1].reshape(-1)


def _split_incoherent_clusters(label: IndexArray, normal: Array) -> IndexArray:
    """Labels (k,) with clusters split until the mean normal of each is at least half as long as its normals."""
    while True:
        mean = _compute_cluster_means(label, normal)
        bad = np.linalg.norm(mean, axis=1) < 0.5  # normals differ by more than 60°
        if not bad.any():
            return label
        rows = bad[label]
        off = normal - mean[label]
        spread = np.stack([_compute_cluster_means(label, off * off[:, [a]]) for a in range(3)], axis=1)
        axis = np.linalg.eigh(spread)[1][:, :, -1]  # the direction in which the normals differ most
        beyond = rows & ((off * axis[label]).sum(axis=1) > 0)
        label = np.unique(2 * label + beyond, return_inverse=True)[1].reshape(-1)


def _compute_cluster_means(label: IndexArray, values: Array) -> Array:
    """(clusters, c) the mean of `values` (k, c) over each cluster."""
    counts = np.bincount(label)
    sums = [np.bincount(label, column) for column in values.T]
    return np.stack(sums, axis=1) / counts[:, None]
