"""Contacts in the warp: kept exactly, as the dense system of eq. (9) has them, whatever rows come together."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from cajole.direct.editing.warp import WARP_FORMS, Warp
from cajole.errors import InputError
from cajole.mesh import MeshTet, box_tets

Array = NDArray[np.float64]
Index = NDArray[np.int64]


class Rows(NamedTuple):
    directions: Array
    vertices: Index
    others: Index

    def matrix(self, count: int) -> Array:
        """d (r, 3n)."""
        out = np.zeros((len(self.vertices), count, 3))
        for k, (n, v, w) in enumerate(zip(*self)):
            out[k, v] += n
            if w >= 0:
                out[k, w] -= n
        return out.reshape(len(out), 3 * count)


def blocks(apart: bool = False) -> MeshTet:
    """A bar, and with `apart` a second one above it."""
    one = box_tets(6, 2, 2, size=(3.0, 1.0, 1.0))
    if not apart:
        return one
    two = box_tets(3, 1, 1, size=(1.5, 0.5, 0.5), origin=(0.3, 0.2, 1.2))
    return MeshTet(np.vstack([one.vertices, two.vertices]), np.vstack([one.tets, two.tets + len(one.vertices)]))


def bent(mesh: MeshTet) -> Array:
    X = mesh.vertices
    return X + 0.15 * np.sin(2 * X[:, [1, 2, 0]]) * X[:, :1]


def wave(mesh: MeshTet) -> Array:
    X = mesh.vertices
    return 0.2 * np.sin(2 * X[:, [2, 0, 1]]) * X[:, :1] + [0.03, -0.05, 0.04]


def some_rows(mesh: MeshTet, count: int, seed: int = 0) -> Rows:
    """Sliding rows at random vertices, every fourth between two of them."""
    random = np.random.default_rng(seed)
    n = random.standard_normal((count, 3))
    vertices = random.permutation(len(mesh.vertices))[:count]
    others = np.where(np.arange(count) % 4 == 3, random.permutation(len(mesh.vertices))[:count], -1)
    return Rows(n / np.linalg.norm(n, axis=1, keepdims=True), vertices, others)


def dense(mesh: MeshTet, held: Index, form: str, positions: Array, p: Array, rows: Rows) -> Array:
    """Eq. (9) by one dense KKT solve, elements by numpy and scipy: the change δ (n, 3)."""
    count, u = len(mesh.vertices), positions - mesh.vertices
    L, rhs = np.zeros((count, count)), np.zeros((count, 3))
    for tet, g, V in zip(mesh.tets, mesh.shape_gradients, mesh.volumes):
        U, s, Vt = np.linalg.svd(np.eye(3) + u[tet].T @ g)
        sign = np.diag([1.0, 1.0, np.sign(np.linalg.det(U @ Vt))])
        Q, S = U @ sign @ Vt, Vt.T @ sign @ np.diag(s) @ Vt
        A = p[tet].T @ g
        turn = 0.5 * np.array([A[2, 1] - A[1, 2], A[0, 2] - A[2, 0], A[1, 0] - A[0, 1]])
        if form == "additive":
            turned = Rotation.from_rotvec(Rotation.from_matrix(Q).as_rotvec() + turn).as_matrix()
        else:
            turned = Q @ Rotation.from_rotvec(turn).as_matrix()
        L[np.ix_(tet, tet)] += V * g @ g.T
        rhs[tet] += V * g @ (turned @ (S + 0.5 * (A + A.T)) - Q @ S).T
    share = np.zeros(count)
    np.add.at(share, mesh.tets, np.repeat(mesh.volumes[:, None] / 4, 4, axis=1))
    free = [
        piece for piece in np.unique(mesh.component_labels) if not np.isin(mesh.component_labels[held], piece).any()
    ]
    centres = np.vstack([share * (mesh.component_labels == piece) for piece in free] + [np.zeros((0, count))])
    d = np.vstack([np.kron(np.eye(count)[held], np.eye(3)), np.kron(centres, np.eye(3)), rows.matrix(count)])
    s = np.concatenate([np.zeros(3 * len(held)), (centres @ p).ravel(), np.zeros(len(rows.vertices))])
    K = np.block([[np.kron(L, np.eye(3)), d.T], [d, np.zeros((len(d), len(d)))]])
    return np.asarray(np.linalg.lstsq(K, np.concatenate([rhs.ravel(), s]), rcond=1e-13)[0][: 3 * count]).reshape(-1, 3)


def held_of(mesh: MeshTet, kind: str) -> Index:
    end = np.flatnonzero(mesh.vertices[:, 0] < 1e-9)
    return end if kind == "held" else end[:0]


@pytest.mark.parametrize("form", WARP_FORMS)
@pytest.mark.parametrize("kind", ["held", "free"])
@pytest.mark.parametrize("apart", [False, True])
def test_dense_agreement(form: str, kind: str, apart: bool) -> None:
    mesh = blocks(apart)
    held = held_of(mesh, kind)
    warp, rows = Warp(mesh, held, form=form), some_rows(mesh, 11)
    frame, p = warp.decompose_frame(bent(mesh)), wave(mesh)
    nothing = Rows(np.empty((0, 3)), np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))
    assert np.abs(warp.apply(frame, p) - dense(mesh, held, form, bent(mesh), p, nothing)).max() < 1e-12
    found = warp.apply(frame, p, warp.build_contact_constraints(*rows))
    assert np.abs(found - dense(mesh, held, form, bent(mesh), p, rows)).max() < 1e-11
    assert np.abs(rows.matrix(len(mesh.vertices)) @ found.ravel()).max() < 1e-13
    # the rows do hold something back
    assert np.abs(rows.matrix(len(mesh.vertices)) @ warp.apply(frame, p).ravel()).max() > 0.01


@pytest.mark.parametrize("kind", ["held", "free"])
def test_centre_and_zero_identity(kind: str) -> None:
    mesh = blocks(True)
    warp = Warp(mesh, held_of(mesh, kind))
    kept, frame, p = warp.build_contact_constraints(*some_rows(mesh, 11)), warp.decompose_frame(bent(mesh)), wave(mesh)
    found = warp.apply(frame, p, kept)
    share = np.zeros(len(p))
    np.add.at(share, mesh.tets, np.repeat(mesh.volumes[:, None] / 4, 4, axis=1))
    for piece in [1] if kind == "held" else [0, 1]:
        mine = share * (mesh.component_labels == piece)
        np.testing.assert_allclose(mine @ found, mine @ p, atol=1e-14)
    assert not warp.apply(frame, np.zeros_like(p), kept).any()


@pytest.mark.parametrize("form", WARP_FORMS)
@pytest.mark.parametrize("kind", ["held", "free"])
def test_probe_agreement(form: str, kind: str) -> None:
    mesh = blocks(True)
    warp, rows = Warp(mesh, held_of(mesh, kind), form=form), some_rows(mesh, 11)
    kept, frame, p = warp.build_contact_constraints(*rows), warp.decompose_frame(bent(mesh)), wave(mesh)
    points = [0, 5, int(rows.vertices[0]), int(rows.others[3]), len(p) - 1]
    found = warp.evaluate_probes(frame, p, [warp.build_probe(v, kept) for v in points])
    np.testing.assert_allclose(found, warp.apply(frame, p, kept)[points], atol=1e-13)


def test_repeated_identity() -> None:
    """Rows twice, thrice, turned round, in four directions at one vertex, and nearly alike: kept all the same."""
    mesh = blocks()
    warp, rows = Warp(mesh, held_of(mesh, "held")), some_rows(mesh, 9)
    frame, p = warp.decompose_frame(bent(mesh)), wave(mesh)
    stuck = Rows(np.vstack([np.eye(3), np.ones((1, 3))]), np.full(4, rows.vertices[0]), np.full(4, -1))
    close = rows.directions + 1e-9
    many = Rows(
        np.vstack([rows.directions, rows.directions, -rows.directions, stuck.directions, close]),
        np.concatenate([rows.vertices] * 3 + [stuck.vertices, rows.vertices]),
        np.concatenate([rows.others] * 3 + [stuck.others, rows.others]),
    )
    found = warp.apply(frame, p, warp.build_contact_constraints(*many))
    assert np.abs(many.matrix(len(p)) @ found.ravel()).max() < 1e-9
    repeated = Rows(*(np.concatenate([part, part]) for part in rows))
    once, twice = (
        warp.apply(frame, p, warp.build_contact_constraints(*rows)),
        warp.apply(frame, p, warp.build_contact_constraints(*repeated)),
    )
    np.testing.assert_allclose(twice, once, atol=1e-12)


def test_held_rows_identity() -> None:
    """Rows of held vertices hold already; a row between a held and a loose vertex is one of the loose vertex."""
    mesh = blocks()
    held = held_of(mesh, "held")
    warp, frame_at = Warp(mesh, held), bent(mesh)
    frame, p, n = warp.decompose_frame(frame_at), wave(mesh), np.array([[0.0, 0.6, 0.8]])
    loose = len(p) - 1
    assert warp.build_contact_constraints(n, held[:1], [-1]) is None
    assert warp.build_contact_constraints(n, held[:1], held[1:2]) is None
    assert warp.build_contact_constraints(n, [loose], [loose]) is None
    assert warp.build_contact_constraints(np.empty((0, 3)), np.empty(0, dtype=int), np.empty(0, dtype=int)) is None
    alone = warp.apply(frame, p, warp.build_contact_constraints(n, [loose], [-1]))
    for v, w in ((loose, held[0]), (held[0], loose)):
        np.testing.assert_array_equal(warp.apply(frame, p, warp.build_contact_constraints(n, [v], [w])), alone)


def test_everything_kept_identity() -> None:
    """A piece with all its vertices on one plane cannot have its centre elsewhere: contacts win, other centres stay."""
    mesh = blocks(True)
    warp, p = Warp(mesh, []), wave(mesh)
    lying, above = np.flatnonzero(mesh.component_labels == 0), mesh.component_labels == 1
    n = np.array([0.0, 0.6, 0.8])
    rows = Rows(np.tile(n, (len(lying) + 1, 1)), np.append(lying, len(p) - 1), np.full(len(lying) + 1, -1))
    frame, kept = warp.decompose_frame(bent(mesh)), warp.build_contact_constraints(*rows)
    found = warp.apply(frame, p, kept)
    np.testing.assert_allclose(found[rows.vertices] @ n, 0.0, atol=1e-12)
    share = np.zeros(len(p))
    np.add.at(share, mesh.tets, np.repeat(mesh.volumes[:, None] / 4, 4, axis=1))
    np.testing.assert_allclose((share * above) @ found, (share * above) @ p, atol=1e-14)
    # along the plane the centre stays too
    along = np.array([1.0, 0.0, 0.0])
    np.testing.assert_allclose((share * ~above) @ found @ along, (share * ~above) @ p @ along, atol=1e-12)
    points = [0, 7, len(p) - 1, len(p) - 2]
    np.testing.assert_allclose(
        warp.evaluate_probes(frame, p, [warp.build_probe(v, kept) for v in points]), found[points], atol=1e-12
    )


def test_pinned_vertex_agreement() -> None:
    """The vertex that the solve of a free body pins can be in contact like any other, alone or with others."""
    mesh = blocks()
    warp, p, nobody = Warp(mesh, []), wave(mesh), np.empty(0, dtype=np.int64)
    for vertices in ([0], [0, 30]):
        rows = Rows(np.tile([0.6, 0.8, 0.0], (len(vertices), 1)), np.array(vertices), np.full(len(vertices), -1))
        found = warp.apply(warp.decompose_frame(bent(mesh)), p, warp.build_contact_constraints(*rows))
        assert np.abs(found - dense(mesh, nobody, "composition", bent(mesh), p, rows)).max() < 1e-11


def test_kept_bad_input() -> None:
    mesh = MeshTet(np.vstack([blocks().vertices, [[9.0, 9.0, 9.0]]]), blocks().tets)
    warp = Warp(mesh, [0])
    with pytest.raises(InputError, match=r"directions\[1\] is zero"):
        warp.build_contact_constraints([[1.0, 0, 0], [0, 0, 0]], [1, 2], [-1, -1])
    with pytest.raises(InputError, match="belongs to no element"):
        warp.build_contact_constraints([[1.0, 0, 0]], [len(mesh.vertices) - 1], [-1])
    with pytest.raises(InputError, match="others"):
        warp.build_contact_constraints([[1.0, 0, 0]], [3], [-2])
    with pytest.raises(InputError, match="vertices"):
        warp.build_contact_constraints([[1.0, 0, 0]], [len(mesh.vertices)], [-1])
    other = Warp(blocks(), [0, 1])
    kept = warp.build_contact_constraints([[1.0, 0, 0]], [3], [-1])
    with pytest.raises(InputError, match="contacts were built by another warp"):
        Warp(blocks(True), []).apply(
            Warp(blocks(True), []).decompose_frame(blocks(True).vertices), wave(blocks(True)), kept
        )
    with pytest.raises(InputError, match=r"probes\[0\] was made by another warp"):
        other.evaluate_probes(
            other.decompose_frame(bent(blocks())), wave(blocks()), [Warp(blocks(True), []).build_probe(1)]
        )
