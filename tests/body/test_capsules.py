"""Springs among capsules: forces are the slopes of an energy, and steps know their own slopes."""

from __future__ import annotations

import numpy as np
import pytest

import cajole as cj
from bodies import Array, check_step_in_one_pass
from cajole.body import BodySprings, Capsules, attach_capsules
from derivatives import check_derivative

# a bar through the middle of the cloth, which ends there, and one beside it that touches with its side only
BARS = Capsules(
    [(-0.1, 0.5, 0.02), (0.2, 0.9, -0.5)], [(0.45, 0.5, 0.05), (0.25, 0.85, 0.6)], (0.12, 0.15), margin=0.03
)


def cloth() -> BodySprings:
    return cj.BodySprings.cloth(7, 7, mass=3e-3, damping=0.05, clamp=0.02, fixed=[0, 7])


def crowded() -> BodySprings:
    return attach_capsules(cloth(), BARS)


def moved(random: np.random.Generator, size: float = 0.02) -> Array:
    return size * random.normal(size=(64, 3))


def ways(body: BodySprings, u: Array, random: np.random.Generator) -> Array:
    """(n, 3) directions for differences; what is within 6 mm of a kink, where pushing begins or a side ends, stays."""
    d, points = 0.03 * random.normal(size=u.shape), body.vertices + u
    for start, end, radius in zip(BARS.starts, BARS.ends, BARS.radii + BARS.margin):
        along = (points - start) @ (end - start) / np.linalg.norm(end - start)
        length = np.linalg.norm(end - start)
        apart = np.linalg.norm(points - start - np.clip(along, 0, length)[:, None] * (end - start) / length, axis=1)
        edge = (np.abs(along) < 6e-3) | (np.abs(along - length) < 6e-3)
        d[(np.abs(apart - radius) < 6e-3) | ((apart < radius) & edge)] = 0.0
    return d


def test_both_ends_and_sides_are_met_identity(random: np.random.Generator) -> None:
    """What the derivatives below are checked on: vertices at a round end and along a side."""
    body = crowded()
    kinds = [touch.axes.any(axis=1) for touch in BARS.find_contacts(body.vertices + moved(random))]
    assert any(sliding.any() for sliding in kinds)
    assert any((~sliding).any() for sliding in kinds)


def test_force_is_the_slope_of_the_energy_derivative(random: np.random.Generator) -> None:
    body, u = crowded(), moved(random)
    d = ways(body, u, random)
    assert any(d[touch.vertices].any() for touch in BARS.find_contacts(body.vertices + u))
    check_derivative(body.energy, float((body.force(u) * d).sum()), u, d)


def test_stiffness_derivative(random: np.random.Generator) -> None:
    body, u = crowded(), moved(random)
    d = ways(body, u, random)
    assert any(d[touch.vertices].any() for touch in BARS.find_contacts(body.vertices + u))
    check_derivative(body.force, (body.stiffness(u) @ d.ravel()).reshape(-1, 3), u, d)


def test_stiffness_change_derivative(random: np.random.Generator) -> None:
    body, u = crowded(), moved(random)
    d = ways(body, u, random)
    assert any(d[touch.vertices].any() for touch in BARS.find_contacts(body.vertices + u))
    change = body.stiffness_derivative(u, d).toarray()
    check_derivative(lambda at: body.stiffness(at).toarray(), change, u, d)


def test_step_slopes_derivative(random: np.random.Generator) -> None:
    """Tᵀ of f(u) + K̃(u) s, with limbs in the way."""
    body, u = crowded(), moved(random)
    d = ways(body, u, random)
    assert any(d[touch.vertices].any() for touch in BARS.find_contacts(body.vertices + u))
    s, v, row = moved(random, 0.01), moved(random, 1.0), random.normal(size=(1, 64, 3))

    def felt(at: Array) -> float:
        stiff = (body.stiffness(at, clamped=True) @ s.ravel()).reshape(-1, 3)
        return float((row[0] * (body.force(at) + stiff)).sum())

    slopes, _, _ = body.compute_linear_step_vjp(u, s, u, v, row)
    check_derivative(felt, float((slopes[0] * d).sum()), u, d)


def test_step_force_agreement(random: np.random.Generator) -> None:
    body, u = crowded(), moved(random)
    ahead, v, step = moved(random), moved(random, 1.0), moved(random, 0.01)
    assert BARS.find_contacts(body.vertices + u)
    stiff = (body.stiffness(u, clamped=True) @ step.ravel()).reshape(-1, 3)
    want = body.force(u) + stiff + body.damping_force(ahead, v)
    np.testing.assert_allclose(
        body.compute_linear_step_force(u, ahead, v, step), want, rtol=0, atol=1e-12 * abs(want).max()
    )


def test_step_matrix_agreement(random: np.random.Generator) -> None:
    """With limbs among the springs."""
    body, u = crowded(), moved(random)
    assert BARS.find_contacts(body.vertices + u)
    check_step_in_one_pass(body, u, moved(random), moved(random, 1.0))


def test_far_limbs_do_nothing_identity(random: np.random.Generator) -> None:
    body, u = cloth(), moved(random)
    apart = attach_capsules(body, Capsules([(0.0, 0.0, 9.0)], [(1.0, 0.0, 9.0)], 0.5))
    assert np.array_equal(apart.force(u), body.force(u))
    assert (apart.stiffness(u) != body.stiffness(u)).nnz == 0
    assert apart.compute_content_hash() != body.compute_content_hash()


def test_depths_reference() -> None:
    """By hand: beside a bar, beyond its round end, on its axis."""
    bar = Capsules([(0.0, 0.0, 0.0)], [(1.0, 0.0, 0.0)], 0.2, margin=0.1)
    points = [(0.5, 0.3, 0.0), (1.0 + 0.3, 0.4, 0.0), (0.5, 0.0, 0.0)]
    assert bar.compute_penetration_depths(points) == pytest.approx([-0.1, -0.3, 0.2])


def test_limbs_bad_input() -> None:
    with pytest.raises(cj.InputError, match=r"radii \(m\) is 0.0 at 1, but must be positive"):
        Capsules(np.zeros((2, 3)), np.ones((2, 3)), [0.1, 0.0])
    with pytest.raises(cj.InputError, match=r"radii \(m\) has 3 values, but 1 or 2 are needed"):
        Capsules(np.zeros((2, 3)), np.ones((2, 3)), [0.1, 0.2, 0.3])
    with pytest.raises(cj.InputError, match="ends"):
        Capsules(np.zeros((2, 3)), np.ones((3, 3)), 0.1)
    with pytest.raises(cj.InputError, match="capsules"):
        attach_capsules(cloth(), [BARS])  # type: ignore[arg-type]
