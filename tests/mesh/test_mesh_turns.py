"""The least rotation between two directions."""

from __future__ import annotations

import numpy as np
import pytest

from cajole.mesh.rotations import compute_minimal_rotation


def test_shortest_turn_identity(random: np.random.Generator) -> None:
    for a, b in [*random.normal(size=(10, 2, 3)), (np.eye(3)[0], -np.eye(3)[0]), (np.eye(3)[1], 2.0 * np.eye(3)[1])]:
        Q = compute_minimal_rotation(a, b)
        one, two = a / np.linalg.norm(a), b / np.linalg.norm(b)
        np.testing.assert_allclose(Q @ Q.T, np.eye(3), atol=1e-12)
        assert np.linalg.det(Q) == pytest.approx(1.0)
        np.testing.assert_allclose(Q @ one, two, atol=1e-12)
        # no angle beside the one between the two
        assert (np.trace(Q) - 1.0) / 2.0 == pytest.approx(one @ two, abs=1e-12)


def test_part_of_a_turn_identity() -> None:
    part = compute_minimal_rotation(np.array([1.0, 0, 0]), np.array([0, 1.0, 0]), 0.3) @ np.array([1.0, 0, 0])
    np.testing.assert_allclose(part, [np.cos(0.3), np.sin(0.3), 0], atol=1e-12)
