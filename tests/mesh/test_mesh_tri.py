"""MeshTri: orientation, closedness, hinges, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cajole.errors import MeshError
from cajole.mesh import MeshTri, box_tets, compute_vertex_normals, drop_degenerate_triangles, grid_triangles
from cajole.mesh.topology import encode_rows

BOX = box_tets(2, 2, 2).surface


def moebius(count: int = 12) -> tuple[np.ndarray, np.ndarray]:
    """A strip with half a twist: its two ends meet upside down."""
    angle = np.linspace(0, 2 * np.pi, count, endpoint=False)
    side = np.array([-0.3, 0.3])[None, :] * np.ones((count, 1))
    radius = 1 + side * np.cos(angle / 2)[:, None]
    points = np.stack(
        [radius * np.cos(angle)[:, None], radius * np.sin(angle)[:, None], side * np.sin(angle / 2)[:, None]], axis=2
    )
    index = np.arange(2 * count).reshape(count, 2)
    following = np.vstack([index[1:], index[:1, ::-1]])
    quads = np.hstack([index, following[:, ::-1]])
    return points.reshape(-1, 3), np.vstack([quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]])


def test_box_reference() -> None:
    assert BOX.area == pytest.approx(6)
    assert BOX.volume == pytest.approx(1)
    assert BOX.is_closed()
    assert BOX.is_manifold()
    assert len(BOX.hinges) == len(BOX.edges) == 3 * len(BOX.triangles) // 2
    outward = np.einsum("ij,ij->i", BOX.normals, BOX.vertices[BOX.triangles].mean(axis=1) - 0.5)
    assert (outward > 0).all()


@given(st.sets(st.integers(0, len(BOX.triangles) - 1), max_size=len(BOX.triangles) // 2 - 1))
def test_flipped_triangles_are_turned_back_identity(flipped: set[int]) -> None:
    triangles = BOX.triangles.copy()
    rows = sorted(flipped)
    triangles[rows] = triangles[rows][:, ::-1]
    mesh = MeshTri(BOX.vertices, triangles)
    assert mesh.volume == pytest.approx(1)
    assert any("flipped" in note for note in mesh.notes) == bool(flipped)


def test_open_cloth_is_quiet() -> None:
    cloth = grid_triangles(5, 4, size=(5, 4))
    assert cloth.notes == ()
    assert cloth.is_manifold()
    assert not cloth.is_closed()
    assert len(cloth.boundary_edges) == 18
    assert np.array_equal(cloth.normals, np.tile([0.0, 0, 1], (40, 1)))
    assert np.array_equal(cloth.vertex_normals, np.tile([0.0, 0, 1], (30, 1)))


def test_moebius_strip_is_allowed_and_noted() -> None:
    mesh = MeshTri(*moebius())
    assert any("cannot be oriented" in note for note in mesh.notes)
    assert mesh.is_manifold()
    assert not mesh.is_closed()


def test_three_triangles_at_an_edge_are_noted() -> None:
    vertices = np.array([[0, 0, 0], [0, 0, 1], [1, 0, 0], [0, 1, 0], [-1, -1, 0]], dtype=float)
    mesh = MeshTri(vertices, [[0, 1, 2], [0, 1, 3], [0, 1, 4]])
    assert any("1 edges belong to more than two" in note for note in mesh.notes)
    assert not mesh.is_manifold()
    assert len(mesh.hinges) == 0


def test_bow_tie_is_not_manifold() -> None:
    vertices = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [-1, 0, 0], [-1, -1, 0]], dtype=float)
    assert not MeshTri(vertices, [[0, 1, 2], [0, 3, 4]]).is_manifold()


def test_hinges_reference() -> None:
    mesh = MeshTri([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], [[0, 1, 2], [0, 2, 3]])
    a, b, c, d = mesh.hinges[0].tolist()
    assert (a, b, c, d) == (2, 0, 1, 3)  # triangle 0 runs 2 -> 0 along the diagonal, vertex 1 opposite


def test_hinges_identity() -> None:
    for a, b, c, d in BOX.hinges:
        first = [t for t in BOX.triangles if {a, b, c} == set(t)]
        second = [t for t in BOX.triangles if {a, b, d} == set(t)]
        assert len(first) == len(second) == 1
        at = first[0].tolist().index(a)
        assert first[0][(at + 1) % 3] == b


def test_vertex_normals_agreement() -> None:
    mesh = grid_triangles(3, 3)
    moved = mesh.vertices + 0.1 * np.random.default_rng(0).standard_normal(mesh.vertices.shape)
    sums = np.zeros_like(moved)
    for t in mesh.triangles:
        sums[t] += np.cross(moved[t[1]] - moved[t[0]], moved[t[2]] - moved[t[0]])
    expected = sums / np.linalg.norm(sums, axis=1, keepdims=True)
    assert compute_vertex_normals(moved, mesh.triangles) == pytest.approx(expected)
    assert mesh.moved(moved).vertex_normals == pytest.approx(expected)


def test_row_keys_do_not_overflow_identity() -> None:
    rows = np.random.default_rng(0).integers(0, 2**31, (200, 4))
    rows = np.vstack([rows, rows[:50]])
    keys = encode_rows(rows, 2**31)
    assert len(np.unique(keys)) == len(np.unique(rows, axis=0))
    assert np.array_equal(keys[:50], keys[200:])


def test_volume_of_an_open_surface_bad_input() -> None:
    with pytest.raises(MeshError, match="no inside"):
        _ = grid_triangles(2, 2).volume


def test_no_area_bad_input() -> None:
    with pytest.raises(MeshError, match=r"triangles\[0\].*has no area: 0 m².*cajole.mesh.drop_degenerate_triangles"):
        MeshTri([[0, 0, 0], [1, 0, 0], [2, 0, 0]], [[0, 1, 2]])
    with pytest.raises(MeshError, match="has no area"):
        grid_triangles(2, 2).moved(np.zeros((9, 3)))


def test_empty_bad_input() -> None:
    with pytest.raises(MeshError, match="triangles is empty"):
        MeshTri(np.eye(3), [])


def test_repaired_drops_and_tells() -> None:
    vertices = [[0, 0, 0], [1, 0, 0], [2, 0, 0], [0, 1, 0]]
    mesh = drop_degenerate_triangles(vertices, [[0, 1, 2], [0, 1, 3], [1, 1, 3]])
    assert mesh.triangles.tolist() == [[0, 1, 3]]
    assert mesh.notes[0] == "2 triangles without area were dropped"
    with pytest.raises(MeshError, match="none of the 1 triangles"):
        drop_degenerate_triangles(vertices, [[0, 1, 2]])
