"""Nearest points on triangle meshes, against brute force and against closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from cajole.errors import InputError, MeshError
from cajole.mesh import ClosestPointQuery, MeshTri, box_tets, find_closest_points, grid_triangles

Array = NDArray[np.float64]


def on_triangles(p: Array, x: Array) -> Array:
    """The nearest points of triangles (m, 3, 3) by another route: the foot of the perpendicular, else the best edge."""
    ahead = np.roll(x, -1, axis=1)
    edges = ahead - x
    shares = np.clip(((p - x) * edges).sum(axis=2) / (edges**2).sum(axis=2), 0, 1)
    ends = x + shares[..., None] * edges
    best = ends[np.arange(len(x)), np.linalg.norm(p - ends, axis=2).argmin(axis=1)]
    n = np.cross(edges[:, 0], edges[:, 1])
    feet = p - n * (((p - x[:, 0]) * n).sum(axis=1) / (n**2).sum(axis=1))[:, None]
    inside = ((np.cross(edges, feet[:, None] - x) * n[:, None]).sum(axis=2) >= 0).all(axis=1)
    return np.where(inside[:, None], feet, best)


def brute(points: Array, mesh: MeshTri) -> Array:
    corners = mesh.vertices[mesh.triangles]
    return np.array([np.linalg.norm(p - on_triangles(p, corners), axis=1).min() for p in points])


def winding(points: Array, mesh: MeshTri) -> Array:
    """Generalised winding numbers (van Oosterom and Strackee 1983): 1 inside, 0 outside."""
    a, b, c = (mesh.vertices[mesh.triangles[:, k]] - points[:, None] for k in range(3))
    la, lb, lc = (np.linalg.norm(v, axis=2) for v in (a, b, c))
    top = (a * np.cross(b, c)).sum(axis=2)
    bottom = la * lb * lc + (a * b).sum(axis=2) * lc + (b * c).sum(axis=2) * la + (c * a).sum(axis=2) * lb
    return np.asarray(np.arctan2(top, bottom).sum(axis=1) / (2 * np.pi))


@pytest.fixture
def random() -> np.random.Generator:
    return np.random.default_rng(3)


@pytest.fixture
def spiky(random: np.random.Generator) -> MeshTri:
    """A closed box whose surface is pulled in and out: convex and concave edges and corners, some of them sharp."""
    mesh = box_tets(3, 4, 5, size=(1.0, 1.2, 1.5)).surface
    middle = np.array([0.5, 0.6, 0.75])
    pulled = middle + (mesh.vertices - middle) * random.uniform(0.55, 1.8, (len(mesh.vertices), 1))
    return MeshTri(pulled, mesh.triangles)


def test_agreement_with_brute_force(spiky: MeshTri, random: np.random.Generator) -> None:
    points = random.uniform(-0.5, 2.0, (300, 3))
    found = find_closest_points(points, spiky)
    assert np.allclose(found.distance, brute(points, spiky), rtol=1e-12, atol=1e-14)
    assert np.allclose(np.linalg.norm(points - found.point, axis=1), found.distance, rtol=1e-14)
    again = [on_triangles(p, spiky.vertices[spiky.triangles[[t]]])[0] for p, t in zip(points, found.triangle)]
    assert np.allclose(found.point, again, atol=1e-12)


def test_agreement_of_sides_with_winding_numbers(spiky: MeshTri, random: np.random.Generator) -> None:
    corners = spiky.vertices[random.integers(len(spiky.vertices), size=3000)]
    ends = spiky.vertices[spiky.edges[random.integers(len(spiky.edges), size=3000)]].mean(axis=1)
    # close to corners and edges, where the normal of one face alone often tells the wrong side
    near = np.concatenate([corners, ends]) + random.normal(scale=0.02, size=(6000, 3))
    points = np.concatenate([near, random.uniform(-0.5, 2.0, (1000, 3))])
    inside = winding(points, spiky) > 0.5
    found = find_closest_points(points, spiky)
    assert np.array_equal(found.sign < 0, inside)
    faces = spiky.normals[found.triangle]
    naive = ((points - found.point) * faces).sum(axis=1) < 0
    assert (naive != inside).any(), "the points do not test the pseudonormals"
    assert inside.sum() > 1000
    assert np.array_equal(ClosestPointQuery(spiky).compute_signed_distances(points), found.sign * found.distance)


def test_reference_of_a_cube(random: np.random.Generator) -> None:
    cube = box_tets(2, 2, 2).surface
    points = random.uniform(-1, 2, (2000, 3))
    beyond = np.maximum(np.abs(points - 0.5) - 0.5, 0)
    signed = np.linalg.norm(beyond, axis=1) + np.minimum(np.abs(points - 0.5).max(axis=1) - 0.5, 0)
    assert np.allclose(ClosestPointQuery(cube).compute_signed_distances(points), signed, atol=1e-14)


def test_normals_out_of_corners_and_edges_of_a_cube() -> None:
    cube = box_tets(1, 1, 1).surface
    found = find_closest_points([[2, 2, 2], [2, 2, 0.4], [2, 0.3, 0.4]], cube)
    expected = np.array([[1, 1, 1], [1, 1, 0], [1, 0, 0]]) / np.sqrt([[3], [2], [1]])
    assert np.allclose(found.normal, expected, atol=1e-14)  # area weights would lean to the sides of two triangles
    assert (found.feature[0] >= 4) & (1 <= found.feature[1] <= 3) & (found.feature[2] == 0)


def test_identity_of_points_on_the_surface(spiky: MeshTri) -> None:
    found = find_closest_points(spiky.vertices[spiky.used_vertex_mask], spiky)
    assert np.array_equal(found.distance, np.zeros(spiky.used_vertex_mask.sum()))


def test_within_leaves_out_what_is_far(random: np.random.Generator) -> None:
    sheet = grid_triangles(7, 5)
    points = random.uniform(-1, 2, (500, 3))
    full, part = find_closest_points(points, sheet), find_closest_points(points, sheet, max_distance=0.4)
    near = full.distance < 0.4
    assert 10 < near.sum() < 490
    assert np.array_equal(part.distance[near], full.distance[near])
    assert np.isinf(part.distance[~near]).all()
    assert (part.triangle[~near] == -1).all()
    assert np.array_equal(full.sign > 0, points[:, 2] >= 0)


def test_one_triangle_and_no_points() -> None:
    corner = MeshTri([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]])
    found = find_closest_points([[0.2, 0.2, 1], [-1, 0.5, 0], [2, 2, 0]], corner)
    assert np.allclose(found.distance, [1, 1, np.hypot(1.5, 1.5)])
    assert len(find_closest_points(np.zeros((0, 3)), corner).distance) == 0


def test_bad_input(corner: object) -> None:
    sheet = grid_triangles(2, 2)
    with pytest.raises(InputError, match="points\\[0, 1\\] is nan"):
        find_closest_points([[0, np.nan, 0]], sheet)
    with pytest.raises(InputError, match="max_distance"):
        find_closest_points([[0, 0, 0]], sheet, max_distance=0)
    with pytest.raises(InputError, match="must be a MeshTri"):
        ClosestPointQuery(corner)  # type: ignore[arg-type]
    with pytest.raises(MeshError, match="close its holes"):
        ClosestPointQuery(sheet).compute_signed_distances([[0, 0, 1]])
