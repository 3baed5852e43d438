"""Shells against the theory of plates and beams, and as sheets that hang, sag and swing."""

from __future__ import annotations

import numpy as np
import pytest
from shell_cases import STUFF, lattice

import cajole as cj
from cajole.body import BodyShell, MaterialShell
from cajole.mesh import MeshTri, grid_triangles
from derivatives import regressed_order


def supported_errors(mesh: MeshTri, poisson: float) -> float:
    """Largest error of four frequencies of a unit plate: f = π/2 √(D/ρt) (i² + j²) on four supports (Kirchhoff)."""
    stuff = MaterialShell(2e9, poisson, 0.01, 1e3)
    theory = 0.5 * np.pi * np.sqrt(stuff.bending_stiffness / 10.0) * np.array([2, 5, 5, 8])
    body = BodyShell(mesh, stuff, fixed=np.unique(mesh.boundary_edges))
    return float(abs(cj.modes(body, 4, cache=False).frequencies / theory - 1).max())


@pytest.mark.parametrize("poisson", [0.0, 0.3])
@pytest.mark.parametrize("alternating", [False, True])
def test_supported_plate_order(poisson, alternating):
    """Second order, whichever way the diagonals run."""
    sizes = np.array([12, 24, 48])
    grids = [grid_triangles(n, n) if alternating else lattice(n, n, (1.0, 1.0)) for n in sizes]
    errors = np.array([supported_errors(mesh, poisson) for mesh in grids])
    assert errors[-1] < 0.01
    assert regressed_order(1 / sizes, errors) > 1.7


def test_irregular_plate_reference(random):
    """Vertices moved by up to a quarter of a cell: still within two per cent."""
    mesh = lattice(16, 16, (1.0, 1.0))
    inner = np.setdiff1d(np.arange(len(mesh.vertices)), mesh.boundary_edges)
    vertices = mesh.vertices.copy()
    vertices[inner, :2] += random.uniform(-0.25, 0.25, (len(inner), 2)) / 16
    assert supported_errors(MeshTri(vertices, mesh.triangles), 0.3) < 0.02


def test_regular_meshes_stay_narrow_identity():
    """Where neighbours form parallelograms nothing but own hinges counts; where diagonals alternate, some others do."""
    assert (BodyShell(lattice(4, 4, (1.0, 1.0)), STUFF).hinges.vertex_counts == 6).all()
    sizes = BodyShell(grid_triangles(4, 4), STUFF).hinges.vertex_counts
    assert sizes.max() > 6
    assert sizes.max() < 12


def test_cantilever_reference():
    """A narrow strip clamped by two rows vibrates as Euler's beam, which starts half a row behind the clamp."""
    length, nx = 1.0, 24
    step = length / nx
    mesh = lattice(nx + 1, 2, (length + step, 0.05), (-step, 0, 0))
    body = BodyShell(mesh, MaterialShell(2e9, 0.3, 0.01, 1e3), fixed=np.flatnonzero(mesh.vertices[:, 0] < 1e-9))
    bent = cj.modes(body, 2, cache=False).frequencies
    beam = np.array([1.8751, 4.6941]) ** 2 / (2 * np.pi * (length + step / 2) ** 2) * np.sqrt(2e9 * 1e-4 / 12 / 1e3)
    np.testing.assert_allclose(bent, beam, rtol=0.02)


def test_rolled_up_reference():
    """A strip rolled to a cylinder without stretching costs D/2 κ² per area, until it is nearly closed."""
    mesh = lattice(60, 2, (1.0, 0.05))
    body = BodyShell(mesh, MaterialShell(1e6, 0.0, 1e-3, 1.0))
    curvature = 5.0
    # chords as long as the cells, so that only bending costs
    cell = 1.0 / 60
    radius = 0.5 * cell / np.sin(0.5 * curvature * cell)
    turn = curvature * mesh.vertices[:, 0]
    rolled = np.column_stack([radius * np.sin(turn), mesh.vertices[:, 1], radius * (1 - np.cos(turn))])
    # half a cell at either end is flat
    area = mesh.area * (1 - cell)
    want = 0.5 * body.material.bending_stiffness * curvature**2 * area
    assert body.energy(rolled - mesh.vertices) == pytest.approx(want, rel=0.01)


def test_sagging_sheet_agreement():
    """`pose` finds how a sheet hangs from its corners; nothing is left over, and it is lower than before."""
    mesh = grid_triangles(8, 8)
    body = BodyShell(mesh, MaterialShell(1e5, 0.3, 5e-3, 300.0), fixed=[0, 8, 72, 80])
    u = cj.pose(body, gravity=(0, 0, -9.81))
    residual = (body.force(u) - body.gravity())[body.free_vertices]
    assert abs(residual).max() < 1e-8 * abs(body.gravity()).max()
    assert -0.6 < u[40, 2] < -0.02


def test_plate_deflection_reference():
    """Under its own weight a plate on four supports sinks by 0.00406 q a⁴/D in its middle (Timoshenko)."""
    mesh = lattice(16, 16, (1.0, 1.0))
    body = BodyShell(mesh, MaterialShell(2e9, 0.3, 0.01, 1.0), fixed=np.unique(mesh.boundary_edges))
    u = cj.pose(body, gravity=(0, 0, -9.81))
    want = 0.00406 * 1.0 * 0.01 * 9.81 / body.material.bending_stiffness
    assert -u[mesh.nearest((0.5, 0.5, 0.0)), 2] == pytest.approx(want, rel=0.02)


def test_swinging_sheet_identity():
    """Simulated with no damping, a hanging sheet keeps its energy to the order of the integrator."""
    mesh = grid_triangles(4, 4)
    body = BodyShell(mesh, MaterialShell(5e3, 0.3, 1e-2, 200.0), fixed=[0, 4])
    film = cj.simulate(body, 25, 1 / 100, gravity=(0, 0, -9.81))
    v = np.asarray(film.velocities)
    energies = [
        body.energy(x) + 0.5 * w.ravel() @ (body.mass @ w.ravel()) - float((body.gravity() * x).sum())
        for x, w in zip(film.displacements, v)
    ]
    assert np.ptp(energies) < 0.02 * max(0.5 * w.ravel() @ (body.mass @ w.ravel()) for w in v)
