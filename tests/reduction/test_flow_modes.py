"""The fluid in its modes: what is kept, what is exact, and what it says to bad input."""

from __future__ import annotations

import numpy as np
import pytest

import cajole as cj
from cajole.flow import Flow, Gust
from cajole.reduction import kernels_flow, reduce
from cajole.reduction.reduced_flow import compute_advection_tensor, compute_diffusion_matrix, solve_inverse_dynamics
from flow_cases import small, small_model, small_motions, taylor_green


def test_modes_are_orthonormal_and_free_of_divergence_identity():
    model, flow = small_model(), small()
    assert np.abs(flow.cell_size**2 * model.basis.T @ model.basis - np.eye(16)).max() < 1e-13
    assert max(np.abs(flow.compute_divergence(mode)).max() for mode in model.basis.T.copy()) < 1e-12


def test_single_precision_snapshots_give_the_same_modes_agreement():
    single = [motion.states.astype(np.float32) for motion in small_motions()]
    other = reduce(small(), single, size=8)
    assert max(np.abs(small().compute_divergence(mode)).max() for mode in other.basis.T.copy()) < 1e-12
    # the eight largest of both span the same space
    assert np.linalg.svd(small().cell_size ** 2 * other.basis.T @ small_model().basis[:, :8])[1].min() > 1 - 1e-5


def test_fluxes_are_skew_without_being_made_so_identity(random):
    model, flow = small_model(), small()
    modes = model.basis.T.copy()
    raw = np.zeros((3, 3))
    for k in range(3):
        fluxes = np.zeros(flow.face_count)
        kernels_flow.compute_advection_flux(
            *flow.split_faces(modes[5]), *flow.split_faces(modes[k]), *flow.split_faces(fluxes)
        )
        raw[:, k] = modes[:3] @ fluxes
    assert np.abs(raw + raw.T).max() < 1e-14 * max(np.abs(raw).max(), 1.0)
    assert np.abs(raw).max() > 1e-3


def test_advection_reference():
    """A(z)z is minus the projection of ∇·(u ⊗ u), written out with NumPy."""
    model, flow = small_model(), small()
    z = model.project(small_motions()[0].states[12])
    u, v = flow.split_faces(model.lift(z))
    uc, vc = 0.5 * (u[1:] + u[:-1]), 0.5 * (v[:, 1:] + v[:, :-1])
    corner = np.zeros((flow.columns + 1, flow.rows + 1))
    corner[1:-1, 1:-1] = 0.25 * (u[1:-1, 1:] + u[1:-1, :-1]) * (v[1:, 1:-1] + v[:-1, 1:-1])
    cu, cv = np.zeros_like(u), np.zeros_like(v)
    cu[1:-1] = np.diff(uc**2, axis=0) + np.diff(corner, axis=1)[1:-1]
    cv[:, 1:-1] = np.diff(vc**2, axis=1) + np.diff(corner, axis=0)[:, 1:-1]
    expected = -model.project(np.concatenate([cu.ravel(), cv.ravel()]) / flow.cell_size)
    assert np.allclose(model.compute_rate_matrix(z) @ z, expected, atol=1e-12)


def test_diffusion_reference():
    """The Taylor-Green vortex is an eigenfunction of the Laplacian with free slip."""
    flow = Flow(24, 24, cell_size=1 / 24)
    mode = taylor_green(flow)
    basis = (mode / np.linalg.norm(mode) / flow.cell_size)[:, None]
    assert compute_diffusion_matrix(flow, basis)[0, 0] == pytest.approx(
        -2 * (2 - 2 * np.cos(np.pi / 24)) * 24**2, rel=1e-12
    )
    assert abs(compute_advection_tensor(flow, basis)).max() == 0.0


def test_energy_is_kept_identity():
    model, h = small_model(), 0.2
    z = model.project(small_motions()[2].states[8])
    start = model.energy(z)
    for _ in range(1000):
        z = model.step(z, np.zeros(16), h)
    assert model.energy(z) == pytest.approx(start, rel=1e-12)


def test_viscosity_takes_energy_identity():
    thick = reduce(Flow(28, 20, cell_size=0.5, viscosity=0.05), [m.states for m in small_motions()], size=16)
    z = thick.project(small_motions()[2].states[8])
    after = thick.step(z, np.zeros(16), 0.2)
    assert thick.energy(after) < thick.energy(z)
    assert np.allclose(thick.viscous_damping, 0.05 * thick.diffusion)


def test_step_order():
    """Second order in time against many small steps."""
    model = small_model()
    z0, w = model.project(small_motions()[0].states[12]), np.linspace(-0.2, 0.2, 16)

    def end(steps: int) -> np.ndarray:
        return model.rollout(np.tile(w, (steps, 1)), 1.6 / steps, z0).states[-1]

    exact = end(512)
    errors = [np.abs(end(steps) - exact).max() for steps in (8, 16, 32)]
    assert 1.8 < np.log2(errors[1] / errors[2]) < 2.3


def test_step_derivative():
    """Of particles and modes, by central differences: the exact Jacobians of a step."""
    model, h, e = small_model(), 0.2, 1e-6
    z, w = model.project(small_motions()[0].states[10]), np.linspace(-0.5, 0.5, 16)
    points = np.array([[7.1, 4.3], [3.2, 8.9]])
    x = np.concatenate([points.ravel(), z])
    found = model.linearize(x, w, h)
    by_state = np.array([model.step(x + e * d, w, h) - model.step(x - e * d, w, h) for d in np.eye(20)]).T / (2 * e)
    by_force = np.array([model.step(x, w + e * d, h) - model.step(x, w - e * d, h) for d in np.eye(16)]).T / (2 * e)
    assert np.abs(by_state - found.by_state).max() < 1e-7
    assert np.abs(by_force - found.by_control).max() < 1e-7


def test_velocity_at_a_point_agreement():
    model, motion = small_model(), small_motions()[3]
    z, places = model.project(motion.states[9]), np.array([[0.0, 0.0], [13.9, 9.95], [6.3, 4.44]])
    there = model.flow.interpolate_velocity(model.lift(z), places)
    for place, speed in zip(places, there):
        psi, _ = model.interpolate_modes_and_gradient(place, z)
        assert np.allclose(psi @ z, speed, atol=1e-13)


def test_elimination_agreement_with_lapack(random):
    S = random.standard_normal((20, 20))
    M, b = np.eye(20) + 3 * (S - S.T), random.standard_normal(20)
    expected = np.linalg.solve(M, b)
    kernels_flow.solve_without_pivoting(M, b)
    assert np.allclose(b, expected, atol=1e-12)


def test_a_step_reaches_where_its_inverse_force_leads_identity():
    model, motion = small_model(), small_motions()[0]
    states = model.project(motion.states)
    W = solve_inverse_dynamics(model, states, motion.dt)
    for n in (0, 7, 28):
        assert np.allclose(model.step(states[n], W[n], motion.dt), states[n + 1], atol=1e-12)


def test_a_reduced_run_follows_the_full_one_for_a_while_agreement():
    model, motion = small_model(), small_motions()[0]
    full = model.shot(motion, particles=[[6.0, 5.0]])
    own = model.shot(motion, particles=[[6.0, 5.0]], resimulate=True)
    assert full.projection_errors is not None
    assert full.projection_errors.max() < 2e-3
    assert np.abs(own.particles - full.particles)[:10].max() < 0.1 * model.flow.cell_size
    assert np.array_equal(own.feed_forward, full.feed_forward)
    assert full.feed_forward[:3].any()
    assert not full.feed_forward[3:].any()
    assert not model.shot(motion, feed_forward="zero").feed_forward.any()


def test_particles_stay_in_the_box_identity():
    """However fast the flow: a particle's step is cut into parts."""
    model = small_model()
    z = 300 * model.project(small_motions()[0].states[10])
    random = np.random.default_rng(0)
    points = random.uniform(0, 1, (50, 2)) * model.flow.size
    moved = model.advect_points(points, z, z, 0.2)
    assert (moved >= 0).all()
    assert (moved <= model.flow.size).all()


def test_a_flow_that_overflows_bad_input():
    """Positions that are not finite never become indices into the velocities."""
    model = small_model()
    points, z = np.full((3, 2), np.nan), np.zeros(model.size)
    assert np.isnan(model.advect_points(points, z, z, 0.1)).all()
    assert 0 <= kernels_flow.locate_node(np.nan, 9)[0] <= 7
    with pytest.raises(cj.SolveError, match="overflows"):
        model.rollout(np.full((2, model.size), 1e200), 0.1, z, [np.array(model.flow.size) / 2])


def test_flow_modes_bad_input():
    flow, motions = small(), small_motions()
    with pytest.raises(cj.InputError, match="size is 64, but there are only 30 snapshots"):
        reduce(flow, motions[0])
    still = np.tile(motions[0].states[-1], (20, 1))
    with pytest.raises(cj.InputError, match="span only 1 directions"):
        reduce(flow, still, size=4)
    with pytest.raises(cj.InputError, match="at rest"):
        reduce(flow, 0 * still, size=4)
    with pytest.raises(cj.InputError, match="not of"):
        reduce(Flow(10, 10), motions, size=4)
    with pytest.raises(cj.InputError, match=r"snapshots\[0\] has shape"):
        reduce(flow, np.ones((5, 7)), size=4)
    with pytest.raises(cj.InputError, match=r"particles\[0\].*outside the box"):
        small_model().shot(motions[0], particles=[[-1.0, 2.0]])
    with pytest.raises(cj.InputError, match="feed_forward is 'none'"):
        small_model().shot(motions[0], feed_forward="none")
    other = Flow(10, 10).simulate(3, 0.1, force=Gust((5.0, 5.0), (1.0, 0.0), 3.0))
    with pytest.raises(cj.InputError, match="motion is one of"):
        small_model().shot(other)


def test_size_is_for_flows_bad_input(solid):
    with pytest.raises(cj.InputError, match="size is for a Flow"):
        reduce(solid, 4, size=4)
