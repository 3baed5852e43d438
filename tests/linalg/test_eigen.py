"""Sliced eigenpairs against dense ones: nothing missed, nothing doubled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp

from bodies import Array, beam_body, rough_box, spring_edges
from cajole.body import Body, BodySolid, BodySprings, MaterialStVK
from cajole.errors import Cancelled, InputError, SolveError
from cajole.linalg import Factor, eigen, find_lowest_eigenpairs, is_pardiso_available
from cajole.mesh import box_tets

BACKENDS = [
    pytest.param("pardiso", marks=pytest.mark.skipif(not is_pardiso_available(), reason="mkl is not installed")),
    "superlu",
]


def springs_at_ease() -> BodySprings:
    """A truss whose springs neither pull nor push at rest."""
    mesh = rough_box((3, 2, 2))
    edges = spring_edges(mesh)
    stiffness = np.random.default_rng(1).uniform(50, 500, len(edges))
    return BodySprings(mesh.vertices, edges, stiffness=stiffness, mass=0.3, fixed=[0, 1, 4])


BODIES: dict[str, Callable[[], Body]] = {
    "held": lambda: beam_body((4, 2, 2)),
    "free": lambda: beam_body((4, 2, 2), held=False),
    "hung": lambda: BodySolid(rough_box((3, 2, 2)), MaterialStVK(1e5, 0.3, 1e3), fixed=[4]),
    # a regular cube has pairs of equal eigenvalues
    "cube": lambda: BodySolid(box_tets(3, 3, 3), MaterialStVK(1e5, 0.3, 1e3)),
    "springs": springs_at_ease,
}
Problem = tuple[sp.csr_array, sp.csr_array, Array | None]


@pytest.fixture
def sliced(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small problems take the sliced path, too."""
    monkeypatch.setattr(eigen, "DEFAULT_OPTIONS", replace(eigen.DEFAULT_OPTIONS, dense_size=0, dense_share=2.0))


def problem(body: Body) -> Problem:
    dofs, loose = body.free_dofs, body.compute_rigid_body_modes()
    K, M = (sp.csr_array(matrix[dofs][:, dofs]) for matrix in (body.stiffness(), body.mass))
    return K, M, loose[dofs] if loose.shape[1] else None


def dense(K: sp.csr_array, M: sp.csr_array, null: Array | None) -> Array:
    values = scipy.linalg.eigh(K.toarray(), M.toarray(), eigvals_only=True)
    return values if null is None else values[null.shape[1] :]


def check_pairs(K: sp.csr_array, M: sp.csr_array, values: Array, X: Array, want: Array) -> None:
    np.testing.assert_allclose(values, want[: len(values)], rtol=1e-8)
    np.testing.assert_allclose(X.T @ (M @ X), np.eye(len(values)), atol=1e-10)
    residual = np.linalg.norm(K @ X - (M @ X) * values, axis=0)
    assert (residual < 1e-6 * np.linalg.norm(K @ X, axis=0)).all()


@pytest.mark.usefixtures("sliced")
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", list(BODIES))
@pytest.mark.parametrize(("side", "count"), [(32, 5), (32, 40), (6, 30)])
def test_slices_agreement(name: str, side: int, count: int, backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One slice and several, held, hung and free."""
    monkeypatch.setattr(eigen, "DEFAULT_OPTIONS", replace(eigen.DEFAULT_OPTIONS, pairs_per_side=side))
    K, M, null = problem(BODIES[name]())
    values, X = find_lowest_eigenpairs(K, M, count, null_space=null, backend=backend)
    check_pairs(K, M, values, X, dense(K, M, null))
    if null is not None:
        assert abs(null.T @ (M @ X)).max() < 1e-8


@pytest.mark.usefixtures("sliced")
@pytest.mark.parametrize("name", ["held", "free"])
def test_whole_spectrum_agreement(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(eigen, "DEFAULT_OPTIONS", replace(eigen.DEFAULT_OPTIONS, pairs_per_side=16))
    K, M, null = problem(BODIES[name]())
    want = dense(K, M, null)
    values, X = find_lowest_eigenpairs(K, M, len(want), null_space=null)
    check_pairs(K, M, values, X, want)


@pytest.mark.usefixtures("sliced")
def test_count_through_a_pair_agreement(monkeypatch: pytest.MonkeyPatch) -> None:
    """Asking for one of two equal eigenvalues gives one of the two, whatever the slices."""
    monkeypatch.setattr(eigen, "DEFAULT_OPTIONS", replace(eigen.DEFAULT_OPTIONS, pairs_per_side=4))
    K, M, null = problem(BODIES["cube"]())
    want = dense(K, M, null)
    first = int(np.flatnonzero(np.diff(want) < 1e-9 * want[:-1])[0])
    for count in (first + 1, first + 2):
        values, X = find_lowest_eigenpairs(K, M, count, null_space=null)
        check_pairs(K, M, values, X, want)


@pytest.mark.usefixtures("sliced")
def test_repeated_eigenvalues_agreement(monkeypatch: pytest.MonkeyPatch) -> None:
    """Eigenvalues of multiplicity five, more than once, are all found."""
    monkeypatch.setattr(eigen, "DEFAULT_OPTIONS", replace(eigen.DEFAULT_OPTIONS, pairs_per_side=12))
    random = np.random.default_rng(3)
    want = np.repeat(np.linspace(1, 40, 30), 5)
    turn, _ = np.linalg.qr(random.normal(size=(150, 150)))
    K = sp.csr_array((turn * want) @ turn.T)
    K = sp.csr_array(0.5 * (K + K.T))
    M = sp.csr_array(sp.eye_array(150))
    values, X = find_lowest_eigenpairs(K, M, 35)
    check_pairs(K, M, values, X, want)


def test_dense_path_agreement() -> None:
    for name in BODIES:
        K, M, null = problem(BODIES[name]())
        values, X = find_lowest_eigenpairs(K, M, 9, null_space=null)
        check_pairs(K, M, values, X, dense(K, M, null))


@pytest.mark.usefixtures("sliced")
def test_inertia_at_a_shift_agreement() -> None:
    """The inertia of K - σM between two found eigenvalues counts exactly those below."""
    K, M, _ = problem(BODIES["held"]())
    values, _ = find_lowest_eigenpairs(K, M, 25)
    for k in (0, 7, 18):
        shift = 0.5 * (values[k] + values[k + 1])
        assert Factor(sp.csr_array(K - shift * M), kind="symmetric").negative_eigenvalues == k + 1


@pytest.mark.usefixtures("sliced")
def test_unstable_bad_input() -> None:
    K, M, _ = problem(BODIES["held"]())
    with pytest.raises(SolveError, match=r"negative eigenvalues.*too few vertices are fixed"):
        find_lowest_eigenpairs(sp.csr_array(K - 1e5 * M), M, 3)


@pytest.mark.usefixtures("sliced")
def test_cancel_bad_input() -> None:
    K, M, _ = problem(BODIES["held"]())
    with pytest.raises(Cancelled, match="modes"):
        find_lowest_eigenpairs(K, M, 3, progress=lambda *_: False)


def test_too_many_bad_input() -> None:
    K, M, null = problem(BODIES["free"]())
    most = K.shape[0] - 6
    with pytest.raises(InputError, match=f"the number of modes is {most + 1}, but must be between 1 and {most}"):
        find_lowest_eigenpairs(K, M, most + 1, null_space=null)
