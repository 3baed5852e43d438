"""Springs in a basis are the projected springs, to rounding, and so are all their derivatives."""

from __future__ import annotations

import numpy as np
import pytest

from cajole.body import BodySprings
from cajole.dynamics import modes
from cajole.errors import FileError, InputError
from cajole.reduction import ReducedSprings, load_model, reduce
from cajole.reduction import kernels_trajectory as motion
from derivatives import check_derivative

SIZE = 6
# reduced and projected sums run over springs in another order, so they differ by rounding alone
ROUNDING = 1e-12


@pytest.fixture
def basis(net, random):
    columns = random.standard_normal((net.vertex_count, 3, SIZE))
    columns[net.fixed] = 0.0
    return columns.reshape(-1, SIZE)


@pytest.fixture
def model(net, basis):
    return reduce(net, basis)


@pytest.fixture
def point(random):
    """A state, a velocity and a direction, large enough to bend the springs visibly."""
    return 0.05 * random.standard_normal(SIZE), random.standard_normal(SIZE), random.standard_normal(SIZE)


def relative(found, wanted):
    return np.abs(found - wanted).max() / np.abs(wanted).max()


def test_forces_are_projected_agreement(net, model, point):
    z, v, _ = point
    u, rate, U = model.lift(z), model.lift(v), model.basis
    F, Gq, Gv = model.evaluate_dynamics(z, v)
    slope = net.stiffness(u) + net.damping_force_jacobian(u, rate)
    assert relative(F, U.T @ (net.force(u) + net.damping_force(u, rate)).ravel()) <= ROUNDING
    assert relative(Gq, U.T @ (slope @ U)) <= ROUNDING
    assert relative(Gv, U.T @ (net.damping_matrix(u) @ U)) <= ROUNDING
    assert relative(model.stiffness(z), U.T @ (net.stiffness(u) @ U)) <= ROUNDING
    assert relative(model.force(z), U.T @ net.force(u).ravel()) <= ROUNDING
    assert model.energy(z) == pytest.approx(net.energy(u), rel=ROUNDING)


def test_stiffness_change_is_projected_agreement(net, model, point):
    z, _, w = point
    wanted = model.basis.T @ (net.stiffness_derivative(model.lift(z), model.lift(w)) @ model.basis)
    assert relative(model.stiffness_derivative(z, w), wanted) <= ROUNDING


def test_energy_force_stiffness_derivative(model, point):
    z, _, w = point
    small = 0.02 * w
    check_derivative(model.energy, model.force(z) @ small, z, small)
    check_derivative(model.force, model.stiffness(z) @ small, z, small)
    check_derivative(model.stiffness, model.stiffness_derivative(z, small), z, small)


def test_motion_derivative(model, point):
    z, v, w = point
    small = 0.02 * w
    _, Gq, Gv = model.evaluate_dynamics(z, v)
    check_derivative(lambda q: model.evaluate_dynamics(q, v)[0], Gq @ small, z, small)
    check_derivative(lambda rate: model.evaluate_dynamics(z, rate)[0], Gv @ w, v, w)


def test_curvature_derivative(model, point):
    """Mqq and Mqv are the slopes of λᵀ∂F/∂q and λᵀ∂F/∂v: with damping, what a Newton step needs."""
    z, v, lam = point
    Mqq, Mqv = np.empty((2, SIZE, SIZE))
    motion.compute_contracted_hessian(
        model.kernel_data, z, v, lam, motion.allocate_workspace(model.kernel_data), Mqq, Mqv
    )
    small = 0.02 * np.ones(SIZE)
    check_derivative(lambda q: lam @ model.evaluate_dynamics(q, v)[1], Mqq @ small, z, small)
    check_derivative(lambda q: lam @ model.evaluate_dynamics(q, v)[2], small @ Mqv, z, small)
    check_derivative(lambda rate: lam @ model.evaluate_dynamics(z, rate)[1], Mqv @ v, v, v)
    assert relative(Mqq, Mqq.T) <= ROUNDING


def test_compiled_trajectories_see_the_same_forces_agreement(model, point):
    z, v, _ = point
    F, (Gq, Gv) = np.empty(SIZE), np.empty((2, SIZE, SIZE))
    motion.evaluate(model.kernel_data, z, v, motion.allocate_workspace(model.kernel_data), F, Gq, Gv)
    for found, wanted in zip((F, Gq, Gv), model.evaluate_dynamics(z, v)):
        np.testing.assert_array_equal(found, wanted)


def test_undamped_springs_have_no_drag_identity(cloth, random):
    net = cloth(damping=0.0)
    columns = random.standard_normal((net.vertex_count, 3, 3))
    columns[net.fixed] = 0.0
    model = reduce(net, columns.reshape(-1, 3))
    z, v = 0.01 * random.standard_normal((2, 3))
    F, Gq, Gv = model.evaluate_dynamics(z, v)
    np.testing.assert_array_equal(Gv, 0.0)
    np.testing.assert_array_equal(F, model.force(z))
    np.testing.assert_array_equal(Gq, model.stiffness(z))


def test_springs_between_fixed_vertices_are_left_out_identity(cloth, random):
    net = cloth(cells=3)
    held = BodySprings(net.vertices, net.edges, stiffness=60.0, mass=0.02, fixed=[0, 1, 4, 5])
    columns = random.standard_normal((held.vertex_count, 3, 2))
    columns[held.fixed] = 0.0
    model = reduce(held, columns.reshape(-1, 2))
    assert len(model.springs) < len(held.edges)
    z = 0.02 * random.standard_normal(2)
    wanted = model.basis.T @ held.force(model.lift(z)).ravel()
    assert relative(model.force(z), wanted) <= ROUNDING


def test_a_collapsed_spring_stays_finite_identity():
    """A spring of no length has no direction: it pulls with nothing, and nothing turns into NaN."""
    net = BodySprings([[0, 0, 0], [1, 0, 0]], [[0, 1]], fixed=[0])
    model = reduce(net, np.array([[0, 0, 0, 1.0, 0, 0]]).T)
    collapse = model.project(np.array([[0, 0, 0], [-1.0, 0, 0]]))
    F, Gq, Gv = model.evaluate_dynamics(collapse, np.ones(1))
    assert np.isfinite([*F, *Gq.ravel(), *Gv.ravel()]).all()


def test_frequency_is_the_bodys_agreement(cloth):
    net = cloth(rest_lengths=0.15)
    first = modes(net, 1)
    model = reduce(net, first)
    assert model.first_angular_frequency == pytest.approx(2 * np.pi * first.frequencies[0], rel=1e-9)
    assert model.stiffness()[0, 0] == pytest.approx(model.first_angular_frequency**2, rel=1e-6)


def test_rollout_keeps_energy_identity(cloth, random):
    """Average acceleration keeps the energy of a stretched net that swings a little, to second order of dt."""
    net = cloth(damping=0.0, rest_lengths=0.15)
    model = reduce(net, modes(net, 3))
    state = 0.01 * random.standard_normal(3)
    drifts = []
    for dt in (4e-3, 2e-3):
        path = model.rollout(np.zeros((round(0.8 / dt), 3)), dt, state=state)
        energy = np.array([model.energy(q) + 0.5 * v @ v for q, v in zip(path.coordinates, path.velocities)])
        swung = 0.5 * (path.velocities**2).sum(axis=1).max()
        drifts.append(np.abs(energy - model.energy(state)).max() / swung)
    assert drifts[0] < 0.05
    assert drifts[1] < drifts[0] / 3


def test_saved_models_come_back_identity(net, model, point, tmp_path):
    model.save(tmp_path / "model.npz")
    again = load_model(tmp_path / "model.npz", net)
    assert isinstance(again, ReducedSprings)
    np.testing.assert_array_equal(again.force(point[0]), model.force(point[0]))


def test_load_model_bad_input(net, model, tmp_path, cloth):
    path = tmp_path / "model.npz"
    model.save(path)
    with pytest.raises(FileError, match="another body"):
        load_model(path, cloth())
    with np.load(path) as stored:
        data = dict(stored)
    np.savez(path, **(data | {"springs": data["springs"] + 1e6}))
    with pytest.raises(FileError, match="do not fit"):
        load_model(path, net)
    np.savez(path, **{name: data[name] for name in ("basis", "body")})
    with pytest.raises(FileError, match="springs"):
        load_model(path, net)


def test_reduce_bad_input(net, basis, model):
    with pytest.raises(InputError, match="vertex 2, which the body fixes"):
        reduce(net, np.ones((3 * net.vertex_count, 1)))
    with pytest.raises(InputError, match="body must be"):
        reduce("net", basis)
    with pytest.raises(InputError, match=r"basis has shape"):
        reduce(net, basis[:5])
    with pytest.raises(InputError, match=r"state\[0\] is nan"):
        model.force(np.full(SIZE, np.nan))
    with pytest.raises(InputError, match="displacement has shape"):
        model.project(np.zeros((2, 3)))
