"""Steps with few regions: conjugate gradients on the plain factors beside the factorised saddle."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from enrich_cases import CLOTH, box, enriched_box, twisted_box

from cajole import BodyShell
from cajole.direct.enriching import few, regions_subdivided
from cajole.direct.enriching import saddle as saddle_module
from cajole.direct.enriching.few import MOST, TOLERANCE, FewSaddle, learnt
from cajole.direct.enriching.saddle import Saddle
from cajole.direct.enriching.stepping import Moment, Tracker
from cajole.direct.enriching.targets import Course
from cajole.linalg import pardiso_available

H = 1 / 240


def test_follows_the_factorised_saddle_agreement(monkeypatch: pytest.MonkeyPatch) -> None:
    """Step by step on one motion: the same positions to the tolerance, the averages to rounding, few solves."""
    body, regions = enriched_box(2)
    guide = twisted_box(7)
    course = Course(guide, regions.guide, guide.frames)
    plain, factorised = Tracker(body, regions.fine, H), Tracker(body, regions.fine, H)
    assert isinstance(plain._saddle, FewSaddle)
    factorised._saddle = Saddle(body, regions.fine)
    count, solve = [0], FewSaddle._inverse

    def counted(self: FewSaddle, right: np.ndarray) -> np.ndarray:
        count[0] += 1
        return solve(self, right)

    monkeypatch.setattr(FewSaddle, "_inverse", counted)
    now = Moment(body.vertices.copy(), np.zeros_like(body.vertices), np.zeros_like(body.vertices))
    steps = 40
    for step in range(1, steps + 1):
        target = course.at(step * H)
        one, two = (tracker.step(now, target, body.gravity()) for tracker in (plain, factorised))
        np.testing.assert_allclose(one.positions, two.positions, atol=20 * TOLERANCE * body.size)
        np.testing.assert_allclose(one.pull, two.pull, atol=1e-3 * np.abs(two.pull).max())
        assert plain.gap(one.positions, target) <= 1e-14
        now = two
    # one for the plain step, and less than four for the multipliers, though S is only made once
    assert count[0] < 5 * steps


def test_chosen_for_few_regions_and_one_solve_identity() -> None:
    fine, regions = regions_subdivided(box(), 2)
    body = BodyShell(fine, CLOTH)
    assert type(Tracker(body, regions.fine, H)._saddle) is FewSaddle
    assert type(Tracker(body, regions.fine, H, newton=5)._saddle) is Saddle
    assert type(Tracker(body, None, H)._saddle) is Saddle
    many = sp.csr_array(sp.eye_array(body.count, format="csr")[: MOST + 1])
    assert type(Tracker(body, many, H)._saddle) is Saddle


def test_what_is_learnt_is_kept_identity(random: np.random.Generator) -> None:
    """H y = s for conjugate pairs, H stays symmetric and positive, and with all pairs it is S⁻¹."""
    root = random.normal(size=(6, 6))
    S = root @ root.T + np.eye(6)
    ways = np.linalg.inv(np.linalg.cholesky(S)).T
    pairs = [(way, S @ way) for way in ways.T]
    some = learnt(np.eye(6), pairs[:3])
    for way, bent in pairs[:3]:
        np.testing.assert_allclose(some @ bent, way, atol=1e-12)
    np.testing.assert_allclose(some, some.T, atol=1e-12)
    assert np.linalg.eigvalsh(some).min() > 0
    np.testing.assert_allclose(learnt(np.eye(6), pairs), np.linalg.inv(S), atol=1e-12)


def test_an_old_complement_is_made_anew_identity(random: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the matrix has become another one, the answer is right all the same, and S is renewed at the next step."""
    monkeypatch.setattr(few, "STALE", 1)
    body, regions = enriched_box(2)
    saddle, reference = FewSaddle(body, regions.fine), Saddle(body, regions.fine)
    values, u = np.empty(body.pattern.entries), np.zeros((body.count, 3))
    for scale in (0.0, 0.05):
        right, gap = random.normal(size=(body.count, 3)), 1e-2 * random.normal(size=(len(regions), 3))
        u = scale * random.normal(size=u.shape)
        body.system(u, np.zeros_like(u), 1.0 / H**2, 1.0 / H, values, tangent="clamped")
        assert saddle.factorise(values)
        assert reference.factorise(values)
        (x, pull), (want, held) = saddle.solve(right, gap), reference.solve(right, gap)
        np.testing.assert_allclose(x, want, atol=50 * TOLERANCE * body.size)
        np.testing.assert_allclose(pull, held, atol=1e-4 * np.abs(held).max())
        np.testing.assert_allclose(regions.fine @ x, gap, atol=1e-15)
    assert saddle._inverse_schur is None


def test_lost_pivots_are_matched_agreement(random: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where averages are missed the pivots of the diagonal are given up, and the answer is the same."""
    monkeypatch.setattr(saddle_module, "ROUNDED", -1.0)
    body, regions = enriched_box(2)
    values, zero = np.empty(body.pattern.entries), np.zeros((body.count, 3))
    body.system(zero, zero, 1.0 / H**2, 1.0 / H, values, tangent="clamped")
    right, gap = random.normal(size=(body.count, 3)), 1e-3 * random.normal(size=(len(regions), 3))
    saddle = Saddle(body, regions.fine)
    for turn in range(saddle_module.MOST_LOST + 2):
        assert saddle.factorise(values)
        # one shape may lose them, and the next one does not: they are given up in the end
        assert (saddle._factor is saddle._ordered) == (turn <= saddle_module.MOST_LOST)
        x, pull = saddle.solve(right, gap)
        assert saddle._factor is saddle._matched
    np.testing.assert_allclose(regions.fine @ x, gap, atol=1e-15)
    A = body.pattern.matrix(values)
    np.testing.assert_allclose((A @ x.ravel()).reshape(-1, 3), right + pull, atol=1e-9)


def test_pivots_that_no_order_finds_are_matched_agreement(
    random: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where factors on the diagonal fail, those that are matched give the answer, and tell what has none."""
    body, regions = enriched_box(2)
    values, zero = np.empty(body.pattern.entries), np.zeros((body.count, 3))
    body.system(zero, zero, 1.0 / H**2, 1.0 / H, values, tangent="clamped")
    right, gap = random.normal(size=(body.count, 3)), 1e-3 * random.normal(size=(len(regions), 3))
    usual, lost = Saddle(body, regions.fine), Saddle(body, regions.fine)
    assert usual.factorise(values)
    monkeypatch.setattr(lost, "_factorised_in_order", lambda: False)
    assert lost.factorise(values)
    for found, want in zip(lost.solve(right, gap), usual.solve(right, gap), strict=True):
        np.testing.assert_allclose(found, want, atol=1e-10 * np.abs(want).max())
    if pardiso_available():  # the other backend does not count signs
        assert not lost.factorise(-values)
        assert not usual.factorise(-values)
