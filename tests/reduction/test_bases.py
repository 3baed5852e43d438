"""Bases: mass-orthonormal, holding what they promise; tangents, modal derivatives, PCA, enrichment."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cajole as cj
from bodies import Array, beam_body
from cajole.mesh import read_veg
from cajole.reduction import (
    build_keyframe_basis,
    compute_key_tangents,
    compute_mass_pca,
    compute_modal_derivatives,
    extend_basis,
    orthonormalise,
    reduce,
)
from cajole.reduction.bases import compute_mode_shapes
from derivatives import central_errors, check_derivative

Numbers = Callable[[str], dict[str, Any]]


def tip_load(body: cj.BodySolid, force: tuple[float, float, float]) -> Array:
    load = np.zeros((body.vertex_count, 3))
    tip = body.vertices[:, 0] == body.vertices[:, 0].max()
    load[tip] = np.array(force) / tip.sum()
    return load


@pytest.fixture(scope="module")
def held() -> tuple[cj.BodySolid, Array]:
    """A beam, and its poses: rest, down, and sideways with a twist."""
    body = beam_body((5, 2, 2))
    poses = [np.zeros((body.vertex_count, 3))]
    poses += [cj.pose(body, tip_load(body, force)) for force in ((0, 20.0, -180.0), (40.0, 150.0, 60.0))]
    assert all(abs(pose).max() > 0.1 for pose in poses[1:])
    return body, np.stack(poses)


@pytest.fixture(scope="module")
def free() -> tuple[cj.BodySolid, Array]:
    """The same beam with nothing to hold it: rest, and two poses under balanced loads."""
    body = beam_body((5, 2, 2), held=False)
    Q, _ = np.linalg.qr(body.compute_rigid_body_modes())
    poses = [np.zeros((body.vertex_count, 3))]
    for shape in compute_mode_shapes(body, 3)[:, [0, 2]].T:
        load = body.stiffness() @ (0.03 * shape / abs(shape).max())
        poses.append(cj.pose(body, (load - Q @ (Q.T @ load)).reshape(-1, 3)))
    assert all(abs(pose).max() > 0.01 for pose in poses[1:])
    return body, np.stack(poses)


def gram_error(body: cj.Body, U: Array) -> float:
    return float(abs(U.T @ (body.mass @ U) - np.eye(U.shape[1])).max())


def missed(body: cj.Body, U: Array, columns: Array) -> float:
    """The largest share of a column that lies outside the span of the mass-orthonormal U."""
    rest = columns - U @ (U.T @ (body.mass @ columns))
    lengths = np.sqrt(np.einsum("ij,ij->j", columns, body.mass @ columns))
    return float((np.sqrt(np.einsum("ij,ij->j", rest, body.mass @ rest)) / lengths).max())


def test_orthonormal_identity(held: tuple[cj.BodySolid, Array]) -> None:
    """Even columns that are nearly alike come out orthonormal to rounding, with their span kept."""
    body, _ = held
    random = np.random.default_rng(0)
    V = random.normal(size=(3 * body.vertex_count, 1)) + 1e-6 * random.normal(size=(3 * body.vertex_count, 6))
    U = orthonormalise(body, V)
    assert gram_error(body, U) < 1e-13
    assert missed(body, U, V) < 1e-12


def test_orthonormal_drops_identity(held: tuple[cj.BodySolid, Array]) -> None:
    body, _ = held
    V = np.random.default_rng(0).normal(size=(3 * body.vertex_count, 3))
    more = np.column_stack([V[:, 0], 0 * V[:, 0], V[:, 1], V @ (1, 2, 0), V[:, 2]])
    U = orthonormalise(body, more, drop_dependent=True)
    assert U.shape[1] == 3
    assert missed(body, U, V) < 1e-12


def test_principal_reference(held: tuple[cj.BodySolid, Array]) -> None:
    """The same span as an SVD of LᵀQ with M = L Lᵀ (LAPACK), and as many columns as the energy asks for."""
    body, _ = held
    random = np.random.default_rng(1)
    sizes = np.array([8.0, 4.0, 2.0, 1e-1, 1e-2, 1e-3])
    directions = orthonormalise(body, random.normal(size=(3 * body.vertex_count, 6)))
    turn, _ = np.linalg.qr(random.normal(size=(9, 6)))
    Q = directions @ np.diag(sizes) @ turn.T
    L = np.linalg.cholesky(body.mass.toarray())
    left, values, _ = np.linalg.svd(L.T @ Q, full_matrices=False)
    np.testing.assert_allclose(values[:6], sizes, rtol=1e-10)
    for size in (1, 3, 5):
        U = compute_mass_pca(body, Q, size=size)
        assert U.shape[1] == size
        assert gram_error(body, U) < 1e-13
        assert missed(body, U, np.linalg.solve(L.T, left[:, :size])) < 1e-8
    share = np.cumsum(sizes**2) / (sizes**2).sum()
    for count in (1, 2, 3, 4):
        assert compute_mass_pca(body, Q, energy_share=share[count - 1] - 1e-9).shape[1] == count
        assert compute_mass_pca(body, Q, energy_share=share[count - 1] + 1e-9).shape[1] == count + 1


def test_principal_rank_identity(held: tuple[cj.BodySolid, Array]) -> None:
    """No more columns than the snapshots hold, however many are asked for."""
    body, _ = held
    Q = np.random.default_rng(1).normal(size=(3 * body.vertex_count, 3)) @ np.random.default_rng(2).normal(size=(3, 9))
    assert compute_mass_pca(body, Q, size=99).shape[1] == 3


def test_modal_derivatives_reference(vega: Path, vega_numbers: Numbers) -> None:
    """Norms from VegaFEM 4.0, which do not depend on the signs of the modes."""
    numbers = vega_numbers("beam3_tet.json")
    stuff = cj.MaterialStVK(numbers["E_element0"], numbers["nu_element0"], numbers["density_element0"])
    body = cj.BodySolid(read_veg(vega / numbers["model"]).mesh, stuff, fixed=numbers["fixed_vertices_0based"])
    P = compute_modal_derivatives(body, cj.modes(body, numbers["modal_derivatives_num_modes"]))
    np.testing.assert_allclose(np.linalg.norm(P, axis=0), numbers["modal_derivatives_2norm_upper_rowmajor"], rtol=1e-6)
    lengths = np.sqrt(np.einsum("ij,ij->j", P, body.mass @ P))
    np.testing.assert_allclose(lengths, numbers["modal_derivatives_Mnorm_upper_rowmajor"], rtol=1e-6)


def test_modal_derivatives_agreement(held: tuple[cj.BodySolid, Array], free: tuple[cj.BodySolid, Array]) -> None:
    """K Ψ = -(dK/dε φ_a) φ_b by a difference of K itself; on free bodies, mass-orthogonal to rigid motions."""
    for body, _ in (held, free):
        shapes = compute_mode_shapes(body, 2)
        P = compute_modal_derivatives(body, shapes)
        assert P.shape[1] == 3
        R, _ = (
            np.linalg.qr(body.compute_rigid_body_modes())
            if len(body.fixed) == 0
            else (np.zeros((3 * body.vertex_count, 0)), None)
        )
        for column, (a, b) in zip(P.T, ((0, 0), (0, 1), (1, 1))):
            step = 1e-3 * shapes[:, a].reshape(-1, 3)
            # St. Venant-Kirchhoff stiffness is quadratic, so this difference is exact
            right = -(body.stiffness(step) - body.stiffness(-step)) @ shapes[:, b] / 2e-3
            right -= R @ (R.T @ right)
            dofs = body.free_dofs
            left = body.stiffness() @ column
            assert np.linalg.norm((left - right)[dofs]) < 1e-8 * np.linalg.norm(right[dofs])
            drift = R.T @ (body.mass @ column)
            assert np.linalg.norm(drift) < 1e-10 * np.linalg.norm(body.mass @ column)
            assert not column.reshape(-1, 3)[body.fixed].any()


def test_key_tangents_derivative(held: tuple[cj.BodySolid, Array]) -> None:
    """Eq. (6): tangents are the derivatives of the static curve f(q(α)) = (1-α) f_i + α f_{i+1} at both of its ends."""
    body, poses = held
    forces = [body.force(pose) for pose in poses]
    T = compute_key_tangents(body, poses)
    assert T.shape == (3 * body.vertex_count, 4)
    for i in range(2):
        for end in range(2):

            def curve(alpha: Array, i: int = i, end: int = end) -> Array:
                load = forces[i] + alpha[0] * (forces[i + 1] - forces[i])
                return cj.pose(body, load, start=poses[i + end]).ravel()

            at, ahead = np.array([float(end)]), np.array([0.5])
            check_derivative(curve, 0.5 * T[:, 2 * i + end], at, ahead)


def test_free_tangents_identity(free: tuple[cj.BodySolid, Array]) -> None:
    """Eq. (7)-(8): without supports K T is the jump of force on the range of K, T mass-orthogonal to its null space."""
    body, poses = free
    T = compute_key_tangents(body, poses)
    Q, _ = np.linalg.qr(body.compute_rigid_body_modes())
    moves = np.tile(np.eye(3), (body.vertex_count, 1)) / np.sqrt(body.vertex_count)
    for i in range(2):
        jump = (body.force(poses[i + 1]) - body.force(poses[i])).ravel()
        for end in range(2):
            tangent, null = T[:, 2 * i + end], Q if i + end == 0 else moves
            assert np.linalg.norm(body.stiffness(poses[i + end]) @ null) < 1e-8 * np.linalg.norm(
                body.stiffness().diagonal()
            )
            assert np.linalg.norm(null.T @ (body.mass @ tangent)) < 1e-9 * np.linalg.norm(body.mass @ tangent)
            want = jump - null @ (null.T @ jump)
            assert np.linalg.norm(body.stiffness(poses[i + end]) @ tangent - want) < 1e-7 * np.linalg.norm(want)


def test_free_basis_keeps_the_centre_of_mass_identity() -> None:
    """On a mesh whose vertices differ in mass, Euclidean-orthogonal tangents would drift by several percent."""
    mesh = cj.mesh.box_tets(6, 2, 2, size=(1.0, 0.2, 0.2))
    x = mesh.vertices.copy()
    x[:, 0] **= 2
    body = cj.BodySolid(cj.MeshTet(x, mesh.tets), cj.MaterialStVK(1e5, 0.3, 1e3))
    Q, _ = np.linalg.qr(body.compute_rigid_body_modes())
    load = (body.stiffness() @ compute_mode_shapes(body, 1)[:, 0]).ravel()
    load *= 0.05 / abs(compute_mode_shapes(body, 1)).max()
    pose = cj.pose(body, (load - Q @ (Q.T @ load)).reshape(-1, 3))
    for columns in (
        compute_key_tangents(body, np.stack([0 * pose, pose])),
        compute_modal_derivatives(body, compute_mode_shapes(body, 2)),
    ):
        shift = np.einsum("v,vik->ik", body.vertex_masses, columns.reshape(body.vertex_count, 3, -1)) / body.total_mass
        sizes = np.sqrt(np.einsum("ij,ij->j", columns, body.mass @ columns) / body.total_mass)
        assert (np.linalg.norm(shift, axis=0) < 1e-10 * sizes).all()


def test_noise_is_no_direction_identity(held: tuple[cj.BodySolid, Array]) -> None:
    """A key that is rest, or another key again, up to rounding adds nothing."""
    body, poses = held
    noise = 1e-16 * np.random.default_rng(4).normal(size=poses[0].shape)
    noise[body.fixed] = 0.0
    plain, _ = build_keyframe_basis(body, poses)
    U, report = build_keyframe_basis(body, np.stack([poses[0], noise, poses[1], poses[1] + noise, poses[2]]))
    assert (report.key_columns, report.tangent_columns) == (2, plain.shape[1] - 2)
    assert report.projection_errors[1] == 0.0
    assert missed(body, plain, U) < 1e-6


@pytest.mark.parametrize("case", ["held", "free"])
def test_keyframe_basis_identity(case: str, request: pytest.FixtureRequest) -> None:
    """Keys and tangents are inside, whatever is added; the report counts what is there."""
    body, poses = request.getfixturevalue(case)
    keys, tangents = poses[1:].reshape(2, -1).T, compute_key_tangents(body, poses)
    plain, report = build_keyframe_basis(body, poses)
    assert (report.key_columns, report.tangent_columns, report.extra_columns) == (2, plain.shape[1] - 2, 0)
    assert report.tangent_columns <= 4
    assert report.projection_errors[0] == 0.0
    assert max(report.projection_errors) <= 1e-12
    assert missed(body, plain, keys) <= 1e-12
    assert missed(body, plain, tangents) <= 1e-8
    extras = compute_mode_shapes(body, 5)
    U, more = build_keyframe_basis(body, poses, extras=extras, extra_size=3)
    np.testing.assert_array_equal(U[:, : plain.shape[1]], plain)
    assert more.extra_columns == 3
    assert max(more.projection_errors) <= 1e-12
    assert gram_error(body, U) < 1e-12
    only, _ = build_keyframe_basis(body, poses, tangents=False)
    assert only.shape[1] == 2
    assert "2 from keys" in str(report)
    assert not U.reshape(body.vertex_count, 3, -1)[body.fixed].any()


def test_enriched_identity(held: tuple[cj.BodySolid, Array]) -> None:
    """Eq. (9): the old basis stays column by column, and with enough new directions every example is held."""
    body, poses = held
    core, _ = build_keyframe_basis(body, poses)
    extras = np.column_stack([compute_mode_shapes(body, 3), core @ np.ones(core.shape[1])])
    U = extend_basis(body, core, extras, size=3)
    np.testing.assert_array_equal(U[:, : core.shape[1]], core)
    assert U.shape[1] == core.shape[1] + 3
    assert gram_error(body, U) < 1e-12
    assert missed(body, U, extras) < 1e-10
    assert missed(body, U, poses[1:].reshape(2, -1).T) <= 1e-12


def test_compressed_basis_identity(held: tuple[cj.BodySolid, Array]) -> None:
    """A smaller basis misses more, and says how much."""
    body, poses = held
    worst = []
    for size in (1, 3, 6):
        U, report = build_keyframe_basis(body, poses, size=size)
        assert U.shape[1] == size
        assert report.key_columns + report.tangent_columns == size
        assert max(report.projection_errors) == pytest.approx(
            missed(body, U, poses[1:].reshape(2, -1).T), rel=1e-6, abs=1e-12
        )
        worst.append(max(report.projection_errors))
    assert worst[0] > worst[1] > worst[2]


def test_natural_curve_claim(held: tuple[cj.BodySolid, Array]) -> None:
    """§4.3, figure 4: halfway along the curve, keys with tangents hold the equilibrium far better than keys alone."""
    body, poses = held
    force = body.force(poses[1])
    halfway = cj.pose(body, 0.5 * force).reshape(-1, 1)
    keys, _ = build_keyframe_basis(body, poses[:2], tangents=False)
    both, _ = build_keyframe_basis(body, poses[:2])
    assert missed(body, both, halfway) < 0.2 * missed(body, keys, halfway)


def test_dependent_bad_input(held: tuple[cj.BodySolid, Array]) -> None:
    body, _ = held
    V = np.random.default_rng(0).normal(size=(3 * body.vertex_count, 2))
    V.reshape(body.vertex_count, 3, 2)[body.fixed] = 0
    for bad, message in (
        (np.column_stack([V, V @ (1, -2)]), "column 2 of the basis is a combination of those before it; leave it out"),
        (np.column_stack([V[:, 0], 0 * V[:, 0]]), "column 1 of the basis is zero"),
    ):
        with pytest.raises(cj.InputError, match=message):
            orthonormalise(body, bad)
        with pytest.raises(cj.InputError, match=message):
            reduce(body, bad)
    with pytest.raises(cj.InputError, match="the basis is empty"):
        orthonormalise(body, V[:, :0])


def test_bases_bad_input(held: tuple[cj.BodySolid, Array]) -> None:
    body, poses = held
    with pytest.raises(cj.InputError, match="every key is the rest shape"):
        build_keyframe_basis(body, poses[:1])
    with pytest.raises(cj.InputError, match=r"poses has shape"):
        build_keyframe_basis(body, poses[:, :4])
    with pytest.raises(cj.InputError, match="snapshots are all zero"):
        compute_mass_pca(body, np.zeros((3 * body.vertex_count, 2)))
    with pytest.raises(cj.InputError, match="size is 0, but must be at least 1"):
        compute_mass_pca(body, poses[1:].reshape(2, -1).T, size=0)
    with pytest.raises(cj.InputError, match=r"modes has shape \(3, 3\)"):
        compute_modal_derivatives(body, np.eye(3))
    with pytest.raises(cj.InputError, match=r"poses\[1, 0, 0\] is nan"):
        build_keyframe_basis(body, np.where(np.arange(3)[:, None, None] == 1, np.nan, poses))


def test_all_energy_identity(held: tuple[cj.BodySolid, Array]) -> None:
    """A share of everything keeps everything there is."""
    body, poses = held
    snapshots = poses[1:].reshape(2, -1).T
    assert compute_mass_pca(body, snapshots, energy_share=1.0).shape[1] == 2


def test_difference_helper_identity() -> None:
    """The differences above would notice a tangent that is wrong by one part in a thousand."""
    errors = central_errors(np.sin, 1.001 * np.cos(np.array([0.3])), np.array([0.3]), np.ones(1))
    assert errors.min() > 5e-4


def test_a_number_means_modes_agreement() -> None:
    body = beam_body((4, 1, 1))
    np.testing.assert_array_equal(cj.reduce(body, 3).basis, cj.reduce(body, cj.modes(body, 3)).basis)
    with pytest.raises(cj.InputError, match=r"a number of modes\) is 0"):
        cj.reduce(body, 0)
