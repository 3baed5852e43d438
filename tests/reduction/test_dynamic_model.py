"""The interface that reduced solids, springs and flows share, and the check of their tables."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import cajole as cj
from bodies import beam_body, springs_many
from cajole.body import BodySolid, BodySprings
from cajole.reduction import DynamicModel
from cajole.reduction.reduced_model import ReducedModel
from cajole.reduction.reduced_solid import reduce_with_offset
from flow_cases import small_model, small_motions

DT = 0.02


def solid() -> ReducedModel:
    body = beam_body((4, 1, 1), damping=(0.1, 0.002))
    return cj.reduce(body, cj.modes(body, 4))


def springs() -> ReducedModel:
    body = springs_many()
    return cj.reduce(body, cj.modes(body, 3))


def around() -> ReducedModel:
    body = beam_body((4, 1, 1), damping=(0.1, 0.002))
    bent = cj.pose(body, loads={body.vertex_count - 1: (0.0, 0.0, -40.0)})
    return reduce_with_offset(body, bent, cj.modes(body, 3).shapes)


MODELS: dict[str, Callable[[], DynamicModel]] = {
    "solid": solid,
    "springs": springs,
    "offset": around,
    "flow": small_model,
}


def draw_state(model: DynamicModel, random: np.random.Generator) -> np.ndarray:
    """Two particles and the coordinates of a flow, or the predictor state of a body."""
    if isinstance(model, cj.ReducedFlow):
        return np.concatenate([[7.1, 4.3, 3.2, 8.9], model.project(small_motions()[0].states[10])])
    assert isinstance(model, ReducedModel)
    return np.concatenate([0.02 * model.unit_length * random.standard_normal(model.size), np.zeros(model.size)])


@pytest.mark.parametrize("name", MODELS)
def test_linearize_derivative(name: str, random: np.random.Generator) -> None:
    model = MODELS[name]()
    x, w, e = draw_state(model, random), random.standard_normal(model.size), 1e-6
    found = model.linearize(x, w, DT)
    by_state = np.array([model.step(x + e * d, w, DT) - model.step(x - e * d, w, DT) for d in np.eye(len(x))]).T
    by_control = np.array([model.step(x, w + e * d, DT) - model.step(x, w - e * d, DT) for d in np.eye(len(w))]).T
    for exact, difference in ((found.by_state, by_state / (2 * e)), (found.by_control, by_control / (2 * e))):
        assert np.abs(exact - difference).max() < 1e-6 * np.abs(exact).max()


@pytest.mark.parametrize("name", MODELS)
def test_rollout_is_repeated_steps_agreement(name: str, random: np.random.Generator) -> None:
    model = MODELS[name]()
    controls = random.standard_normal((5, model.size))
    state = None if name != "flow" else draw_state(model, random)[4:]
    states = model.rollout(controls, DT, state).stacked_states
    for x, w, after in zip(states, controls, states[1:]):
        np.testing.assert_allclose(model.step(x, w, DT), after, rtol=0, atol=1e-9 * np.abs(states).max())


# --- the check of tables


class StifferSolid(BodySolid):
    """Another force law under the name of a solid: twice the force of St. Venant-Kirchhoff."""

    def force(self, displacement: np.ndarray) -> np.ndarray:
        return 2.0 * super().force(displacement)


class DampedSprings(BodySprings):
    """Springs with a drag that the reduced model does not know."""

    def damping_force(self, displacement: np.ndarray, velocity: np.ndarray) -> np.ndarray:
        return super().damping_force(displacement, velocity) + 5.0 * np.asarray(velocity)


def test_other_force_law_bad_input() -> None:
    body = beam_body((4, 1, 1), damping=(0.1, 0.002))
    stiffer = StifferSolid(body.mesh, cj.MaterialStVK(), fixed=body.fixed)
    shapes = cj.modes(body, 4).shapes
    with pytest.raises(cj.ModelMismatch, match=r"differ by 50 % from the projected forces of StifferSolid"):
        cj.reduce(stiffer, shapes)
    with pytest.raises(cj.ModelMismatch, match="write a ReducedModel for it, or use the body unreduced"):
        reduce_with_offset(stiffer, np.zeros((body.vertex_count, 3)), shapes)


def test_other_damping_bad_input() -> None:
    net = springs_many()
    dragged = DampedSprings(
        net.vertices, net.edges, stiffness=net.spring_stiffness, mass=net.vertex_masses, fixed=net.fixed
    )
    for cubature in (False, True):
        with pytest.raises(cj.ModelMismatch, match="projected forces of DampedSprings"):
            cj.reduce(dragged, cj.modes(net, 3).shapes, cubature=cubature)
