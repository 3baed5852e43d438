"""Runs under disturbances: what pushes and winds are, and that the dials do what they say."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from steer_cases import DT, beam, model, shot, step_costs, sway, swaying

import cajole as cj
from bodies import beam_body
from cajole.body import BodySolid, MaterialStVK
from cajole.direct.steering.cost import CostWeights, build_cost
from cajole.direct.steering.disturbances import (
    PERLIN_RMS,
    sample_farthest_points,
    sample_perlin,
)
from cajole.mesh import box_tets

Array = NDArray[np.float64]

TIP = int(np.argmax(beam().vertices @ [10.0, 1.0, 1.0]))
STRIKE = cj.Push(TIP, (0.0, 40.0, 200.0), duration=0.1)


def reference(frames: int = 61) -> cj.Reference:
    return cj.build_reference(model(), swaying(frames), force=sway, resimulate=True)


def test_push_as_a_force_of_every_frame_agreement() -> None:
    """A push is the force it says on its vertex, on the steps that begin at its time and last its duration."""
    controller = cj.steer(reference(31))
    push = cj.Push(TIP, (1.0, 40.0, 20.0), time=0.1, duration=0.06)
    force = np.zeros((31, beam().vertex_count, 3))
    force[6:9, TIP] = push.force  # the first frame after 0.1 s is the sixth; 0.06 s are three steps
    by_push, by_rows = controller.run(force=push), controller.run(force=force)
    np.testing.assert_allclose(by_push.states, by_rows.states, rtol=0, atol=1e-12)
    assert by_push.error[5] == 0.0
    assert by_push.error[6] > 1e-4

    def over_time(t: float) -> Array:
        return force[round(t / DT)]

    np.testing.assert_allclose(controller.run(force=over_time).states, by_rows.states, rtol=0, atol=1e-14)


def test_shortest_push_lasts_one_step_identity() -> None:
    w = cj.Push(TIP, (0.0, 0.0, 5.0), duration=1e-6).compute_reduced_force(model(), DT, 1, 10)
    assert w[0].any()
    assert not w[1:].any()


def test_disturbances_add_up_identity() -> None:
    parts = [STRIKE, cj.Wind(3.0, seed=4), cj.Push(TIP - 1, (5.0, 0.0, 3.0), time=0.2)]
    alone = [model().project_disturbances(part, DT, 0, 40) for part in parts]
    np.testing.assert_allclose(model().project_disturbances(parts, DT, 0, 40), sum(alone), rtol=1e-13, atol=1e-13)
    assert all(part.any() for part in alone)
    assert not model().project_disturbances([], DT, 0, 40).any()


def test_constant_force_agreement() -> None:
    load = sway(0.0)
    want = np.tile(load.ravel() @ model().basis, (5, 1))
    np.testing.assert_allclose(model().project_disturbances(load, DT, 0, 5), want, rtol=1e-13)


def test_wind_is_reproducible_by_its_seed_identity() -> None:
    first, again, other = (cj.Wind(2.0, seed=seed).compute_reduced_force(model(), DT, 1, 100) for seed in (3, 3, 4))
    np.testing.assert_array_equal(first, again)
    assert np.abs(first - other).max() > 0.1 * np.abs(first).max()
    later = cj.Wind(2.0, seed=3).compute_reduced_force(model(), DT, 41, 60)
    np.testing.assert_allclose(first[40:], later, rtol=1e-12, atol=1e-12)


def test_wind_of_another_model_is_made_anew_identity() -> None:
    wind = cj.Wind(2.0)
    small = wind.compute_reduced_force(model(), DT, 1, 10)
    other = cj.reduce(beam(), cj.modes(beam(), 2))
    assert wind.compute_reduced_force(other, DT, 1, 10).shape == (10, 2)
    np.testing.assert_array_equal(wind.compute_reduced_force(model(), DT, 1, 10), small)


def test_wind_accelerates_as_stated_reference() -> None:
    """In a basis that can do everything a free body can, a wind is an acceleration of every vertex, of known size."""
    body = beam_body((2, 1, 1), held=False)
    full = cj.reduce(body, cj.modes(body, 3 * body.vertex_count, rigid=True))
    a = np.concatenate(
        [
            full.lift(
                cj.Wind(2.0, pace=3.0, seed=seed, patches=body.vertex_count).compute_reduced_force(full, 0.1, 1, 1500)
            )
            for seed in range(4)
        ]
    )
    assert np.sqrt((a**2).mean()) == pytest.approx(2.0, rel=0.05)
    np.testing.assert_allclose(np.sqrt((a**2).mean(axis=0)), 2.0, rtol=0.2)  # everywhere, and in every direction
    assert np.abs(a.mean(axis=0)).max() < 0.3
    still = full.lift(cj.Wind(2.0, pace=0.0, patches=body.vertex_count).compute_reduced_force(full, 0.1, 1, 3))
    np.testing.assert_allclose(still[2], still[0], atol=1e-12)


def test_wind_blows_along_its_direction_identity() -> None:
    """Noise drifts: what the body feels here now, it feels downwind a moment later."""
    body = beam_body((2, 1, 1), held=False)
    full = cj.reduce(body, cj.modes(body, 3 * body.vertex_count, rigid=True))
    wind = cj.Wind(1.0, scale=0.5, pace=1.0, direction=(2.0, 0.0, 0.0), patches=body.vertex_count)
    gap = 0.5 / (wind.scale * body.size)  # half a metre of the beam, in gusts
    a = full.lift(wind.compute_reduced_force(full, gap, 1, 2))
    for here in np.flatnonzero(body.vertices[:, 0] < 0.6):
        there = int(np.argmin(np.linalg.norm(body.vertices - body.vertices[here] - [0.5, 0.0, 0.0], axis=1)))
        np.testing.assert_allclose(a[1, there], a[0, here], atol=1e-8)
    assert np.abs(a[1] - a[0]).max() > 0.1


def test_perlin_is_smooth_and_zero_on_the_lattice_identity(random: np.random.Generator) -> None:
    lattice = random.integers(-300, 300, (200, 3)).astype(float)
    assert np.abs(sample_perlin(lattice, 1)).max() < 1e-14
    wall = random.uniform(-5.0, 5.0, (200, 3))
    wall[:, 0] = np.round(wall[:, 0])
    across = np.array([1e-6, 0.0, 0.0])
    left, here, right = (sample_perlin(wall + k * across, 1) for k in (-1, 0, 1))
    assert np.abs(here).max() > 0.1
    assert np.abs(right - left).max() < 1e-5
    assert np.abs(right - 2.0 * here + left).max() < 1e-10  # slopes meet too: a kink would leave 1e-6


def test_perlin_rms_reference() -> None:
    """Over one cell each corner adds fade² |x|²/3, as its gradient is a random unit vector: by Gauss-Legendre."""
    at, share = np.polynomial.legendre.leggauss(12)
    t, share = 0.5 + 0.5 * at, 0.5 * share
    fade = 1.0 - t**3 * (t * (6.0 * t - 15.0) + 10.0)
    alone, off = (share * fade**2).sum(), (share * fade**2 * t**2).sum()
    exact = np.sqrt(8.0 * (3.0 * off * alone**2) / 3.0)
    assert pytest.approx(exact, rel=1e-5) == PERLIN_RMS
    points = np.random.default_rng(0).uniform(-128.0, 128.0, (100_000, 3))
    seen = np.sqrt(np.mean([(sample_perlin(points, seed) ** 2).mean(axis=0) for seed in range(3)], axis=0))
    np.testing.assert_allclose(seen, PERLIN_RMS, rtol=0.05)


def test_spread_points_are_far_apart_identity(random: np.random.Generator) -> None:
    points = random.uniform(size=(300, 3))
    chosen = sample_farthest_points(points, 20)
    assert len(set(chosen.tolist())) == 20
    gaps = np.linalg.norm(points[chosen][:, None] - points[chosen], axis=2) + 9.0 * np.eye(20)
    # no point is farther from all chosen ones than they are from one another
    assert np.linalg.norm(points[:, None] - points[chosen], axis=2).min(axis=1).max() <= gaps.min() + 1e-12
    assert len(sample_farthest_points(points[:5], 20)) == 5


@pytest.mark.parametrize("formulation", ["discrete", "continuous"])
@pytest.mark.parametrize("name", ["sway", "shot"])
def test_less_effort_asked_tracks_closer_claim(name: str, formulation: str) -> None:
    motion = reference() if name == "sway" else shot()
    tip = TIP if name == "sway" else int(np.argmax(shot().model.body.vertices[:, 0]))
    push = cj.Push(tip, (0.0, 40.0, 200.0), duration=0.1)
    controllers = [cj.steer(motion, effort=effort, formulation=formulation) for effort in (10.0, 1.0, 0.1, 1e-2, 1e-3)]
    runs = [controllers[0].run(force=push, controlled=False)] + [each.run(force=push) for each in controllers]
    errors, efforts = ([getattr(run.report, key) for run in runs] for key in ("mean_error", "effort"))
    assert all(after < 0.95 * before for before, after in pairwise(errors))
    assert all(after > before for before, after in pairwise(efforts))
    assert errors[-1] < 0.2 * errors[0]


def test_pushed_body_comes_back_claim() -> None:
    controller = cj.steer(reference())
    pushed, let_go = controller.run(force=STRIKE), controller.run(force=STRIKE, controlled=False)
    assert pushed.error.max() > 0.005
    assert pushed.error[-1] < 1e-5 * pushed.error.max()
    assert let_go.error[-1] > 0.3 * let_go.error.max()
    assert pushed.gentleness[-1] < 1e-3 * pushed.gentleness.max()


def test_final_alone_ends_closer_claim() -> None:
    """Without tracking only the end counts: it is met, with less effort than by tracking all the way."""
    ends = cj.steer(reference(), tracking=0.0, final=1.0, effort=1e-2).run(force=STRIKE)
    tracks = cj.steer(reference(), effort=1e-2).run(force=STRIKE)
    let_go = tracks.controller.run(force=STRIKE, controlled=False)
    assert ends.error[-1] < 0.01 * let_go.error[-1]
    assert ends.report.effort < 0.5 * tracks.report.effort
    assert ends.report.mean_error > tracks.report.mean_error


def test_emphasised_frame_is_met_closer_claim() -> None:
    push = cj.Push(TIP, (0.0, 40.0, 200.0), duration=0.4)
    plain = cj.steer(reference()).run(force=push)
    keen = cj.steer(reference(), frames={25: 1000.0}).run(force=push)
    off = keen.controller.reference.states[25] - keen.states[25], plain.controller.reference.states[25]
    assert np.linalg.norm(off[0]) < 0.8 * np.linalg.norm(off[1] - plain.states[25])


def cost(run: cj.direct.steering.ControllerRun, dials: CostWeights) -> float:
    """What a run costs by any dials."""
    made, weights = run.controller.reference, build_cost(run.controller.reference, dials)
    off = np.hstack([run.states - made.states, run.velocities - made.velocities])[1:]
    each = [(e, w, *step_costs(weights, n, 4)) for n, (e, w) in enumerate(zip(off, run.feedback))]
    return sum(0.5 * (e @ Q @ e + w @ R @ w) for e, w, Q, R in each)


@pytest.mark.parametrize("other", [{"vertices": {TIP: 1.0}}, {"frames": {50: 50.0}}, {"final": 5.0}, {"effort": 0.1}])
def test_each_controller_is_the_best_by_its_own_dials_claim(other: dict[str, Any]) -> None:
    """After a tap that is over in one step, each of two controllers costs less than the other by its own measure."""
    tap = cj.Push(TIP, (0.0, 1.0, 3.0), time=0.8, duration=DT)
    options: list[dict[str, Any]] = [{"effort": 1.0}, {"effort": 1.0} | other]
    all_dials = [CostWeights(**each) for each in options]
    runs = [cj.steer(reference(), **each).run(force=tap) for each in options]
    for own, dials in enumerate(all_dials):
        assert cost(runs[own], dials) < 0.999 * cost(runs[1 - own], dials)


def scaled_run(scale: float, young: float, density: float, **dials: Any) -> cj.direct.steering.ControllerRun:
    """The same disturbed motion of the same shape; forces, times and damping in its own units."""
    mesh = box_tets(4, 1, 1, size=(scale, 0.2 * scale, 0.25 * scale))
    time = scale * np.sqrt(density / 1e3 / (young / 1e6))
    fixed = np.flatnonzero(mesh.vertices[:, 0] == 0)
    body = BodySolid(mesh, MaterialStVK(young, 0.3, density), fixed=fixed, damping=(0.1 / time, 0.002 * time))
    t, x = np.linspace(0.0, 1.0, 21)[:, None], mesh.vertices[:, 0] / scale
    u = np.zeros((21, len(x), 3))
    u[:, :, 1], u[:, :, 2] = 0.05 * scale * np.sin(5.0 * t) * x**2, 0.08 * scale * (1.0 - np.cos(4.0 * t)) * x**2
    fps = 1.0 / (DT * time)
    shown = cj.Animation(mesh, mesh.vertices + u, fps=fps)
    controller = cj.steer(cj.build_reference(cj.reduce(body, cj.modes(body, 4)), shown), **dials)
    newton = young / 1e6 * scale**2
    push = cj.Push(len(x) - 1, (30.0 * newton, 10.0 * newton, 100.0 * newton), time=2.0 / fps, duration=5.0 / fps)
    return controller.run(force=[push, cj.Wind(2.0 * scale / time**2, pace=1.0 / time)])


@pytest.mark.parametrize("formulation", ["discrete", "continuous"])
def test_dials_have_no_units_identity(formulation: str) -> None:
    dials: dict[str, Any] = {"final": 0.2, "vertices": [9, 14, 19], "frames": {7: 3.0}, "formulation": formulation}
    one, other = scaled_run(1.0, 1e6, 1e3, **dials), scaled_run(30.0, 4e8, 3e3, **dials)
    assert one.error.max() > 1e-3
    np.testing.assert_allclose(other.error, one.error, rtol=0, atol=1e-8 * one.error.max())
    np.testing.assert_allclose(other.effort, one.effort, rtol=0, atol=1e-8 * one.effort.max())


def test_report_tells_what_the_run_did_identity() -> None:
    run = cj.steer(reference(), effort=1e-2).run(force=STRIKE)
    off = np.sqrt(((run.states - run.controller.reference.states) ** 2).sum(axis=1) / beam().total_mass) / beam().size
    np.testing.assert_allclose(run.error, off, rtol=1e-12)
    force = np.sqrt((run.feedback**2).sum(axis=1)) / (np.sqrt(beam().total_mass) * 9.81)
    np.testing.assert_allclose(run.gentleness[1:], force, rtol=1e-12)
    assert run.report.final_error == run.error[-1]
    assert f"{100 * run.error.max():.3g} % at worst" in str(run.report)
    assert f"{run.gentleness.max():.3g} at most" in str(run.report)
    assert "cut" not in str(run.report)
    np.testing.assert_allclose(run.animation.positions, beam().vertices + model().lift(run.states), atol=1e-14)
