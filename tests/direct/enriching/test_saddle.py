"""The equations of a constrained step where pivots are lost: they are matched, and the answer is the same."""

from __future__ import annotations

import numpy as np
import pytest
from enrich_cases import enriched_box

from cajole.direct.enriching.kkt import KKTSolver
from cajole.linalg import is_pardiso_available

H = 1 / 240


def test_lost_pivots_are_matched_agreement(random: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where averages are missed the pivots of the diagonal are given up, and the answer is the same."""
    monkeypatch.setattr(KKTSolver, "ABSOLUTE_TOLERANCE", -1.0)
    body, regions = enriched_box(2)
    values, zero = np.empty(body.pattern.nnz), np.zeros((body.vertex_count, 3))
    body.assemble_system(zero, zero, 1.0 / H**2, 1.0 / H, values, tangent="clamped")
    right, gap = random.normal(size=(body.vertex_count, 3)), 1e-3 * random.normal(size=(len(regions), 3))
    saddle = KKTSolver(body, regions.fine_weights)
    for turn in range(KKTSolver.MAX_PIVOT_FAILURES + 2):
        assert saddle.factorise(values)
        # one shape may lose them, and the next one does not: they are given up in the end
        assert (saddle._factor is saddle._diagonal_pivot_factor) == (turn <= KKTSolver.MAX_PIVOT_FAILURES)
        x, pull = saddle.solve(right, gap)
        assert saddle._factor is saddle._matched_pivot_factor
    np.testing.assert_allclose(regions.fine_weights @ x, gap, atol=1e-15)
    A = body.pattern.build_matrix(values)
    np.testing.assert_allclose((A @ x.ravel()).reshape(-1, 3), right + pull, atol=1e-9)


def test_pivots_that_no_order_finds_are_matched_agreement(random: np.random.Generator) -> None:
    """Where factors on the diagonal fail, those that are matched give the answer, and tell what has none."""
    body, regions = enriched_box(2)
    values, zero = np.empty(body.pattern.nnz), np.zeros((body.vertex_count, 3))
    body.assemble_system(zero, zero, 1.0 / H**2, 1.0 / H, values, tangent="clamped")
    right, gap = random.normal(size=(body.vertex_count, 3)), 1e-3 * random.normal(size=(len(regions), 3))
    usual, lost = KKTSolver(body, regions.fine_weights), KKTSolver(body, regions.fine_weights)
    assert usual.factorise(values)
    lost._pivot_failures = KKTSolver.MAX_PIVOT_FAILURES + 1
    assert lost.factorise(values)
    for found, want in zip(lost.solve(right, gap), usual.solve(right, gap), strict=True):
        np.testing.assert_allclose(found, want, atol=1e-10 * np.abs(want).max())
    if is_pardiso_available():  # the other backend does not count signs
        assert not lost.factorise(-values)
        assert not usual.factorise(-values)
