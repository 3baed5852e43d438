"""What the exact option is made of: a potential, its derivatives, and equations with room for contacts."""

from __future__ import annotations

import numpy as np
import pytest
from enrich_cases import CLOTH
from enrich_collision_cases import DAMPED, sheet, two_sheets, world_of
from scipy import sparse as sp

from cajole import BodyShell
from cajole.body import ShellDamping
from cajole.direct.enriching.collisions.barrier_solver import ContactKKTSolver, ContactPotential, IncrementalPotential
from cajole.direct.enriching.tracking import ShellState

pytest.importorskip("ipctk")

H = 1 / 60


def _slope_of(energy, x, way, eps=1e-6):
    return (energy(x + eps * way) - energy(x - eps * way)) / (2 * eps)


def test_slope_of_a_step_derivative():
    random = np.random.default_rng(1)
    body = BodyShell(sheet(3), CLOTH, damping=DAMPED)
    q, v, load, way = 0.01 * random.normal(size=(4, body.vertex_count, 3))
    now = ShellState(body.vertices + q, v, np.zeros_like(q))
    step = IncrementalPotential(body, H, now, load)
    x = now.positions + 0.01 * random.normal(size=q.shape)
    assert (step.compute_gradient(x) * way).sum() == pytest.approx(_slope_of(step.compute_energy, x, way), rel=1e-6)


def test_curvature_of_a_step_derivative():
    """Where nothing is stressed it is exact, whatever was there when the step began: damping is that of the start."""
    random = np.random.default_rng(7)
    body = BodyShell(sheet(3), CLOTH, damping=ShellDamping(mass=0.5, membrane=0.02, bending=0.3))
    q, v, load = 0.05 * random.normal(size=(3, body.vertex_count, 3))
    step = IncrementalPotential(body, H, ShellState(body.vertices + q, v, np.zeros_like(q)), load)
    K = body.pattern.build_matrix(step.fill_hessian(body.vertices, np.empty(body.pattern.nnz)))
    for _ in range(3):
        way = random.normal(size=q.shape)
        told = (
            step.compute_gradient(body.vertices + 1e-6 * way) - step.compute_gradient(body.vertices - 1e-6 * way)
        ) / 2e-6
        assert (K @ way.ravel()).reshape(-1, 3) == pytest.approx(told, rel=1e-5, abs=1e-6 * np.abs(told).max())


def test_push_of_barrier_and_friction_derivative():
    random = np.random.default_rng(2)
    world = world_of(two_sheets(3, 0.02), contact_distance=0.04)
    before = world.cloth.vertices + 1e-3 * random.normal(size=world.cloth.vertices.shape)
    barrier = ContactPotential(world, 0.5, H)
    barrier.begin_step(before, 1e3)
    x = before + 1e-3 * random.normal(size=before.shape)
    way = random.normal(size=before.shape)
    energy, push = barrier.compute_energy_and_gradient(x)
    assert energy > 0
    assert barrier.count_contacts(x) > 10
    told = _slope_of(lambda at: barrier.compute_energy_and_gradient(at)[0], x, way, 1e-8)
    assert (push * way).sum() == pytest.approx(told, rel=1e-4)


def test_no_contact_no_push_identity():
    world = world_of(two_sheets(3, 0.2))
    barrier = ContactPotential(world, 0.5, H)
    barrier.begin_step(world.cloth.vertices, 1e3)
    energy, push = barrier.compute_energy_and_gradient(world.cloth.vertices)
    assert energy == 0.0
    assert not push.any()


def test_equations_with_contacts_agreement():
    """One dense solve; and the pattern is analysed once for all contacts that it has room for."""
    random = np.random.default_rng(3)
    body = BodyShell(two_sheets(2, 0.1), CLOTH, fixed=[0])
    rows = sp.csr_array(random.uniform(size=(2, body.vertex_count)))
    saddle = ContactKKTSolver(body, sp.csr_array(rows[:, body.free_vertices]))
    near = np.array([[3, 10, 11, 12], [4, 13, 14, -1]])
    values = np.empty(body.pattern.nnz)
    body.assemble_system(
        np.zeros((body.vertex_count, 3)), np.zeros((body.vertex_count, 3)), 3600.0, 60.0, values, tangent="clamped"
    )
    for _ in range(3):
        four = np.array([3, 10, 11, 12])
        arm = random.normal(size=12)
        dofs = (3 * four[:, None] + np.arange(3)).ravel()
        contact = np.zeros((3 * body.vertex_count, 3 * body.vertex_count))
        contact[np.ix_(dofs, dofs)] = 50.0 * np.outer(arm, arm)
        assert saddle.factorise_with_contacts(values, sp.csc_matrix(contact), near)
        right, gap = random.normal(size=(body.vertex_count, 3)), random.normal(size=(2, 3))
        x, pull = saddle.solve(right, gap)
        A = (body.pattern.build_matrix(values).toarray() + contact)[np.ix_(body.free_dofs, body.free_dofs)]
        C = np.kron(rows.toarray()[:, body.free_vertices], np.eye(3))
        K = np.block([[A, -C.T], [C, np.zeros((6, 6))]])
        dense = np.linalg.solve(K, np.concatenate([right.ravel()[body.free_dofs], gap.ravel()]))
        assert x.ravel()[body.free_dofs] == pytest.approx(dense[: len(A)], rel=1e-7, abs=1e-12)
        assert pull.ravel()[body.free_dofs] == pytest.approx(C.T @ dense[len(A) :], rel=1e-6, abs=1e-9)
        assert not x[0].any()
    assert saddle.symbolic_factorization_count == 1
    far = np.zeros((3 * body.vertex_count, 3 * body.vertex_count))
    far[np.ix_([15, 48], [15, 48])] = [[1.0, -1.0], [-1.0, 1.0]]
    assert saddle.factorise_with_contacts(values, sp.csc_matrix(far), near)
    assert saddle.symbolic_factorization_count == 2
