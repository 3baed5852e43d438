"""Free timing: exact slopes, and keys that find better frames."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from keyframe_cases import beam, poses, shot
from numpy.typing import NDArray

import cajole as cj
from cajole.direct.keyframing.keys import check_keys
from cajole.direct.keyframing.newton import Iterate, minimise
from cajole.direct.keyframing.setup import ShotSetup, build_soft_problem
from cajole.direct.keyframing.timing import compute_timestep_gradient
from cajole.reduction.trajectory import rollout
from derivatives import check_derivative

Array = NDArray[np.float64]

STEP = 0.02


def setting() -> ShotSetup:
    """From a moving start, so that the first predictor depends on the step, too."""
    body, (a, b) = beam(), poses()
    keys, count = check_keys(body, {4: a, 10: b}, 13)
    return ShotSetup.from_keys(body, keys, count, modes=2, start=(0.01 * b, 0.05 * a))


def test_slopes_of_steps_derivative(random: np.random.Generator) -> None:
    made = setting()
    W = 3.0 * random.standard_normal((12, made.model.size))
    steps = STEP * random.uniform(0.5, 1.5, 12)
    direction = STEP * random.standard_normal(12)

    def cost(h: Array) -> float:
        task = build_soft_problem(made, 0.1, h, duration=1.0)
        return task.compute_cost(rollout(task.system, task.coefficients, task.start, W))

    task = build_soft_problem(made, 0.1, steps, duration=1.0)
    path = rollout(task.system, task.coefficients, task.start, W)
    velocity = made.start_velocity.ravel() @ made.model.mass_basis
    check_derivative(cost, compute_timestep_gradient(task, path, steps, velocity) @ direction, steps, direction)


def test_slope_of_the_best_cost_agreement() -> None:
    """The envelope theorem: controls that are optimal need not be differentiated."""
    made = setting()
    direction = np.repeat([1.0, -1.0], 6) * STEP
    uniform = np.full(12, STEP)

    def solved(h: Array) -> tuple[float, Any, Any]:
        task = build_soft_problem(made, 0.1, h, duration=1.0)
        path = rollout(task.system, task.coefficients, task.start, np.zeros((12, made.model.size)))
        found = minimise(task, path)
        return found.cost, task, found.trajectory

    _, task, path = solved(uniform)
    velocity = made.start_velocity.ravel() @ made.model.mass_basis
    slope = compute_timestep_gradient(task, path, uniform, velocity) @ direction
    step = 1e-3
    central = (solved(uniform + step * direction)[0] - solved(uniform - step * direction)[0]) / (2 * step)
    assert central == pytest.approx(slope, rel=1e-4)


def test_badly_timed_keys_cost_half_when_timing_is_free_claim() -> None:
    a, b = poses()
    keys = {5: a, 24: b}
    fixed, free = shot(keys=keys), shot(keys=keys, timing="free")
    assert free.report.cost <= 0.5 * fixed.report.cost
    assert free.report.fixed_timing_cost == pytest.approx(fixed.report.cost, rel=1e-9)
    assert free.report.requested_frames == (5, 24)
    assert free.report.keys[0] > 5
    assert free.report.keys[1] == 24
    assert free.states.shape[0] == 25
    assert free.report.converged
    assert "free timing moved keys" in str(free.report)


def test_bounds_on_timing_are_kept_identity() -> None:
    a, b = poses()
    free = shot(keys={6: a, 24: b}, timing=(0.5, 1.5))
    gaps = np.diff([0, *free.report.keys])
    assert free.report.cost < 0.8 * (free.report.fixed_timing_cost or 0.0)
    assert 3 <= gaps[0] <= 9
    assert 9 <= gaps[1] <= 27
    assert free.states.shape[0] == 1 + gaps.sum()


def test_free_timing_with_hard_keys_identity() -> None:
    a, b = poses()
    report = shot(keys={5: a, 24: cj.Key(b, hard=True)}, timing="free").report
    assert report.errors[1] <= 1e-6


def test_timing_never_costs_more_identity() -> None:
    good = shot(keys={12: poses()[0], 24: poses()[1]}, timing="free").report
    assert good.fixed_timing_cost is not None
    assert good.cost <= good.fixed_timing_cost


def test_caller_may_stop_while_keys_move_identity() -> None:
    a, b = poses()
    calls: list[Iterate] = []
    fixed = shot(keys={5: a, 24: b}, watch=calls.append)
    enough = len(calls) + 3
    calls.clear()

    def watch(iterate: Iterate) -> bool:
        calls.append(iterate)
        return len(calls) < enough

    stopped = shot(keys={5: a, 24: b}, timing="free", watch=watch)
    assert len(calls) == enough
    assert stopped.report.cost == pytest.approx(fixed.report.cost, rel=1e-9)
    np.testing.assert_allclose(stopped.states, fixed.states, atol=1e-6)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"timing": "loose"}, "timing is 'loose'"),
        ({"timing": (2.0, 0.5)}, r"must be bounds 0 < low <= 1 <= high"),
        ({"timing": (0.0, 2.0)}, r"must be bounds 0 < low <= 1 <= high"),
        ({"timing": (0.5,)}, r"timing has shape \(1,\)"),
        ({"timing": "free", "loop": True}, "free timing needs a motion with a given start"),
    ],
)
def test_timing_bad_input(options: dict[str, Any], words: str) -> None:
    with pytest.raises(cj.InputError, match=words):
        shot(**options)
