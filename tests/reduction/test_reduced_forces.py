"""The reduced polynomial: equal to the projected body, its own derivatives, VegaFEM, and einsum twins."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations_with_replacement, permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from reduced_cases import random_columns, reduced, solid, state_of

from bodies import Array
from cajole.body import BodySolid, MaterialStVK
from cajole.errors import InputError
from cajole.mesh import read_veg
from cajole.reduction import ReducedSolid, kernels_polynomial, kernels_solid, reduce
from cajole.reduction.reduced_solid import (
    PACKED_SIZE,
    StVKPolynomial,
    build_derivative_tables,
    build_polynomial,
    reduce_with_offset,
)
from cajole.reduction.trajectory import build_newmark_coefficients, rollout
from derivatives import check_derivative

Numbers = Callable[[str], dict[str, Any]]
# below and above the size from which the quartic table is packed
SIZES = [1, 6, PACKED_SIZE - 1, PACKED_SIZE, PACKED_SIZE + 3]


def near(ours: Any, theirs: Any, rel: float = 1e-12) -> None:
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    assert np.linalg.norm(ours - theirs) <= rel * np.linalg.norm(theirs)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("fixed", [None, [0, 5]])
def test_projection_agreement(size: int, fixed: list[int] | None) -> None:
    """Energy, force, stiffness and its change are those of the body, projected."""
    model = reduced(size, fixed=fixed)
    packed = model.polynomial.C2.shape[0] == 1
    assert packed == (size >= PACKED_SIZE or size == 1)
    body, U = model.body, model.basis
    z, v = state_of(model), state_of(model, 3)
    u = model.lift(z)
    near(model.energy(z), body.energy(u))
    near(model.force(z), U.T @ body.force(u).ravel())
    near(model.stiffness(z), U.T @ (body.stiffness(u) @ U))
    near(model.stiffness(), U.T @ (body.stiffness() @ U))
    near(model.stiffness_derivative(z, v), U.T @ (body.stiffness_derivative(u, model.lift(v)) @ U))


@pytest.mark.parametrize("size", [5, PACKED_SIZE])
def test_force_and_stiffness_derivative(size: int) -> None:
    model = reduced(size)
    z, v = state_of(model), state_of(model, 3)
    check_derivative(model.energy, model.force(z) @ v, z, v)
    check_derivative(model.force, model.stiffness(z) @ v, z, v)
    check_derivative(model.stiffness, model.stiffness_derivative(z, v), z, v)


def test_projection_identity() -> None:
    """project undoes lift, the reduced mass is the identity, and the span is the one given."""
    body = solid(fixed=[0, 5])
    columns = np.random.default_rng(4).normal(size=(body.vertex_count, 3, 7))
    columns[body.fixed] = 0
    flat = columns.reshape(-1, 7)
    model = reduce(body, flat)
    near(model.basis.T @ (body.mass @ model.basis), np.eye(7), 1e-13)
    near(model.basis @ (model.basis.T @ (body.mass @ flat)), flat)
    z = np.random.default_rng(5).normal(size=(4, 7))
    near(model.project(model.lift(z)), z)
    near(model.lift(z[1]), model.lift(z)[1], 1e-14)


def test_work_and_momentum_identity() -> None:
    """A force does the same work on reduced and on lifted motion; velocities of an offset model have no offset."""
    offset, body = np.random.default_rng(6).normal(size=(reduced(4).body.vertex_count, 3)), reduced(4).body
    offset[body.fixed] = 0
    for model in (reduced(4), reduce_with_offset(body, 0.1 * offset, reduced(4).basis)):
        rates = np.random.default_rng(7).normal(size=(3, model.size))
        forces = np.random.default_rng(8).normal(size=(3, body.vertex_count, 3))
        work = (model.project_force(forces) * rates).sum(axis=1)
        near(work, (forces * model.lift_velocity(rates)).sum(axis=(1, 2)))
        near(model.project_velocity(model.lift_velocity(rates)), rates)
        near(model.project_velocity(model.lift_velocity(rates[0])), rates[0])


def test_fields_of_another_size_bad_input() -> None:
    model = reduced(4)
    with pytest.raises(InputError, match=r"force has shape \(3, 3\), but \(\d+, 3\) or \(frames, \d+, 3\) is needed"):
        model.project_force(np.zeros((3, 3)))
    with pytest.raises(InputError, match=r"rates has shape \(5,\), but \(4,\) or \(frames, 4\) is needed"):
        model.lift_velocity(np.zeros(5))


def test_tables_twin_agreement() -> None:
    """K0, C1 and C2, whole and packed, are the derivatives of the energy written with einsum."""
    model = reduced(4)
    r, body = model.size, model.body
    tets, grads, volumes, lam, mu = body.element_arrays
    G = np.einsum("eapi,eaq->eipq", model.basis.reshape(-1, 3, r)[tets], grads)
    one = 0.5 * (G + G.transpose(0, 1, 3, 2))
    two = np.einsum("eikp,ejkq->eijpq", G, G)
    two = 0.5 * (two + two.transpose(0, 1, 2, 4, 3))

    def dot(a: str, b: str, A: Array, B: Array) -> Array:
        """Σ V (λ tr A tr B + 2μ A:B), the indices a and b kept."""
        first = np.einsum(f"e,e{a},e{b}->{a}{b}", volumes * lam, np.trace(A, 0, -2, -1), np.trace(B, 0, -2, -1))
        return first + np.einsum(f"e,e{a}pq,e{b}pq->{a}{b}", 2 * volumes * mu, A, B)

    S2, mixed, pairs = dot("i", "j", one, one), dot("i", "jk", one, two), dot("ij", "kl", two, two)
    # W = ½ E:C:E with E = z·one + ½ z z·two: third and fourth derivatives, symmetric in all indices
    S3 = mixed + mixed.transpose(1, 0, 2) + mixed.transpose(1, 2, 0)
    S4 = pairs + pairs.transpose(0, 2, 1, 3) + pairs.transpose(0, 3, 2, 1)
    i, j = np.triu_indices(r)
    near(model.polynomial.K0, S2)
    near(model.polynomial.C1, S3[i, j])
    half = 0.5 * S4[i, j][:, i, j]
    near(model.polynomial.C2, half * np.where(i == j, 1.0, 2.0))
    z = state_of(model)
    y, k1, k2 = np.empty((3, len(i)))
    f, K = np.empty(r), np.empty((r, r))
    for C2 in (model.polynomial.C2, half[np.triu_indices(len(i))][None, :]):
        W = kernels_polynomial.evaluate_polynomial(z, model.polynomial.K0, model.polynomial.C1, C2, y, k1, k2, f, K)
        cubic, fourth = S3 @ z, S4 @ z @ z
        near(K, S2 + cubic + fourth / 2)
        near(f, (S2 + cubic / 2 + fourth / 6) @ z)
        near(W, z @ (S2 / 2 + cubic / 6 + fourth / 24) @ z)
        v, w = state_of(model, 5), state_of(model, 6)
        kernels_polynomial.compute_stiffness_derivative(z, v, model.polynomial.C1, C2, y, k1, k2, K)
        near(K, S3 @ v + S4 @ z @ v)
        check_triples(build_derivative_tables(StVKPolynomial(S2, model.polynomial.C1, C2)), S2, S3, S4, (z, v, w))


def check_triples(
    tables: tuple[Array, Array], S2: Array, S3: Array, S4: Array, states: tuple[Array, Array, Array]
) -> None:
    """The tables of motion, and what is made of them, against the whole symmetric tensors."""
    (C1, C3), (z, v, w), r = tables, states, len(S2)
    i, j = np.tril_indices(r)
    triples = np.array([(a, b, c) for a in range(r) for b in range(a + 1) for c in range(b + 1)]).T
    near(C1, S3[:, i, j])
    near(C3, S4[:, *triples])
    k1, k2 = np.empty((2, len(i)))
    T, f, K, H = np.empty(C3.shape[1]), np.empty(r), np.empty((r, r)), np.eye(r)
    W = kernels_solid.compute_force_and_stiffness(z, S2, C1, C3, k1, k2, T, f, K)
    near(W, z @ (S2 / 2 + S3 @ z / 6 + S4 @ z @ z / 24) @ z)
    near(f, (S2 + S3 @ z / 2 + S4 @ z @ z / 6) @ z)
    near(K, S2 + S3 @ z + S4 @ z @ z / 2)
    near(T, (S4 @ z)[*triples])
    kernels_solid.add_stiffness_derivative(v, C1, T, k1, k2, 0.3, H)
    near(H, np.eye(r) + 0.3 * (S3 @ v + S4 @ z @ v))
    kernels_solid.combine_rows(C3, v, T)
    kernels_solid.contract_triples(T, w, k2)
    near(k2, (S4 @ v @ w)[i, j])


@pytest.mark.parametrize("rows", [1, 3, 4, 7, 8])
def test_combine_twin_agreement(rows: int) -> None:
    table, z = np.random.default_rng(0).normal(size=(rows, 13)), np.random.default_rng(1).normal(size=rows)
    out = np.full(13, np.nan)
    kernels_solid.combine_rows(table, z, out)
    near(out, z @ table, 1e-14)


def test_small_kernels_twin_agreement() -> None:
    z, v = np.random.default_rng(0).normal(size=(2, 5))
    i, j = np.triu_indices(5)
    y = np.empty(15)
    kernels_polynomial.compute_pair_products(z, y)
    near(y, z[i] * z[j], 1e-15)
    kernels_polynomial.differentiate_pair_products(z, v, y)
    near(y, z[i] * v[j] + z[j] * v[i], 1e-15)
    kept = y.copy()
    kernels_polynomial.apply_multiplicity(y, 5, False)
    np.testing.assert_array_equal(y, kept)
    kernels_polynomial.apply_multiplicity(y, 5, True)
    near(y, kept * np.where(i == j, 1, 2), 1e-15)
    S = np.random.default_rng(1).normal(size=(15, 15))
    S, out = S + S.T, np.empty(15)
    kernels_polynomial.multiply_quartic(S, y, out)
    near(out, S @ y, 1e-14)
    kernels_polynomial.multiply_quartic(S[np.triu_indices(15)][None, :].copy(), y, out)
    near(out, S @ y, 1e-14)


def test_strain_rows_twin_agreement() -> None:
    """Rows of √V D^½ ε(features): their squared length on y(z) is twice the energy of each tet."""
    model = reduced(3)
    body, z = model.body, state_of(model)
    tets, grads, volumes, lam, mu = body.element_arrays
    y = np.concatenate([z, (np.outer(z, z))[np.triu_indices(3)]])
    rows = np.zeros((6 * 5, len(y)))
    kernels_polynomial.fill_strain_rows(
        np.ascontiguousarray(model.basis.reshape(-1, 3, 3)), *body.element_arrays, 2, 7, rows
    )
    F = np.eye(3) + np.einsum("eap,eaq->epq", model.lift(z)[tets], grads)
    E = 0.5 * (np.einsum("ekp,ekq->epq", F, F) - np.eye(3))
    twice = volumes * (lam * np.trace(E, 0, 1, 2) ** 2 + 2 * mu * (E**2).sum(axis=(1, 2)))
    near(((rows @ y) ** 2).reshape(5, 6).sum(axis=1), twice[2:7])


def test_progress_agreement() -> None:
    """Blocks of tets add up to the same tables whether or not anyone watches."""
    model, seen = reduced(3), []
    tables = build_polynomial(model.body, model.basis, progress=lambda share, text: seen.append(share))
    near(tables.C2, model.polynomial.C2, 1e-15)
    assert seen[-1] == 1.0


# --- VegaFEM 4.0, section "reduced" of its beam: a basis that is not orthonormal and moves every vertex


@pytest.fixture(scope="module")
def vega_case(vega: Path, vega_numbers: Numbers) -> tuple[ReducedSolid, Array, dict[str, Any]]:
    """The model in our basis U, the S of U₀ = U S for VegaFEM's basis U₀, and its numbers."""
    numbers = vega_numbers("beam3_tet.json")
    stuff = MaterialStVK(numbers["E_element0"], numbers["nu_element0"], numbers["density_element0"])
    body = BodySolid(read_veg(vega / numbers["model"]).mesh, stuff, damping=(0.0, 0.001))
    i, c = np.arange(3 * body.vertex_count)[:, None], np.arange(numbers["reduced_r"])[None, :]
    columns = np.cos(0.01 * (i + 1) * (c + 1) + c)
    model = reduce(body, columns)
    return model, model.basis.T @ (body.mass @ columns), numbers


def test_reduced_evaluation_reference(vega_case: tuple[ReducedSolid, Array, dict[str, Any]]) -> None:
    model, S, numbers = vega_case
    q = np.array(numbers["reduced_q"])
    z = S @ q
    near(S.T @ S, np.reshape(numbers["reduced_mass_colmajor"], (6, 6)), 1e-11)
    near(model.energy(z), numbers["reduced_strain_energy_at_Uq"], 1e-11)
    near(S.T @ model.force(z), numbers["reduced_force"], 1e-11)
    near(S.T @ model.force(z), numbers["reduced_force_by_projection_UTfUq"], 1e-11)
    near(S.T @ model.stiffness(z) @ S, np.reshape(numbers["reduced_stiffness_colmajor"], (6, 6)), 1e-11)


def test_reduced_coefficients_reference(vega_case: tuple[ReducedSolid, Array, dict[str, Any]]) -> None:
    """Linear, quadratic and cubic coefficients of every monomial of the force."""
    model, S, numbers = vega_case
    zero = np.zeros(6)
    S3 = np.stack([S.T @ model.stiffness_derivative(zero, S[:, k]) @ S for k in range(6)], axis=2)
    S4 = np.empty((6, 6, 6, 6))
    for k in range(6):
        for l in range(6):
            rise = model.stiffness_derivative(S[:, l], S[:, k]) - model.stiffness_derivative(zero, S[:, k])
            S4[:, :, k, l] = S.T @ rise @ S
    near(S.T @ model.stiffness() @ S, np.reshape(numbers["reduced_linear_coefs"], (6, 6)), 1e-11)
    # a monomial gathers every order in which its indices can stand
    pairs = list(combinations_with_replacement(range(6), 2))
    quadratic = np.stack([len(set(permutations(p))) / 2 * S3[:, p[0], p[1]] for p in pairs], axis=1)
    near(quadratic, np.reshape(numbers["reduced_quadratic_coefs"], (6, 21)), 1e-10)
    triples = list(combinations_with_replacement(range(6), 3))
    cubic = np.stack([len(set(permutations(t))) / 6 * S4[:, t[0], t[1], t[2]] for t in triples], axis=1)
    near(cubic, np.reshape(numbers["reduced_cubic_coefs"], (6, 56)), 1e-10)


def test_reduced_newmark_reference(vega_case: tuple[ReducedSolid, Array, dict[str, Any]]) -> None:
    """Twenty implicit Newmark steps with tangential damping, from rest with zero acceleration as VegaFEM starts."""
    model, S, numbers = vega_case
    controls = np.tile(np.linalg.solve(S.T, 1000 * np.cos(np.arange(6))), (20, 1))
    path = rollout(
        model.kernel_data, build_newmark_coefficients(np.full(21, 1e-4)), (np.zeros(6), np.zeros(6)), controls
    )
    ours = np.linalg.solve(S, path.coordinates.T).T
    near(ours, np.reshape(numbers["reduced_newmark_q_20x6_maxiter20"], (20, 6)), 1e-9)
    near(np.linalg.solve(S, path.velocities[-1]), numbers["reduced_newmark_qvel_last_maxiter20"], 1e-9)


@pytest.mark.parametrize("springs", [False, True])
def test_threads_agreement(springs: bool, net: Any) -> None:
    """Threads that share a model do not share what it computes with."""
    model: Any = reduce(net, random_columns(net, 8)) if springs else reduced(PACKED_SIZE + 3)
    states = [state_of(model, seed) for seed in range(4)]

    def evaluated(z: Array) -> list[Array]:
        still = np.zeros(model.size)
        return [
            np.asarray(model.energy(z)),
            model.force(z),
            model.stiffness_derivative(z, z),
            *model.evaluate_dynamics(z, still),
        ]

    want = [evaluated(z) for z in states]

    def agree(number: int) -> bool:
        found = [evaluated(states[number]) for _ in range(300)]
        return all(np.array_equal(a, b) for each in found for a, b in zip(each, want[number]))

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(agree, range(4)))
