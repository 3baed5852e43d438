"""The Laplacian's factors: whole solutions, parts of them, and rows of the inverse are those of the dense matrix."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.typing import NDArray

from cajole.direct.editing import kernels_laplacian as kernels
from cajole.direct.editing.poisson import LaplacianFactor
from cajole.mesh import box_tets

Array = NDArray[np.float64]


def made(cells: tuple[int, int, int] = (7, 4, 3)) -> tuple[LaplacianFactor, Array]:
    """The factors and the dense matrix, in the order of the unknowns."""
    mesh = box_tets(*cells)
    loose = np.flatnonzero(mesh.vertices[:, 0] > 0)
    solver = LaplacianFactor(mesh.tets, mesh.shape_gradients, mesh.volumes, loose, len(mesh.vertices))
    dense = np.zeros((len(mesh.vertices), len(mesh.vertices)))
    for tet, g, V in zip(mesh.tets, mesh.shape_gradients, mesh.volumes):
        dense[np.ix_(tet, tet)] += V * g @ g.T
    return solver, dense[np.ix_(solver.order, solver.order)]


@pytest.mark.parametrize("cells", [(7, 4, 3), (1, 1, 1), (30, 1, 1)])
def test_solve_agreement(cells: tuple[int, int, int]) -> None:
    solver, dense = made(cells)
    right = np.random.default_rng(0).standard_normal((len(solver), 3))
    x = right.copy()
    solver.solve(x)
    np.testing.assert_allclose(x, np.linalg.solve(dense, right), atol=1e-12 * np.abs(x).max())


def test_part_agreement() -> None:
    """Through the groups of some unknowns, a solve is right at them and leaves others alone."""
    solver, dense = made()
    some = np.array([0, 3, len(solver) // 2])
    groups = solver.find_supernodes(some)
    assert not groups.all()
    right = np.zeros((len(solver), 3))
    right[some] = np.random.default_rng(0).standard_normal((3, 3))
    half, out = right.copy(), np.full_like(right, 7.0)
    solver.solve_lower(half, groups)
    solver.solve_diagonal_upper(half, out, groups)
    np.testing.assert_allclose(out[some], np.linalg.solve(dense, right)[some], rtol=1e-11)
    assert (out == 7.0).any()


@pytest.mark.parametrize("count", [1, 5, 70, 120])
def test_inverse_agreement(count: int) -> None:
    solver, dense = made()
    some = np.random.default_rng(1).permutation(len(solver))[:count]
    found = solver.compute_inverse_block(some)
    np.testing.assert_allclose(found, np.linalg.inv(dense)[np.ix_(some, some)], atol=1e-11 * found.max())
    np.testing.assert_array_equal(found, found.T)


@pytest.mark.parametrize("density", [0.0, 0.05, 0.4, 1.0])
def test_group_agreement(density: float) -> None:
    """Columns of any pattern, alike or not, are found again in the groups, with zeros between."""
    random = np.random.default_rng(5)
    numbers = random.standard_normal((40, 40)) * (random.random((40, 40)) < density)
    lower = sp.csc_array(np.tril(numbers, -1) + np.eye(40))
    lower.sort_indices()
    pattern = lower.indptr.astype(np.int64), lower.indices.astype(np.int64)
    starts, row_ptr, rows = kernels.find_supernodes(*pattern)
    begins, values = kernels.pack_supernodes(*pattern, lower.data, starts, row_ptr, rows)
    found = np.eye(40)
    for s, (start, stop) in enumerate(pairwise(starts)):
        at = begins[s]
        for column in range(start, stop):
            places = np.concatenate([np.arange(column + 1, stop), rows[row_ptr[s] : row_ptr[s + 1]]])
            found[places, column] = values[at : at + len(places)]
            at += len(places)
        assert at == begins[s + 1]
    np.testing.assert_array_equal(found, lower.toarray())
