"""Corrections of an old tangent: the pairs are met, and symmetric positive definite matrices come out."""

from __future__ import annotations

import numpy as np

from cajole.dynamics.statics import LBFGSHistory


def _matrices(random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """A tangent and what it has become, both (12, 12) and positive definite."""
    X, Y = random.standard_normal((2, 12, 12))
    return X @ X.T + np.eye(12), X @ X.T + 0.3 * Y @ Y.T + np.eye(12)


def _corrected(secants: LBFGSHistory, K: np.ndarray) -> np.ndarray:
    """H (12, 12), column by column."""
    solve = lambda right: np.linalg.solve(K, right.ravel()).reshape(-1, 3)  # noqa: E731
    return np.stack([secants.apply_inverse(e.reshape(-1, 3), solve).ravel() for e in np.eye(12)], axis=1)


def test_update_reference(random: np.random.Generator) -> None:
    """One pair gives the BFGS formula H = (I - s yᵀ/yᵀs) K⁻¹ (I - y sᵀ/yᵀs) + s sᵀ/yᵀs, written out."""
    K, new = _matrices(random)
    s = random.standard_normal(12)
    y = new @ s
    secants = LBFGSHistory()
    secants.add_pair(s.reshape(-1, 3), y.reshape(-1, 3))
    V = np.eye(12) - np.outer(y, s) / (s @ y)
    wanted = V.T @ np.linalg.inv(K) @ V + np.outer(s, s) / (s @ y)
    np.testing.assert_allclose(_corrected(secants, K), wanted, atol=1e-12 * abs(wanted).max())


def test_last_pair_is_met_identity(random: np.random.Generator) -> None:
    K, new = _matrices(random)
    secants = LBFGSHistory()
    for s in random.standard_normal((20, 12)):
        secants.add_pair(s.reshape(-1, 3), (new @ s).reshape(-1, 3))
    H = _corrected(secants, K)
    np.testing.assert_allclose(H @ (new @ s), s, atol=1e-9 * abs(s).max())
    np.testing.assert_allclose(H, H.T, atol=1e-9 * abs(H).max())
    assert np.linalg.eigvalsh(H).min() > 0


def test_falling_force_is_left_out_identity(random: np.random.Generator) -> None:
    """A step along which the force falls would make H indefinite."""
    K, _ = _matrices(random)
    s = random.standard_normal((4, 3))
    secants = LBFGSHistory()
    secants.add_pair(s, -s)
    np.testing.assert_allclose(_corrected(secants, K), np.linalg.inv(K), rtol=1e-9)
    secants.add_pair(s, 2 * s)
    assert not np.allclose(_corrected(secants, K), np.linalg.inv(K))
    secants.clear()
    np.testing.assert_allclose(_corrected(secants, K), np.linalg.inv(K), rtol=1e-9)


def test_slow_steps_end_identity() -> None:
    """Residuals that halve may go on for ever; those that do not have so many steps, counted anew for a new load."""
    secants = LBFGSHistory()
    assert all(secants.record_residual(0.5**k) for k in range(100))
    secants.reset_progress()
    assert [secants.record_residual(0.99**k) for k in range(1 + LBFGSHistory.MAX_SLOW_STEPS)] == [
        True
    ] * LBFGSHistory.MAX_SLOW_STEPS + [False]
    secants.clear()
    assert secants.record_residual(1.0)
