"""Warping of triangle meshes: sheets neither swell nor shear, and meshes as artists make them do not break it."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from cajole.direct.editing.warp import WARP_FORMS, Warp
from cajole.errors import MeshError
from cajole.mesh import MeshTri, grid_triangles

Array = NDArray[np.float64]


def sheet() -> MeshTri:
    return grid_triangles(24, 6, size=(4.0, 1.0))


def strains(mesh: MeshTri, positions: Array) -> Array:
    """(m, 2) singular values of the in-plane deformation of every triangle."""
    rest, now = mesh.vertices[mesh.triangles], positions[mesh.triangles]
    flat = (rest[:, 1:] - rest[:, :1])[:, :, :2]
    maps = np.linalg.solve(flat, now[:, 1:] - now[:, :1])
    return np.linalg.svd(maps, compute_uv=False)


@pytest.mark.parametrize("turn", [(0.0, 0.0, 0.0), (0.3, -1.2, 0.7), (2.0, 1.5, -1.5)])
def test_bend_claim(turn: tuple[float, float, float]) -> None:
    """A sheet turned by any amount and bent by half a turn keeps its lengths and angles; unwarped it doubles some."""
    mesh = sheet()
    R = Rotation.from_rotvec(turn)
    input_frame = R.apply(mesh.vertices.copy())
    # rotations that grow along x, integrated: the linear change of bending by π
    x = mesh.vertices[:, 0]
    p = np.column_stack([np.zeros_like(x), np.zeros_like(x), np.pi / 8 * x**2])
    warp = Warp(mesh, np.flatnonzero(x < 0.2))
    warped = input_frame + warp.apply(warp.decompose_frame(input_frame), p)
    found, unwarped = strains(mesh, warped), strains(mesh, mesh.vertices + p)
    assert np.abs(found - 1.0).max() < 0.03
    assert unwarped.max() > 2.0
    # it did bend: the normal of the far end has turned by almost π
    ends = MeshTri(warped, mesh.triangles).normals
    assert ends[0] @ ends[-1] < -0.9


@pytest.mark.parametrize("form", WARP_FORMS)
def test_rigid_agreement(form: str) -> None:
    """Composition: turning the input turns the answer, whatever the turn."""
    mesh = sheet()
    X = mesh.vertices.copy()
    p = 0.3 * np.column_stack([np.sin(X[:, 1]), 0.2 * X[:, 0], np.sin(2 * X[:, 0])])
    warp = Warp(mesh, [], form=form)
    R = Rotation.from_rotvec([0.0, 0.0, 1.3])
    here, there = warp.apply(warp.decompose_frame(X), p), warp.apply(warp.decompose_frame(R.apply(X)), p)
    error = np.abs((there - there.mean(axis=0)) - R.apply(here - here.mean(axis=0))).max()
    assert error < 1e-12 if form == "composition" else error > 1e-3


def test_non_manifold_identity() -> None:
    """Three sheets along one edge, a fan at one vertex, and a triangle twice: the turn of all is the turn of each."""
    sides = np.linspace(0, 1, 5)
    pages = [np.column_stack([sides, np.zeros(5), np.zeros(5)])]
    triangles = []
    for k in range(3):
        angle = 2.0 * k
        pages.append(np.column_stack([sides, np.full(5, np.cos(angle)), np.full(5, np.sin(angle))]))
        a, b = np.arange(4), 5 * (k + 1) + np.arange(4)
        triangles += [np.column_stack([a, a + 1, b + 1]), np.column_stack([a, b + 1, b])]
    vertices = np.vstack([*pages, [[-1.0, 0.0, 1.0], [-1.0, 1.0, 0.0]]])
    extra = np.array([[0, 20, 21], [0, 6, 5]])
    mesh = MeshTri(vertices, np.vstack([*triangles, extra]))
    assert not mesh.is_manifold()
    axis = np.array([0.4, -1.1, 0.8])
    warp = Warp(mesh, [])
    moved = mesh.vertices + warp.apply(warp.decompose_frame(mesh.vertices), np.cross(axis, mesh.vertices))
    expected = Rotation.from_rotvec(axis).apply(mesh.vertices.copy())
    np.testing.assert_allclose(moved - moved[0], expected - expected[0], atol=1e-12)


def test_unused_vertices_identity() -> None:
    """A vertex of no triangle takes the linear change, one that is held as well stays."""
    plain = sheet()
    n = len(plain.vertices)
    mesh = MeshTri(np.vstack([plain.vertices, [[0.0, 0.0, 5.0], [1.0, 0.0, 5.0]]]), plain.triangles)
    held = np.flatnonzero(plain.vertices[:, 0] < 1e-9)
    p = 0.1 * np.sin(mesh.vertices[:, [1, 2, 0]]) + 0.1
    alone, warp = Warp(plain, held), Warp(mesh, np.append(held, n + 1))
    frame = warp.decompose_frame(mesh.vertices)
    found = warp.apply(frame, p)
    np.testing.assert_array_equal(found[:n], alone.apply(alone.decompose_frame(plain.vertices), p[:n]))
    np.testing.assert_array_equal(found[n], p[n])
    assert not found[n + 1].any()
    seen = warp.evaluate_probes(frame, p, [warp.build_probe(n), warp.build_probe(n + 1)])
    np.testing.assert_array_equal(seen, found[n:])


def test_collapsed_frame_identity() -> None:
    """Triangles that lose their area in a frame are warped still; at rest a mesh refuses them, and says which."""
    mesh = sheet()
    collapsed = mesh.vertices.copy()
    corner = mesh.triangles[5]
    collapsed[corner] = collapsed[corner].mean(axis=0)
    warp = Warp(mesh, np.flatnonzero(mesh.vertices[:, 0] < 1e-9))
    p = 0.1 * np.sin(mesh.vertices[:, [1, 2, 0]])
    frame = warp.decompose_frame(collapsed)
    assert not warp.apply(frame, np.zeros_like(p)).any()
    assert np.abs(warp.apply(frame, p)).max() < 10 * np.abs(p).max()
    with pytest.raises(MeshError, match=r"triangles\[4\].*has no area"):
        MeshTri(collapsed, mesh.triangles)
