"""What collisions are made of: distances, pairs, impacts, impulses and zones."""

from __future__ import annotations

import numpy as np
import pytest
from enrich_cases import CLOTH
from enrich_collision_cases import ball, sheet, two_sheets, world_of
from scipy import sparse as sp

from cajole import BodyShell
from cajole.direct.enriching.collisions import kernels_distance as kernels
from cajole.direct.enriching.collisions.impulse_solver import (
    ImpulseSolver,
    RegionMeanProjection,
    build_membrane_laplacian,
    merge_impact_zones,
    move_impact_zones,
)
from cajole.direct.enriching.collisions.world import BroadPhase

ipctk = pytest.importorskip("ipctk")

H = 1 / 60


def _stencils(count, random, flat=False):
    x = random.normal(size=(4 * count, 3))
    if flat:  # triangles without area, edges in line
        x[3::4] = 0.5 * (x[1::4] + x[2::4])
    return x, np.arange(4 * count).reshape(-1, 4)


@pytest.mark.parametrize("edges", [False, True])
@pytest.mark.parametrize("flat", [False, True])
def test_distances_of_vertices_triangles_and_edges_reference(edges, flat):
    """ipctk's own distances of the same parts."""
    x, stencils = _stencils(500, np.random.default_rng(3), flat and not edges)
    if flat and edges:
        x[3::4] = x[2::4] + 2.0 * (x[1::4] - x[::4])  # parallel
    measure = ipctk.edge_edge_distance if edges else ipctk.point_triangle_distance
    told = np.sqrt([measure(*x[s]) for s in stencils])
    assert kernels.compute_stencil_distances(x, stencils, edges) == pytest.approx(told, rel=1e-9, abs=1e-7)


@pytest.mark.parametrize("edges", [False, True])
def test_weights_add_up_to_nothing_and_give_the_distance_identity(edges):
    x, stencils = _stencils(200, np.random.default_rng(4))
    w, way = np.empty(4), np.empty(3)
    for s in stencils:
        distance = kernels.compute_stencil_distance(x[s], edges, w, way)
        assert w.sum() == pytest.approx(0.0, abs=1e-15)
        assert way == pytest.approx(w @ x[s], abs=1e-15)
        assert distance == pytest.approx(np.linalg.norm(way))


@pytest.mark.parametrize("edges", [False, True])
def test_impacts_are_those_of_tight_inclusion_reference(edges):
    """ipctk's tight inclusion: whatever it finds must be found here, near the impact but not beyond it."""
    random = np.random.default_rng(5)
    x, stencils = _stencils(400, random)
    p = 2.0 * random.normal(size=x.shape)
    kit = ipctk.TightInclusionCCD(conservative_rescaling=1.0 - 1e-6)
    query = kit.edge_edge_ccd if edges else kit.point_triangle_ccd
    start = kernels.compute_stencil_distances(x, stencils, edges)
    at, w, way = np.empty((4, 3)), np.empty(4), np.empty(3)
    hits = 0
    for s, d in zip(stencils, start):
        reach = kernels.compute_max_approach(p[s], edges)
        t = kernels.compute_time_of_impact(x[s], p[s], edges, d, 1e-3 * d, reach, at, w, way)
        meets, when = query(*x[s], *(x[s] + p[s]))
        if meets:
            hits += 1
            assert when - 0.01 <= t <= when + 1e-4
    assert hits > 20


def test_no_pair_that_comes_near_is_missed_agreement():
    """Every pair of the shell by brute force."""
    world = world_of(sheet(3), sheet(2, height=-0.5))
    random = np.random.default_rng(6)
    x = world.stack_positions(world.cloth.vertices, 0.0)
    y = x + 0.3 * random.normal(size=x.shape)
    pad = 0.05
    for found, (first, second), edges in zip(
        BroadPhase(world.surface, x, y, pad).find_all_pairs(),
        ((world.vertices, world.triangles), (world.edges, world.edges)),
        (False, True),
    ):
        rows = {tuple(sorted(map(int, row))) for row in found}
        near = set()
        for one in first:
            for two in second:
                four = np.concatenate([one, two])
                if len(set(four.tolist())) < 4 or four.min() >= world.shell_vertex_count:
                    continue
                ends = np.stack([x[four], y[four]])
                split = 2 if edges else 1
                a, b = ends[:, :split].reshape(-1, 3), ends[:, split:].reshape(-1, 3)
                low, high = np.maximum(a.min(axis=0), b.min(axis=0)), np.minimum(a.max(axis=0), b.max(axis=0))
                if (low <= high + 2 * pad).all():
                    near.add(tuple(sorted(map(int, four))))
        assert rows == near
        assert len(near) > 50


def test_impulses_keep_momentum_identity():
    world = world_of(two_sheets(5, 0.1))
    x = world.cloth.vertices
    y = x.copy()
    y[36:] += (0.05, 0.02, -0.15)  # the upper sheet would pass through the lower
    response = ImpulseSolver(world, 0.3, sp.csr_array((0, len(x))), H)
    out, _ = response(x, y)
    masses = world.cloth.vertex_masses[:, None]
    assert response.statistics.max_contacts > 0
    assert np.abs(out - y).max() > 0.01
    assert (masses * (out - y)).sum(axis=0) == pytest.approx(np.zeros(3), abs=1e-15)
    # the upper sheet is as fast in its plane as before, or slower, and never faster
    assert (out - x)[36:, 0].mean() < (y - x)[36:, 0].mean()


def test_friction_takes_no_more_than_coulomb_allows_identity():
    """Of two impulses, what is taken along the contact is at most friction times what is pushed across it."""
    world = world_of(two_sheets(5, 0.1))
    x = world.cloth.vertices
    y = x.copy()
    y[36:] += (0.1, 0.0, -0.12)
    masses = world.cloth.vertex_masses
    for friction in (0.0, 0.2, 0.7):
        out, _ = ImpulseSolver(world, friction, sp.csr_array((0, len(x))), H)(x, y)
        change = (masses[36:, None] * (out - y)[36:]).sum(axis=0)
        assert change[2] > 0
        # sheets that bend a little push a little askew
        assert (0.99 * friction - 1e-6) * change[2] <= -change[0] <= (friction + 1e-6) * change[2]


@pytest.mark.parametrize("passes", [0, 8])
@pytest.mark.parametrize("seed", range(2))
def test_whatever_a_step_asks_for_nothing_passes_through(passes, seed):
    """With impulses and without, where zones and truncation alone must stop it."""
    world = world_of(two_sheets(4, 0.2), ball(0.3, (0.0, 0.0, -0.6)))
    random = np.random.default_rng(seed)
    x = world.stack_positions(world.cloth.vertices, 0.0)
    response = ImpulseSolver(world, 0.3, sp.csr_array((0, world.shell_vertex_count)), H, passes=passes)
    for _ in range(2):
        y = x.copy()
        y[: world.shell_vertex_count] += 0.15 * random.normal(size=(world.shell_vertex_count, 3))
        assert world.compute_collision_free_fraction(x, y) < 1.0
        z, _ = response(x, y)
        assert not world.has_intersections(z)
        assert np.array_equal(z[world.shell_vertex_count :], x[world.shell_vertex_count :])
        x = z


def test_truncation_leaves_the_start_as_it_was_when_nothing_can_move():
    world = world_of(two_sheets(3, 0.2))
    x = world.cloth.vertices
    share = world.compute_collision_free_fraction(x, np.vstack([x[:16], x[16:] - (0, 0, 0.4)]))
    assert 0.0 < share < 0.5
    assert not world.has_intersections(np.vstack([x[:16], x[16:] - (0, 0, share * 0.4)]))


def test_zones_move_as_one_and_keep_momentum_identity():
    random = np.random.default_rng(8)
    x, y = random.normal(size=(2, 9, 3))
    masses = random.uniform(1.0, 2.0, 9)
    zone = merge_impact_zones(np.arange(9), np.array([[0, 1, 2, 3], [3, 4, 5, 0]]))
    assert len(set(zone[:6])) == 1
    assert len(set(zone)) == 4
    out = move_impact_zones(zone, masses, x, y)
    assert masses @ (out - y) == pytest.approx(np.zeros(3), abs=1e-14)
    assert np.ptp((out - x)[:6], axis=0) == pytest.approx(np.zeros(3), abs=1e-15)
    assert np.array_equal(out[6:], y[6:])


def test_a_zone_with_a_collider_goes_where_that_goes():
    random = np.random.default_rng(9)
    x, y = random.normal(size=(2, 5, 3))
    masses = np.array([1.0, 2.0, 1.5, 0.0, 1.0])
    out = move_impact_zones(merge_impact_zones(np.arange(5), np.array([[0, 1, 2, 3]])), masses, x, y)
    assert (out - x)[:3] == pytest.approx(np.tile(y[3] - x[3], (3, 1)), abs=1e-15)
    assert np.array_equal(out[3:], y[3:])


@pytest.mark.parametrize(("small", "off"), [(0.0, 1e-9), (RegionMeanProjection.DROP_TOLERANCE, 0.05)])
def test_averages_are_met_by_the_least_move_agreement(small, off, monkeypatch):
    """The same by one dense least squares in the metric of masses and stiffness; fixed vertices stay."""
    monkeypatch.setattr(RegionMeanProjection, "DROP_TOLERANCE", small)
    random = np.random.default_rng(10)
    body = BodyShell(sheet(3), CLOTH, fixed=[0, 1])
    rows = sp.csr_array(random.uniform(size=(3, body.vertex_count)))
    x, target = random.normal(size=(body.vertex_count, 3)), random.normal(size=(3, 3))
    out = x.copy()
    RegionMeanProjection(rows, body, H).project(out, target)
    assert rows @ out == pytest.approx(target)
    assert np.array_equal(out[:2], x[:2])
    metric = np.diag(body.vertex_masses) + H**2 * build_membrane_laplacian(body).toarray()
    root = np.linalg.inv(np.linalg.cholesky(metric[2:, 2:])).T
    dense = x[2:] + root @ np.linalg.lstsq(rows.toarray()[:, 2:] @ root, target - rows @ x, rcond=None)[0]
    assert out[2:] == pytest.approx(dense, abs=off * np.abs(dense - x[2:]).max())


def test_stiffness_of_moves_is_the_membranes_identity():
    """A sheet stretched evenly and held at the sides stores as much; one that is only moved stores nothing."""
    body = BodyShell(sheet(4), CLOTH)
    L = build_membrane_laplacian(body).toarray()
    assert L.sum(axis=1) == pytest.approx(np.zeros(body.vertex_count), abs=1e-12 * np.abs(L).max())
    stretch = 1e-4 * body.vertices * (1.0, 0.0, 0.0)
    assert 0.5 * (stretch * (L @ stretch)).sum() == pytest.approx(body.energy(stretch), rel=1e-3)
