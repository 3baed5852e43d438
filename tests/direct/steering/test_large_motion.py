"""`reference` and `steer` on motions that fold the body, on bodies and bases that do not fit, and from a body alone."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from steer_cases import beam, model, moving, shot, swaying

import cajole as cj
from cajole.direct.steering.cost import CostWeights, build_cost
from cajole.mesh import box_tets
from cajole.reduction import compute_mass_pca, extend_basis
from cajole.reduction.bases import compute_mode_shapes

FPS = 24


def strip(young: float = 6e4) -> cj.BodySolid:
    """A thin strip held at one end, so soft that its weight folds it there."""
    mesh = box_tets(8, 1, 1, size=(1.0, 0.06, 0.06))
    held = np.flatnonzero(mesh.vertices[:, 0] == 0)
    return cj.BodySolid(mesh, cj.MaterialStVK(young=young), fixed=held, damping=(0.2, 0.002))


@cache
def falling() -> cj.Animation:
    """It swings down by twice its length, and three tets at the hinge turn inside out."""
    return cj.simulate(strip(), 41, 1 / FPS, gravity=(0, 0, -9.81), substeps=12)


@cache
def controller(substeps: int | None = None) -> cj.Controller:
    return cj.steer(cj.build_reference(strip(), falling(), modes=6, substeps=substeps))


def test_folded_body_is_kept_to_its_motion_claim() -> None:
    """Where a step of a frame has no single answer, finer ones are taken, and the body stays with its motion."""
    made = controller().reference
    run, free = controller().run(), controller().run(controlled=False)
    assert (made.has_unique_solutions, made.substeps > 1) == (True, True)
    assert run.error.max() < 2e-3 < 0.1 * free.error.max()
    assert (run.report.notes, run.subdivided_step_count) == ((), 0)


def test_one_step_a_frame_is_told_of_claim() -> None:
    """Asked for one step a frame, the run says that it fails, why, and what to do: pushed or not."""
    coarse = controller(1)
    tip = int(np.argmax(coarse.model.body.vertices[:, 0]))
    assert not coarse.reference.has_unique_solutions
    for run in (coarse.run(), coarse.run(cj.Push(tip, (0.0, 0.1, 0.0)))):
        assert run.error.max() > 0.1
        (note,) = run.report.notes
        for words in ("even undisturbed it leaves its motion by", "tets are inside out at frame", "raise it"):
            assert words in note
        assert note in str(run.report)


def test_animation_has_the_frames_of_the_motion_identity() -> None:
    shown = controller().run().animation
    assert (shown.frames, shown.fps) == (41, pytest.approx(FPS))
    off = shown.positions - falling().positions
    assert np.abs(off).max() < 0.01


def test_a_spline_leads_through_the_frames_identity() -> None:
    one, four = (cj.build_reference(model(), swaying(), substeps=k) for k in (1, 4))
    assert (four.step_count, four.dt) == (4 * one.step_count, pytest.approx(one.dt / 4))
    np.testing.assert_allclose(four.states[::4], one.states, atol=1e-12)
    np.testing.assert_allclose(
        four.velocities[::4][3:-3], one.velocities[3:-3], atol=0.02 * np.abs(one.velocities).max()
    )


def test_steady_motions_keep_a_step_a_frame_identity() -> None:
    plain, asked = cj.build_reference(model(), swaying()), cj.build_reference(model(), swaying(), substeps=1)
    assert plain.substeps == 1
    np.testing.assert_array_equal(plain.feed_forward, asked.feed_forward)


def test_emphasis_counts_frames_of_the_motion_identity() -> None:
    made = controller().reference
    found = build_cost(made, CostWeights(frames={3: 5.0}))
    assert np.flatnonzero(found.q_index).tolist() == [3 * made.substeps - 1]
    with pytest.raises(cj.InputError, match="between 1 and 40"):
        build_cost(made, CostWeights(frames={41: 5.0}))


def test_substeps_travel_agreement(tmp_path: Path) -> None:
    controller().save(tmp_path / "fall.npz")
    again = cj.load_controller(tmp_path / "fall.npz").run()
    assert (again.animation.frames, again.animation.fps) == (41, pytest.approx(FPS))
    np.testing.assert_array_equal(again.states, controller().run().states)


def test_a_body_is_reduced_to_its_motion_agreement() -> None:
    """`reference(body, motion)` is the motion's directions and modes beside them, and so is `steer(motion, body=)`."""
    own = compute_mass_pca(beam(), swaying().displacements.reshape(swaying().frames, -1).T, energy_share=0.999999)[
        :, :16
    ]
    by_hand = cj.reduce(beam(), extend_basis(beam(), own, compute_mode_shapes(beam(), 3), size=3))
    made = cj.build_reference(beam(), swaying(), modes=3)
    np.testing.assert_allclose(made.model.basis, by_hand.basis, atol=1e-12)
    shapes = cj.build_reference(beam(), swaying(), modes=compute_mode_shapes(beam(), 3))
    np.testing.assert_array_equal(shapes.model.basis, made.model.basis)
    short, long = cj.steer(swaying(), body=beam()), cj.steer(cj.build_reference(beam(), swaying()))
    np.testing.assert_array_equal(short.gains, long.gains)


def test_components_are_as_many_as_asked_for_identity() -> None:
    sizes = [cj.build_reference(strip(), falling(), modes=6, components=k).model.size for k in (4, 20)]
    assert sizes == [10, 26]


def test_single_precision_is_no_move_of_held_vertices_identity() -> None:
    rounded = replace(swaying(), positions=np.asarray(swaying().positions, dtype=np.float32))
    assert (
        cj.build_reference(beam(), rounded, modes=3).model.size
        == cj.build_reference(beam(), swaying(), modes=3).model.size
    )


def test_linear_modes_lock_claim() -> None:
    """Modes alone need many weights for what the body does with about its own, and the text says so."""
    made = cj.build_reference(cj.reduce(strip(), cj.modes(strip(), 10)), falling())
    assert made.max_full_space_feed_forward is not None
    assert made.max_full_space_feed_forward < 0.1 * made.feed_forward_body_weights.max()
    assert "the basis locks" in str(made)
    assert "(components)" in str(made)


def test_motion_of_another_body_is_told_of_claim() -> None:
    made = cj.build_reference(strip(young=6e6), falling(), modes=6, substeps=1)
    assert "was it made with another young, density or damping" in str(made)
    assert cj.build_reference(model(), swaying()).notes == ()


def test_failing_undisturbed_blames_no_push_bad_input() -> None:
    stiff = cj.steer(cj.build_reference(strip(young=6e6), falling(), modes=6, substeps=1))
    with pytest.raises(
        cj.NotConverged, match=r"step \d+ does not converge, .* though nothing disturbs it: .* another young"
    ):
        stiff.run()


def test_one_line_each_identity() -> None:
    """Every object names itself in one line, with its sizes."""
    run = controller().run()
    with controller().start() as live:
        live.step(3)
        shown = [live, run, run.report, controller(), controller().reference, shot(), shot().report, shot().model]
        lines = [repr(one) for one in shown]
    assert all("\n" not in line and len(line) < 140 for line in lines)
    assert "160 steps of 0.01042 s in 20 coordinates" in repr(controller())
    assert repr(moving(model(), loop=True)).startswith("Reference(loop of 12 steps")
    assert repr(live).startswith("RealtimeController(controlled, 0.03125 s")
    assert "off by 0.02" in repr(run)
    assert repr(shot()).startswith("Shot(17 frames")
    assert repr(shot().model).startswith("ReducedSolid(")
    assert repr(shot().report).startswith("KeyframeReport(2 keys")
