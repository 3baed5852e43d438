"""Very thin elements: which of them a body refuses, by name, and what repairs them."""

from __future__ import annotations

import numpy as np
import pytest

import cajole as cj
from cajole.body import BodyShell, BodySolid
from cajole.errors import CajoleError, InputError, MeshError
from cajole.mesh import MeshTet, MeshTri, box_tets, grid_triangles, remove_slivers


def capped(height: float) -> MeshTri:
    """A square sheet with a triangle of three vertices nearly in line, `height` of its longest edge high, within."""
    grid = grid_triangles(4, 4)
    a, b, c = grid.hinges[len(grid.hinges) // 2, :3]
    along = grid.vertices[b] - grid.vertices[a]
    middle = (grid.vertices[a] + grid.vertices[b]) / 2 + height * np.cross([0.0, 0.0, 1.0], along)
    split = np.isin(grid.triangles, (a, b, c)).all(axis=1)
    new = len(grid.vertices)
    triangles = np.vstack([grid.triangles[~split], [[a, b, new], [b, c, new], [c, a, new]]])
    return MeshTri(np.vstack([grid.vertices, middle]), triangles)


def needled(width: float) -> MeshTri:
    """Three triangles, the middle one with an edge `width` of its other two long."""
    return MeshTri([[0, 0, 0], [width, 0, 0], [0, 1, 0], [-1, 0, 0], [1, 0.5, 0]], [[0, 1, 2], [0, 2, 3], [1, 4, 2]])


@pytest.mark.parametrize("mesh", [capped(1e-5), capped(-1e-5), needled(1e-8)], ids=["cap", "fold", "needle"])
def test_slivers_of_a_shell_are_named(mesh: MeshTri) -> None:
    with pytest.raises(InputError, match=r"triangles\[\d+\].*quality.*cajole.mesh.remove_slivers\(mesh\)"):
        BodyShell(mesh)


def test_every_sliver_is_counted() -> None:
    mesh = capped(1e-5)
    other = MeshTri(
        np.vstack([mesh.vertices, mesh.vertices + [5.0, 0.0, 0.0]]),
        np.vstack([mesh.triangles, mesh.triangles + len(mesh.vertices)]),
    )
    thin = np.flatnonzero(other.areas < 1e-5)
    with pytest.raises(InputError) as caught:
        BodyShell(other)
    assert f"2 such: {thin[0]}, {thin[1]}" in str(caught.value)
    assert "5e-06" in str(caught.value)


@pytest.mark.parametrize("mesh", [capped(1e-3), needled(1e-6)], ids=["cap", "needle"])
def test_thin_triangles_that_bend_are_taken(mesh: MeshTri) -> None:
    body = BodyShell(mesh, fixed=[0, 3])
    moved = cj.simulate(body, 5, gravity=9.81, integrator="bdf2")
    assert np.isfinite(moved.positions).all()


@pytest.mark.parametrize("mesh", [capped(1e-5), capped(1e-9), needled(1e-8)], ids=["cap", "flat", "needle"])
def test_the_repair_that_is_offered_repairs(mesh: MeshTri) -> None:
    fixed, numbers = remove_slivers(mesh)
    assert fixed.area == pytest.approx(mesh.area, rel=1e-4)
    assert len(fixed.component_labels[fixed.component_labels > 0]) == 0
    assert fixed.is_manifold()
    assert len(fixed.boundary_edges) <= len(mesh.boundary_edges)
    assert np.abs(fixed.vertices[numbers] - mesh.vertices).max() < 1e-3
    assert any("sliver" in note for note in fixed.notes)
    body = BodyShell(fixed, fixed=numbers[[0, 3]])
    assert np.isfinite(cj.simulate(body, 5, gravity=9.81, integrator="bdf2").positions).all()


def test_a_sliver_at_the_rim_is_dropped() -> None:
    mesh = MeshTri([[0, 0, 0], [1, 0, 0], [0.5, 1e-6, 0], [0.5, 1, 0]], [[0, 1, 2], [0, 2, 3], [2, 1, 3]])
    fixed, numbers = remove_slivers(mesh)
    assert (len(fixed.triangles), len(fixed.vertices)) == (2, 4)
    np.testing.assert_array_equal(numbers, np.arange(4))


def test_a_mesh_without_slivers_is_left_alone_identity() -> None:
    mesh = grid_triangles(3, 3)
    fixed, numbers = remove_slivers(mesh)
    assert fixed is mesh
    np.testing.assert_array_equal(numbers, np.arange(len(mesh.vertices)))


def test_repair_answers_to_wrong_input() -> None:
    with pytest.raises(InputError, match="mesh must be a MeshTri"):
        remove_slivers(box_tets(1, 1, 1))  # type: ignore[arg-type]
    with pytest.raises(InputError, match="quality"):
        remove_slivers(grid_triangles(1, 1), quality=0.5)
    with pytest.raises(MeshError, match="no triangle would be left"):
        remove_slivers(MeshTri([[0, 0, 0], [1, 0, 0], [0.5, 1e-6, 0]], [[0, 1, 2]]))


def flattened(height: float) -> tuple[np.ndarray, np.ndarray]:
    """A cube of tets, one of its inner vertices moved to `height` of what it was above an opposite face."""
    cube = box_tets(3, 3, 3)
    inner = int(np.flatnonzero(((cube.vertices > 0.1) & (cube.vertices < 0.9)).all(axis=1))[0])
    tet = cube.tets[np.flatnonzero((cube.tets == inner).any(axis=1))[0]]
    x0, x1, x2 = cube.vertices[tet[tet != inner]]
    normal = np.cross(x1 - x0, x2 - x0)
    normal /= np.linalg.norm(normal)
    vertices = cube.vertices.copy()
    vertices[inner] -= (1 - height) * ((vertices[inner] - x0) @ normal) * normal
    return vertices, cube.tets


def test_flat_tets_are_refused_by_name_and_all_others_work() -> None:
    """The least volume that a mesh may have leaves a solid sound: its frequencies do not change any more."""
    reference = cj.modes(BodySolid(MeshTet(*flattened(1e-4)), fixed=[0, 1, 2, 4, 5, 8]), 3).frequencies
    thin = BodySolid(MeshTet(*flattened(1e-8)), fixed=[0, 1, 2, 4, 5, 8])
    np.testing.assert_allclose(cj.modes(thin, 3).frequencies, reference, rtol=1e-3)
    assert np.isfinite(cj.pose(thin, gravity=9.81)).all()
    with pytest.raises(CajoleError, match=r"tets\[\d+\].*is flat.*remove it or move its vertices apart"):
        MeshTet(*flattened(1e-9))
