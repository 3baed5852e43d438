"""Tets from distances: volumes, counts, angles, topology, and the kernels against their twins."""

from __future__ import annotations

import numpy as np
import pytest

from cajole.errors import Cancelled, InputError, SolveError
from cajole.mesh import MeshTet, box_tets
from cajole.mesh.tet import compute_signed_volumes
from cajole.scenes import ImplicitShapeBuilder, tetrahedralise
from cajole.scenes import kernels_mesh_improvement as ki
from cajole.scenes import kernels_tets as kt
from cajole.scenes.isosurface_stuffing import build_lattice, stuff_isosurface
from cajole.scenes.tetrahedralisation import (
    compute_angle_margins,
    compute_mean_ratios,
    count_misoriented_faces,
    extract_largest_component,
    label_face_components,
    mark_surface_vertices,
    repair_manifold,
)


def _ball(radius=1.0):
    s = ImplicitShapeBuilder()
    s.add_ellipsoid("ball", (0, 0, 0), (radius, radius, radius))
    return s.build()


def _creature():
    s = ImplicitShapeBuilder()
    s.add_ellipsoid("body", (0, 0, 0), (0.8, 0.5, 0.5))
    s.add_chain("neck", [(0.5, 0, 0.2), (1.0, 0, 0.8), (1.6, 0, 0.9)], [0.3, 0.2, 0.15], segments=6, blend=0.1)
    return s.build()


def test_sphere_volume_order():
    """The volume of a meshed sphere approaches 4/3 pi with the second order of its facets."""
    sizes, errors = [], []
    for target in (400, 1600, 6400):
        mesh = tetrahedralise(_ball(), target=target)
        sizes.append(mesh.volumes.mean() ** (1 / 3))
        errors.append(abs(mesh.volume - 4 / 3 * np.pi))
    assert errors[-1] < 0.02 * 4 / 3 * np.pi
    assert np.polyfit(np.log(sizes), np.log(errors), 1)[0] > 1.6


@pytest.mark.parametrize("target", [300, 2000])
def test_promises_claim(target):
    mesh = tetrahedralise(_creature(), target=target)
    assert abs(len(mesh.tets) / target - 1) < 0.1
    assert mesh.dihedral_angles.min() > 25
    assert mesh.dihedral_angles.max() < 145
    assert mesh.is_manifold()
    assert len(np.unique(label_face_components(mesh.tets))) == 1
    assert count_misoriented_faces(mesh.tets) == 0


def test_surface_vertices_lie_on_the_surface_identity():
    shape = _creature()
    mesh = tetrahedralise(shape, target=2000)
    cell = (mesh.volumes.mean() * 12) ** (1 / 3)
    assert np.abs(shape.distance(mesh.vertices[mesh.surface_vertices])).max() < 0.15 * cell


def test_callable_agreement():
    """A function and the table of the same sphere give the same solid, up to the sampling of the function."""
    mesh = tetrahedralise(lambda p: np.linalg.norm(p, axis=1) - 1, target=2000, bounds=[[-1.2] * 3, [1.2] * 3])
    assert mesh.volume == pytest.approx(tetrahedralise(_ball(), target=2000).volume, rel=0.01)


def test_thin_parts_survive_claim():
    """A rod far thinner than a cell keeps a cage of its own."""
    s = ImplicitShapeBuilder()
    s.add_ellipsoid("one", (-1, 0, 0), (0.5, 0.5, 0.5))
    s.add_ellipsoid("two", (1, 0, 0), (0.5, 0.5, 0.5))
    s.add_chain("rod", [(-1, 0, 0), (1, 0, 0)], [0.01, 0.01])
    mesh = tetrahedralise(s.build(), target=1500)
    assert np.abs(mesh.vertices[:, 0]).min() < 0.2
    assert mesh.bounds[:, 0] == pytest.approx([-1.5, 1.5], abs=0.05)


def test_lattice_identity():
    """Twelve congruent tets a cube that fill their inner cells exactly."""
    grid = build_lattice(np.array([[0.0] * 3, [1.0] * 3]), 0.25, (0.0, 0.0, 0.0), None)
    v = np.abs(compute_signed_volumes(grid.nodes, grid.tets))
    assert v == pytest.approx(0.25**3 / 12)


def test_stuffed_before_improvement_identity():
    """Snapping keeps every tet positive in the order of the unmoved lattice, and every cut on the surface."""
    shape = _creature()
    vertices, tets = extract_largest_component(*stuff_isosurface(shape, 0.18, (0.0, 0.0, 0.0), (0.35, 0.45), None))
    assert compute_signed_volumes(vertices, tets).min() > 0
    assert np.abs(shape.distance(vertices[mark_surface_vertices(tets, len(vertices))])).max() < 1e-7


def test_star_energy_agreement():
    mesh = tetrahedralise(_creature(), target=300)
    x, tets = mesh.vertices.copy(), mesh.tets.copy()
    starts, members = kt.build_vertex_stars(tets, len(x))
    slope = np.empty(3)
    for v in range(0, len(x), 17):
        star = members[starts[v] : starts[v + 1]]
        assert set(star.tolist()) == set(np.flatnonzero((tets == v).any(axis=1)).tolist())
        energy = ki.compute_star_energy(x, tets, star, v, *x[v], 4.0, slope)
        assert energy == pytest.approx((compute_mean_ratios(x, tets[star]) ** -4).sum(), rel=1e-12)


def test_star_energy_derivative():
    mesh = tetrahedralise(_creature(), target=300)
    x, tets = mesh.vertices.copy(), mesh.tets.copy()
    starts, members = kt.build_vertex_stars(tets, len(x))
    v = int(mesh.nearest((0.0, 0.0, 0.0)))
    star, slope, other = members[starts[v] : starts[v + 1]], np.empty(3), np.empty(3)
    ki.compute_star_energy(x, tets, star, v, *x[v], 4.0, slope)
    way, errors = np.array([0.3, -0.5, 0.8]), []
    for h in (1e-3, 5e-4, 2.5e-4):
        ahead = ki.compute_star_energy(x, tets, star, v, *(x[v] + h * way), 4.0, other)
        behind = ki.compute_star_energy(x, tets, star, v, *(x[v] - h * way), 4.0, other)
        errors.append(abs((ahead - behind) / (2 * h) - slope @ way))
    assert np.polyfit(np.log([4, 2, 1]), np.log(errors), 1)[0] == pytest.approx(2, abs=0.1)


def test_margins_agreement():
    """The kernel's angle margin equals that of the mesh's dihedral angles."""
    mesh = tetrahedralise(_creature(), target=300)
    low, high = np.cos(np.deg2rad([25.0, 145.0]))
    cosines = np.cos(np.deg2rad(mesh.dihedral_angles))
    twin = np.minimum(low - cosines, cosines - high).min(axis=1)
    assert compute_angle_margins(mesh.vertices, mesh.tets, low, high) == pytest.approx(twin, abs=1e-9)


def test_improvement_never_inverts_identity():
    shape = _creature()
    vertices, tets = extract_largest_component(*stuff_isosurface(shape, 0.2, (0.0, 0.0, 0.0), (0.35, 0.45), None))
    starts, members = kt.build_vertex_stars(tets, len(vertices))
    surface = mark_surface_vertices(tets, len(vertices))
    before = compute_mean_ratios(vertices, tets)
    spacing = np.full(len(vertices), 0.2)
    ki.minimise_star_energies(vertices, tets, starts, members, surface, spacing, *shape.kernel_arguments, 1e-5, 5, 4.0)
    after = compute_mean_ratios(vertices, tets)
    assert compute_signed_volumes(vertices, tets).min() > 0
    assert (after**-4).sum() < (before**-4).sum()


def test_pinches_are_mended_claim():
    """Two boxes that share one vertex, and two that share one edge, come apart into 2-manifolds."""
    box = box_tets(2, 2, 2)
    for shift in ([1, 1, 1], [1, 1, 0]):
        vertices = np.vstack([box.vertices, box.vertices + shift])
        tets = np.vstack([box.tets, box.tets + len(box.vertices)])
        unique, inverse = np.unique(vertices.round(9), axis=0, return_inverse=True)
        heap = MeshTet(unique, inverse.ravel()[tets])
        assert not heap.is_manifold()
        kept_vertices, kept, *_ = repair_manifold(heap.vertices, heap.tets)
        assert MeshTet(kept_vertices, kept).is_manifold()
        assert len(kept) == pytest.approx(len(box.tets), abs=4)


def test_misoriented_claim():
    box = box_tets(2, 2, 2)
    tets = box.tets.copy()
    assert count_misoriented_faces(tets) == 0
    tets[5] = tets[5][[0, 1, 3, 2]]
    assert count_misoriented_faces(tets) > 0


def test_determinism_identity():
    one, two = (tetrahedralise(_creature(), target=500) for _ in range(2))
    assert one.content_hash == two.content_hash


@pytest.mark.parametrize(
    ("act", "error", "words"),
    [
        (lambda: tetrahedralise(_ball(), target=3), InputError, "target is 3"),
        (lambda: tetrahedralise(_ball(), target=2.5), InputError, "whole number"),
        (lambda: tetrahedralise("ball"), InputError, "ImplicitShape or a function"),
        (lambda: tetrahedralise(lambda p: p[:, 0]), InputError, "needs bounds"),
        (lambda: tetrahedralise(_ball(), min_radius_cells=-1), InputError, "min_radius_cells"),
    ],
)
def test_tetrahedralise_bad_input(act, error, words):
    with pytest.raises(error, match=words):
        act()


def test_empty_shape_bad_input():
    s = ImplicitShapeBuilder()
    s.add_ellipsoid("ball", (0, 0, 0), (0.2, 0.2, 0.2))
    s.cut_below(5.0)
    with pytest.raises(SolveError, match="negative nowhere"):
        tetrahedralise(s.build(), target=500)


def test_cancel_bad_input():
    with pytest.raises(Cancelled):
        tetrahedralise(_ball(), target=500, progress=lambda fraction, text: False)


@pytest.mark.parametrize("seed", range(8))
def test_any_shape_claim(seed):
    """Random unions of rods, balls and boxes, thick and thin, all keep the promises."""
    random = np.random.default_rng(seed)
    s = ImplicitShapeBuilder()
    for i in range(random.integers(1, 5)):
        blend, center = random.uniform(0, 0.2), random.uniform(-0.4, 0.4, 3)
        kind = random.integers(0, 3)
        if kind == 0:
            s.add_chain(
                f"{i}", random.uniform(-0.6, 0.6, (3, 3)), random.uniform(0.05, 0.4, 3), segments=6, blend=blend
            )
        elif kind == 1:
            s.add_ellipsoid(f"{i}", center, random.uniform(0.1, 0.6, 3), blend=blend, mirror=("", "x", "y")[seed % 3])
        else:
            s.add_box(f"{i}", center, random.uniform(0.1, 0.6, 3), rounding=0.02, blend=blend)
    mesh = tetrahedralise(s.build(), target=int(random.integers(200, 1500)))
    assert mesh.is_manifold()
    assert count_misoriented_faces(mesh.tets) == 0
    assert mesh.dihedral_angles.min() > 25
    assert mesh.dihedral_angles.max() < 145
