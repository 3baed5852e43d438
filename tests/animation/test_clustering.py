"""Clusters of contacts, §5 of Barbič 2012."""

from __future__ import annotations

from collections import deque

import numpy as np
import pytest

from cajole.animation import Contacts
from cajole.errors import InputError
from cajole.mesh import MeshTri, grid_triangles

UP = np.array([0.0, 0.0, 1.0])


@pytest.fixture
def sheet() -> MeshTri:
    """Vertex (i, j) has index 11 i + j; neighbours are 0.1 m apart."""
    return grid_triangles(10, 10)


def contacts_at(pairs: list[tuple[int, int]], kind: str = "sliding", other: list[int] | None = None) -> Contacts:
    frame, vertex = np.array(pairs).T
    return Contacts(frame, vertex, np.tile(UP, (len(pairs), 1)), np.full(len(pairs), kind), other)


def by_search(contacts: Contacts, mesh: MeshTri) -> list[set[int]]:
    """The clusters as sets of rows, by a search over neighbours written out."""
    near = {i: set(mesh.adjacency[[i]].indices.tolist()) for i in range(len(mesh.vertices))}
    left, clusters = set(range(len(contacts))), []
    f, v = contacts.frame.tolist(), contacts.vertex.tolist()
    sort = list(zip(contacts.kind.tolist(), (contacts.other >= 0).tolist()))

    def adjacent(a: int, b: int) -> bool:
        beside = f[a] == f[b] and (v[b] in near[v[a]] or v[a] == v[b])
        return sort[a] == sort[b] and (beside or (v[a] == v[b] and abs(f[a] - f[b]) == 1))

    while left:
        queue, cluster = deque([left.pop()]), set()
        while queue:
            a = queue.popleft()
            cluster.add(a)
            joined = {b for b in left if adjacent(a, b)}
            left -= joined
            queue.extend(joined)
        clusters.append(cluster)
    return clusters


def test_agreement_with_a_search(sheet: MeshTri) -> None:
    random = np.random.default_rng(2)
    pairs = np.unique(random.integers(0, [5, len(sheet.vertices)], (250, 2)), axis=0)
    normal = UP + 0.3 * random.standard_normal((len(pairs), 3))
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    kind = random.choice(["sliding", "sticking"], len(pairs))
    other = np.where(random.random(len(pairs)) < 0.3, 5, -1)
    contacts = Contacts(pairs[:, 0], pairs[:, 1], normal, kind, other)
    expected = by_search(contacts, sheet)
    found = contacts.clustered(sheet)
    assert len(found) == len(expected) < len(contacts) - 10
    for cluster in expected:
        rows = np.array(sorted(cluster))
        mean = contacts.normal[rows].mean(axis=0)
        one = [k for k in range(len(found)) if np.allclose(found.normal[k], mean / np.linalg.norm(mean), atol=1e-12)]
        assert len(one) == 1
        there = rows[contacts.frame[rows] == found.frame[one[0]]]
        assert found.vertex[one[0]] in contacts.vertex[there], "it is a contact itself"
        assert set(contacts.kind[rows]) == {found.kind[one[0]]}


def test_one_site_becomes_its_middle(sheet: MeshTri) -> None:
    """A disc of vertices that touches for seven frames: middle frame, middle vertex, mean normal."""
    disc = np.flatnonzero(np.linalg.norm(sheet.vertices - [0.5, 0.5, 0], axis=1) < 0.25).tolist()
    found = contacts_at([(f, v) for f in range(10, 17) for v in disc]).clustered(sheet)
    assert (len(found), found.frame[0], found.vertex[0]) == (1, 13, 60)
    assert np.allclose(found.normal, UP)


def test_kinds_and_self_contacts_stay_apart(sheet: MeshTri) -> None:
    a, b = contacts_at([(0, 0), (0, 1)]), contacts_at([(0, 2), (1, 2)], "sticking")
    c = contacts_at([(0, 3)], other=[60])
    columns = [np.concatenate([getattr(x, name) for x in (a, b, c)]) for name in ("frame", "vertex", "normal", "kind")]
    found = Contacts(*columns, np.concatenate([x.other for x in (a, b, c)])).clustered(sheet)
    assert len(found) == 3
    assert sorted(found.other.tolist()) == [-1, -1, 60]


def test_claim_far_fewer_rows(sheet: MeshTri) -> None:
    """Four corners that touch in turn through long times leave one contact for each landing."""
    corner = [0, 1, 11]
    pairs = [(f, v) for start in (0, 40, 90) for f in range(start, start + 30) for v in corner]
    assert len(contacts_at(pairs).clustered(sheet)) == 3


def test_longest_cuts_time_evenly(sheet: MeshTri) -> None:
    contacts = contacts_at([(f, 60) for f in range(5, 35)])
    found = contacts.clustered(sheet, max_frames=10)
    assert np.array_equal(found.frame, [9, 19, 29]) or np.array_equal(found.frame, [10, 20, 30])
    assert len(contacts.clustered(sheet, max_frames=30)) == 1
    assert len(contacts.clustered(sheet, max_frames=29)) == 2
    assert len(contacts.clustered(sheet, max_frames=1)) == 30


def test_widest_cuts_space_evenly(sheet: MeshTri) -> None:
    contacts = contacts_at([(3, v) for v in range(len(sheet.vertices))])
    assert len(contacts.clustered(sheet)) == 1
    assert len(contacts.clustered(sheet, max_width=1.0)) == 1
    found = contacts.clustered(sheet, max_width=0.5)
    assert len(found) == 4
    assert len(set(map(tuple, np.sign(sheet.vertices[found.vertex, :2] - 0.5)))) == 4


def test_normals_that_cancel_split_the_cluster(sheet: MeshTri) -> None:
    pairs = [(0, v) for v in range(11)]
    normal = np.where(np.arange(11)[:, None] < 5, UP, -UP)
    contacts = Contacts(*np.array(pairs).T, normal, np.full(11, "sliding"))
    found = contacts.clustered(sheet)
    assert len(found) == 2
    assert {tuple(row) for row in found.normal.tolist()} == {(0, 0, 1), (0, 0, -1)}


def test_identity_of_what_is_clustered_already(sheet: MeshTri) -> None:
    contacts = contacts_at([(0, 0), (4, 60), (9, 60), (9, 120)])
    again = contacts.clustered(sheet)
    for name in ("frame", "vertex", "normal", "kind", "other"):
        assert np.array_equal(getattr(contacts, name), getattr(again, name))
    empty = contacts.selected(np.zeros(4, dtype=bool))
    assert len(empty.clustered(sheet)) == 0


def test_bad_input(sheet: MeshTri) -> None:
    contacts = contacts_at([(0, 500)])
    with pytest.raises(InputError, match=r"contacts.vertex\[0\] is 500"):
        contacts.clustered(sheet)
    with pytest.raises(InputError, match="max_frames is 0"):
        contacts_at([(0, 5)]).clustered(sheet, max_frames=0)
    with pytest.raises(InputError, match=r"max_width \(m\) is -1"):
        contacts_at([(0, 5)]).clustered(sheet, max_width=-1)
    with pytest.raises(InputError, match="mesh must be a Mesh"):
        contacts_at([(0, 5)]).clustered(3)  # type: ignore[arg-type]
