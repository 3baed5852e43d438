"""Regular boxes and grids."""

from __future__ import annotations

import numpy as np
import pytest

from cajole.errors import InputError
from cajole.mesh import box_tets, grid_triangles


def test_box_identity() -> None:
    mesh = box_tets(3, 2, 4, size=(3, 2, 4), origin=(1, 1, 1))
    assert mesh.notes == ()
    assert len(mesh.tets) == 6 * 24
    assert mesh.volume == pytest.approx(24)
    assert mesh.is_manifold()
    assert mesh.bounds.tolist() == [[1, 1, 1], [4, 3, 5]]
    assert mesh.dihedral_angles.min() == pytest.approx(45)
    assert mesh.dihedral_angles.max() == pytest.approx(90)
    i, j, k = 2, 1, 3
    assert mesh.vertices[(i * 3 + j) * 5 + k].tolist() == [3, 2, 4]


def test_grid_identity() -> None:
    mesh = grid_triangles(4, 3, size=(8, 3), origin=(0, 0, 2))
    assert mesh.area == pytest.approx(24)
    assert mesh.notes == ()
    assert mesh.bounds.tolist() == [[0, 0, 2], [8, 3, 2]]
    assert mesh.vertices[2 * 4 + 1].tolist() == [4, 1, 2]


def test_sizes_bad_input() -> None:
    with pytest.raises(InputError, match="nx is 0"):
        box_tets(0, 1, 1)
    with pytest.raises(InputError, match="every length must be positive"):
        box_tets(1, 1, 1, size=(1, -1, 1))
    with pytest.raises(InputError, match="ask for fewer"):
        grid_triangles(10**6, 10**6)
    with pytest.raises(InputError, match="whole number"):
        grid_triangles(1.5, 2)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="origin"):
        box_tets(1, 1, 1, origin=(np.inf, 0, 0))
