"""The energy of a change in time: factors and sweeps against dense matrices."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from cajole.direct.editing.linear_constraints import LinearConstraints
from cajole.direct.editing.spacetime import EditSettings, SpacetimeEnergy, build_averaged_stencil, build_forward_stencil
from cajole.errors import InputError

Array = NDArray[np.float64]

LAM = np.geomspace(0.01, 1e5, 7)
H, ALPHA, BETA = 1 / 30, 0.1, 1e-3


def dense(a: tuple[float, ...], frames: int, first: int, last: int) -> Array:
    """Σ of squared residuals of three frames each, on the frames that may change."""
    B = np.zeros((frames - 2, frames))
    for i in range(frames - 2):
        B[i, i : i + 3] = a
    inner = B[:, first : last + 1]
    return inner.T @ inner


def dense_smooth(lam: float, frames: int, first: int, last: int) -> Array:
    mu = 1.0 / LAM[0]
    return mu * dense((1.0, -2.0, 1.0), frames, first, last) + H**4 * lam * np.eye(last - first + 1)


@pytest.mark.parametrize("ends", ["fixed", "free"])
@pytest.mark.parametrize("energy", ["forces", "smooth"])
def test_solve_agreement(ends: str, energy: str) -> None:
    space = SpacetimeEnergy(LAM, 24, EditSettings(H, (ALPHA, BETA), ends, energy))
    right = np.random.default_rng(0).standard_normal((24, len(LAM)))
    z = space.solve(right.copy())
    weights = (build_forward_stencil if ends == "fixed" else build_averaged_stencil)(LAM, H, ALPHA + BETA * LAM)
    inner = slice(space.first_frame, space.last_frame + 1)
    for m, lam in enumerate(LAM):
        a = tuple(float(w[m]) for w in weights)
        matrix = dense(a, 24, space.first_frame, space.last_frame)
        if energy == "smooth":
            matrix = dense_smooth(lam, 24, space.first_frame, space.last_frame)
        expected = np.linalg.solve(matrix, right[inner, m])
        np.testing.assert_allclose(z[inner, m], expected, atol=1e-9 * np.abs(expected).max())
    assert not z[:2].any()
    assert ends == "free" or not z[-2:].any()


def test_residual_reference() -> None:
    """Appendix A: h² (z̈ + d ż + λz) by forward differences of velocity and damping."""
    z, lam, h, d = np.array([0.3, -0.2, 0.7]), 5.0, 0.1, 0.4
    a0, a1, a2 = (float(x[0]) for x in build_forward_stencil(np.array([lam]), h, np.array([d])))
    residual = (z[2] - 2 * z[1] + z[0]) / h**2 + d * (z[2] - z[1]) / h + lam * z[1]
    assert a0 * z[0] + a1 * z[1] + a2 * z[2] == pytest.approx(h**2 * residual, rel=1e-14)


@pytest.mark.parametrize("count", [10, 100, 400])
def test_free_end_stable_claim(count: int) -> None:
    """A unit drag in the middle stays a unit at the end, however stiff the modes are."""
    space = SpacetimeEnergy(np.geomspace(1.0, 1e7, count), 240, EditSettings(H, (0.0, 1e-3), "free"))
    weights = 1.0 / np.arange(1, count + 1)[None, :]
    rows = LinearConstraints(space)
    rows.add(120, weights, np.ones(1))
    z = rows.solve_all_frames(rows.solve_multipliers())
    path = z @ weights[0]
    assert path[120] == pytest.approx(1.0, abs=1e-9)
    assert np.abs(path).max() < 5.0


def random_rows(space: SpacetimeEnergy, count: int, seed: int = 1) -> LinearConstraints:
    random = np.random.default_rng(seed)
    rows = LinearConstraints(space)
    for frame in random.integers(space.first_frame, space.last_frame, count):
        rows.add(int(frame), random.standard_normal((3, space.mode_count)), random.standard_normal(3))
    return rows


@pytest.mark.parametrize("ends", ["fixed", "free"])
def test_constraints_identity(ends: str) -> None:
    rows = random_rows(SpacetimeEnergy(np.geomspace(1, 1e4, 40), 60, EditSettings(H, (0.0, BETA), ends)), 8)
    z = rows.solve_all_frames(rows.solve_multipliers())
    met = np.einsum("cm,cm->c", z[rows.frames], rows.rows)
    np.testing.assert_allclose(met, rows.targets, atol=1e-9)


def test_least_change_agreement() -> None:
    """z is the minimiser of ½ zᵀHz among all that meet the rows: the dense saddle point system."""
    lam = np.geomspace(1, 1e3, 4)
    space = SpacetimeEnergy(lam, 14, EditSettings(H, (ALPHA, BETA)))
    rows, random = LinearConstraints(space), np.random.default_rng(2)
    for frame in (4, 9):
        rows.add(frame, random.standard_normal((3, 4)), random.standard_normal(3))
    z = rows.solve_all_frames(rows.solve_multipliers())
    n, r = space.last_frame - space.first_frame + 1, len(lam)
    weights = build_forward_stencil(lam, H, ALPHA + BETA * lam)
    big = np.zeros((n * r, n * r))
    for m in range(r):
        big[m::r, m::r] = dense(tuple(float(w[m]) for w in weights), 14, space.first_frame, space.last_frame)
    C = np.zeros((len(rows), n * r))
    for c, (frame, row) in enumerate(zip(rows.frames, rows.rows)):
        C[c, (frame - space.first_frame) * r : (frame - space.first_frame + 1) * r] = row
    saddle = np.block([[big, C.T], [C, np.zeros((len(C), len(C)))]])
    expected = np.linalg.solve(saddle, np.concatenate([np.zeros(n * r), rows.targets]))[: n * r].reshape(n, r)
    np.testing.assert_allclose(
        z[space.first_frame : space.last_frame + 1], expected, atol=1e-8 * np.abs(expected).max()
    )


def test_one_frame_equals_all_identity() -> None:
    space = SpacetimeEnergy(np.geomspace(1, 1e4, 30), 50, EditSettings(H, (0.0, BETA)))
    rows = random_rows(space, 5)
    mu = rows.solve_multipliers()
    np.testing.assert_allclose(rows.solve_frame(21, mu), rows.solve_all_frames(mu)[21], atol=1e-11)


def test_add_and_remove_identity() -> None:
    space = SpacetimeEnergy(np.geomspace(1, 1e4, 30), 50, EditSettings(H, (0.0, BETA)))
    rows = random_rows(space, 5)
    before, S = rows.solve_multipliers(), rows.schur_complement.copy()
    rows.add(20, np.random.default_rng(9).standard_normal((3, 30)), np.ones(3))
    rows.keep_rows(np.arange(18) < 15)
    np.testing.assert_array_equal(rows.schur_complement, S)
    np.testing.assert_array_equal(rows.solve_multipliers(), before)
    rows.rebuild(space)
    np.testing.assert_allclose(rows.schur_complement, S, rtol=1e-12, atol=1e-15)


def test_doubled_constraint_identity() -> None:
    """The same rows twice are found to follow from the first, and the answer stays the same."""
    space = SpacetimeEnergy(np.geomspace(1, 1e4, 30), 50, EditSettings(H, (0.0, BETA)))
    rows = random_rows(space, 3)
    once = rows.solve_all_frames(rows.solve_multipliers())
    rows.add(int(rows.frames[0]), rows.rows[:3], rows.targets[:3])
    np.testing.assert_array_equal(rows.dependent_rows, [9, 10, 11])
    np.testing.assert_allclose(rows.solve_all_frames(rows.solve_multipliers()), once, atol=1e-7 * np.abs(once).max())


def test_bad_input() -> None:
    with pytest.raises(InputError, match="frames"):
        SpacetimeEnergy(LAM, 4, EditSettings(H))
    with pytest.raises(InputError, match="ends"):
        SpacetimeEnergy(LAM, 10, EditSettings(H, ends="open"))
    with pytest.raises(InputError, match=r"h \(s\)"):
        SpacetimeEnergy(LAM, 10, EditSettings(0.0))
    space = SpacetimeEnergy(LAM, 10, EditSettings(H))
    with pytest.raises(InputError, match=r"frame 1 cannot change; frames 2\.\.7"):
        space.compute_response(1)
    with pytest.raises(InputError, match="cannot be moved"):
        LinearConstraints(space).add(4, np.zeros((3, 7)), np.ones(3))
