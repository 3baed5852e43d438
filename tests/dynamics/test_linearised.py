"""The linearly implicit BDF2 step of springs and its exact derivative."""

from __future__ import annotations

import numpy as np
import pytest

import cajole as cj
from bodies import Array, check_step_in_one_pass, springs_many
from cajole.dynamics.integrators import StepHistory
from cajole.dynamics.linear_bdf2 import LinearBDF2Stepper, StepAdjoints
from cajole.errors import NotConverged, SolveError
from derivatives import check_derivative

H = 1 / 60
STEPS = 8


def stepping(body: cj.BodySprings) -> LinearBDF2Stepper:
    return LinearBDF2Stepper.from_body(body, H)


def begun(body: cj.BodySprings, random: np.random.Generator) -> StepHistory:
    """A shape with folds in it, moving."""
    u, v, w = random.normal(size=(3, body.vertex_count, 3)) * np.array([0.03, 0.5, 5.0])[:, None, None]
    for values in (u, v, w):
        values[body.fixed] = 0.0
    return StepHistory(u, v, w, u - H * v, v - H * w)


def walked(body: cj.BodySprings, past: StepHistory, loads: Array, moved: Array | None = None) -> list[StepHistory]:
    steps, states = stepping(body), [past]
    for k, load in enumerate(loads):
        states.append(steps.step(states[-1], load, None if moved is None else moved[k]))
    return states


@pytest.mark.parametrize("clamp", [0.0, 0.05])
def test_step_slope_derivative(clamp: float, random: np.random.Generator) -> None:
    body = springs_many(clamp)
    sizes = np.array([0.05, 0.02, 0.5, 0.05, 0.02])[:, None, None]
    u, s, v, way, more = random.uniform(-1, 1, (5, body.vertex_count, 3)) * sizes

    def felt(x: Array) -> Array:
        implicit = (body.stiffness(x, clamped=True) @ s.ravel()).reshape(-1, 3)
        return body.force(x) + implicit

    row, ahead = random.normal(size=(1, body.vertex_count, 3)), u + more
    slopes, turns, drags = body.compute_linear_step_vjp(u, s, ahead, v, row)
    np.testing.assert_allclose(drags.ravel(), body.damping_matrix(ahead) @ row.ravel(), atol=1e-13 * abs(drags).max())
    check_derivative(lambda x: float((row[0] * body.damping_force(x, v)).sum()), float((turns * way).sum()), ahead, way)
    slope = float((slopes * way).sum())
    if clamp:
        check_derivative(lambda x: float((row[0] * felt(x)).sum()), slope, u, way)
    else:  # a larger step would bring springs across the kink of the hard clamp
        rise = (row * (felt(u + 1e-6 * way) - felt(u - 1e-6 * way))).sum() / 2e-6
        assert rise == pytest.approx(slope, rel=1e-6)


def pulled_back(
    body: cj.BodySprings, states: list[StepHistory], loads: Array, row: Array
) -> tuple[Array, StepAdjoints]:
    """Derivatives of `row` (n, 3) : u at the end, by every load and by the start."""
    back = StepAdjoints.zeros(1, body.vertex_count)
    back.displacement[0] = row
    slopes = np.empty_like(loads)
    for k in range(len(loads) - 1, -1, -1):
        steps = stepping(body)
        steps.step(states[k], loads[k])
        back, by_load = steps.backpropagate(states[k], states[k + 1], back)
        slopes[k] = by_load[0]
    return slopes, back


def test_adjoint_of_a_run_derivative(random: np.random.Generator) -> None:
    """Through eight steps, folds and damping: the derivative of the end by all forces is that of the run."""
    body, past = springs_many(), begun(springs_many(), random)
    loads = random.normal(size=(STEPS, body.vertex_count, 3))
    way = random.normal(size=loads.shape) * 2.0
    row = random.normal(size=(body.vertex_count, 3))
    slopes, _ = pulled_back(body, walked(body, past, loads), loads, row)
    check_derivative(
        lambda f: float((row * walked(body, past, f)[-1].displacement).sum()), (slopes * way).sum(), loads, way
    )


@pytest.mark.parametrize("part", ["displacement", "velocity", "previous_displacement", "previous_velocity"])
def test_adjoint_by_the_start_derivative(part: str, random: np.random.Generator) -> None:
    body, past = springs_many(), begun(springs_many(), random)
    loads = np.zeros((3, body.vertex_count, 3))
    row = random.normal(size=(body.vertex_count, 3))
    way = random.normal(size=(body.vertex_count, 3)) * (0.02 if part.endswith("displacement") else 1.0)
    way[body.fixed] = 0.0
    _, back = pulled_back(body, walked(body, past, loads), loads, row)

    def end(value: Array) -> float:
        begin = StepHistory(**{**vars(past), part: value})
        return float((row * walked(body, begin, loads)[-1].displacement).sum())

    check_derivative(end, (getattr(back, part)[0] * way).sum(), getattr(past, part), way)


def test_loads_between_states_identity(random: np.random.Generator) -> None:
    """The forces found between the states of a run are those that made it, also while what is held moves."""
    body, past = springs_many(), begun(springs_many(), random)
    loads = random.normal(size=(5, body.vertex_count, 3))
    moved = np.zeros_like(loads)
    moved[:, body.fixed] = random.normal(size=(5, len(body.fixed), 3)) * 1e-2
    states = walked(body, past, loads, moved)
    for k in range(5):
        found = stepping(body).compute_required_load(states[k], states[k + 1])
        np.testing.assert_allclose(found[body.free_vertices], loads[k][body.free_vertices], rtol=0, atol=1e-9)
        np.testing.assert_allclose(
            (states[k + 1].displacement - states[k].displacement)[body.fixed], moved[k, body.fixed], atol=1e-15
        )


def test_held_vertices_lead_identity() -> None:
    """A net without weight whose held vertices all move alike moves with them, as it is."""
    body = cj.BodySprings.cloth(4, 4, fixed=np.arange(5), mass=1e-3, clamp=0.01)
    lead = np.zeros((body.vertex_count, 3))
    lead[body.fixed] = (1e-3, -2e-3, 5e-4)
    velocity = np.tile(lead[0] / H, (body.vertex_count, 1))
    still = np.zeros_like(lead)
    past = StepHistory(still, velocity, still, -H * velocity, velocity)
    end = walked(body, past, np.zeros((6, body.vertex_count, 3)), np.tile(lead, (6, 1, 1)))[-1]
    np.testing.assert_allclose(end.displacement, np.tile(6 * lead[0], (body.vertex_count, 1)), atol=1e-14)


def test_other_rest_lengths_identity() -> None:
    body = springs_many()
    short = body.with_rest_lengths(0.9 * body.rest_lengths)
    u = np.zeros((body.vertex_count, 3))
    lengths = np.linalg.norm(np.diff(body.vertices[body.edges], axis=1)[:, 0], axis=1)
    energy = 0.5 * (body.spring_stiffness * (lengths - 0.9 * body.rest_lengths) ** 2).sum()
    assert short.energy(u) == pytest.approx(energy, rel=1e-12)
    assert short.compute_content_hash() != body.compute_content_hash()
    assert body.with_rest_lengths(body.rest_lengths).compute_content_hash() == body.compute_content_hash()


@pytest.mark.parametrize("clamp", [0.0, 0.05])
def test_step_force_agreement(clamp: float, random: np.random.Generator) -> None:
    """Spring by spring, what forces and the product of the assembled matrix give one by one."""
    body = springs_many(clamp)
    u, ahead, v, step = random.normal(size=(4, body.vertex_count, 3)) * 0.03
    stiff = (body.stiffness(u, clamped=True) @ step.ravel()).reshape(-1, 3)
    want = body.force(u) + stiff + body.damping_force(ahead, v)
    np.testing.assert_allclose(
        body.compute_linear_step_force(u, ahead, v, step), want, rtol=0, atol=1e-12 * abs(want).max()
    )


@pytest.mark.parametrize("clamp", [0.0, 0.05])
def test_step_matrix_agreement(clamp: float, random: np.random.Generator) -> None:
    body = springs_many(clamp)
    check_step_in_one_pass(body, *(random.normal(size=(3, body.vertex_count, 3)) * 0.03))


def test_steps_by_another_factorisation_agreement(random: np.random.Generator) -> None:
    body = springs_many(0.02)
    past, loads = begun(body, random), random.normal(size=(STEPS, body.vertex_count, 3)) * 0.1
    other, state = LinearBDF2Stepper.from_body(body, H, "superlu"), past
    for load in loads:
        state = other.step(state, load)
    ours = walked(body, past, loads)[-1]
    np.testing.assert_allclose(
        ours.displacement, state.displacement, rtol=0, atol=1e-11 * abs(state.displacement).max()
    )
    np.testing.assert_allclose(ours.velocity, state.velocity, rtol=0, atol=1e-10 * abs(state.velocity).max())


def test_vertices_at_one_place_bad_input(random: np.random.Generator) -> None:
    """A spring without direction has no step: it is named, now and where the step would lead."""
    body = springs_many(0.02)
    past, ends = begun(body, random), body.edges[5]
    at = past.displacement.copy()
    past.displacement[ends] = -body.vertices[ends]
    with pytest.raises(SolveError, match="spring 5 has length zero"):
        stepping(body).step(past, np.zeros_like(at))
    past.displacement[:] = at
    past.displacement[ends] = 0.0
    past.previous_displacement[ends] = body.vertices[ends]
    with pytest.raises(SolveError, match="spring 5 has length zero"):
        stepping(body).step(past, np.zeros_like(at))


def test_overflow_bad_input(random: np.random.Generator) -> None:
    body = springs_many(0.02)
    past = begun(body, random)
    past.velocity[:] = 1e200
    with pytest.raises(NotConverged, match="overflow"):
        stepping(body).step(past, np.full_like(past.displacement, 1e308))
