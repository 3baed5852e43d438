"""Collisions take energy: what impulses do to a step, to edges, and to shells that are thrown at things."""

from __future__ import annotations

import numpy as np
import pytest
from enrich_collision_cases import ball, energies, fall, sheet, stretches, two_sheets, world_of
from scipy import sparse as sp

from cajole import BodyShell, Ground, MaterialShell, MeshTri
from cajole.direct.enriching.collisions import kernels_correction as kernels
from cajole.direct.enriching.collisions.impulse_solver import ImpulseSolver
from cajole.scenes.tube import build_tube

pytest.importorskip("ipctk")

COTTON = MaterialShell(young=1.2e5, poisson=0.25, thickness=1e-3, density=220.0)
# of all energy that a shell loses, what the linear solve of a step may add: its strains are those of where it flies to
GROWTH = 0.08


def _branch() -> MeshTri:
    """A rod along y below the origin."""
    y = np.linspace(-0.7, 0.7, 15)
    return build_tube(np.column_stack([np.zeros_like(y), y, np.full_like(y, -0.11)]), 0.05, 12)


def _upright(mesh: MeshTri, height: float) -> MeshTri:
    """The mesh on its edge, a little askew, so that it folds when it lands."""
    x, y, _ = mesh.vertices.T
    return MeshTri(np.column_stack([0.02 * np.sin(9 * x + 4 * y), y, x + height]), mesh.triangles)


def _require_calm(body, ended):
    """Energy never grows by more than a little, and edges stay edges."""
    told = energies(body, ended)
    start = told[0] - told.min()
    assert ended.report.intersections == 0
    assert ended.report.contacts > 10
    assert np.diff(told).max() <= GROWTH * start
    assert told.max() <= (1 + GROWTH) * start + told.min()
    assert stretches(body, ended.positions).max() < 1.3


@pytest.mark.parametrize("rate", [60, 120, 480])
def test_a_sheet_thrown_at_a_branch_loses_energy_claim(rate):
    """At 5 m/s, by one and a half edges a step and by a fifth of one."""
    body = BodyShell(sheet(24, 0.75), COTTON)
    ended = fall(body, "fast", _branch(), rate // 6, h=1 / rate, thrown=(0.0, 0.0, -5.0))
    _require_calm(body, ended)
    # it has met the branch, and what is beside that flew on
    z = ended.positions[-1, :, 2]
    assert z.max() > -0.1
    assert z.min() < -0.3


@pytest.mark.parametrize("rate", [120, 240])
def test_a_sheet_that_crumples_on_the_ground_loses_energy_claim(rate):
    body = BodyShell(_upright(sheet(16, 0.6), 0.32), COTTON)
    ended = fall(body, "fast", Ground(0.0), rate // 3, h=1 / rate, thrown=(0.0, 0.0, -2.0))
    _require_calm(body, ended)
    assert ended.positions[-1, :, 2].mean() < 0.25


@pytest.mark.parametrize("rate", [60, 240])
def test_sheets_that_fly_into_each_other_lose_energy_claim(rate):
    mesh = two_sheets(12, 0.1)
    body = BodyShell(mesh, COTTON)
    thrown = np.where(mesh.vertices[:, 2:] > 0.05, (0.5, 0.0, -3.0), (0.0, 0.0, 3.0))
    _require_calm(body, fall(body, "fast", (), rate // 6, h=1 / rate, thrown=thrown))


@pytest.mark.parametrize("seed", range(4))
def test_impulses_take_motion_and_give_none_identity(seed):
    """Whatever a step asks for: ½ Σ m v² is less after the response, what only puts surfaces apart left out."""
    world = world_of(two_sheets(5, 0.1), ball(0.3, (0.0, 0.0, -0.45)))
    random = np.random.default_rng(seed)
    x = world.stack_positions(world.cloth.vertices, 0.0)
    masses = world.cloth.vertex_masses[:, None]
    response = ImpulseSolver(world, 0.3, sp.csr_array((0, world.shell_vertex_count)), 1 / 60)
    for _ in range(3):
        y = x.copy()
        y[: world.shell_vertex_count] += 0.06 * random.normal(size=(world.shell_vertex_count, 3))
        z, apart = response(x, y)
        moved, asked = ((end - x)[: world.shell_vertex_count] for end in (z - apart, y))
        assert (masses * moved**2).sum() < (masses * asked**2).sum()
        x = z


def test_surfaces_go_apart_as_fast_in_any_steps_identity():
    """A tenth of a second in steps of several lengths, and no speed is left of it."""
    world = world_of(two_sheets(4, 0.02), contact_distance=0.04)
    x = world.cloth.vertices
    missing = []
    for steps in (3, 6, 24):
        response, y = ImpulseSolver(world, 0.3, sp.csr_array((0, world.shell_vertex_count)), 0.1 / steps), x
        for _ in range(steps):
            z, apart = response(y, y)
            np.testing.assert_allclose(z - apart, y, atol=1e-15)
            y = z
        missing.append(0.04 - (y[25:, 2] - y[:25, 2]).mean())
    np.testing.assert_allclose(missing, 0.02 * np.exp(-0.1 / ImpulseSolver.options.gap_recovery_time), rtol=0.1)


def _some_edges(seed=0):
    random = np.random.default_rng(seed)
    mesh = sheet(4)
    before = mesh.vertices + 0.01 * random.normal(size=mesh.vertices.shape)
    after = before + 0.2 * random.normal(size=before.shape)
    rest = np.linalg.norm(np.diff(mesh.vertices[mesh.edges], axis=1)[:, 0], axis=1)
    return mesh, before, after, rest, random.uniform(0.5, 2.0, len(before))


def test_edges_end_within_their_limits_and_keep_momentum_identity():
    mesh, before, after, rest, inverse = _some_edges()
    high, low = 1.1 * rest, 0.0 * rest
    x = after.copy()
    kernels.limit_edges(before, x, mesh.edges, high, low, inverse, 2000)
    lengths = np.linalg.norm(np.diff(x[mesh.edges], axis=1)[:, 0], axis=1)
    assert (np.linalg.norm(np.diff(after[mesh.edges], axis=1)[:, 0], axis=1) > 1.5 * high).any()
    assert (lengths <= (1 + 2e-3) * high).all()
    assert ((x - after) / inverse[:, None]).sum(axis=0) == pytest.approx(np.zeros(3), abs=1e-13)
    motion = [((end - before) ** 2 / inverse[:, None]).sum() for end in (x, after)]
    assert motion[0] < motion[1]


def test_limits_of_edges_are_those_of_rest_start_and_free_end_agreement():
    mesh, before, after, rest, _ = _some_edges(1)
    high, low = np.empty((2, len(rest)))
    beyond = kernels.compute_edge_limits(before, after, mesh.edges, rest, 0.02, high, low)
    lengths = [np.linalg.norm(np.diff(x[mesh.edges], axis=1)[:, 0], axis=1) for x in (before, after)]
    begun, ended = lengths
    most = np.minimum(ended, 1.02 * begun)
    least = np.maximum(ended, 0.98 * begun)
    np.testing.assert_allclose(high, np.maximum.reduce([kernels.MAX_STRETCH * rest, begun, most]))
    np.testing.assert_allclose(low, np.minimum.reduce([kernels.MIN_STRETCH * rest, begun, least]))
    assert beyond


def test_a_sweep_over_edges_agreement():
    """The kernel's NumPy twin, one edge after the other, with ends that cannot move."""
    mesh, before, after, rest, inverse = _some_edges(2)
    inverse[:5] = 0.0
    high, low = 1.1 * rest, 0.9 * rest
    x, y = after.copy(), after.copy()
    kernels.limit_edges(before, x, mesh.edges, high, low, inverse, 1)
    for (i, j), longest, shortest in zip(mesh.edges, high, low):
        way, total = y[j] - y[i], inverse[i] + inverse[j]
        length = np.linalg.norm(way)
        along = (before[j] - before[i]) @ way / length
        aim = longest if length > longest else max(length, min(shortest, along))
        if total > 0:
            push = (aim - length) / length / total * way
            y[i] -= inverse[i] * push
            y[j] += inverse[j] * push
    np.testing.assert_allclose(x, y, atol=1e-14)
    assert np.array_equal(x[:5], after[:5])
