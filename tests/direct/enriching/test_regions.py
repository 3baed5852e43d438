"""Regions: weights that mean the same on both meshes, from paint, subdivision and points, and what they refuse."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from enrich_cases import box, flat, rotation

import cajole
from cajole import InputError, MeshTri
from cajole.direct.enriching import Regions, regions_interpolating, regions_painted, regions_subdivided
from cajole.direct.enriching.region_builders import build_area_matrix, build_surface_interpolation
from cajole.direct.enriching.regions import find_dependent_rows
from cajole.mesh import grid_triangles, subdivide


def test_hats_are_the_coarse_mass_matrix_identity() -> None:
    """C P = M̄ for linear subdivision, so that a shell on the guide's surface has no gap, however the guide moves."""
    coarse = box()
    fine, regions = regions_subdivided(coarse, 3)
    _, P = subdivide(coarse, levels=3)
    gap = (regions.fine_weights @ P - build_area_matrix(coarse)).toarray()
    assert np.abs(gap).max() <= 1e-15 * coarse.area
    np.testing.assert_allclose(regions.fine_weights.sum(axis=1), regions.guide_weights.sum(axis=1), rtol=1e-14)
    assert regions.areas.sum() == pytest.approx(fine.area, rel=1e-14)


def test_area_matrix_reference(random: np.random.Generator) -> None:
    """∫ of products of linear functions over single triangles, by the rule of the middles, exact for quadratics."""
    mesh = box()
    f, g = random.normal(size=(2, len(mesh.vertices)))
    middles = [(f[t] + np.roll(f[t], 1)) / 2 @ ((g[t] + np.roll(g[t], 1)) / 2) / 3 for t in mesh.triangles]
    assert f @ (build_area_matrix(mesh) @ g) == pytest.approx(float(mesh.areas @ middles), rel=1e-12)


def test_moving_together_keeps_g_identity(random: np.random.Generator) -> None:
    """One rigid motion of guide and shell turns g, and changes no length: also between meshes of other areas."""
    guide, fine = flat(3), grid_triangles(7, 5, size=(3.0, 2.0), origin=(0.2, 0.1, 0.4))
    halves = [np.where(mesh.vertices[:, 0] < mesh.vertices[:, 0].mean(), 0, 1) for mesh in (guide, fine)]
    regions = regions_painted(guide, halves[0], fine, halves[1])
    q_bar, q = guide.vertices + random.normal(size=(16, 3)), fine.vertices + random.normal(size=(48, 3))
    before = regions.compute_distances(q_bar, q)
    R, shift = rotation(random), np.array([3.0, -7.0, 5.0])
    after = regions.compute_distances(q_bar @ R.T + shift, q @ R.T + shift)
    np.testing.assert_allclose(after, before, rtol=1e-13)
    assert before.min() > 0.1


def test_painted_means_reference() -> None:
    """A region painted on triangles has the area-weighted mean of their centres."""
    mesh = grid_triangles(4, 4)
    labels = np.where(np.arange(32) < 11, 0, -1)
    labels[20:] = 5
    regions = regions_painted(mesh, labels, mesh, labels)
    assert regions.names == ("0", "5")
    centres = mesh.vertices[mesh.triangles].mean(axis=1)
    for row, label in enumerate((0, 5)):
        there = labels == label
        mean = mesh.areas[there] @ centres[there] / mesh.areas[there].sum()
        np.testing.assert_allclose(
            regions.fine_weights[[row]] @ mesh.vertices / regions.areas[row], mean[None], atol=1e-14
        )
    assert regions.triangle_labels is not None
    np.testing.assert_array_equal(regions.triangle_labels, np.select([labels == 0, labels == 5], [0, 1], -1))


def test_words_and_numbers_agreement() -> None:
    """Labels as words, on any entries, name the same regions as numbers; -1, None and nothing are no paint."""
    mesh = flat(3)
    codes = np.array([0, 1, -1, 2] * 4)
    words = [{0: "left", 1: "middle", 2: "right", -1: None}[code] for code in codes]
    one, two = regions_painted(mesh, codes, mesh, codes), regions_painted(mesh, words, mesh, words)
    np.testing.assert_array_equal(one.fine_weights.toarray(), two.fine_weights.toarray())
    assert two.names == ("left", "middle", "right")
    many = np.arange(16)
    assert regions_painted(mesh, many, mesh, many).names == tuple(map(str, range(16)))


def test_other_genus_identity() -> None:
    """A guide without a hole leads a shell with one: the normalisation holds all the same."""
    guide = grid_triangles(6, 6)
    centres = guide.vertices[guide.triangles].mean(axis=1)
    kept = (np.abs(centres[:, :2] - 0.5) > 0.17).any(axis=1)
    fine, _ = MeshTri(guide.vertices, guide.triangles[kept]).compacted()
    halves = [(mesh.vertices[:, 1] > 0.5).astype(int) for mesh in (guide, fine)]
    regions = regions_painted(guide, halves[0], fine, halves[1])
    np.testing.assert_allclose(regions.fine_weights.sum(axis=1), regions.guide_weights.sum(axis=1), rtol=1e-14)
    assert len(fine.triangles) < len(guide.triangles)


def test_lift_identity() -> None:
    """Fine vertices on the guide's surface follow it linearly, wherever it goes; those off it have no lift."""
    coarse = box()
    fine, regions = regions_subdivided(coarse, 2)
    found = build_surface_interpolation(coarse, fine)
    assert found is not None
    assert regions.interpolation is not None
    np.testing.assert_allclose(found @ coarse.vertices, fine.vertices, atol=1e-14)
    np.testing.assert_allclose(regions.interpolation @ coarse.vertices, fine.vertices, atol=1e-14)
    assert build_surface_interpolation(coarse, fine.moved(fine.vertices + (0.0, 0.0, 0.1))) is None


def test_interpolating_picks_identity() -> None:
    coarse = flat(2)
    fine, _ = regions_subdivided(coarse, 2)
    points = regions_interpolating(coarse, fine)
    np.testing.assert_array_equal(points.fine_weights.toarray(), np.eye(9, len(fine.vertices)))
    some = regions_interpolating(coarse, fine, [4, 0], [7, 3])
    assert some.names == ("vertex 4", "vertex 0")
    with pytest.raises(InputError, match="vertex 7 of the fine mesh would have to be at several guide vertices"):
        regions_interpolating(coarse, fine, [4, 0], [7, 7])


def test_dependent_rows_reference(random: np.random.Generator) -> None:
    """Rows made as combinations of earlier ones are found, all of them and no others, as by dense ranks."""
    rows = random.normal(size=(12, 40)) * (random.random((12, 40)) < 0.4)
    rows[4] = rows[0] - 2 * rows[1]
    rows[9] = rows[2] + rows[4]
    rows[11] = 0.0
    np.testing.assert_array_equal(find_dependent_rows(sp.csr_array(rows)), [4, 9, 11])
    ranks = [np.linalg.matrix_rank(rows[: k + 1]) for k in range(12)]
    np.testing.assert_array_equal(np.flatnonzero(np.diff([0, *ranks]) == 0), [4, 9, 11])


def quarters() -> tuple[MeshTri, np.ndarray]:
    mesh = grid_triangles(6, 6)
    return mesh, 2 * (mesh.vertices[:, 0] > 0.5) + (mesh.vertices[:, 1] > 0.5)


def test_joined_regions_vary_over_the_surface_identity() -> None:
    """Coarse halves and the four quarters of one of them: only what follows from the others is dropped, and named."""
    mesh, quarter = quarters()
    halves = regions_painted(mesh, quarter // 2, mesh, quarter // 2)
    parts = np.where(quarter < 2, quarter, -1)
    fine = regions_painted(mesh, parts, mesh, parts)
    with pytest.raises(InputError, match=r"1 of 4 regions follow from the others on the guide.*: 1 \(2\); leave"):
        halves.joined(fine)
    both = halves.joined(fine, dependent="drop")
    assert both.names == ("0", "1", "0 (2)")
    assert len(find_dependent_rows(both.fine_weights)) == 0
    # the finer ones first: then it is the half that goes
    assert fine.joined(halves, dependent="drop").names == ("0", "1", "1 (2)")
    assert both.without("1").names == ("0", "0 (2)")
    with pytest.raises(InputError, match="there is no region 'feet'; there are 0, 1"):
        halves.without("feet")
    with pytest.raises(InputError, match="no region would be left"):
        halves.without(halves.names)


def test_labels_for_drawing_identity() -> None:
    mesh, quarter = quarters()
    regions = regions_painted(mesh, quarter, mesh, quarter)
    inside = np.abs(mesh.vertices[:, :2] - 0.5).min(axis=1) > 0.2
    np.testing.assert_array_equal(regions.labels[inside], quarter[inside])
    np.testing.assert_array_equal(regions.labels, regions.guide_labels)
    patch = np.where(np.arange(len(mesh.vertices)) == 0, 0, -1)
    assert (regions_painted(mesh, patch, mesh, patch).labels == -1).any()


def test_paint_bad_input() -> None:
    mesh = flat(3)
    whole = np.zeros(16, dtype=int)
    for labels, message in (
        (whole[:-1], "guide_labels has 15 labels, but the mesh has 16 vertices and 18 triangles"),
        (whole - 1, "guide_labels paints nothing"),
        (whole - 2, r"guide_labels\[0\] is -2; number the regions from 0"),
        (whole + 0.5, r"guide_labels\[0\] is 0.5; a label is a whole number or a word"),
        (whole[None], r"guide_labels has shape \(1, 16\)"),
        (np.arange(16) % 2, "region 1 is painted on the guide, but empty on the fine mesh"),
    ):
        with pytest.raises(InputError, match=message):
            regions_painted(mesh, labels, mesh, whole)
    with pytest.raises(InputError, match="region 3 is painted on the fine mesh, but empty on the guide"):
        regions_painted(mesh, whole, mesh, whole + 3 * (np.arange(16) > 4))
    with pytest.raises(InputError, match="guide_mesh must be a MeshTri"):
        regions_painted(mesh.vertices, whole, mesh, whole)  # type: ignore[arg-type]


def test_ambiguous_paint_bad_input() -> None:
    """Four vertices and four triangles: the length does not tell what is painted."""
    tetrahedron = MeshTri(np.vstack([np.zeros(3), np.eye(3)]), [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)])
    labels = [0, 0, 1, 1]
    with pytest.raises(InputError, match="fits the 4 vertices and the 4 triangles alike; say which: guide_labels_on="):
        regions_painted(tetrahedron, labels, tetrahedron, labels)
    on_triangles = regions_painted(
        tetrahedron, labels, tetrahedron, labels, guide_labels_on="triangles", fine_labels_on="triangles"
    )  # fmt: skip
    assert on_triangles.areas.sum() == pytest.approx(tetrahedron.area)
    with pytest.raises(InputError, match="guide_labels has 3 labels, but the mesh has 4 vertices"):
        regions_painted(tetrahedron, labels[:3], tetrahedron, labels, guide_labels_on="vertices")


def test_regions_bad_input() -> None:
    mesh = MeshTri([(0, 0, 0), (1, 0, 0), (0, 1, 0), (5, 5, 5)], [(0, 1, 2)])
    lone = [-1, -1, -1, 0]
    with pytest.raises(InputError, match="region 0 is empty or covers no triangle on the guide"):
        regions_painted(mesh, lone, mesh, lone)
    with pytest.raises(InputError, match="vertex 3 of coarse belongs to no triangle"):
        regions_subdivided(mesh, 1)
    square = flat(2)
    C = build_area_matrix(square)
    with pytest.raises(InputError, match="there are 9 regions of the guide, but 2 of the shell"):
        Regions(square, square, C, C[:2])
    with pytest.raises(InputError, match="guide_weights weighs 9 vertices, but its mesh has 4"):
        Regions(mesh, square, C, C)
    with pytest.raises(InputError, match="3 names of 9 regions"):
        Regions(square, square, C, C, ("a", "b", "c"))
    with pytest.raises(InputError, match="weights that add up to nothing"):
        Regions(square, square, sp.csr_array(C[[0]] - C[[8]]), sp.csr_array(C[[0]] - C[[8]]))
    bad = C.copy()
    bad.data[0] = np.nan
    with pytest.raises(InputError, match="the weights of region 0 of guide_weights are not finite"):
        Regions(square, square, bad, C)
    with pytest.raises(InputError, match="made for another guide"):
        regions_subdivided(square, 1)[1].require_matching_meshes(box(), square)
    with pytest.raises(InputError, match="names must be a name, or a list of them, not 3"):
        regions_subdivided(square, 1)[1].without(3)  # type: ignore[arg-type]


def test_triangles_each_a_region_bad_input() -> None:
    """Twice as many triangles as vertices cannot be held each: some follow from others, and are named."""
    mesh = grid_triangles(4, 4)
    every = np.arange(32)
    with pytest.raises(cajole.InputError, match=r"of 32 regions follow from the others.*and \d+ more; leave them out"):
        regions_painted(mesh, every, mesh, every)
