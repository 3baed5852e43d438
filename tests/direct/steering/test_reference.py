"""`reference`: what becomes of a full motion, and that a run without disturbance repeats it to the last bit."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from steer_cases import DT, beam, circling, model, moving, shot, sway, swaying

import cajole as cj
from bodies import beam_body
from cajole.body.body_weights import compute_modal_body_weights

Array = NDArray[np.float64]


def pushed(t: float) -> Array:
    """A force on the small body of all modes; it acts from the start."""
    return np.tile([0.0, 10.0 * np.sin(9.0 * t), 25.0 + 5.0 * np.cos(4.0 * t)], (12, 1))


def whole_body() -> tuple[cj.Animation, cj.ReducedModel]:
    """A body under `pushed`, and its model in a basis that can do all the body can."""
    body = beam_body((2, 1, 1), damping=(0.1, 0.002))
    full = cj.reduce(body, cj.modes(body, len(body.free_dofs)))
    return cj.simulate(body, frames=13, dt=DT, force=pushed), full


def test_resimulated_in_a_full_basis_is_the_simulation_agreement() -> None:
    animation, full = whole_body()
    made = cj.build_reference(full, animation, force=pushed, resimulate=True)
    np.testing.assert_allclose(made.states, full.project(animation.positions - full.body.vertices), atol=1e-9)
    assert np.abs(made.states).max() > 0.1
    np.testing.assert_allclose(full.lift(made.velocities), animation.velocities, atol=1e-7)
    assert made.projection_error is not None
    assert made.projection_error.max() < 1e-14
    assert made.open_loop_error.max() < 1e-14
    tabulated = np.array([pushed(k * DT) for k in range(13)])
    again = cj.build_reference(full, animation, force=tabulated, resimulate=True)
    np.testing.assert_allclose(again.states, made.states, atol=1e-12)


def test_projection_and_what_it_misses_reference() -> None:
    """The part outside the basis is the rest of a least-squares fit in the norm of the mass, by NumPy's lstsq."""
    made = cj.build_reference(model(), swaying())
    root = np.linalg.cholesky(beam().mass.toarray()).T
    for k in (4, 12):
        u = (swaying().positions[k] - beam().vertices).ravel()
        z, *_ = np.linalg.lstsq(root @ model().basis, root @ u)
        np.testing.assert_allclose(made.states[k], z, atol=1e-10)
        off = np.linalg.norm(root @ (u - model().basis @ z)) / np.sqrt(beam().total_mass) / beam().size
        assert made.projection_error is not None
        assert made.projection_error[k] == pytest.approx(off, rel=1e-6)
        assert 1e-5 < off < 0.01


def test_inverse_forces_hold_the_equation_of_motion_identity() -> None:
    """w = q̈ + (α + βK(q)) q̇ + f(q) at every frame, with second differences as accelerations."""
    made, of = cj.build_reference(model(), swaying()), model()
    q, v = made.states, made.velocities
    for n in range(1, 12):
        a = (q[n + 1] - 2.0 * q[n] + q[n - 1]) / DT**2
        w = a + of.alpha * v[n] + of.beta * of.stiffness(q[n]) @ v[n] + of.force(q[n])
        np.testing.assert_allclose(made.feed_forward[n - 1], w, rtol=0, atol=1e-9 * np.abs(w).max())


@pytest.mark.parametrize("feed_forward", ["inverse", "given", "zero"])
def test_drift_is_how_far_a_run_without_control_ends_agreement(feed_forward: str) -> None:
    force = sway if feed_forward == "given" else None
    made = cj.build_reference(model(), swaying(), force=force, feed_forward=feed_forward)
    run = cj.steer(made).run(controlled=False)
    np.testing.assert_allclose(made.open_loop_error, run.error, rtol=1e-7, atol=1e-12)
    assert f"drifts by {100 * made.open_loop_error.max():.3g} %" in str(made)
    assert not run.feedback.any()


def test_feed_forward_mismatch_claim() -> None:
    """The paper's order: matching forces drift least, projected ones more, none at all most; control holds them all."""
    drift, off = [], []
    for feed_forward in ("inverse", "given", "zero"):
        force = sway if feed_forward == "given" else None
        made = cj.build_reference(model(), swaying(41), force=force, feed_forward=feed_forward)
        run = cj.steer(made, effort=1e-4).run()
        drift.append(made.open_loop_error.max())
        off.append(run.error.max())
    assert drift[0] < drift[2]
    assert drift[1] < drift[2]
    assert drift[2] > 0.01
    assert all(held < 0.2 * loose for held, loose in zip(off[1:], drift[1:]))
    assert not cj.build_reference(model(), swaying(), feed_forward="zero").feed_forward.any()


def test_given_forces_are_projected_identity() -> None:
    made = cj.build_reference(model(), swaying(), force=sway, feed_forward="given")
    for n in (0, 7):
        np.testing.assert_allclose(made.feed_forward[n], sway((n + 1) * DT).ravel() @ model().basis, rtol=1e-12)
    largest = compute_modal_body_weights(made.feed_forward, model().body.total_mass).max()
    assert f"{largest:.3g} at most" in str(made)


def test_velocities_of_the_motion_are_used_identity() -> None:
    """From `simulate` they come along; without them differences of second order stand in."""
    known = cj.build_reference(model(), swaying())
    rates = np.array([(beam().mass @ rate.ravel()) @ model().basis for rate in swaying().velocities])
    np.testing.assert_allclose(known.velocities, rates, atol=1e-12)
    guessed = cj.build_reference(model(), cj.Animation(swaying().mesh, swaying().positions, fps=1.0 / DT))
    np.testing.assert_allclose(guessed.velocities[3], (known.states[4] - known.states[2]) / (2 * DT), atol=1e-12)


def exact(name: str) -> cj.Reference | cj.Shot:
    if name == "resimulated":
        return cj.build_reference(model(), swaying(), force=sway, resimulate=True)
    return shot(loop=name == "loop shot")


@pytest.mark.parametrize("formulation", ["discrete", "continuous"])
@pytest.mark.parametrize("name", ["shot", "loop shot", "resimulated"])
def test_undisturbed_run_repeats_every_bit_identity(name: str, formulation: str) -> None:
    controller = cj.steer(exact(name), effort=1e-5, formulation=formulation)
    run = controller.run()
    np.testing.assert_array_equal(run.states, controller.reference.states)
    np.testing.assert_array_equal(run.velocities, controller.reference.velocities)
    assert not run.feedback.any()
    assert not run.error.any()
    assert not run.gentleness.any()
    assert np.abs(controller.gains).max() > 1.0
    np.testing.assert_array_equal(run.states, controller.run(controlled=False).states)


@pytest.mark.parametrize("loop", [False, True])
def test_reference_of_a_shot_is_the_shot_identity(loop: bool) -> None:
    made, given = cj.steer(shot(loop)).reference, shot(loop)
    frames = made.states[1:] if loop else made.states
    np.testing.assert_allclose(frames, given.states, rtol=0, atol=1e-9 * np.abs(given.states).max())
    np.testing.assert_allclose(made.feed_forward, given.controls, rtol=0, atol=1e-9 * np.abs(given.controls).max())
    assert made.loop == loop
    assert made.loop_gap < 1e-12 if loop else made.loop_gap > 0.01
    assert made.projection_error is None


def test_three_laps_of_an_exact_loop_stay_at_rounding_identity() -> None:
    controller = cj.steer(shot(loop=True))
    live, laps = controller.start(), 3
    for _ in range(laps * controller.reference.step_count):
        live.step()
        assert live.gentleness < 1e-10
        assert live.error < 1e-12
    assert live.frame == 0
    assert controller.run(loops=laps).error.max() < 1e-12


def test_seam_of_a_loop_that_does_not_close_claim() -> None:
    """A motion taken as a loop though it ends elsewhere: the seam is told, and the control bridges it."""
    broken, closed = moving(model(), loop=True), circling(model())
    assert broken.loop_gap > 0.01 > 1e-12 > closed.loop_gap
    assert f"seam: {100 * broken.loop_gap:.3g} %" in str(broken)
    run = cj.steer(broken, effort=1e-4).run(loops=2)
    assert run.error[13] > 0.3 * broken.loop_gap
    assert run.error[-1] < 0.1 * run.error[13]


def test_small_bodies_have_fewer_modes_identity() -> None:
    """A rope of six vertices: all modes are taken, and the frequency is that of the first with stiffness."""
    places = np.stack([np.linspace(0.0, 1.0, 6), np.zeros(6), np.zeros(6)], axis=1)
    springs = [[k, k + 1] for k in range(5)]
    rope = cj.BodySprings(places, springs, stiffness=100.0, mass=0.1, fixed=[0])
    motion = cj.simulate(rope, 20, gravity=9.81)
    made = cj.build_reference(rope, motion)
    along = np.sqrt(100.0 / 0.1) * 2.0 * np.sin(0.5 * np.pi / 11)  # of a chain of five equal masses, held at one end
    assert made.model.first_angular_frequency == pytest.approx(along, rel=1e-9)
    run = cj.steer(motion, body=rope).run(cj.Push(5, (0.0, 0.05, 0.0)))
    assert np.isfinite(run.animation.positions).all()
    with pytest.raises(cj.InputError, match="is 20, but must be between 1 and 13"):
        cj.build_reference(rope, motion, modes=20)
