"""A few weighted springs pull like all of them, and remain a spring body."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize

from cajole.body import BodySprings
from cajole.dynamics import modes
from cajole.errors import InputError
from cajole.mesh import box_tets
from cajole.reduction import ReducedSprings, load_model, reduce
from cajole.reduction.reduced_springs import compute_spring_forces, fit_nonnegative_weights, sample_training_states
from derivatives import check_derivative


@pytest.fixture(scope="module")
def beam_net():
    mesh = box_tets(12, 3, 3, size=(1.2, 0.3, 0.3))
    held = np.flatnonzero(mesh.vertices[:, 0] == 0)
    return BodySprings.from_mesh(mesh, stiffness=400.0, mass=0.02, fixed=held, damping=0.2)


@pytest.fixture(scope="module")
def basis(beam_net):
    return modes(beam_net, 5)


@pytest.fixture(scope="module")
def full(beam_net, basis):
    return reduce(beam_net, basis)


@pytest.fixture(scope="module")
def few(beam_net, basis):
    return reduce(beam_net, basis, cubature=True)


def test_new_poses_are_met_claim(full, few):
    """The report tells the error on poses that were not fitted; here it is measured on poses drawn afresh."""
    states = sample_training_states(full, np.empty((0, full.size)), np.random.default_rng(99))
    errors = [np.linalg.norm(few.force(z) - full.force(z)) / np.linalg.norm(full.force(z)) for z in states]
    assert np.sqrt(np.mean(np.square(errors))) < 0.06
    assert few.report.validation_error < 0.04
    assert few.report.selected_springs == len(few.springs) < len(full.springs) / 2
    assert "springs, force error" in str(few.report)


def test_more_springs_err_less_claim(beam_net, basis):
    coarse, fine = (reduce(beam_net, basis, cubature=count) for count in (20, 120))
    assert len(coarse.springs) <= 20
    assert len(fine.springs) <= 120
    assert fine.report.validation_error < 0.5 * coarse.report.validation_error


def test_weights_are_positive_identity(few):
    assert (few.weights > 0).all()
    assert len(np.unique(few.springs)) == len(few.springs)


def test_weighted_sum_derivative(few):
    random = np.random.default_rng(5)
    z, v, w = 0.1 * random.standard_normal((3, few.size))
    check_derivative(few.energy, few.force(z) @ w, z, w)
    check_derivative(few.force, few.stiffness(z) @ w, z, w)
    check_derivative(few.stiffness, few.stiffness_derivative(z, w), z, w)
    check_derivative(lambda q: few.evaluate_dynamics(q, v)[0], few.evaluate_dynamics(z, v)[1] @ w, z, w)


def test_same_seed_same_springs_identity(beam_net, basis, few):
    again = reduce(beam_net, basis, cubature=True)
    np.testing.assert_array_equal(again.springs, few.springs)
    np.testing.assert_array_equal(again.weights, few.weights)


def test_pulls_sum_to_the_force_agreement(full):
    z = 0.1 * np.random.default_rng(2).standard_normal(full.size)
    pulls = compute_spring_forces(full, z, full.springs)
    loads = np.zeros((full.body.vertex_count, 3))
    np.add.at(loads, full.body.edges[full.springs, 0], pulls)
    np.add.at(loads, full.body.edges[full.springs, 1], -pulls)
    np.testing.assert_allclose(full.basis.T @ loads.ravel(), full.force(z), rtol=1e-10)


def test_poses_are_fitted_best_claim(beam_net, basis, full):
    """Poses named in advance are met better than by springs chosen without them."""
    z = np.array([0.25, -0.2, 0.1, 0.1, -0.1])
    aware, unaware = (
        reduce(beam_net, basis, cubature=60, poses=poses) for poses in (full.lift(z)[None], full.lift(-0.3 * z)[None])
    )
    errors = [np.linalg.norm(model.force(z) - full.force(z)) for model in (aware, unaware)]
    assert errors[0] < errors[1]


def test_nonnegative_fit_reference():
    """Against scipy's NNLS: with all rows allowed, the greedy fit comes close to the true optimum."""
    random = np.random.default_rng(0)
    A = np.abs(random.standard_normal((60, 20)))
    b = random.uniform(size=60) @ A
    *_, (places, weights) = fit_nonnegative_weights(A, b, max_rows=60, tolerance=1e-6, generator=random)
    _, least = scipy.optimize.nnls(A.T, b)
    assert least < 1e-9
    assert np.linalg.norm(weights @ A[places] - b) < 0.02 * np.linalg.norm(b)


def test_saved_cubature_comes_back_identity(beam_net, few, tmp_path):
    few.save(tmp_path / "few.npz")
    again = load_model(tmp_path / "few.npz", beam_net)
    z = 0.1 * np.ones(few.size)
    np.testing.assert_array_equal(again.force(z), few.force(z))


def test_cubature_bad_input(beam_net, basis, beam):
    for wrong, message in ((0, "at least 1"), (-0.1, "positive"), (1.5, "below one"), ("many", "must be a number")):
        with pytest.raises(InputError, match=message):
            reduce(beam_net, basis, cubature=wrong)
    with pytest.raises(InputError, match="poses has shape"):
        reduce(beam_net, basis, cubature=True, poses=np.zeros((2, 3)))
    solid = beam()
    with pytest.raises(InputError, match="cubature is for springs"):
        reduce(solid, modes(solid, 2), cubature=True)


@pytest.mark.parametrize("apart", [True, False])
def test_few_springs_agreement(beam_net, basis, full, apart):
    """Springs far apart, each on a point of its own, and neighbours on shared vertices move like a body of them."""
    random = np.random.default_rng(3)
    springs = np.sort(random.choice(full.springs, 12, replace=False)) if apart else full.springs[:200]
    weights = random.uniform(0.5, 2.0, len(springs))
    model = ReducedSprings(beam_net, full.basis, springs=springs, weights=weights)
    assert (len(model.kernel_data[5]) == len(springs) + 1) == apart
    share = np.zeros(len(beam_net.edges))
    share[springs] = weights
    # springs so weak that they do not count stand for those left out: no vertex may be without one
    share[share == 0] = 1e-14
    alone = BodySprings(
        beam_net.vertices, beam_net.edges, stiffness=share * beam_net.spring_stiffness, mass=beam_net.masses,
        fixed=beam_net.fixed, damping=share * beam_net.spring_damping,
    )  # fmt: skip
    z, v = 0.1 * random.standard_normal((2, model.size))
    lifted = alone.total_force(full.lift(z), full.lift(v)).ravel()
    wanted = full.basis.T @ lifted
    np.testing.assert_allclose(model.evaluate_dynamics(z, v)[0], wanted, atol=1e-10 * abs(wanted).max())
    check_derivative(lambda q: model.evaluate_dynamics(q, v)[0], model.evaluate_dynamics(z, v)[1] @ v, z, v)
