"""Mass-PCA of snapshots in blocks: the incremental SVD finds what the batch finds, in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import cajole as cj
from bodies import Array, beam_body
from cajole.reduction import compute_mass_pca, snapshot_pca
from cajole.reduction.snapshot_pca import IncrementalPCA, compute_principal_components


def decaying(body: cj.BodySolid, count: int, ratio: float, *, rank: int = 30) -> Array:
    """Snapshots (3n, count) whose principal components lose a factor `ratio` of length each."""
    random = np.random.default_rng(4)
    directions = random.normal(size=(3 * body.vertex_count, rank))
    directions.reshape(-1, 3, rank)[body.fixed] = 0
    L = np.linalg.cholesky(body.mass.toarray())
    U = np.linalg.solve(L.T, np.linalg.qr(L.T @ directions)[0])
    V = np.linalg.qr(random.normal(size=(count, rank)))[0]
    return np.asarray((U * ratio ** np.arange(rank)) @ V.T)


def largest_angle(body: cj.BodySolid, one: Array, other: Array) -> float:
    """Sine of the largest principal angle between the spans of two mass-orthonormal bases."""
    rest = one - other @ (other.T @ (body.mass @ one))
    return float(np.sqrt(max(np.linalg.eigvalsh(rest.T @ (body.mass @ rest)).max(), 0.0)))


@pytest.fixture(scope="module")
def body() -> cj.BodySolid:
    return beam_body((5, 2, 2))


def in_blocks(Q: Array, width: int) -> Iterator[Array]:
    for begin in range(0, Q.shape[1], width):
        yield Q[:, begin : begin + width]


@pytest.mark.parametrize("width", [1, 7, 400])
def test_incremental_agreement(body: cj.BodySolid, width: int) -> None:
    """The span and the energies of the batch, whatever the blocks, where directions are cut off all the time."""
    Q = decaying(body, 400, 0.6)
    found = IncrementalPCA(body, 20)
    for block in in_blocks(Q, width):
        found.add(block)
    got = found.extract_components(size=8)
    assert largest_angle(body, got.basis, compute_mass_pca(body, Q, size=8)) < 1e-4
    exact = np.linalg.svd(np.linalg.cholesky(body.mass.toarray()).T @ Q, compute_uv=False) ** 2
    np.testing.assert_allclose(got.energies, exact[:8], rtol=1e-5)
    np.testing.assert_allclose(got.total_energy, exact.sum(), rtol=1e-12)
    np.testing.assert_allclose(got.basis.T @ (body.mass @ got.basis), np.eye(8), atol=1e-13)


def test_incremental_exact_agreement(body: cj.BodySolid) -> None:
    """With room for all directions nothing is lost: spans agree as far as the Gram matrix can tell."""
    Q = decaying(body, 150, 0.5, rank=10)
    got = compute_principal_components(body, in_blocks(Q, 40), 10**9, size=10)
    assert got.is_incremental
    assert largest_angle(body, got.basis, compute_mass_pca(body, Q, size=10)) < 1e-9
    np.testing.assert_allclose(got.energies, 0.25 ** np.arange(10), rtol=1e-10)


def test_order_of_blocks_identity(body: cj.BodySolid) -> None:
    """Small snapshots first, large ones later: the first come in as well, and no rank is made up by rounding."""
    Q = decaying(body, 90, 0.3, rank=5) * np.geomspace(1e-3, 1.0, 90)
    found = IncrementalPCA(body, 40)
    for block in (np.zeros((3 * body.vertex_count, 3)), *in_blocks(Q, 10), *in_blocks(Q, 15)):
        found.add(block)
        assert found.basis.shape[1] <= 5
    twice = compute_mass_pca(body, np.hstack([Q, Q]), size=5)
    assert largest_angle(body, found.extract_components(size=5).basis, twice) < 1e-7


def test_batch_identity(body: cj.BodySolid) -> None:
    Q = decaying(body, 60, 0.7)
    got = compute_principal_components(body, in_blocks(Q, 25), 60, size=6)
    assert not got.is_incremental
    np.testing.assert_array_equal(got.basis, compute_mass_pca(body, Q, size=6))
    np.testing.assert_allclose(got.energies, 0.49 ** np.arange(6), rtol=1e-10)
    np.testing.assert_allclose(got.energy_share, (1 - 0.49**6) / (1 - 0.49**30), rtol=1e-10)


@pytest.mark.parametrize("count", [60, 10**6])
def test_energy_identity(body: cj.BodySolid, count: int) -> None:
    """As few directions as hold the share that is asked for, at once and incrementally."""
    Q = decaying(body, 60, 0.5, rank=20)
    for wanted in (1, 4, 9):
        held = 1 - 0.25**wanted
        assert (
            len(compute_principal_components(body, in_blocks(Q, 20), count, energy_share=held - 1e-9).energies)
            == wanted
        )
        assert (
            len(compute_principal_components(body, in_blocks(Q, 20), count, energy_share=held + 1e-9).energies)
            == wanted + 1
        )


def test_bound_identity(body: cj.BodySolid, monkeypatch: pytest.MonkeyPatch) -> None:
    """By bytes or by number: what does not fit is not kept."""
    Q = decaying(body, 60, 0.5)
    monkeypatch.setattr(snapshot_pca, "MAX_BATCH_BYTES", Q.nbytes - 1)
    assert compute_principal_components(body, in_blocks(Q, 20), 60, size=4).is_incremental
    monkeypatch.setattr(snapshot_pca, "MAX_BATCH_BYTES", Q.nbytes)
    assert not compute_principal_components(body, in_blocks(Q, 20), 60, size=4).is_incremental
    monkeypatch.setattr(snapshot_pca, "MAX_BATCH_COUNT", 59)
    assert compute_principal_components(body, in_blocks(Q, 20), 60, size=4).is_incremental


def test_components_bad_input(body: cj.BodySolid, monkeypatch: pytest.MonkeyPatch) -> None:
    Q = decaying(body, 60, 0.9)
    for options in ({}, {"size": 3, "energy_share": 0.9}):
        with pytest.raises(cj.InputError, match="give either size"):
            compute_principal_components(body, [Q], 60, **options)  # type: ignore[arg-type]
    for count in (60, 10**6):
        with pytest.raises(cj.InputError, match="size is 0"):
            compute_principal_components(body, [Q], count, size=0)
        with pytest.raises(cj.InputError, match=r"energy is 1.5"):
            compute_principal_components(body, [Q], count, energy_share=1.5)
        with pytest.raises(cj.InputError, match="all zero"):
            compute_principal_components(body, [0 * Q], count, size=3)
        with pytest.raises(cj.InputError, match=r"snapshots has shape \(4, 4\)"):
            compute_principal_components(body, [np.eye(4)], count, size=3)
        with pytest.raises(cj.InputError, match=r"snapshots.* is nan"):
            compute_principal_components(body, [Q * np.nan], count, size=3)
    monkeypatch.setattr(snapshot_pca, "RANK_FOR_ENERGY", 5)
    with pytest.raises(cj.NotConverged, match=r"the 5 directions that were kept hold 0\.\d+ .* ask for less"):
        compute_principal_components(body, [Q], 10**6, energy_share=0.999)
    with pytest.raises(cj.InputError, match="rank is 0"):
        IncrementalPCA(body, 0)
