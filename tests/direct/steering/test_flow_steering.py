"""A steered flow: its regulator against other routes, its runs, its live use, noise, samples, PD, bad input."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import cajole as cj
from cajole.direct.steering.controller import FlowController, load_flow_controller
from cajole.direct.steering.cost import build_cost
from cajole.direct.steering.lqr import build_continuous_system
from cajole.direct.steering.pd import build_pd_controller, tune_flow_pd
from cajole.flow import Gust
from cajole.reduction import FlowShot
from cajole.storage import read_arrays
from flow_cases import small, small_model, small_motions

STARTS = np.array([[6.0, 5.0], [8.5, 4.0]])


@cache
def shot() -> FlowShot:
    return small_model().shot(small_motions()[0], particles=STARTS, feed_forward="inverse")


@cache
def controller() -> FlowController:
    return cj.steer(shot(), effort=1e-5)


def kick(strength: float = 3.0) -> Gust:
    x, y = shot().particles[8, 0].tolist()
    return Gust((x, y), (strength, -strength), 2.0, time=1.6, duration=0.4)


def test_gains_agreement_with_one_dense_least_squares():
    """The best controls of the whole linearised motion from one deviation, found at once, are those of the gains."""
    flow = controller()
    costs = build_cost(shot(), flow.cost_weights)
    T, r, m = shot().step_count, 16, 20
    made = zip(shot().stacked_states, shot().feed_forward)
    steps = [small_model().linearize(x, w, 0.2) for x, w in made]
    dx = np.linspace(-0.3, 0.4, m)
    free, by = dx.copy(), np.zeros((m, T * r))
    rows, right = [np.sqrt(costs.R[0, 0, 0]) * np.eye(T * r)], [np.zeros(T * r)]
    for n, step in enumerate(steps):
        free, by = step.by_state @ free, step.by_state @ by
        by[:, n * r : (n + 1) * r] += step.by_control
        weight = np.sqrt(np.diag(costs.Q[costs.q_index[n]]))
        rows.append(weight[:, None] * by)
        right.append(-weight * free)
    W = np.linalg.lstsq(np.vstack(rows), np.concatenate(right), rcond=None)[0].reshape(T, r)
    x = dx.copy()
    for n, step in enumerate(steps):
        w = flow.gains[n] @ x
        assert np.allclose(w, W[n], atol=1e-7 * np.abs(W).max())
        x = step.by_state @ x + step.by_control @ w
    residual = np.vstack(rows) @ W.ravel() - np.concatenate(right)
    assert dx @ flow.cost_to_go @ dx == pytest.approx(residual @ residual, rel=1e-9)


def test_continuous_gains_come_near_the_discrete_ones_agreement():
    other = cj.steer(shot(), effort=1e-5, formulation="continuous")
    for made in (controller(), other):
        assert made.run(kick()).report.final_error_cells < 0.25
    off = np.linalg.norm(other.gains[5] - controller().gains[5]) / np.linalg.norm(controller().gains[5])
    assert 0.01 < off < 0.1


def test_rates_of_the_paper_derivative():
    """Eq. (13), (23)-(26): the velocity of (p, z), by central differences."""
    model, n, e = small_model(), 9, 1e-6
    z, points = shot().states[n], shot().particles[n]

    def velocity(x: np.ndarray) -> np.ndarray:
        moving = x[4:]
        along = [model.interpolate_modes_and_gradient(point, moving)[0] @ moving for point in x[:4].reshape(2, 2)]
        return np.concatenate([*along, model.compute_rate_matrix(moving) @ moving])

    x = np.concatenate([points.ravel(), z])
    found = np.array([velocity(x + e * d) - velocity(x - e * d) for d in np.eye(20)]).T / (2 * e)
    assert np.abs(found - build_continuous_system(shot(), n)[:20, :20]).max() < 1e-7


def test_undisturbed_it_stays_identity():
    run = controller().run()
    assert run.distances_in_cells.max() < 0.05
    assert run.lost_particles == ()
    assert np.array_equal(run.states[0], shot().states[0])


def test_kicked_it_comes_back_claim():
    run, free = controller().run(kick()), controller().run(kick(), controlled=False)
    assert free.distances_in_cells[-1].max() > 2.0
    assert run.distances_in_cells[-1].max() < 0.1 * free.distances_in_cells[-1].max()
    assert not free.feedback.any()
    stiff = controller().retuned(effort=1e-7).run(kick())
    assert stiff.report.max_error_cells < run.report.max_error_cells
    assert stiff.report.effort > run.report.effort
    assert "particles off by" in str(run.report)


def test_final_cost_alone_claim():
    """Only the end counts: it is met with less force than the whole path, and the way there is free."""
    last = cj.steer(shot(), tracking=0.0, final=1.0, effort=1e-6)
    run, whole = last.run(kick()), cj.steer(shot(), effort=1e-6).run(kick())
    assert run.report.final_error_cells < 0.05
    assert run.report.effort < whole.report.effort
    assert run.report.max_error_cells > whole.report.max_error_cells


def test_frames_that_count_more_claim():
    marked = cj.steer(shot(), tracking=1e-2, frames={20: 1e4}, effort=1e-5).run(kick())
    plain = cj.steer(shot(), tracking=1e-2, effort=1e-5).run(kick())
    assert marked.distances_in_cells[20].max() < 0.3 * plain.distances_in_cells[20].max()


def test_particles_that_count_more_claim():
    """Only the first counts: it is kept closer than when both share the force, and the other less."""
    one, both = controller().retuned(particles=[1.0, 0.0]).run(kick()), controller().run(kick())
    assert one.distances[:, 0].max() < both.distances[:, 0].max()
    assert one.distances[:, 1].max() > both.distances[:, 1].max()
    with pytest.raises(cj.InputError, match="one must be positive"):
        controller().retuned(particles=[0.0, 0.0])


def test_without_particles_the_velocities_are_steered_claim():
    bare = small_model().shot(small_motions()[0], feed_forward="inverse")
    made = cj.steer(bare, effort=1e-4)
    run, free = made.run(kick()), made.run(kick(), controlled=False)
    assert made.gains.shape == (29, 16, 16)
    assert run.error[-1] < 0.2 * free.error[-1]


def test_lost_particles_are_told_claim():
    run = cj.steer(shot(), effort=1.0).run(kick(20.0))
    assert run.lost_particles
    assert (
        f"lost: particle {run.lost_particles[0]} from frame {run.report.lost_particle_frames[run.lost_particles[0]]} on"
        in str(run.report)
    )
    assert "push less" in str(run.report)
    assert (
        run.distances_in_cells[run.report.lost_particle_frames[run.lost_particles[0]] - 1, run.lost_particles[0]]
        < run.distances_in_cells[-1, run.lost_particles[0]]
    )


def test_hand_that_holds_is_a_kick_of_as_many_steps_agreement():
    """Let go, nothing acts any more; a twin is held by the same hand."""
    place, push = kick().position, kick().acceleration
    with controller().start() as held, controller().start() as kicked:
        held.set_sustained_force(place, push, radius=2.0)
        kicked.push(place, push, radius=2.0, duration=4 * controller().reference.dt)
        held.step(2)
        twin = held.copy(controlled=True)
        for live in (held, twin):
            live.step(2)
            live.set_sustained_force(None)
            live.step(6)
        kicked.step(10)
        assert np.allclose(held.particles, kicked.particles, atol=1e-12)
        assert np.array_equal(twin.particles, held.particles)
        with pytest.raises(cj.InputError, match="outside the box"):
            held.set_sustained_force((-1.0, 2.0), push, radius=2.0)


def test_smoke_that_a_gust_would_tear_out_of_the_box_begins_anew_bad_input():
    """What overflows is told as one kind of error, and the flow stands at its start."""
    with controller().start() as live:
        live.set_smoke(np.ones((28, 20)))
        live.step(3)
        live.set_sustained_force(kick().position, (1e6, 1e6), radius=2.0)
        with pytest.raises(cj.NotConverged, match=r"too long|overflows"):
            live.step(20)
        assert live.frame == 0
        live.step(3)
        assert np.isfinite(live.particles).all()


def test_live_agreement_with_a_run():
    """Stepped live with the same noise and kick, it goes the way of a run."""
    noise = cj.GustNoise(0.2, 4.0, 0.5, seed=3)
    whole = controller().run([noise, kick()])
    with controller().start(passive_particles=[[3.0, 3.0]]) as live:
        live.set_disturbances(noise)
        live.set_smoke(np.ones((28, 20)))
        for n in range(shot().step_count):
            if n == 8:
                live.push(kick().position, kick().acceleration, radius=2.0, duration=0.4)
            live.step()
            assert np.allclose(live.particles, whole.particles[n + 1], atol=1e-12)
        assert np.allclose(live.state, whole.states[-1], atol=1e-12)
        assert np.allclose(live.passive_particles, whole.advect([[3.0, 3.0]])[-1], atol=1e-10)
        assert np.allclose(live.smoke, 1.0, atol=1e-6)
        assert live.frame == 29
        twin = live.copy(controlled=False)
        live.step()
        assert live.frame == 1
        assert twin.frame == 29
        live.retune(effort=1e-4).result()
        live.step()
        assert live.controller.cost_weights.effort == 1e-4
        live.restart()
        assert live.distances_in_cells.max() == 0.0
        assert live.particles_outside_linear_range == ()


def test_files_identity(tmp_path):
    """A controller from a file goes the same way, and can be retuned."""
    path, other = tmp_path / "leaf.npz", controller().retuned(frames={9: 4.0}, particles=[1.0, 2.0])
    other.save(path)
    loaded = load_flow_controller(path)
    assert np.array_equal(loaded.run(kick()).particles, other.run(kick()).particles)
    assert np.array_equal(loaded.retuned(effort=1e-4).gains, other.retuned(effort=1e-4).gains)
    with pytest.raises(cj.InputError, match="for comparison"):
        build_pd_controller(shot(), 0.1, 0.1, 0.1).save(path)


def test_files_bad_input(tmp_path):
    path = tmp_path / "leaf.npz"
    controller().save(path)
    arrays = read_arrays(path)
    np.savez(path, **(arrays | {"gains": arrays["gains"][:5]}))
    with pytest.raises(cj.FileError, match=r"gains has shape \(5, 16, 20\)"):
        load_flow_controller(path)
    np.savez(path, **{name: value for name, value in arrays.items() if name != "states"})
    with pytest.raises(cj.FileError, match="states is missing"):
        load_flow_controller(path)
    np.savez(path, basis=arrays["basis"])
    with pytest.raises(cj.FileError, match="holds no controller of a flow"):
        load_flow_controller(path)
    path.write_bytes(b"nothing")
    with pytest.raises(cj.FileError, match="cannot read arrays"):
        load_flow_controller(path)


def test_noise_in_modes_agreement_with_its_field():
    noise, model = cj.GustNoise(0.3, 4.0, 0.5, seed=5), small_model()
    direct = [model.project(noise.compute_acceleration(small(), step, 0.2)) for step in (4, 5)]
    assert np.allclose(noise.compute_reduced_force(model, 0.2, 4, 2), direct, atol=1e-13)
    fields = np.array([cj.GustNoise(0.3, 4.0, 0.5, seed=s).compute_acceleration(small(), 9, 0.2) for s in range(40)])
    assert 0.24 < np.sqrt((fields**2).mean()) < 0.34
    run = controller().run(lambda t: noise.compute_acceleration(small(), round(t / 0.2 - 0.5), 0.2))
    assert np.allclose(run.states, controller().run(noise).states, atol=1e-12)


def test_samples_are_seeded_and_the_same_in_processes_identity():
    motion = small_motions()[0]
    first = cj.sample_flow(motion, runs=5, particles=STARTS, seed=2)
    again = cj.sample_flow(motion, runs=5, particles=STARTS, seed=2, cluster=2)
    assert np.array_equal(first.snapshots, again.snapshots)
    assert np.array_equal(first.snapshots[:30], motion.states.astype(np.float32))
    assert not np.array_equal(first.snapshots, cj.sample_flow(motion, runs=5, seed=3).snapshots)
    times = [gust.time / 0.2 for gust in first.gusts]
    assert all(29 * k / 5 - 1 <= time < 29 * (k + 1) / 5 for k, time in enumerate(times))


def test_pd_is_the_papers_identity():
    """Eq. (14): on the velocities, on the particles, and on the speed of the particles' error."""
    model, n = small_model(), 6
    pd = build_pd_controller(shot(), 2.0, 0.7, kz=0.3)
    dx = np.linspace(-0.1, 0.2, 20)
    expected = -0.3 * dx[4:]
    speeds = build_continuous_system(shot(), n)[:4, :20] @ dx
    for k in range(2):
        psi, _ = model.interpolate_modes_and_gradient(shot().particles[n, k], shot().states[n])
        expected -= psi.T @ (2.0 * dx[2 * k : 2 * k + 2] + 0.7 * speeds[2 * k : 2 * k + 2])
    assert np.allclose(pd.gains[n] @ dx, expected, atol=1e-13)


def test_tuned_pd_claim():
    """At equal effort no P or PD of the grid comes closer over the whole run (Figure 7)."""
    found = tune_flow_pd(controller(), kick(), ratios=4)
    assert len(found.trials) == 25
    assert all(trial.effort <= 1.02 * found.regulator.effort for trial in found.trials)
    assert found.best.effort > 0.8 * found.regulator.effort
    assert found.regulator.error < found.best.error <= found.best_proportional.error
    assert "best PD" in str(found)


def test_steering_flows_bad_input():
    with pytest.raises(cj.InputError, match="body and vertices are for solids"):
        cj.steer(shot(), vertices=[3])
    with pytest.raises(cj.InputError, match="effort is 0"):
        cj.steer(shot(), effort=0.0)
    with pytest.raises(cj.InputError, match="nothing to come back to"):
        cj.steer(shot(), tracking=0.0)
    with pytest.raises(cj.InputError, match="tracking of a flow must be a number"):
        cj.steer(shot(), tracking=np.eye(3))
    with pytest.raises(cj.InputError, match="a dial is 'vertices'"):
        controller().retuned(vertices=1)
    with pytest.raises(cj.InputError, match="runs is 0"):
        cj.sample_flow(small_motions()[0], runs=0)
    with pytest.raises(cj.InputError, match="two positive shares"):
        cj.sample_flow(small_motions()[0], strength=(0.3, 0.1))
    with pytest.raises(cj.InputError, match="the position of a gust"):
        controller().start().push((99.0, 0.0), (1.0, 0.0), radius=2.0)
    with pytest.raises(cj.InputError, match="GustNoise"):
        controller().start().set_disturbances(kick())
    with pytest.raises(cj.NotConverged, match="overflows"):
        controller().run(np.full((29, 16), 1e200))
    with pytest.raises(cj.InputError, match="the scale of noise"):
        controller().run(cj.GustNoise(1.0, 0.0))
    with pytest.raises(cj.InputError, match=r"the scale of noise is 1e-300 m, but cells are 0.5 m wide"):
        controller().run(cj.GustNoise(1.0, 1e-300))
    with pytest.raises(cj.InputError, match="a Push acts on a body; a flow is blown by a Gust or a GustNoise"):
        controller().run(cj.Push(0, (1.0, 0.0, 0.0)))
    with pytest.raises(cj.InputError, match="a Wind acts on a body"):
        controller().start().set_disturbances(cj.Wind(1.0))
    with pytest.raises(cj.InputError, match="controlled must be True or False, not 'no'"):
        controller().run(controlled="no")
    with pytest.raises(cj.InputError, match="controlled must be True or False"):
        controller().start(controlled=np.zeros(2))
    with pytest.raises(cj.InputError, match=r"frames \(\{frame: factor\}\) must be a Mapping, not int"):
        cj.steer(shot(), frames=3)
    with pytest.raises(cj.InputError, match="the motion stands still"):
        cj.steer(small_model().shot(small_model().flow.simulate(4, 0.5)))
    with pytest.raises(cj.InputError, match="resimulate must be True or False"):
        small_model().shot(small_motions()[0], resimulate="yes")
    with pytest.raises(cj.InputError, match="snapshots is empty"):
        cj.reduce(small_model().flow, [], size=3)
    with pytest.raises(cj.InputError, match="no particles"):
        tune_flow_pd(cj.steer(small_model().shot(small_motions()[0])), kick())
