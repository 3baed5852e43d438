"""Any triangles into tets."""

from __future__ import annotations

import numpy as np
import pytest

from cajole.errors import InputError
from cajole.mesh import MeshTri, box_tets, embed, grid_triangles, subdivide, voxelise
from cajole.mesh.kernels_voxels import TOUCH_TOLERANCE
from cajole.mesh.voxels import _build_tet_mesh, fill_interior, fill_until_manifold, find_intersected_cells


def touched_by_clipping(corners: np.ndarray, shape: tuple[int, int, int]) -> np.ndarray:
    """NumPy twin of the kernel by another route: clip each triangle against the six planes of each cell."""
    touched = np.zeros(shape, dtype=bool)
    for triangle in corners:
        for cell in np.ndindex(shape):
            polygon = triangle
            for axis in range(3):
                for sign, bound in ((1.0, cell[axis] - TOUCH_TOLERANCE), (-1.0, -(cell[axis] + 1 + TOUCH_TOLERANCE))):
                    polygon = clipped(polygon, sign * polygon[:, axis] - bound) if len(polygon) else polygon
            touched[cell] |= len(polygon) > 0
    return touched


def clipped(polygon: np.ndarray, height: np.ndarray) -> np.ndarray:
    """The part of a polygon where `height`, given at its corners, is not negative."""
    points = []
    for i in range(len(polygon)):
        j = (i + 1) % len(polygon)
        if height[i] >= 0:
            points.append(polygon[i])
        if height[i] * height[j] < 0:
            points.append(polygon[i] + height[i] / (height[i] - height[j]) * (polygon[j] - polygon[i]))
    return np.array(points).reshape(-1, 3)


def sphere(levels: int = 3) -> MeshTri:
    fine, _ = subdivide(box_tets(1, 1, 1, size=(2, 2, 2), origin=(-1, -1, -1)).surface, levels=levels)
    return fine.moved(fine.vertices / np.linalg.norm(fine.vertices, axis=1, keepdims=True))


def test_touched_cells_agreement() -> None:
    corners = np.random.default_rng(0).uniform(-0.5, 5.5, (25, 3, 3))
    assert np.array_equal(find_intersected_cells(corners, (5, 4, 5)), touched_by_clipping(corners, (5, 4, 5)))


def test_box_fills_its_grid_identity() -> None:
    mesh = voxelise(box_tets(1, 1, 1, size=(1, 2, 1)).surface, resolution=8)
    assert len(mesh.tets) == 6 * 4 * 8 * 4
    assert mesh.volume == pytest.approx(2, rel=0.01)
    assert mesh.notes == ()
    assert mesh.is_manifold()


def test_sphere_volume_order() -> None:
    """The shell of touched cells is about one cell thick, so the excess volume falls with the cell size."""
    exact = sphere(4).volume
    excess = [voxelise(sphere(4), resolution=n).volume - exact for n in (8, 16, 32)]
    slopes = -np.diff(np.log2(excess))
    assert (np.array(excess) > 0).all()
    assert slopes == pytest.approx(1, abs=0.3)


def test_every_vertex_lies_inside_identity() -> None:
    rng = np.random.default_rng(3)
    for trial in range(5):
        soup = MeshTri(rng.standard_normal((30, 3)), np.arange(30).reshape(10, 3))
        mesh = voxelise(soup, resolution=4 + 3 * trial)
        assert not embed(soup, mesh).outside_mask.any()
        assert mesh.is_manifold()


def test_closed_shell_is_filled_and_open_shell_keeps_its_cells() -> None:
    ball = sphere()
    whole = voxelise(ball, resolution=12)
    upper = MeshTri(ball.vertices, ball.triangles[ball.vertices[ball.triangles][:, :, 2].mean(axis=1) > 0])
    cap = voxelise(upper, resolution=12)
    assert whole.volume > 0.9 * ball.volume
    assert 0 < cap.volume < 0.5 * whole.volume
    assert not embed(upper.vertices[upper.used_vertex_mask], cap).outside_mask.any()


def test_enclosed_reference() -> None:
    shell = np.ones((5, 5, 5), dtype=bool)
    shell[1:-1, 1:-1, 1:-1] = False
    assert fill_interior(shell).all()
    shell[0, 2, 2] = False
    assert fill_interior(shell).sum() == shell.sum()


def test_joined_cells_make_a_manifold_identity() -> None:
    rng = np.random.default_rng(0)
    for share in (0.1, 0.3, 0.6):
        cells = rng.random((6, 6, 6)) < share
        filled = fill_until_manifold(cells)
        assert (filled >= cells).all()
        assert _build_tet_mesh(filled, np.zeros(3), 1.0).is_manifold()
        assert not _build_tet_mesh(cells, np.zeros(3), 1.0).is_manifold()
    diagonal = np.zeros((2, 2, 1), dtype=bool)
    diagonal[0, 0] = diagonal[1, 1] = True
    assert fill_until_manifold(diagonal).all()


def test_largest_piece_only() -> None:
    ball = sphere(2)
    two = MeshTri(
        np.vstack([ball.vertices, 0.3 * ball.vertices + [3, 0, 0]]),
        np.vstack([ball.triangles, ball.triangles + len(ball.vertices)]),
    )
    both = voxelise(two, resolution=20)
    one = voxelise(two, resolution=20, keep="largest")
    assert both.component_labels.max() == 1
    assert one.component_labels.max() == 0
    assert one.volume < both.volume


def test_flat_sheet_becomes_one_layer() -> None:
    mesh = voxelise(grid_triangles(3, 3), resolution=6)
    assert len(mesh.tets) == 6 * 36
    assert mesh.is_manifold()


def test_voxelise_bad_input() -> None:
    with pytest.raises(InputError, match="MeshTri, not MeshTet"):
        voxelise(box_tets(1, 1, 1))  # type: ignore[arg-type]
    with pytest.raises(InputError, match="resolution is 1000"):
        voxelise(sphere(1), resolution=1000)
    with pytest.raises(InputError, match="keep is 'some'"):
        voxelise(sphere(1), keep="some")
