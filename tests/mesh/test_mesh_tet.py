"""MeshTet: what it accepts, what it refuses, what it computes."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from cajole.errors import InputError, MeshError
from cajole.mesh import MeshTet, box_tets

CORNER = np.vstack([np.zeros(3), np.eye(3)])


def test_corner_tet_reference(corner: MeshTet) -> None:
    # closed form: V = 1/6; the three right angles meet at the origin, the others are acos(1/sqrt 3)
    assert corner.volume == pytest.approx(1 / 6, rel=1e-15)
    slanted = np.degrees(np.arccos(1 / np.sqrt(3)))
    assert corner.dihedral_angles[0] == pytest.approx([90, 90, 90, slanted, slanted, slanted], rel=1e-14)
    assert corner.shape_gradients[0] == pytest.approx(np.vstack([-np.ones(3), np.eye(3)]))
    assert corner.size == pytest.approx(np.sqrt(3))
    assert corner.notes == ()


def test_regular_tet_dihedral_reference() -> None:
    regular = MeshTet([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]], [[0, 1, 2, 3]])
    assert regular.dihedral_angles == pytest.approx(np.full((1, 6), np.degrees(np.arccos(1 / 3))))


@given(arrays(np.float64, (4, 3), elements=st.floats(-10, 10, width=32)))
def test_gradients_identity(vertices: np.ndarray) -> None:
    try:
        mesh = MeshTet(vertices, [[0, 1, 2, 3]])
    except MeshError:
        return
    edges = mesh.vertices[mesh.tets[0]]
    values = mesh.shape_gradients[0] @ (edges - edges[0]).T
    expected = np.eye(4) - np.array([[1.0], [0], [0], [0]])
    scale = np.abs(mesh.shape_gradients).max() * mesh.size
    assert np.abs(values - expected).max() < 1e-13 * scale**2 + 1e-13
    assert np.abs(mesh.shape_gradients[0].sum(axis=0)).max() <= 1e-13 * np.abs(mesh.shape_gradients).max()


def test_surface_volume_agreement() -> None:
    rng = np.random.default_rng(0)
    box = box_tets(4, 3, 5, size=(2, 1, 3))
    mesh = box.moved(box.vertices + 0.05 * rng.standard_normal(box.vertices.shape))
    # divergence theorem: the surface alone knows the volume
    assert mesh.surface.volume == pytest.approx(mesh.volume, rel=1e-13)
    assert mesh.surface.notes == ()
    assert mesh.is_manifold()
    assert np.array_equal(mesh.surface.vertices, mesh.vertices)


def test_counts_of_a_box_identity() -> None:
    mesh = box_tets(2, 3, 4)
    faces = (4 * len(mesh.tets) + len(mesh.surface.triangles)) // 2
    euler = len(mesh.vertices) - len(mesh.edges) + faces - len(mesh.tets)
    assert euler == 1
    assert len(mesh.surface.triangles) == 4 * (2 * 3 + 3 * 4 + 2 * 4)
    assert len(mesh.surface_vertices) == 3 * 4 * 5 - 1 * 2 * 3
    assert mesh.adjacency.nnz == 2 * len(mesh.edges)
    assert (mesh.adjacency != mesh.adjacency.T).nnz == 0


def test_components_and_unused_vertices() -> None:
    two = np.vstack([CORNER, [[9, 9, 9]], CORNER + 5])
    mesh = MeshTet(two, [[0, 1, 2, 3], [5, 6, 7, 8]])
    assert mesh.component_labels.tolist() == [0, 0, 0, 0, -1, 1, 1, 1, 1]
    assert mesh.notes == ("1 vertices belong to no element (first: 4); mesh.compacted() drops them",)
    assert mesh.bounds.tolist() == [[0, 0, 0], [6, 6, 6]]


def test_negative_tets_are_flipped_with_a_note() -> None:
    mesh = MeshTet(CORNER, [[0, 1, 3, 2]])
    assert mesh.tets.tolist() == [[0, 1, 2, 3]]
    assert mesh.notes == ("1 tets had negative volume and were flipped",)


def test_repeats_are_noted() -> None:
    vertices = np.vstack([CORNER, CORNER[:1]])
    mesh = MeshTet(vertices, [[0, 1, 2, 3], [2, 3, 0, 1], [4, 1, 2, 3]])
    assert any("1 tets repeat" in note for note in mesh.notes)
    assert any("1 vertices repeat the position" in note for note in mesh.notes)


def test_every_tet_twice_bad_input() -> None:
    mesh = MeshTet(CORNER, [[0, 1, 2, 3], [0, 1, 2, 3]])
    assert not mesh.is_manifold()
    with pytest.raises(MeshError, match=r"no surface.*remove repeated tets"):
        _ = mesh.surface


def test_pinched_meshes_are_not_manifold() -> None:
    tip = np.vstack([CORNER, -np.eye(3)])
    assert not MeshTet(tip, [[0, 1, 2, 3], [0, 4, 5, 6]]).is_manifold()  # share a vertex
    edge = np.vstack([CORNER, [[0, -1, 0], [0, 0, -1]]])
    assert not MeshTet(edge, [[0, 1, 2, 3], [0, 1, 4, 5]]).is_manifold()  # share an edge


def test_nearest_agreement() -> None:
    mesh = box_tets(3, 3, 3)
    points = np.random.default_rng(1).uniform(-1, 2, (40, 3))
    brute = np.linalg.norm(mesh.vertices[None] - points[:, None], axis=2).argmin(axis=1)
    assert np.array_equal(mesh.nearest(points), brute)
    one = mesh.nearest((1.0, 1.0, 1.0))
    assert isinstance(one, int)
    assert mesh.vertices[one].tolist() == [1, 1, 1]


def test_frozen_and_apart_from_the_caller_identity() -> None:
    vertices, tets = CORNER.copy(), np.array([[0, 1, 2, 3]])
    mesh = MeshTet(vertices, tets)
    vertices[:] = np.nan
    tets[:] = 0
    assert mesh.volume == pytest.approx(1 / 6)
    with pytest.raises(ValueError, match="read-only"):
        mesh.vertices[0, 0] = 1.0
    with pytest.raises(dataclasses.FrozenInstanceError):
        mesh.tets = tets  # type: ignore[misc]
    assert mesh != MeshTet(CORNER, [[0, 1, 2, 3]])
    assert mesh.content_hash == MeshTet(CORNER, [[0, 1, 2, 3]]).content_hash
    assert mesh.content_hash != MeshTet(2 * CORNER, [[0, 1, 2, 3]]).content_hash
    assert len({mesh, mesh}) == 1


def test_moved_identity(corner: MeshTet) -> None:
    assert corner.moved(2 * corner.vertices).volume == pytest.approx(8 * corner.volume)
    assert corner.volume == pytest.approx(1 / 6)


@pytest.mark.parametrize(
    ("vertices", "tets", "message"),
    [
        (np.where(np.arange(12).reshape(4, 3) == 4, np.nan, CORNER), [[0, 1, 2, 3]], r"vertices\[1, 1\] is nan"),
        (CORNER, [[0, 1, 2, 4]], r"tets\[0, 3\] is 4, outside 0\.\.3"),
        (CORNER, [[0, 1, 2, -1]], r"tets\[0, 3\] is -1"),
        (CORNER, [[0, 1, 2, 2]], r"tets\[0\] is \[0, 1, 2, 2\]: it names a vertex twice"),
        (CORNER * [1, 1, 0], [[0, 1, 2, 3]], r"tets\[0\].* is flat: volume 0 m³ .*remove it or move"),
        (CORNER, np.zeros((0, 4), dtype=int), "tets is empty"),
        (np.zeros((0, 3)), [[0, 1, 2, 3]], "no vertices"),
        (CORNER, [[0, 1, 2]], r"shape \(1, 3\)"),
        (CORNER[:, :2], [[0, 1, 2, 3]], r"shape \(4, 2\)"),
        (CORNER, [[0.0, 1.0, 2.0, 3.0]], "whole numbers"),
        (CORNER * 1e200, [[0, 1, 2, 3]], "overflow"),
        ("nonsense", [[0, 1, 2, 3]], "numbers"),
    ],
)
def test_refused_bad_input(vertices: object, tets: object, message: str) -> None:
    with pytest.raises(MeshError, match=message):
        MeshTet(vertices, tets)  # type: ignore[arg-type]


def test_flat_tet_is_relative_to_its_size() -> None:
    tiny = MeshTet(CORNER * 1e-9, [[0, 1, 2, 3]])
    assert tiny.volume == pytest.approx(1e-27 / 6)
    with pytest.raises(MeshError, match="flat"):
        MeshTet(CORNER * [1e9, 1e9, 1e-3], [[0, 1, 2, 3]])


def test_moved_inside_out_bad_input(corner: MeshTet) -> None:
    with pytest.raises(MeshError, match=r"tets\[0\] is turned inside out"):
        corner.moved(corner.vertices * [1, 1, -1])
    with pytest.raises(MeshError, match="shape"):
        corner.moved(corner.vertices[:3])


def test_nearest_bad_input(corner: MeshTet) -> None:
    with pytest.raises(InputError, match="nan"):
        corner.nearest((0.0, np.nan, 0.0))
    with pytest.raises(InputError, match="shape"):
        corner.nearest([0.0, 1.0])


def test_compacted_identity() -> None:
    mesh = MeshTet(np.vstack([CORNER[:2], [[9, 9, 9]], CORNER[2:], [[8, 8, 8]]]), [[0, 1, 3, 4]])
    small, numbers = mesh.compacted()
    assert numbers.tolist() == [0, 1, -1, 2, 3, -1]
    np.testing.assert_array_equal(small.vertices, mesh.vertices[numbers >= 0])
    np.testing.assert_array_equal(small.vertices[small.tets], mesh.vertices[mesh.tets])
    assert small.used_vertex_mask.all()
    assert small.notes == ("2 vertices that belong to no element were dropped",)
    assert small.compacted()[0] is small
