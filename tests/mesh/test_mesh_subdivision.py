"""Halved edges: counts, shape, and the matrix that makes them."""

from __future__ import annotations

import numpy as np
import pytest

from cajole.errors import InputError
from cajole.mesh import MeshTet, box_tets, subdivide


def test_box_of_twelve_triangles_reference() -> None:
    # closed surface of genus 0: each level V' = V + E, F' = 4 F, so 8 -> 26 -> 98 -> 386 -> 1538
    fine, P = subdivide(box_tets(1, 1, 1).surface, levels=4)
    assert fine.vertices.shape == (1538, 3)
    assert len(fine.triangles) == 12 * 4**4
    assert P.shape == (1538, 8)
    assert fine.volume == pytest.approx(1)
    assert fine.notes == ()


def test_levels_compose_identity() -> None:
    coarse = box_tets(1, 2, 1).surface
    two, P = subdivide(coarse, levels=2)
    one, P1 = subdivide(coarse)
    again, P2 = subdivide(one)
    assert np.array_equal(two.triangles, again.triangles)
    assert abs(P - P2 @ P1).max() == 0
    assert np.array_equal(two.vertices, P @ coarse.vertices)
    assert np.asarray(P.sum(axis=1)).ravel() == pytest.approx(1)
    assert np.array_equal(subdivide(coarse, levels=0)[0].triangles, coarse.triangles)


def test_tets_fill_the_same_solid_identity() -> None:
    coarse = box_tets(2, 1, 1)
    rng = np.random.default_rng(0)
    coarse = coarse.moved(coarse.vertices + 0.1 * rng.standard_normal(coarse.vertices.shape))
    fine, P = subdivide(coarse, levels=2)
    assert fine.notes == ()
    assert fine.is_manifold()
    assert len(fine.tets) == 64 * len(coarse.tets)
    children = fine.volumes.reshape(len(coarse.tets), 64)
    assert children == pytest.approx(np.repeat(coarse.volumes[:, None] / 64, 64, axis=1))
    assert np.array_equal(fine.vertices, P @ coarse.vertices)
    assert fine.surface.area == pytest.approx(coarse.surface.area)


def test_shapes_do_not_decay_claim() -> None:
    """Bey 1995: refinement by the shortest diagonal leaves finitely many shapes."""
    tet = MeshTet(np.random.default_rng(0).standard_normal((4, 3)), [[0, 1, 2, 3]])
    worst = [subdivide(tet, levels=n)[0].dihedral_angles.min() for n in (1, 2, 3, 4)]
    assert worst[-1] == pytest.approx(worst[0], rel=1e-6)


def test_regular_boxes_stay_regular_identity() -> None:
    fine, _ = subdivide(box_tets(2, 2, 2), levels=2)
    assert fine.dihedral_angles.min() == pytest.approx(45)
    assert fine.dihedral_angles.max() == pytest.approx(90)


def test_levels_bad_input() -> None:
    box = box_tets(1, 1, 1)
    with pytest.raises(InputError, match="levels is -1"):
        subdivide(box, levels=-1)
    with pytest.raises(InputError, match="ask for fewer levels"):
        subdivide(box, levels=12)
    with pytest.raises(InputError, match="not ndarray"):
        subdivide(box.vertices)  # type: ignore[call-overload]
