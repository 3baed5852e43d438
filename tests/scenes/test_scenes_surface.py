"""The visible surface: closed, on the zero set, refined where colours change."""

from __future__ import annotations

import numpy as np
import pytest

from cajole.errors import InputError, SolveError
from cajole.mesh import MeshTri
from cajole.scenes import ImplicitShapeBuilder, extract_surface
from cajole.scenes.surface_nets import refine_by_color


def _ball():
    s = ImplicitShapeBuilder()
    s.add_ellipsoid("ball", (0, 0, 0), (1, 1, 1))
    return s.build()


def test_sphere_order():
    """Area and volume of the drawn sphere approach 4 pi and 4/3 pi with order 2."""
    areas, bulks = [], []
    for h in (0.2, 0.1, 0.05):
        mesh = MeshTri(*extract_surface(_ball(), h))
        assert mesh.is_closed()
        areas.append(abs(mesh.area - 4 * np.pi))
        bulks.append(abs(mesh.volume - 4 / 3 * np.pi))
    for errors in (areas, bulks):
        assert np.polyfit(np.log([4, 2, 1]), np.log(errors), 1)[0] == pytest.approx(2, abs=0.2)


def test_vertices_lie_on_the_surface_identity():
    s = ImplicitShapeBuilder()
    s.add_chain("rod", [(0, 0, 0), (1, 0.3, 0.2)], [0.3, 0.2])
    s.add_ellipsoid("head", (1, 0.3, 0.4), (0.4, 0.3, 0.3), blend=0.1)
    shape = s.build()
    points, triangles = extract_surface(shape, 0.06)
    assert np.abs(shape.distance(points)).max() < 1e-8
    mesh = MeshTri(points, triangles)
    assert mesh.is_closed()
    assert mesh.is_manifold()
    # outward: the face normals agree with the gradient
    assert (mesh.normals * shape.normals(points[triangles].mean(axis=1))).sum(axis=1).min() > 0.8


def test_marching_cubes_reference():
    """The volume enclosed agrees with scikit-image's marching cubes on the same grid spacing."""
    measure = pytest.importorskip("skimage.measure")
    s = ImplicitShapeBuilder()
    s.add_chain("rod", [(0, 0, 0), (1, 0.3, 0.2)], [0.3, 0.2])
    shape = s.build()
    axes = [np.arange(shape.bounds[0, i] - 0.1, shape.bounds[1, i] + 0.1, 0.04) for i in range(3)]
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
    values = shape.distance(grid.reshape(-1, 3)).reshape(grid.shape[:3])
    points, triangles, *_ = measure.marching_cubes(values, 0.0, spacing=(0.04,) * 3)
    twin = MeshTri(points.astype(float), triangles.astype(np.int64))
    assert MeshTri(*extract_surface(shape, 0.04)).volume == pytest.approx(abs(twin.volume), rel=0.01)


def test_refinement_claim():
    """A painted line is followed by short edges, far from it nothing changes, and the surface stays closed."""
    shape = _ball()
    points, triangles = extract_surface(shape, 0.15)

    def color(p):
        return np.tile((np.abs(p[:, 2] - 0.2) < 0.03)[:, None].astype(float), (1, 3))

    fine, faces, colors = refine_by_color(points, triangles, color, lambda p: shape.project(p), rounds=4)
    mesh = MeshTri(fine, faces)
    assert mesh.is_closed()
    assert mesh.is_manifold()
    assert np.abs(shape.distance(fine)).max() < 1e-8
    length = np.linalg.norm(np.diff(fine[mesh.edges], axis=1)[:, 0], axis=1)
    crossing = np.abs(np.diff(colors[mesh.edges][:, :, 0], axis=1))[:, 0] > 0.5
    assert np.quantile(length[crossing], 0.95) < 0.04
    assert length.max() > 0.15
    far = points[:, 2] < -0.5
    assert np.isin(points[far].round(9), fine.round(9)).all()
    assert len(fine[fine[:, 2] < -0.5]) == far.sum()


def test_surface_bad_input():
    with pytest.raises(InputError, match="spacing is 0"):
        extract_surface(_ball(), 0.0)
    with pytest.raises(InputError, match="so fine"):
        extract_surface(_ball(), 1e-4)
    s = ImplicitShapeBuilder()
    s.add_ellipsoid("ball", (0, 0, 0), (0.2, 0.2, 0.2))
    s.cut_below(5.0)
    with pytest.raises(SolveError, match="no surface"):
        extract_surface(s.build(), 0.05)
