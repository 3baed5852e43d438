"""The full fluid: its pressure, its order, its invariants, and what it says to bad input."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg

import cajole as cj
from cajole.flow import Flow, Gust
from cajole.flow.fluid import PressureSolver, diffuse
from flow_cases import small, small_motions, taylor_green


def second_differences(count: int) -> sp.csr_array:
    """Of a row of cells with no slope at its ends."""
    middle = np.full(count, -2.0)
    middle[[0, -1]] = -1.0
    return sp.diags_array([np.ones(count - 1), middle, np.ones(count - 1)], offsets=[-1, 0, 1]).tocsr()


def test_pressure_by_cosines_agreement_with_a_direct_sparse_solve(random):
    nx, ny = 48, 32
    divergence = random.standard_normal((nx, ny))
    divergence -= divergence.mean()
    A = sp.kron(second_differences(nx), sp.eye_array(ny)) + sp.kron(sp.eye_array(nx), second_differences(ny))
    # pressure is known up to a constant: the first cell's is set to zero
    rest = scipy.sparse.linalg.spsolve(sp.csc_array(A)[1:, 1:], divergence.ravel()[1:])
    direct = np.concatenate([[0.0], rest]).reshape(nx, ny)
    found = PressureSolver(nx, ny).solve(divergence)
    assert np.abs(found - (direct - direct.mean())).max() < 1e-11 * np.abs(found).max()


def test_every_frame_is_free_of_divergence_identity():
    for motion in small_motions():
        for state in motion.states:
            assert np.abs(motion.flow.compute_divergence(state)).max() < 1e-12
            u, v = motion.flow.split_faces(state)
            assert not u[[0, -1]].any()
            assert not v[:, [0, -1]].any()


def test_a_free_field_stays_as_it_is_identity():
    flow, state = small(), small_motions()[0].states[-1]
    assert np.allclose(flow.project_divergence_free(state), state, atol=1e-13)


def test_taylor_green_order():
    """A steady vortex: what is lost to interpolation goes with the first power of the cell at a constant CFL number."""
    errors = []
    for cells in (16, 32, 64):
        flow = Flow(cells, cells, cell_size=1.0 / cells)
        steps = cells // 8
        motion = flow.simulate(steps + 1, 0.25 / steps, start=taylor_green(flow))
        errors.append(np.sqrt(((motion.states[-1] - taylor_green(flow)) ** 2).mean()))
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert (orders > 0.9).all()
    assert errors[-1] < 0.012


def test_viscosity_reference():
    """The vortex decays as exp(-2 π² ν t), and does so step by step under implicit Euler."""
    flow, amount = Flow(32, 32, cell_size=1 / 32), 0.02 * 0.01 * 32**2
    state = taylor_green(flow)
    u, v = flow.split_faces(state)
    diffuse(u, v, amount)
    rate = 2 * (2 - 2 * np.cos(np.pi / 32)) * amount
    assert np.allclose(state, taylor_green(flow) / (1 + rate), atol=1e-14)
    assert rate == pytest.approx(2 * np.pi**2 * 0.02 * 0.01, rel=1e-3)
    thick = Flow(32, 32, cell_size=1 / 32, viscosity=0.02)
    start = taylor_green(thick)
    assert thick.energy(thick.step(start, 0.01)) < flow.energy(flow.step(start, 0.01))


def test_a_particle_in_a_vortex_order():
    """In a steady vortex a particle keeps its stream function; the midpoint rule loses it with the square of dt."""
    flow = Flow(128, 128, cell_size=1 / 128)
    state = taylor_green(flow)

    def off(steps: int) -> float:
        point = np.array([[0.3, 0.42]])
        for _ in range(steps):
            point = flow.advect_points(point, state, state, 0.8 / steps)
        stream = np.sin(np.pi * point[0, 0]) * np.sin(np.pi * point[0, 1])
        return abs(stream - np.sin(np.pi * 0.3) * np.sin(np.pi * 0.42))

    coarse, fine = off(4), off(8)
    assert coarse > 3.4 * fine
    assert fine < 1e-2


def test_smoke_is_carried_and_bounded_identity():
    motion = small_motions()[1]
    start = np.zeros((28, 20))
    start[8:16, 6:14] = 1.0
    frames = motion.advect_smoke(start, every=2)
    assert frames.shape == (15, 28, 20)
    assert frames.min() >= 0.0
    assert frames.max() <= 1.0
    assert np.abs(frames[-1] - frames[0]).max() > 0.5


def test_gusts_blow_when_and_where_they_should_identity():
    flow = Flow(16, 16)
    gust = Gust((8.0, 8.0), (2.0, -1.0), 4.0, time=0.3, duration=0.2)
    assert [gust.is_active(step, 0.1) for step in range(7)] == [False, False, False, True, True, False, False]
    u, v = flow.split_faces(gust.compute_acceleration(flow, 3, 0.1))
    assert u[8, 7] == pytest.approx(2.0 * (1 - 0.25 / 16) ** 2)
    assert v[7, 8] == pytest.approx(-1.0 * (1 - 0.25 / 16) ** 2)
    assert not u[:4].any()
    rows, values = gust.find_affected_faces(flow)
    assert np.array_equal(gust.compute_acceleration(flow, 4, 0.1)[rows], values)


def test_a_function_and_a_field_agreement():
    flow = small()
    field = 0.1 * taylor_green(flow)
    first = flow.simulate(4, 0.1, force=field).states
    assert np.array_equal(first, flow.simulate(4, 0.1, force=lambda t: field).states)
    with_gusts = flow.simulate(4, 0.1, force=[Gust((5.0, 5.0), (1.0, 0.0), 2.0), Gust((5.0, 5.0), (-1.0, 0.0), 2.0)])
    assert np.abs(with_gusts.states).max() < 1e-15


def test_scale_identity():
    """A box of other size and time moves in the same way."""
    a, b = Flow(16, 16), Flow(16, 16, cell_size=0.25)
    first = a.simulate(6, 1.0, force=Gust((7.0, 8.0), (0.4, 0.9), 5.0)).states
    second = b.simulate(6, 0.5, force=Gust((1.75, 2.0), (0.4, 0.9), 1.25)).states
    assert np.allclose(second, 0.5 * first, atol=1e-14)


def test_flow_bad_input():
    flow = Flow(16, 16)
    with pytest.raises(cj.InputError, match="columns is 2"):
        Flow(2, 16)
    with pytest.raises(cj.InputError, match=r"particles\[1\] is \(17, 3\), outside the box of 16 × 16 m"):
        flow.simulate(3, 0.1).advect([[1.0, 1.0], [17.0, 3.0]])
    with pytest.raises(cj.InputError, match="the position of a gust"):
        flow.simulate(3, 0.1, force=Gust((20.0, 3.0), (1.0, 0.0), 2.0))
    with pytest.raises(cj.InputError, match=r"force has shape \(3,\).*Gust"):
        flow.simulate(3, 0.1, force=[1.0, 2.0, 3.0])
    with pytest.raises(cj.InputError, match="every value must be finite"):
        flow.simulate(3, 0.1, start=np.full(flow.face_count, np.nan))


def test_shapes_of_steps_bad_input():
    """Kernels trust shapes: others would be read outside of their memory."""
    flow = cj.Flow(5, 4)
    still, points = np.zeros(flow.face_count), np.full((2, 2), 0.1)
    for wrong in (
        lambda: flow.advect_smoke(np.zeros((4, 5)), still, 0.1),
        lambda: flow.advect_smoke(np.zeros((5, 4)), still[:-1], 0.1),
        lambda: flow.step(still[:-1], 0.1),
        lambda: flow.step(still, 0.1, still[:-1]),
        lambda: flow.advect_points(points[:, :1], still, still, 0.1),
        lambda: flow.advect_points(points, still, still[:-1], 0.1),
    ):
        with pytest.raises(cj.InputError, match="shape"):
            wrong()


def test_a_step_too_long_bad_input():
    """So fast that the fluid would come from outside the box: said, with what to do."""
    flow = Flow(16, 16)
    with pytest.raises(cj.SolveError, match=r"dt of 40 s is too long: .* cells outside the box; use a smaller dt"):
        flow.simulate(3, 40.0, start=taylor_green(Flow(16, 16, cell_size=1 / 16)))
    # faster than cells can be counted
    with pytest.raises(cj.SolveError, match=r"dt of 0.5 s is too long: the fluid goes .*e\+199 cells a step"):
        flow.simulate(4, 0.5, force=Gust((8.0, 8.0), (1e200, 0.0), 3.0, duration=2.0))
    with pytest.raises(cj.SolveError, match="overflows"):
        flow.simulate(3, 1e300, force=Gust((8.0, 8.0), (1.0, 0.0), 3.0))


def test_gusts_bad_input():
    """Said where the gust is made, since one that does not blow is never looked at."""
    for when in ({"time": -1.0}, {"duration": -1.0}, {"duration": np.inf}, {"time": np.nan}):
        with pytest.raises(cj.InputError, match=f"the {next(iter(when))} of a gust"):
            Gust((8.0, 8.0), (1.0, 0.0), 3.0, **when)
