"""Simulations that are driven by what is held, by contracting springs and by limbs in the way."""

from __future__ import annotations

import numpy as np
import pytest

import cajole as cj
from bodies import Array
from cajole.body import BodySprings, Capsules
from cajole.dynamics.prescribed_motion import simulate_with_prescribed_motion

FRAMES = 30


def cloth() -> BodySprings:
    return cj.BodySprings.cloth(7, 7, mass=3e-3, damping=0.05, clamp=0.02, fixed=[0, 7])


def carried(body: BodySprings, speed: float) -> Array:
    """(frames, 2, 3) [m] the corners, moved along x."""
    way = speed / 60 * np.arange(FRAMES)[:, None, None] * np.array([1.0, 0.0, 0.0])
    return body.vertices[body.fixed] + way


def test_undriven_is_simulated_agreement() -> None:
    body = cloth()
    driven = simulate_with_prescribed_motion(body, FRAMES, gravity=9.81)
    plain = cj.simulate(body, FRAMES, gravity=9.81, integrator="bdf2")
    assert driven.positions == pytest.approx(plain.positions, abs=1e-12)
    assert driven.velocities == pytest.approx(plain.velocities, abs=1e-10)


def test_held_vertices_go_their_way_identity() -> None:
    body = cloth()
    held = carried(body, 0.6)
    run = simulate_with_prescribed_motion(body, FRAMES, fixed_positions=held, gravity=9.81)
    assert run.positions[:, body.fixed] == pytest.approx(held, abs=1e-12)


def test_rest_lengths_contract_claim() -> None:
    """Springs of nine tenths their length make a sheet without weight of nine tenths its size."""
    body = cloth().with_fixed_vertices([0])
    short = np.broadcast_to(0.9 * body.rest_lengths, (120, len(body.edges)))
    run = simulate_with_prescribed_motion(body, 120, rest_lengths=short)
    assert np.ptp(run.positions[-1], axis=0)[:2] == pytest.approx((0.9, 0.9), abs=0.02)


def test_a_bar_keeps_the_cloth_up_claim() -> None:
    """It falls onto a bar and lies over it, without the bar it is far below; the margin keeps it out."""
    body = cloth().with_fixed_vertices(None)
    bar = Capsules([(-0.5, 0.5, -0.2)], [(1.5, 0.5, -0.2)], 0.1, stiffness=200.0, margin=0.03)
    run = simulate_with_prescribed_motion(body, FRAMES, capsules=[bar] * FRAMES, gravity=9.81)
    freely = simulate_with_prescribed_motion(body, FRAMES, gravity=9.81)
    assert max(bar.compute_penetration_depths(frame).max() for frame in run.positions) < 0.0
    assert run.positions[-1, :, 2].max() > -0.1
    assert freely.positions[-1, :, 2].max() < -1.0


def test_driven_bad_input() -> None:
    body = cloth()
    with pytest.raises(
        cj.InputError, match=r"fixed_positions start 0\.25 m away from where fixed vertex 0 is; begin where"
    ):
        simulate_with_prescribed_motion(body, FRAMES, fixed_positions=carried(body, 0.6) + (0.0, 0.25, 0.0))
    bar = Capsules([(0.0, 0.0, -1.0)], [(1.0, 0.0, -1.0)], 0.1)
    with pytest.raises(cj.InputError, match="capsules are given for 3 frames, but there are 30; give one a frame"):
        simulate_with_prescribed_motion(body, FRAMES, capsules=[bar] * 3)
    with pytest.raises(cj.InputError, match="capsules must be a list of Capsules, one a frame, not 3"):
        simulate_with_prescribed_motion(body, FRAMES, capsules=3)  # type: ignore[arg-type]
    with pytest.raises(cj.InputError, match=r"capsules\[2\] must be a Capsules, not str"):
        simulate_with_prescribed_motion(body, FRAMES, capsules=[bar, bar, *["leg"] * (FRAMES - 2)])  # type: ignore[list-item]
    with pytest.raises(cj.InputError, match="mesh must be a MeshTri or MeshTet or MeshLine, not NoneType"):
        cj.BodySprings.from_mesh(None)  # type: ignore[arg-type]
    with pytest.raises(cj.InputError, match="rest_lengths"):
        simulate_with_prescribed_motion(body, FRAMES, rest_lengths=np.ones((FRAMES, 5)))
