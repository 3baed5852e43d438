"""The one front for factorisations: both backends, every kind, against dense algebra."""

from __future__ import annotations

import gc
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from bodies import Array, beam_body
from cajole.errors import InputError, NotPositiveDefinite, SolveError
from cajole.linalg import Factor, is_pardiso_available
from cajole.linalg.ordering import order_saddle_point
from waiting import PATIENCE

pytestmark = pytest.mark.usefixtures("ordering")

KINDS = ("spd", "symmetric", "kkt", "general")
BACKENDS = [
    pytest.param("pardiso", marks=pytest.mark.skipif(not is_pardiso_available(), reason="mkl is not installed")),
    "superlu",
]


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def sparse(size: int, seed: int, density: float = 0.15) -> sp.csr_array:
    return sp.csr_array(sp.random_array((size, size), density=density, rng=np.random.default_rng(seed)))


def matrix_of(kind: str, size: int = 40, seed: int = 0) -> sp.csr_array:
    """A regular matrix of each kind in canonical order; symmetric ones are indefinite, "kkt" has a zero block."""
    matrix = _matrix_of(kind, size, seed)
    matrix.sum_duplicates()
    return matrix


def _matrix_of(kind: str, size: int, seed: int) -> sp.csr_array:
    A = sparse(size, seed)
    if kind == "general":
        return sp.csr_array(A + sp.diags_array(np.random.default_rng(seed).uniform(0.5, 1, size)))
    if kind == "spd":
        return sp.csr_array(A @ A.T + sp.eye_array(size))
    if kind == "symmetric":
        signs = np.where(np.arange(size) % 3 == 0, -4.0, 4.0)
        return sp.csr_array(0.5 * (A + A.T) + sp.diags_array(signs))
    return kkt_of(size - 8, 8, seed)


def kkt_of(size: int, constraints: int, seed: int) -> sp.csr_array:
    """[[H, Bᵀ], [B, 0]] with H positive definite and B of full rank."""
    A, random = sparse(size, seed), np.random.default_rng(seed)
    B = sp.random_array((constraints, size), density=0.4, rng=random) + sp.eye_array(constraints, size)
    return sp.csr_array(sp.block_array([[A @ A.T + sp.eye_array(size), B.T], [B, None]]))


@pytest.mark.parametrize("kind", KINDS)
def test_solve_agreement(backend: str, kind: str, random: np.random.Generator) -> None:
    A = matrix_of(kind)
    factor = Factor(A, kind=kind, backend=backend)
    for shape in ((40,), (40, 1), (40, 7)):
        b = random.normal(size=shape)
        want = np.linalg.solve(A.toarray(), b)
        x = factor.solve(b)
        assert x.shape == shape
        np.testing.assert_allclose(x, want, rtol=0, atol=1e-10 * abs(want).max())


@pytest.mark.parametrize("kind", KINDS)
def test_right_side_is_not_changed_identity(backend: str, kind: str, random: np.random.Generator) -> None:
    """Whatever its layout, the right-hand side is read only."""
    A = matrix_of(kind)
    factor = Factor(A, kind=kind, backend=backend)
    whole = np.asfortranarray(random.normal(size=(40, 6)))
    for b in (whole, whole.copy(order="C"), whole[:, ::2], whole[:, 1]):
        before = b.copy()
        x = factor.solve(b)
        np.testing.assert_array_equal(b, before)
        np.testing.assert_allclose(A @ x, b, rtol=0, atol=1e-10)


@pytest.mark.parametrize("kind", KINDS)
def test_refactor_agreement(backend: str, kind: str, random: np.random.Generator) -> None:
    """New values on the same pattern, several times over, as if factorised afresh."""
    A = matrix_of(kind)
    factor = Factor(A, kind=kind, backend=backend)
    b = random.normal(size=40)
    for scale, shift in ((2.0, 0.0), (0.1, 0.5), (1.0, 0.0)):
        new = A.copy()
        new.data = scale * A.data
        if kind in ("spd", "general"):
            new.setdiag(new.diagonal() + shift)
        factor.refactor(new.data)
        np.testing.assert_allclose(new @ factor.solve(b), b, rtol=0, atol=1e-10)


def test_analysed_first_agreement(backend: str, random: np.random.Generator) -> None:
    A = matrix_of("spd")
    factor = Factor.from_pattern(A, backend=backend)
    factor.refactor(A.data)
    b = random.normal(size=40)
    np.testing.assert_allclose(A @ factor.solve(b), b, rtol=0, atol=1e-10)


@pytest.mark.parametrize("seed", range(6))
def test_inertia_agreement(backend: str, seed: int) -> None:
    """Sylvester: the signs of the pivots count the negative eigenvalues."""
    A = matrix_of("symmetric", size=31 + seed, seed=seed)
    want = int((np.linalg.eigvalsh(A.toarray()) < 0).sum())
    assert want > 0
    assert Factor(A, kind="symmetric", backend=backend).negative_eigenvalues == want
    assert Factor(matrix_of("spd", seed=seed), kind="spd", backend=backend).negative_eigenvalues == 0
    assert Factor(matrix_of("kkt", seed=seed), kind="kkt", backend=backend).negative_eigenvalues in (8, None)
    assert Factor(matrix_of("general", seed=seed), kind="general", backend=backend).negative_eigenvalues is None


def test_inertia_of_shifted_solid_agreement(backend: str) -> None:
    """K - σM of a solid, as the eigensolver uses it."""
    body = beam_body((4, 2, 2))
    dofs = body.free_dofs
    K, M = body.stiffness()[dofs][:, dofs], body.mass[dofs][:, dofs]
    for shift in (1e3, 3e5, 2e6):
        A = sp.csr_array(K - shift * M)
        want = int((np.linalg.eigvalsh(A.toarray()) < 0).sum())
        assert Factor(A, kind="symmetric", backend=backend).negative_eigenvalues == want


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 30), st.integers(1, 8), st.integers(0, 10_000))
@pytest.mark.parametrize("backend", BACKENDS)
def test_kkt_of_any_size_agreement(backend: str, size: int, constraints: int, seed: int) -> None:
    A = kkt_of(size, min(constraints, size), seed)
    if np.linalg.cond(A.toarray()) > 1e9:
        return
    x = np.random.default_rng(seed).normal(size=A.shape[0])
    factor = Factor(A, kind="kkt", backend=backend)
    np.testing.assert_allclose(factor.solve(A @ x), x, rtol=0, atol=1e-6)
    assert factor.negative_eigenvalues in (min(constraints, size), None)


def test_missing_diagonal_agreement(backend: str) -> None:
    """Entries absent from the diagonal are zeros, not errors, also after new values."""
    A = sp.csr_array(np.array([[0, 2.0, 0], [2.0, 0, 1.0], [0, 1.0, 5.0]]))
    A.eliminate_zeros()
    assert A.nnz == 5
    for kind in ("kkt", "symmetric", "general"):
        factor = Factor(A, kind=kind, backend=backend)
        np.testing.assert_allclose(A @ factor.solve(np.array([1.0, 2, 3])), [1, 2, 3], atol=1e-12)
        factor.refactor(3 * A.data)
        np.testing.assert_allclose(3 * A @ factor.solve(np.array([1.0, 2, 3])), [1, 2, 3], atol=1e-12)


def test_any_sparse_form_agreement(backend: str) -> None:
    """Duplicates, unsorted indices and other formats mean the matrix they stand for."""
    dense = matrix_of("spd", size=12).toarray()
    rows, columns = np.indices(dense.shape).reshape(2, -1)
    twice = sp.coo_array(
        (np.tile(dense.ravel() / 2, 2), (np.tile(rows, 2)[::-1], np.tile(columns, 2)[::-1])), shape=dense.shape
    )
    twice.data = twice.data[::-1]
    backwards = sp.csr_array(dense)
    for row in range(12):
        part = slice(backwards.indptr[row], backwards.indptr[row + 1])
        backwards.indices[part] = backwards.indices[part][::-1].copy()
        backwards.data[part] = backwards.data[part][::-1].copy()
    backwards.has_sorted_indices = backwards.has_canonical_format = False
    x = np.arange(12.0)
    for form in (twice, backwards, sp.csc_matrix(dense), sp.lil_array(dense)):
        np.testing.assert_allclose(Factor(form, backend=backend).solve(dense @ x), x, atol=1e-9)


def test_indefinite_as_positive_bad_input(backend: str) -> None:
    with pytest.raises(NotPositiveDefinite, match="not positive definite"):
        Factor(matrix_of("symmetric"), kind="spd", backend=backend)
    good = matrix_of("spd")
    factor = Factor(good, kind="spd", backend=backend)
    with pytest.raises(NotPositiveDefinite):
        factor.refactor(-good.data)
    factor.refactor(good.data)
    np.testing.assert_allclose(good @ factor.solve(np.ones(40)), np.ones(40), atol=1e-10)


def test_solve_after_failure_bad_input(backend: str) -> None:
    """Factors that were not finished are not used."""
    good = matrix_of("spd")
    factor = Factor(good, kind="spd", backend=backend)
    with pytest.raises(NotPositiveDefinite):
        factor.refactor(-good.data)
    with pytest.raises(SolveError):
        factor.solve(np.ones(40))
    with pytest.raises(SolveError):
        Factor.from_pattern(good, backend=backend).solve(np.ones(40))


def singular_matrices() -> dict[str, sp.csr_array]:
    path = sp.diags_array([np.r_[1.0, np.full(28, 2.0), 1.0], -np.ones(29), -np.ones(29)], offsets=[0, 1, -1])
    hole = matrix_of("spd", size=30).tolil()
    hole[3, :] = 0
    hole[:, 3] = 0
    return {"path": sp.csr_array(path), "hole": sp.csr_array(hole), "rank-one": sp.csr_array(np.ones((30, 30)))}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("case", ["path", "hole", "rank-one"])
def test_singular_bad_input(backend: str, kind: str, case: str) -> None:
    """A singular matrix is an error, not an enormous solution."""
    b = np.random.default_rng(0).normal(size=30)
    with pytest.raises(SolveError):
        Factor(singular_matrices()[case], kind=kind, backend=backend).solve(b)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_not_finite_bad_input(backend: str, value: float) -> None:
    A = matrix_of("spd")
    bad = A.copy()
    bad.data[5] = value
    with pytest.raises(SolveError, match="not finite"):
        Factor(bad, backend=backend)
    factor = Factor(A, backend=backend)
    with pytest.raises(SolveError, match="not finite"):
        factor.refactor(bad.data)
    with pytest.raises((SolveError, InputError), match="finite"):
        factor.solve(np.full(40, value))


SHAPES: dict[str, tuple[Any, str]] = {
    "oblong": (lambda: Factor(sp.csr_array(np.ones((2, 3)))), r"square and not empty, but has shape \(2, 3\)"),
    "empty": (lambda: Factor(sp.csr_array((0, 0))), "square and not empty"),
    "kind": (lambda: Factor(sp.eye_array(3), kind="lu"), "kind is 'lu', but must be one of 'spd'"),
    "backend": (lambda: Factor(sp.eye_array(3), backend="mumps"), "backend is 'mumps', but must be one of"),
    "right": (
        lambda: Factor(sp.eye_array(3)).solve(np.ones(4)),
        r"has shape \(4,\).*\(3,\) or \(3, k\)",
    ),
    "right-cube": (lambda: Factor(sp.eye_array(3)).solve(np.ones((3, 2, 2))), "right-hand side has shape"),
    "values": (
        lambda: Factor(sp.csr_array(sp.eye_array(3))).refactor(np.ones(5)),
        r"needs .*3 .*values.* \(5,\)",
    ),
}


@pytest.mark.parametrize("case", list(SHAPES))
def test_shapes_bad_input(case: str) -> None:
    call, message = SHAPES[case]
    with pytest.raises(InputError, match=message):
        call()


def resident_megabytes() -> float:
    import os

    status = Path("/proc/self/statm")
    if not status.exists():
        pytest.skip("resident memory is read from /proc")
    return int(status.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def test_memory_returns_identity(backend: str) -> None:
    """Two hundred factors, a third of them failing, leave no memory behind."""
    body = beam_body((6, 2, 2))
    K = sp.csr_array(body.stiffness()[body.free_dofs][:, body.free_dofs])
    b = np.ones(K.shape[0])

    def churn(times: int) -> None:
        for turn in range(times):
            Factor(K, backend=backend).solve(b)
            if turn % 3 == 0:
                with pytest.raises(NotPositiveDefinite):
                    Factor(-K, backend=backend)
        gc.collect()

    churn(30)
    before = resident_megabytes()
    churn(200)
    # one factor of this beam is about 0.3 MB: a leak would show as some 60 MB
    assert resident_megabytes() - before < 12


@pytest.mark.parametrize("shared", [True, False])
def test_threads_agreement(backend: str, shared: bool) -> None:
    """Several threads may solve at once, with one factor or with their own."""
    A = matrix_of("spd", size=120)
    X = np.random.default_rng(1).normal(size=(6, 120))
    common, wrong = Factor(A, backend=backend), []

    def work(x: Array) -> None:
        for _ in range(20):
            factor = common if shared else Factor(A, backend=backend)
            if not np.allclose(factor.solve(A @ x), x, rtol=0, atol=1e-8):
                wrong.append(x)

    threads = [threading.Thread(target=work, args=(x,)) for x in X]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert not any(thread.is_alive() for thread in threads)
    assert not wrong


def bordered(vertices: int, constraints: int, seed: int) -> sp.csr_array:
    """[[A, Cᵀ], [C, 0]] of a chain with three coordinates a vertex, and constraints that each hold some of them."""
    random = np.random.default_rng(seed)
    chain = sp.diags_array([-1.0, 2.5, -1.0], offsets=[-1, 0, 1], shape=(vertices, vertices))
    blocks = random.normal(size=(3, 3))
    A = sp.kron(chain, blocks @ blocks.T + np.eye(3))
    C = sp.kron(sp.random_array((constraints, vertices), density=0.4, rng=random), sp.eye_array(3))
    return sp.csr_array(sp.block_array([[A, C.T], [C, None]]))


@pytest.mark.parametrize("constraints", [1, 5])
def test_bordered_order_agreement(backend: str, constraints: int, random: np.random.Generator) -> None:
    """Pivots of a constrained positive definite matrix stay on the diagonal, in an order that has them there."""
    K = bordered(40, constraints, 3)
    factor = Factor(K, kind="kkt", backend=backend, constraint_count=3 * constraints)
    b = random.normal(size=K.shape[0])
    np.testing.assert_allclose(factor.solve(b), np.linalg.solve(K.toarray(), b), atol=1e-10)
    assert factor.perturbed_pivots == 0
    assert factor.negative_eigenvalues in (None, 3 * constraints)


@pytest.mark.parametrize("block", [1, 3])
def test_bordered_order_identity(block: int) -> None:
    """It is a permutation, and no constraint stands before a quarter of what it holds."""
    K = bordered(40, 5, 4) if block == 3 else sp.csr_array(bordered(40, 5, 4)[::3, ::3])
    border = 5 * block
    order = order_saddle_point(K, border)
    np.testing.assert_array_equal(np.sort(order), np.arange(K.shape[0]))
    places = np.argsort(order)
    first = K.shape[0] - border
    for row in range(first, K.shape[0]):
        held = K.indices[K.indptr[row] : K.indptr[row + 1]]
        before = places[held[held < first]] < places[row]
        assert before.sum() > 0.25 * (len(before) - 1)


@pytest.mark.parametrize("kind", ["spd", "symmetric"])
def test_threads_give_the_same_bytes_every_time_identity(
    backend: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With two threads, and wherever arrays lie in memory; parts of a sum are added in one order."""
    monkeypatch.setenv("CAJOLE_THREADS", "2")
    body = beam_body((30, 6, 6), length=2.0)
    matrix = sp.csr_array(body.stiffness()[body.free_dofs][:, body.free_dofs])
    right = np.random.default_rng(1).standard_normal(matrix.shape[0])
    factors = [Factor(matrix, kind=kind, backend=backend) for _ in range(2)]
    apart = [np.concatenate([np.zeros(shift), right])[shift:] for shift in range(8)]
    found = {factor.solve(each).tobytes() for _ in range(5) for factor in factors for each in apart}
    assert len(found) == 1
