"""Everything works without the fast backend, and says the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import cajole as cj
from bodies import beam_body
from cajole.linalg import Factor, factor, is_pardiso_available

pytestmark = pytest.mark.skipif(
    not is_pardiso_available(), reason="mkl is not installed, so there is nothing to compare"
)


def bent() -> Any:
    body = beam_body((8, 2, 2), side=0.1, young=1e5)
    return cj.pose(body, {body.vertex_count - 1: (0.0, 2.0, -6.0)})


def free() -> Any:
    """Squeezed hard along its axis and a little aside: nothing holds it, and straight is no minimum."""
    body = beam_body((8, 2, 2), side=0.1, young=1e5, held=False)
    squeeze = np.zeros((body.vertex_count, 3))
    near, far = (np.flatnonzero(body.vertices[:, 0] == x) for x in (0.0, 1.0))
    middle = np.flatnonzero(body.vertices[:, 0] == 0.5)
    squeeze[near, 0], squeeze[far, 0] = 1.2, -1.2
    squeeze[near, 2] = squeeze[far, 2] = 0.01
    squeeze[middle, 2] = -0.02
    u = cj.pose(body, squeeze)
    assert np.ptp(u[:, 2]) > 0.1, "it must have buckled"
    return u


def moving() -> Any:
    body = beam_body((6, 2, 2), young=1e5, damping=(0.1, 0.001))
    return cj.simulate(body, 12, 0.02, gravity=(0, 2.0, -9.81)).positions


def vibrating() -> Any:
    return cj.modes(beam_body((8, 3, 3), held=False), 12, cache=False).eigenvalues


@pytest.mark.parametrize("work", [bent, free, moving, vibrating])
def test_backends_agreement(work: Callable[[], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    fast = work()
    monkeypatch.setattr(factor, "is_pardiso_available", lambda: False)
    assert Factor(sp.eye_array(3)).backend == "superlu"
    plain = work()
    np.testing.assert_allclose(plain, fast, rtol=1e-7, atol=1e-7 * abs(fast).max())
